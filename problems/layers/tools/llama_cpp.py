"""llama.cpp's options for the layers of each device.

``-ts 21,20,20,19`` are shares of the repeated layers and the output, which may be on a device
alone; as of `load_tensors` in src/llama-model.cpp, ggml-org/llama.cpp at 00342301, and of the
options in common/arg.cpp at 0017d6fb. The input layer is always on the CPU there.
"""

import re
from collections.abc import Mapping, Sequence

import numpy as np

from boundmark.problems.errors import InvalidInputError, quoted
from boundmark.problems.layers.instance import LayerAssignment, LayersInstance
from boundmark.problems.layers.tools.option_texts import integer, read_options

_OPTIONS = {
    "-ts": "split", "--tensor-split": "split",
    "-ngl": "layers", "--gpu-layers": "layers", "--n-gpu-layers": "layers",
    "-sm": "mode", "--split-mode": "mode",
    "-ot": "override", "--override-tensor": "override",
    "-cmoe": "experts", "--cpu-moe": "experts",
    "-ncmoe": "some experts", "--n-cpu-moe": "some experts",
}  # fmt: skip

PATTERN = rf"((?:{'|'.join(_OPTIONS)})(?:[ =].*)?)"


def write_llama(instance: LayersInstance, solution: LayerAssignment) -> str:
    """Return a solution as counts of layers, which are shares as well."""
    before, behind = instance.chain.outer
    counts = [stage.end - stage.first for stage in solution.stages]
    counts[0] -= before
    counts[-1] -= max(0, behind - 1)
    return f"-ts {','.join(map(str, counts))}"


def read_llama(text: str, instance: LayersInstance) -> list[int]:
    """Return how many layers each device has."""
    given = read_options(text, _OPTIONS, ("experts",))
    before, behind = instance.chain.outer
    layers = instance.chain.layers - before - max(1, behind)
    _refuse_host(given, layers)
    split = given["split"]
    try:
        shares = [float(part) for part in re.split("[,/]+", split)]
    except ValueError:
        shares = [-1.0]
    if min(shares) < 0 or not 0 < sum(shares) < 1e12:
        raise InvalidInputError(f"-ts is {quoted(split)}; expected shares with commas, e.g. 3,1.")
    counts = counts_by_shares(layers, shares)
    counts[next(at for at, count in enumerate(counts) if count)] += before
    counts[max(at for at, count in enumerate(counts) if count)] += max(0, behind - 1)
    while len(counts) > 1 and not counts[-1]:
        counts.pop()
    return counts


def _refuse_host(given: Mapping[str, str], layers: int) -> None:
    """Refuse options with which layers are on the CPU, or not whole on a device."""
    on_host = {"override": "--override-tensor", "experts": "--cpu-moe"}
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


def counts_by_shares(layers: int, shares: Sequence[float]) -> list[int]:
    """Return how many of llama.cpp's layers, and of the output, devices get by their shares.

    Layer i of L, and the output as layer L, go to the first device whose share of all, with those
    before, is above i / (L + 1), in numbers of 32 bits as there.
    """
    ends = np.cumsum(np.array(shares, np.float32), dtype=np.float32)
    ends /= ends[-1]
    places = np.arange(layers + 1, dtype=np.float32) / np.float32(layers + 1)
    found = np.searchsorted(ends, places, side="right")
    return np.bincount(found, minlength=len(shares)).tolist()  # type: ignore[no-any-return]
