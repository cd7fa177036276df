"""Reads and writes assignments of layers in the formats of tools.

Stages are counted in the order of the layers; where they are not on devices 0, 1, ... in turn,
``CUDA_VISIBLE_DEVICES`` says on which. Formats, as of the commits that
`heuristics/layers/defaults.py` names:

vllm
    ``VLLM_PP_LAYER_PARTITION=21,20,20,19``: repeated layers of each stage.
device-map
    A JSON object with a device for each module, as accelerate and transformers take it.
llama.cpp
    ``-ts 21,20,20,19``: shares of the repeated layers and the output.
megatron
    ``--pipeline-model-parallel-layout "Et*20|t*21|t*20|t*19L"``: E the embedding, t a layer, L the
    loss.
torch
    ``pipeline_parallel_split_points``: the first module of each stage but the first one; later
    versions of torchtitan ask for the modules of each stage instead.
deepspeed
    ``parts``: the first layer of each stage and the number of all, as `PipelineModule` has them.
onnxruntime
    A JSON object with the names of layers for each device.
"""

import itertools
import json
import re
from collections.abc import Callable, Sequence

from boundmark.problems.arrays import frozen
from boundmark.problems.errors import InvalidInputError, quoted
from boundmark.problems.layers.assignment import LayerAssignment
from boundmark.problems.layers.chain import MOST_LAYERS
from boundmark.problems.layers.instance import LayersInstance

_DEVICES = "CUDA_VISIBLE_DEVICES="


def write_as(tool: str, instance: LayersInstance, solution: LayerAssignment) -> str:
    """Return a solution as a tool takes it.

    Raises
    ------
    InvalidInputError
        If the tool is unknown, or cannot have such a split.
    """
    if tool not in TOOLS:
        raise InvalidInputError(f"--as is {quoted(tool)}; expected {', '.join(TOOLS)}.")
    return TOOLS[tool](instance, solution)


def read_text(text: str, instance: LayersInstance) -> LayerAssignment | None:
    """Read an assignment from a text of one of the tools; None if it is not such a text.

    Raises
    ------
    InvalidInputError
        If it is of one, and does not go with the instance.
    """
    text = text.strip()
    devices: list[int] | None = None
    if text.startswith(_DEVICES):
        head, _, text = text.partition(" ")
        devices = _integers(head.removeprefix(_DEVICES), "CUDA_VISIBLE_DEVICES")
        text = text.strip()
    for pattern, read in _READERS:
        match = re.fullmatch(pattern, text, re.DOTALL)
        if match:
            return _on_devices(instance, read(match[1], instance), devices)
    if text.startswith("{"):
        return _from_names(text, instance)
    return None


def _counts(solution: LayerAssignment) -> list[int]:
    return [stage.end - stage.first for stage in solution.stages]


def _visible(solution: LayerAssignment) -> str:
    """Return which devices stages are on, unless they are the first ones in turn."""
    used = [stage.device for stage in solution.stages]
    return "" if used == list(range(len(used))) else f"{_DEVICES}{','.join(map(str, used))} "


def _inner(instance: LayersInstance, solution: LayerAssignment, tool: str) -> list[int]:
    """Return how many repeated layers stages have."""
    before, behind = instance.chain.outer
    counts = _counts(solution)
    counts[0] -= before
    counts[-1] -= behind
    if min(counts) < 0 or (min(counts) == 0 and len(counts) > 1):
        raise InvalidInputError(
            f"a stage has no repeated layer, which {tool} cannot have; expected each to have one."
        )
    return counts


def _as_vllm(instance: LayersInstance, solution: LayerAssignment) -> str:
    counts = _inner(instance, solution, "vLLM")
    return f"{_visible(solution)}VLLM_PP_LAYER_PARTITION={','.join(map(str, counts))}"


def _as_llama(instance: LayersInstance, solution: LayerAssignment) -> str:
    counts = _counts(solution)
    counts[0] -= instance.chain.outer[0]
    return f"{_visible(solution)}-ts {','.join(map(str, counts))}"


def _as_megatron(instance: LayersInstance, solution: LayerAssignment) -> str:
    before, behind = instance.chain.outer
    letters = "E" * before + "t" * (instance.chain.layers - before - behind) + "L" * behind
    parts = []
    for stage in solution.stages:
        part = letters[stage.first : stage.end]
        parts.append(re.sub("tt+", lambda run: f"t*{len(run[0])}", part))
    return f'{_visible(solution)}--pipeline-model-parallel-layout "{"|".join(parts)}"'


def _as_torch(instance: LayersInstance, solution: LayerAssignment) -> str:
    names = [_torch_name(instance, stage.first) for stage in solution.stages[1:]]
    return f"{_visible(solution)}pipeline_parallel_split_points={','.join(names)}"


def _torch_name(instance: LayersInstance, layer: int) -> str:
    before, behind = instance.chain.outer
    if layer >= instance.chain.layers - behind:
        return "norm"
    return f"layers.{layer - before}"


def _as_deepspeed(instance: LayersInstance, solution: LayerAssignment) -> str:
    parts = [stage.first for stage in solution.stages] + [instance.chain.layers]
    return f"{_visible(solution)}parts={json.dumps(parts)}"


def _as_device_map(instance: LayersInstance, solution: LayerAssignment) -> str:
    names, devices = instance.chain.names, solution.devices.tolist()
    found = dict(zip(names, devices, strict=True))
    if any(name.startswith("model.layers.") for name in names):
        # Modules without a layer of their own here; without them, transformers refuses the map.
        found |= {"model.norm": devices[-1], "model.rotary_emb": devices[0]}
    return json.dumps(found)


def _as_onnxruntime(instance: LayersInstance, solution: LayerAssignment) -> str:
    names = instance.chain.names
    return json.dumps(
        {str(stage.device): list(names[stage.first : stage.end]) for stage in solution.stages}
    )


TOOLS: dict[str, Callable[[LayersInstance, LayerAssignment], str]] = {
    "vllm": _as_vllm,
    "device-map": _as_device_map,
    "llama.cpp": _as_llama,
    "megatron": _as_megatron,
    "torch": _as_torch,
    "deepspeed": _as_deepspeed,
    "onnxruntime": _as_onnxruntime,
}


def _integers(text: str, what: str) -> list[int]:
    parts = [part.strip() for part in text.split(",")]
    if not all(re.fullmatch(r"\d{1,6}", part, re.ASCII) for part in parts):
        raise InvalidInputError(f"{what} is {quoted(text)}; expected integers with commas.")
    return [int(part) for part in parts]


def _on_devices(
    instance: LayersInstance, counts: Sequence[int], devices: Sequence[int] | None
) -> LayerAssignment:
    """Return the assignment with stages of so many layers, on the first devices or those given."""
    known = len(instance.chain.devices)
    used = list(range(len(counts))) if devices is None else list(devices)
    if len(counts) > len(used) or len(counts) > known:
        raise InvalidInputError(
            f"there are {len(counts)} stages for {min(known, len(used))} devices; expected no more "
            "stages than devices."
        )
    if sum(counts) != instance.chain.layers:
        outer = sum(instance.chain.outer)
        raise InvalidInputError(
            f"the stages have {sum(counts) - outer} layers together; "
            f"expected {instance.chain.layers - outer}."
        )
    return LayerAssignment(
        frozen([used[at] for at, count in enumerate(counts) for _ in range(count)])
    )


def _with_outer(instance: LayersInstance, counts: list[int]) -> list[int]:
    before, behind = instance.chain.outer
    counts[0] += before
    counts[-1] += behind
    return counts


def _read_vllm(text: str, instance: LayersInstance) -> list[int]:
    return _with_outer(instance, _integers(text, "VLLM_PP_LAYER_PARTITION"))


def _read_llama(text: str, instance: LayersInstance) -> list[int]:
    """Return the counts that llama.cpp makes of shares: layer i of L is at i / (L + 1)."""
    try:
        shares = [float(part) for part in re.split("[,/]", text)]
    except ValueError:
        shares = [-1.0]
    if min(shares) < 0 or not 0 < sum(shares) < 1e12:
        raise InvalidInputError(f"-ts is {quoted(text)}; expected shares with commas, e.g. 3,1.")
    before, _ = instance.chain.outer
    slots, total = instance.chain.layers - before, sum(shares)
    counts = [0] * len(shares)
    ends: list[float] = []
    for share in shares:
        ends.append((ends[-1] if ends else 0.0) + share)
    for at in range(slots):
        counts[next((d for d, end in enumerate(ends) if end / total > at / slots), -1)] += 1
    first = next(at for at, count in enumerate(counts) if count)
    counts[first] += before
    return counts


def _read_megatron(text: str, instance: LayersInstance) -> list[int]:
    layout = re.sub(r"[\\ ,]", "", text.strip().strip("\"'"))
    expanded = _expanded(layout)
    if "m" in expanded:
        raise InvalidInputError(
            f"the layout is {quoted(text)}, with {expanded.count('m')} layers m, which predict "
            "several words; expected E, t and L, since models have none of these here."
        )
    if not re.fullmatch("E?[t|]*L?", expanded):
        raise InvalidInputError(
            f"the layout is {quoted(text)}; expected E, t and L in this order, with | between "
            "stages."
        )
    before, behind = instance.chain.outer
    if expanded.count("E") != before or expanded.count("L") != behind:
        raise InvalidInputError(
            f"the layout has {expanded.count('E')} E and {expanded.count('L')} L; "
            f"expected {before} and {behind}."
        )
    return [len(part) for part in expanded.split("|")]


def _expanded(layout: str) -> str:
    """Return a layout without ``x*3`` and ``(tt|)*3``."""
    for _ in range(100):
        match = re.search(r"\(([Et|mL]*)\)\*(\d{1,5})|([Et|mL])\*(\d{1,5})", layout)
        if match is None:
            return layout
        unit, times = (match[1], match[2]) if match[2] else (match[3], match[4])
        if len(unit) * int(times) > 2 * MOST_LAYERS or len(layout) > 4 * MOST_LAYERS:
            raise InvalidInputError(
                f"the layout repeats {quoted(unit)} {times} times; expected less."
            )
        layout = layout[: match.start()] + unit * int(times) + layout[match.end() :]
    raise InvalidInputError("the layout has more than 100 repetitions; expected fewer.")


def _read_torch(text: str, instance: LayersInstance) -> list[int]:
    before, behind = instance.chain.outer
    n = instance.chain.layers
    known = {_torch_name(instance, at): at for at in range(n - max(behind, 1), before - 1, -1)}
    known |= {"output": n - 1, "norm": n - behind} if behind else {}
    ends = []
    for name in (part.strip(" \"'[]") for part in text.split(",")):
        if name not in known:
            raise InvalidInputError(
                f"there is no split point {quoted(name)}; expected names such as layers.1 or norm."
            )
        ends.append(known[name])
    return _differences([0, *ends, n])


def _read_deepspeed(text: str, instance: LayersInstance) -> list[int]:
    return _differences(_integers(text.strip().strip("[]"), "parts"))


def _differences(ends: list[int]) -> list[int]:
    counts = [b - a for a, b in itertools.pairwise(ends)]
    if not counts or min(counts) < 0 or ends[0] != 0:
        raise InvalidInputError(f"the parts are {quoted(ends)}; expected 0 and then ascending.")
    return counts


_READERS: tuple[tuple[str, Callable[[str, LayersInstance], list[int]]], ...] = (
    (r"(?:export )?VLLM_PP_LAYER_PARTITION=(.*)", _read_vllm),
    (r"(?:-ts|--tensor-split)[ =](.*)", _read_llama),
    (r"--pipeline-model-parallel-layout[ =](.*)", _read_megatron),
    (r"(?:--\S*)?pipeline_parallel_split_points[ =](.*)", _read_torch),
    (r"parts ?= ?(.*)", _read_deepspeed),
)


def _from_names(text: str, instance: LayersInstance) -> LayerAssignment | None:
    """Read a device map, or lists of names by device; return None for other objects."""
    try:
        value = json.loads(text)
    except ValueError:
        return None
    if not isinstance(value, dict) or "format" in value or not value:
        return None
    if all(isinstance(item, list) for item in value.values()) and all(
        re.fullmatch(r"\d{1,6}", key) for key in value
    ):
        value = {name: int(key) for key, names in value.items() for name in names}
    elsewhere = [name for name, item in value.items() if item in ("cpu", "disk")]
    if elsewhere and all(item in ("cpu", "disk") or type(item) is int for item in value.values()):
        raise InvalidInputError(
            f"{quoted(elsewhere[0])} is on {quoted(value[elsewhere[0]])}; expected numbers of "
            "devices, since what is offloaded is in no stage."
        )
    if not all(type(item) is int for item in value.values()):
        return None
    if not set(value) - {"", *instance.chain.names} and set(instance.chain.names) <= set(value):
        return LayerAssignment(frozen([value[name] for name in instance.chain.names]))
    found = []
    for name in instance.chain.names:
        # A module's own entry, or that of one around it.
        parts = name.split(".")
        keys = [".".join(parts[:length]) for length in range(len(parts), -1, -1)]
        key = next((key for key in keys if key in value), None)
        if key is None:
            return None
        found.append(value[key])
    return LayerAssignment(frozen(found))
