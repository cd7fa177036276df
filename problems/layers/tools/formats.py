"""Reads and writes assignments of layers in the formats of tools, and knows the tools' rules.

Stages are counted in the order of the layers; where they are not on devices 0, 1, ... in turn,
``CUDA_VISIBLE_DEVICES`` says on which. Of groups that split layers (tensor parallelism), it has all
members, numbered from group to group, as ranks are. With virtual stages, part j of the layers is on
device j mod p of p devices. Sources, beside those that `heuristics/layers/defaults.py` names:

vllm
    ``VLLM_PP_LAYER_PARTITION=21,20,20,19``: repeated layers of each stage, in `get_pp_indices` of
    vllm/distributed/utils.py, vllm-project/vllm at 5a6541db. The embedding is on the first rank and
    the scores on the last one. Each stage has to have a repeated layer, as its cache is of these.
device-map
    A JSON object with a device for each module, of accelerate and transformers. Devices are ``0``,
    ``"0"``, ``"cuda:0"``; a module that is not named is with the module around it that is. As in
    `check_device_map` in src/accelerate/utils/modeling.py, huggingface/accelerate at 00cfd46a, a
    module's device is that of all in it. Modules that are no layers here, such as norms, or the
    vision tower of a model that reads images, do not count when a map is read: their memory and
    time are in no stage. Nor are they written, but for the norms and the positions of the language
    model; a map for transformers needs them, too.
llama.cpp
    ``-ts 21,20,20,19``: shares of the repeated layers and the output; see `llama_cpp`. An output
    that is tied to the input layer, which is on the CPU, has a copy of its own there
    (``TENSOR_DUPLICATED`` in src/llama-model.cpp).
megatron
    ``--pipeline-model-parallel-layout "Et*20|t*21|t*20|t*19L"``, or counts; see `megatron`.
torch, torchtitan
    ``pipeline_parallel_split_points``: the first module of each stage but the first one; and
    ``module_fqns_per_model_part``: the modules of each; see `torchtitan`.
deepspeed
    ``parts``: the first layer of each stage and the number of all, as `PipelineModule` has them.
onnxruntime
    A JSON object with the names of layers for each device.
"""

import json
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from boundmark.problems.arrays import IntArray, frozen
from boundmark.problems.errors import InvalidInputError, quoted
from boundmark.problems.layers.chain import LayerChain
from boundmark.problems.layers.instance import LayerAssignment, LayersInstance
from boundmark.problems.layers.tools import llama_cpp, megatron, torchtitan
from boundmark.problems.layers.tools.option_texts import differences, integers

# Where a language model stands within others: transformers has moved it between versions.
_AROUND = ("model.language_model.", "language_model.model.", "language_model.", "model.", "")

_OFFLOADED = ("cpu", "disk", "meta")

# What is needed beside repeated layers of this name: modules on the first device, and on the last.
_BESIDE = {"layers": ("rotary_emb", "norm"), "h": ("wpe", "ln_f")}


def write_device_map(instance: LayersInstance, solution: LayerAssignment) -> str:
    """Return a solution as a device map, with the modules that transformers asks for as well."""
    names, devices = instance.chain.names, solution.devices.tolist()
    found = dict(zip(names, devices, strict=True))
    repeated = [re.fullmatch(r"(.+\.)?(layers|h)\.\d+", name) for name in names]
    around = next((match for match in repeated if match), None)
    if around is not None:
        prefix, (first, last) = around[1] or "", _BESIDE[around[2]]
        found = {prefix + first: devices[0], prefix + last: devices[-1], **found}
    return json.dumps(found)


def read_device_map(value: Mapping[str, Any], instance: LayersInstance) -> LayerAssignment | None:
    """Read a device map; return None if it is none, or one of another model."""
    known = set(map(_plain, instance.chain.names))
    keys = {_plain(key): key for key in value}
    devices: dict[str, int] = {}
    for key, item in value.items():
        device = _device(item)
        if device is None and item not in _OFFLOADED:
            return None
        devices[key] = -1 if device is None else device
    found = [_covering(name, devices) for name in instance.chain.names]
    if found == [None] * len(found):
        return None
    used = [key for key in found if key is not None]
    for key in used:
        if devices[key] < 0:
            raise InvalidInputError(
                f"{quoted(key)} is on {quoted(value[key])}; expected numbers of devices, since "
                "what is offloaded is in no stage."
            )
    missing = [x for x, key in zip(instance.chain.names, found, strict=True) if key is None]
    if missing:
        if all(type(item) is int for item in value.values()):
            # A table of layers and devices, whose reader says what is left out.
            return None
        raise InvalidInputError(
            f"the device map has no device for {len(missing)} of {len(found)} layers, "
            f"{quoted(missing[0])} among them; expected one for each."
        )
    siblings = {name.rpartition(".")[0] for name in known if re.search(r"\.\d+$", name)}
    for plain, key in keys.items():
        stem, _, number = plain.rpartition(".")
        if plain not in known and stem in siblings and number.isdecimal():
            raise InvalidInputError(
                f"the device map has {quoted(key)}, and the model has no such layer; expected "
                f"names such as {quoted(instance.chain.names[-1])}."
            )
    return LayerAssignment(frozen([devices[key] for key in used]))


def _device(item: object) -> int | None:
    """Return the number of a device; None if it is none."""
    if type(item) is int and 0 <= item < 10**6:
        return item
    if isinstance(item, str):
        match = re.fullmatch(r"(?:(?:cuda|xpu|npu|hpu|mlu|musa):)?(\d{1,6})", item, re.ASCII)
        if match:
            return int(match[1])
        if item in ("cuda", "mps", "xpu", "npu", "hpu", "mlu", "musa"):
            return 0
    return None


def _plain(name: str) -> str:
    """Return a module's name without that of the language model around it."""
    return next(name.removeprefix(prefix) for prefix in _AROUND if name.startswith(prefix))


def _covering(name: str, devices: Mapping[str, int]) -> str | None:
    """Return the key of a module or the nearest one around it, wherever the language model is."""
    best: tuple[int, int, str] | None = None
    for spelling in (name, *(prefix + _plain(name) for prefix in _AROUND)):
        parts = spelling.split(".")
        for length in range(len(parts), -1, -1):
            key = ".".join(parts[:length])
            if key in devices:
                # The fewest names are left over; of two such keys, the longer one.
                candidate = (len(parts) - length, -len(key), key)
                best = candidate if best is None else min(best, candidate)
                break
    return None if best is None else best[2]


NO_RULES = "free"

_DEVICES = "CUDA_VISIBLE_DEVICES="


@dataclass(frozen=True)
class Tool:
    """What a tool calls a split of layers, and which splits it can have.

    Attributes
    ----------
    title
        Its name in sentences.
    write
        Returns a solution as the tool takes it, without the devices; raises `InvalidInputError` if
        the tool cannot have it.
    pattern
        Regular expression of texts that it takes, the split as the first group; empty for JSON
        objects.
    read
        Returns how many layers each part has, from a split.
    joined
        Returns the layers that it can only have together with the layer before them.
    is_input_on_host
        Whether what is before the repeated layers is on the CPU.
    has_virtual_stages
        Whether a device may have several parts.
    says_devices
        Whether texts say which devices stages are on.
    """

    title: str
    write: Callable[[LayersInstance, LayerAssignment], str]
    pattern: str = ""
    read: Callable[[str, LayersInstance], list[int]] = lambda text, instance: []
    joined: Callable[[LayerChain], Collection[int]] = lambda chain: ()
    is_input_on_host: bool = False
    has_virtual_stages: bool = False
    says_devices: bool = False


def write_as(tool: str, instance: LayersInstance, solution: LayerAssignment) -> str:
    """Return a solution as a tool takes it."""
    if tool not in TOOLS:
        raise InvalidInputError(f"--as is {quoted(tool)}; expected {', '.join(TOOLS)}.")
    written = TOOLS[tool]
    _check_virtual(written, instance.virtual_stages)
    apart = {stage.first for stage in solution.stages[1:]} & set(written.joined(instance.chain))
    if apart:
        name = instance.chain.names[min(apart)]
        raise InvalidInputError(
            f"a stage begins with {quoted(name)}, which {written.title} cannot have; expected it "
            f"with the layer before it, as with --rules {tool}."
        )
    text = written.write(instance, solution)
    return text if written.says_devices else f"{_visible(instance.chain, solution)}{text}"


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
        visible = integers(head.removeprefix(_DEVICES), "CUDA_VISIBLE_DEVICES")
        devices = _groups(instance.chain, visible)
        text = text.strip()
    text = torchtitan.without_schedule(text)
    for tool in TOOLS.values():
        match = re.fullmatch(tool.pattern, text, re.DOTALL) if tool.pattern else None
        if match:
            _check_virtual(tool, instance.virtual_stages)
            return _on_devices(instance, tool.read(match[1], instance), devices)
    if text.startswith("{"):
        return _from_names(text, instance)
    return None


def under_rules(chain: LayerChain, tool: str, virtual_stages: int = 1) -> LayerChain:
    """Return the chain with what a tool asks of every split; the chain itself if that is nothing.

    Where a tool keeps the input layer on the CPU, looking words up takes no time on a device here,
    nor does sending them there; an output that is tied to the input has a copy of its own.

    Raises
    ------
    InvalidInputError
        If the tool has no virtual stages, and there are some.
    """
    if tool == NO_RULES:
        return chain
    rules, before = TOOLS[tool], chain.outer[0]
    _check_virtual(rules, virtual_stages)
    joined = tuple(sorted({*chain.joined, *rules.joined(chain)}))
    if rules.is_input_on_host and before:
        input_bytes, capacity, split = (
            int(chain.weights[:before].sum()),
            chain.capacity,
            chain.split,
        )
        if chain.first:
            capacity = np.array(capacity)
            capacity[list(chain.first)] = np.maximum(capacity[list(chain.first)] - input_bytes, 0)
        if split is not None:
            split = replace(split, room=max(0, split.room - input_bytes))
        changed = replace(
            chain,
            capacity=frozen(capacity),
            split=split,
            joined=joined,
            tied=tuple(pair for pair in chain.tied if pair[0] >= before),
            time=_on_host(chain.time, before),
            weights=_on_host(chain.weights, before),
            held=_on_host(chain.held, before),
            sizes=_on_host(chain.sizes, before),
        )
    elif joined != chain.joined:
        changed = replace(chain, joined=joined)
    else:
        return chain
    return replace(changed, made_of={**chain.made_of, "rules": tool})


def _on_host(values: IntArray, before: int) -> IntArray:
    """Return what layers take on devices, where some of the first take nothing there."""
    left = np.array(values)
    left[..., :before] = 0
    return frozen(left)


def _first_repeated(chain: LayerChain) -> range:
    """Return what is only together with the layer before it if the input is with a repeated one."""
    return range(1, min(chain.outer[0] + 1, chain.layers))


def _behind(chain: LayerChain, first: int) -> range:
    """Return the layers behind the repeated ones, without some of the first."""
    return range(max(1, chain.layers - chain.outer[1] + first), chain.layers)


def _is_one_part_each(chain: LayerChain) -> set[int]:
    """Return what is together if input and output are one part each."""
    return {*range(1, chain.outer[0]), *_behind(chain, 1)}


def _check_virtual(tool: Tool, virtual_stages: int) -> None:
    """Refuse virtual stages for a tool without them."""
    if virtual_stages > 1 and not tool.has_virtual_stages:
        raise InvalidInputError(
            f"virtual_stages is {virtual_stages}, and {tool.title} gives each device one run of "
            "layers; expected virtual_stages=1."
        )


def _members(chain: LayerChain) -> list[range]:
    """Return the numbers of the devices that each one consists of: itself, or those of a group."""
    found, first = [], 0
    for name in chain.device_names:
        match = re.search(r"\*(\d{1,4})#\d+$", name)
        degree = int(match[1]) if match else int(chain.made_of.get("tensor_parallel", 1))
        found.append(range(first, first + degree))
        first += degree
    return found


def _visible(chain: LayerChain, solution: LayerAssignment) -> str:
    """Return which devices stages are on, unless they are the first ones in turn."""
    used = list(dict.fromkeys(stage.device for stage in solution.stages))
    if used == list(range(len(used))):
        return ""
    members = _members(chain)
    return f"{_DEVICES}{','.join(str(one) for device in used for one in members[device])} "


def _groups(chain: LayerChain, visible: Sequence[int]) -> list[int]:
    """Return the devices whose members are visible, in turn."""
    starting = {group[0]: (at, group) for at, group in enumerate(_members(chain))}
    found, left = [], list(visible)
    while left:
        if left[0] not in starting:
            raise InvalidInputError(
                f"CUDA_VISIBLE_DEVICES has {left[0]}; expected devices from 0 to "
                f"{max(max(group) for _, group in starting.values())}, each group from its first."
            )
        at, group = starting[left[0]]
        if left[: len(group)] != list(group) or at in found:
            raise InvalidInputError(
                f"CUDA_VISIBLE_DEVICES is {quoted(','.join(map(str, visible)))}; expected each "
                "device once, and all of a group in turn."
            )
        found.append(at)
        left = left[len(group) :]
    return found


def _on_devices(
    instance: LayersInstance, counts: Sequence[int], devices: Sequence[int] | None
) -> LayerAssignment:
    """Return the assignment with parts of so many layers, on the first devices or those given."""
    known, virtual = len(instance.chain.devices), instance.virtual_stages
    size = len(counts) // virtual
    if len(counts) % virtual:
        raise InvalidInputError(
            f"there are {len(counts)} parts; expected a multiple of virtual_stages, {virtual}."
        )
    if virtual > 1 and 0 in counts:
        raise InvalidInputError(
            f"part {list(counts).index(0)} of {len(counts)} has no layers; expected some in each "
            "where a device has several."
        )
    used = list(range(size)) if devices is None else list(devices)
    if size > len(used) or size > known:
        raise InvalidInputError(
            f"there are {size} stages for {min(known, len(used))} devices; expected no more "
            "stages than devices."
        )
    if sum(counts) != instance.chain.layers:
        outer = sum(instance.chain.outer)
        raise InvalidInputError(
            f"the stages have {sum(counts) - outer} layers together; "
            f"expected {instance.chain.layers - outer}."
        )
    return LayerAssignment(
        frozen([used[at % size] for at, count in enumerate(counts) for _ in range(count)])
    )


def _write_vllm(instance: LayersInstance, solution: LayerAssignment) -> str:
    before, behind = instance.chain.outer
    counts = [stage.end - stage.first for stage in solution.stages]
    counts[0] -= before
    counts[-1] -= behind
    if min(counts) < 1:
        raise InvalidInputError(
            f"stage {counts.index(min(counts))} has no repeated layer, which vLLM cannot have; "
            "expected one in each."
        )
    return f"VLLM_PP_LAYER_PARTITION={','.join(map(str, counts))}"


def _read_vllm(text: str, instance: LayersInstance) -> list[int]:
    counts = integers(text, "VLLM_PP_LAYER_PARTITION")
    if 0 in counts:
        raise InvalidInputError(
            f"stage {counts.index(0)} has no layer, which vLLM cannot have; expected one in each."
        )
    before, behind = instance.chain.outer
    counts[0] += before
    counts[-1] += behind
    return counts


def _write_deepspeed(instance: LayersInstance, solution: LayerAssignment) -> str:
    parts = [stage.first for stage in solution.stages] + [instance.chain.layers]
    return f"parts={json.dumps(parts)}"


def _read_deepspeed(text: str, instance: LayersInstance) -> list[int]:
    return differences(integers(text.strip().strip("[]"), "parts"))


def _write_onnxruntime(instance: LayersInstance, solution: LayerAssignment) -> str:
    names = instance.chain.names
    return json.dumps(
        {str(stage.device): list(names[stage.first : stage.end]) for stage in solution.stages}
    )


def _from_names(text: str, instance: LayersInstance) -> LayerAssignment | None:
    """Read a device map, or lists of names by device; return None for other objects."""
    try:
        value: Any = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, dict) or "format" in value or not value:
        return None
    if all(isinstance(item, list) for item in value.values()) and all(
        re.fullmatch(r"\d{1,6}", key, re.ASCII) for key in value
    ):
        value = {str(name): int(key) for key, names in value.items() for name in names}
    found = read_device_map(value, instance)
    if found is not None:
        _check_virtual(TOOLS["device-map"], instance.virtual_stages)
    return found


TOOLS: dict[str, Tool] = {
    "vllm": Tool(
        "vLLM",
        _write_vllm,
        r"(?:export )?VLLM_PP_LAYER_PARTITION=(.*)",
        _read_vllm,
        joined=lambda chain: {*_first_repeated(chain), *_behind(chain, 0)},
    ),
    "device-map": Tool("a device map", write_device_map, says_devices=True),
    "llama.cpp": Tool(
        "llama.cpp",
        llama_cpp.write_llama,
        llama_cpp.PATTERN,
        llama_cpp.read_llama,
        joined=lambda chain: {*_first_repeated(chain), *_behind(chain, 1)},
        is_input_on_host=True,
    ),
    "megatron": Tool(
        "Megatron-LM",
        megatron.write_megatron,
        megatron.PATTERN,
        megatron.read_megatron,
        joined=lambda chain: _behind(chain, 1)[:-1],
        has_virtual_stages=True,
    ),
    "torch": Tool(
        "a list of split points",
        torchtitan.write_split_points,
        torchtitan.SPLIT_POINTS,
        torchtitan.read_split_points,
        joined=_is_one_part_each,
        has_virtual_stages=True,
    ),
    "torchtitan": Tool(
        "torchtitan",
        torchtitan.write_modules,
        torchtitan.MODULES,
        torchtitan.read_modules,
        joined=_is_one_part_each,
        has_virtual_stages=True,
    ),
    "deepspeed": Tool("DeepSpeed", _write_deepspeed, r"parts ?= ?(.*)", _read_deepspeed),
    "onnxruntime": Tool("ONNX Runtime", _write_onnxruntime, says_devices=True),
}
