"""llama.cpp's options for the layers of each device.

``-ts 21,20,20,19`` are shares of the repeated layers and the output, which may be on a device
alone; as of `load_tensors` in src/llama-model.cpp, `llama_max_devices` in src/llama.cpp and the
options in common/arg.cpp, ggml-org/llama.cpp at 0c1e57098. The input layer is always on the CPU
there. Layers of multi-token prediction count as repeated layers, behind the others, whether they
are used or not. ``-ts`` takes fewer shares than 16, ``-ngl`` counts the output, and with either,
``--fit`` changes nothing.
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


def write_llama(launch: Launch) -> str:
    """Return the line that starts a server, and those of RPC servers on other hosts."""
    launch.only_single("llama.cpp")
    before, behind = launch.outer
    counts = list(launch.counts)
    counts[0] -= before
    counts[-1] += launch.instance.chain.origin.predicting - max(0, behind - 1)
    if len(counts) >= MOST_DEVICES:
        raise InvalidInputError(
            f"there are {len(counts)} stages, and llama.cpp takes fewer than {MOST_DEVICES} shares "
            "of devices; expected fewer devices."
        )
    split = f"-ngl {ALL_LAYERS} -sm layer -ts {','.join(map(str, counts))}"
    (_, host, used), *rest = launch.nodes
    if not rest:
        return f"{launch.visible(host, used)} llama-server -m {launch.model} {split}"
    servers, names = [], [f"CUDA{at}" for at in range(len(used))]
    for number, other, own in rest:
        names += [f"RPC{len(names) - len(used) + at}" for at in range(len(own))]
        servers.append(
            f"# host {number}: devices {other.start} to {other.stop - 1}\n"
            f"{launch.visible(other, own)} rpc-server -H 0.0.0.0 -p {_PORT}"
        )
    calls = ",".join(f"HOST{number}:{_PORT}" for number, _, _ in rest)
    main = (
        f"# host {launch.nodes[0][0]}: devices {host.start} to {host.stop - 1}, started last\n"
        f"{launch.visible(host, used)} llama-server -m {launch.model} --rpc {calls} "
        f"-dev {','.join(names)} {split}"
    )
    return "\n".join([main, *servers])


def read_llama(text: str, instance: LayersInstance) -> list[int]:
    """Return how many layers each device has."""
    given = read_options(text, OPTIONS, ("experts", "cache"))
    (before, behind), predicting = instance.chain.outer, instance.chain.origin.predicting
    layers = instance.chain.layers - before - max(1, behind)
    _refuse_host(given, layers + predicting)
    split = given["split"]
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
    counts = counts_by_shares(layers, shares, predicting)
    counts[next(at for at, count in enumerate(counts) if count)] += before
    counts[max(at for at, count in enumerate(counts) if count)] += max(0, behind - 1)
    while len(counts) > 1 and not counts[-1]:
        counts.pop()
    return counts


def device_order(text: str) -> list[int] | None:
    """Return the order that ``-dev`` gives devices of one host, by their numbers there."""
    named = read_options(text, OPTIONS, ("experts", "cache")).get("devices", "")
    found = [re.fullmatch(r"(?:CUDA|ROCm|Vulkan|SYCL)(\d{1,4})", one) for one in named.split(",")]
    return [int(one[1]) for one in found if one] if all(found) else None


def _refuse_host(given: Mapping[str, str], layers: int) -> None:
    """Refuse options with which layers are on the CPU, or not whole on a device."""
    on_host = {
        "override": "--override-tensor", "experts": "--cpu-moe", "cache": "--no-kv-offload",
    }  # fmt: skip
    on_host |= {"some experts": "--n-cpu-moe"} if given.get("some experts") != "0" else {}
    for meaning, name in on_host.items():
        if meaning in given:
            raise InvalidInputError(
                f"{name} puts parts of layers on the CPU or elsewhere, where they are in no stage; "
                "expected whole layers on devices."
            )
    wanted = given.get("layers", "all")
    if wanted not in ("all", "auto", "-1", "-2"):
        count = integer(wanted, "--n-gpu-layers")
        if count <= layers:
            raise InvalidInputError(
                f"--n-gpu-layers {count} puts layers on the CPU, which are in no stage; expected "
                f"at least {layers + 1}: {layers} layers and the output."
            )
    if given.get("mode", "layer") != "layer":
        raise InvalidInputError(
            f"--split-mode is {quoted(given['mode'])}; expected 'layer', since others put no whole "
            "layers on devices."
        )
    if "split" not in given:
        raise InvalidInputError("--tensor-split is not given; expected shares of devices.")


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
