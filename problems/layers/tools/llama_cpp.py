"""llama.cpp's options for the layers of each device.

``-ts 21,20,20,19`` are shares of the repeated layers and the output, which may be on a device
alone; as of `load_tensors` in src/llama-model.cpp, `llama_max_devices` in src/llama.cpp and the
options in common/arg.cpp, ggml-org/llama.cpp at 0c1e57098. The input layer is always on the CPU
there. Layers of multi-token prediction count as repeated layers, behind the others, whether they
are used or not. ``-ts`` takes fewer shares than 16, ``-ngl`` counts the output, and with either,
``--fit`` changes nothing.

With a host among the devices, ``-ngl N`` leaves all but the last N of layers and output to it, and
``--n-cpu-moe N`` the experts of the first N layers; ``-ot PATTERN=CPU`` is read where it means the
same.
"""

import re
from collections.abc import Mapping, Sequence

import numpy as np

from boundmark.problems.errors import InvalidInputError, quoted
from boundmark.problems.layers.instance import LayersInstance
from boundmark.problems.layers.tools.launch import Launch
from boundmark.problems.layers.tools.option_texts import integer, read_options

# `llama_max_devices()`, of which there have to be more than shares.
MOST_DEVICES = 16

# More layers than any file may have (`LLAMA_MAX_LAYERS`), and the output.
ALL_LAYERS = 999

OPTIONS = {
    "-ts": "split", "--tensor-split": "split", "LLAMA_ARG_TENSOR_SPLIT": "split",
    "-ngl": "layers", "--gpu-layers": "layers", "--n-gpu-layers": "layers",
    "LLAMA_ARG_N_GPU_LAYERS": "layers",
    "-sm": "mode", "--split-mode": "mode", "LLAMA_ARG_SPLIT_MODE": "mode",
    "-ot": "override", "--override-tensor": "override",
    "-cmoe": "experts", "--cpu-moe": "experts",
    "-ncmoe": "some experts", "--n-cpu-moe": "some experts",
    "-nkvo": "cache", "--no-kv-offload": "cache",
    "-dev": "devices", "--device": "devices",
    "-mg": "main", "--main-gpu": "main", "-m": "model", "--model": "model", "--rpc": "rpc",
}  # fmt: skip

_OWN = [name for name, meaning in OPTIONS.items() if meaning not in ("model", "main", "devices")]
PATTERN = rf"(?s)((?:^|.*\s)(?:{'|'.join(_OWN)})(?:[ =\n].*|$))"

_PORT = 50052

# Tensors that stay where their layer is if only experts are elsewhere.
_DENSE = ("attn_q", "attn_norm", "ffn_norm", "ffn_gate_inp", "ffn_up", "ffn_down_shexp")


def write_llama(launch: Launch) -> str:
    """Return the line that starts a server, and those of RPC servers on other hosts."""
    launch.only_single("llama.cpp")
    chain, (before, behind) = launch.instance.chain, launch.outer
    counts = list(launch.counts)
    model = launch.model if launch.model.strip("'").endswith(".gguf") else "MODEL.gguf"
    counts[0] -= before
    counts[-1] += chain.origin.predicting - max(0, behind - 1)
    if chain.devices[launch.devices[0]] in chain.first:
        counts.pop(0)
    if len(counts) >= MOST_DEVICES:
        raise InvalidInputError(
            f"there are {len(counts)} stages, and llama.cpp takes fewer than {MOST_DEVICES} shares "
            "of devices; expected fewer devices."
        )
    on_devices = ALL_LAYERS if len(counts) == len(launch.devices) else sum(counts)
    split = f"-ngl {on_devices}"
    if counts:
        split += f" -sm layer -ts {','.join(map(str, counts))}"
    if launch.solution.configuration:
        split += f" --n-cpu-moe {launch.solution.configuration[0]}"
    if not launch.nodes:
        return f"llama-server -m {model} {split}"
    (_, host, used), *rest = launch.nodes
    if not rest:
        return f"{launch.visible(host, used)} llama-server -m {model} {split}"
    servers, names = [], [f"CUDA{at}" for at in range(len(used))]
    for number, other, own in rest:
        names += [f"RPC{len(names) - len(used) + at}" for at in range(len(own))]
        servers.append(
            f"# host {number}: devices {other.start} to {other.stop - 1}\n"
            f"{launch.visible(other, own)} ggml-rpc-server -H 0.0.0.0 -p {_PORT}"
        )
    calls = ",".join(f"HOST{number}:{_PORT}" for number, _, _ in rest)
    main = (
        f"# host {launch.nodes[0][0]}: devices {host.start} to {host.stop - 1}, started last\n"
        f"{launch.visible(host, used)} llama-server -m {model} --rpc {calls} "
        f"-dev {','.join(names)} {split}"
    )
    return "\n".join([main, *servers])


def _read(text: str) -> dict[str, str]:
    return read_options(text, OPTIONS, ("experts", "cache"), ("override",))


def read_llama(text: str, instance: LayersInstance) -> list[int]:
    """Return how many layers each device has, the host first if there is one."""
    given, chain = _read(text), instance.chain
    (before, behind), predicting = chain.outer, chain.origin.predicting
    layers = chain.layers - before - max(1, behind)
    on_host = _on_host(given, layers + predicting, bool(chain.first))
    shares = _shares(given.get("split"), instance)
    counts = [0] * len(shares)
    if on_host <= layers:
        counts = counts_by_shares(layers - on_host, shares, predicting)
        counts[max(at for at, count in enumerate(counts) if count)] += max(0, behind - 1)
    while len(counts) > 1 and not counts[-1]:
        counts.pop()
    if chain.first:
        counts.insert(0, on_host + (max(0, behind - 1) if on_host > layers else 0))
    counts[next(at for at, count in enumerate(counts) if count)] += before
    return counts


def _shares(split: str | None, instance: LayersInstance) -> list[float]:
    """Return the shares of devices; one device needs none."""
    chain = instance.chain
    if split is None:
        if sum(kind not in chain.first for kind in chain.devices) > 1:
            raise InvalidInputError(
                "--tensor-split is not given; expected shares of devices, since those by free "
                "memory are not known."
            )
        return [1.0]
    try:
        shares = [float(part) for part in re.split("[,/]+", split)]
    except ValueError:
        shares = [-1.0]
    if min(shares) < 0 or not 0 < sum(shares) < 1e12:
        raise InvalidInputError(f"-ts is {quoted(split)}; expected shares with commas, e.g. 3,1.")
    if len(shares) >= MOST_DEVICES:
        raise InvalidInputError(
            f"-ts has {len(shares)} shares, and llama.cpp takes fewer than {MOST_DEVICES}; "
            "expected so many."
        )
    return shares


def read_experts(text: str, instance: LayersInstance) -> tuple[int, ...]:
    """Return of how many layers the experts are on the host, as a configuration."""
    given = _read(text)
    split, counts = instance.chain.split, [int(given.get("some experts", "0"))]
    if split is None:
        return ()
    if "experts" in given:
        counts.append(split.most)
    if "override" in given:
        counts.append(_overridden(given["override"], split.most))
    return (min(max(counts), split.most),)


def _overridden(text: str, layers: int) -> int:
    """Return of how many of the first layers patterns put the experts on the CPU, and no others."""
    patterns = [one.rpartition("=") for one in text.split(",")]
    try:
        known = [re.compile(pattern) for pattern, _, place in patterns if place == "CPU"]
    except re.error as error:
        raise InvalidInputError(
            f"-ot is {quoted(text)}; expected regular expressions: {error}."
        ) from error

    def moved(name: str) -> bool:
        return any(pattern.search(name) for pattern in known)

    experts = [
        {moved(f"blk.{at}.ffn_{part}_exps.weight") for part in ("up", "gate", "down")}
        for at in range(layers)
    ]
    count = sum(one == {True} for one in experts)
    others = any(moved(f"blk.{at}.{name}.weight") for at in range(layers) for name in _DENSE)
    if (
        len(known) < len(patterns)
        or others
        or experts[:count] != [{True}] * count
        or any(one != {False} for one in experts[count:])
    ):
        raise InvalidInputError(
            f"--override-tensor is {quoted(text)}; expected all experts of the first layers on "
            "the CPU and nothing else, such as 'exps=CPU', or --n-cpu-moe."
        )
    return count


def device_order(text: str) -> list[int] | None:
    """Return the order that ``-dev`` gives devices of one host, by their numbers there."""
    named = _read(text).get("devices", "")
    if named == "none":
        raise InvalidInputError("-dev is 'none'; expected devices, such as CUDA1,CUDA0.")
    found = [re.fullmatch(r"(?:CUDA|ROCm|Vulkan|SYCL)(\d{1,4})", one) for one in named.split(",")]
    return [int(one[1]) for one in found if one] if all(found) else None


def _on_host(given: Mapping[str, str], layers: int, has_host: bool) -> int:
    """Return how many layers are on the host; refuse options with which that is not known."""
    experts = {"override": "--override-tensor", "experts": "--cpu-moe"}
    if "some experts" in given and integer(given["some experts"], "--n-cpu-moe"):
        experts["some experts"] = "--n-cpu-moe"
    refused = {"cache": "--no-kv-offload"} | ({} if has_host else experts)
    for meaning, name in refused.items():
        if meaning in given:
            raise InvalidInputError(
                f"{name} puts parts of layers on the CPU or elsewhere; expected whole layers on "
                "devices"
                + (
                    " and their experts on the host."
                    if has_host
                    else ", or a host among them, such as --devices 3090,cpu:64GiB."
                )
            )
    if given.get("mode", "layer") != "layer":
        raise InvalidInputError(
            f"--split-mode is {quoted(given['mode'])}; expected 'layer', since others put no whole "
            "layers on devices."
        )
    wanted = given.get("layers", "all")
    if wanted in ("all", "auto", "-1", "-2"):
        return 0
    found = max(0, layers + 1 - integer(wanted, "--n-gpu-layers"))
    if found and not has_host:
        raise InvalidInputError(
            f"--n-gpu-layers {wanted} puts layers on the CPU; expected at least {layers + 1}: "
            f"{layers} layers and the output, or a host among the devices, such as cpu:64GiB."
        )
    return found


def counts_by_shares(layers: int, shares: Sequence[float], predicting: int = 0) -> list[int]:
    """Return how many of llama.cpp's layers, and of the output, devices get by their shares.

    Layer i of L, and the output as layer L, go to the first device whose share of all, with those
    before, is above i / (L + 1), in numbers of 32 bits as there.

    Parameters
    ----------
    predicting
        Layers behind these that have places, too, and are not counted.
    """
    ends = np.cumsum(np.array(shares, np.float32), dtype=np.float32)
    ends /= ends[-1]
    slots = layers + predicting + 1
    places = np.arange(slots, dtype=np.float32) / np.float32(slots)
    found = np.searchsorted(ends, places, side="right")
    found = np.append(found[:layers], found[-1])
    return np.bincount(found, minlength=len(shares)).tolist()  # type: ignore[no-any-return]
