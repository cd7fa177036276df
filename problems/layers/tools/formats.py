"""Reads and writes assignments of layers in the formats of tools, and knows the tools' rules.

What is written starts as it is, but for words in capitals: a line for each host, or a Python file.
Stages are on devices in the order of the layers; ``CUDA_VISIBLE_DEVICES`` says on which (`launch`).
With virtual stages, part j of the layers is on device j mod p of p devices. Sources, beside those
that `heuristics/layers/defaults.py` names, are the releases in `TOOLS`:

vllm, sglang
    ``VLLM_PP_LAYER_PARTITION=21,20,20,19``: repeated layers of each stage, in `get_pp_indices` of
    vllm/distributed/utils.py, and ``SGLANG_PP_LAYER_PARTITION`` in sglang/srt/distributed/utils.py.
    Numbers have to be as many as stages, and to add up to the layers. The embedding is on the first
    rank and the scores on the last one. Each stage has to have a repeated layer: vLLM divides by
    the bytes of its cache (`get_kv_cache_configs` of vllm/v1/core/kv_cache_planning.py).
tensorrt-llm
    ``pp_partition: [21, 20, 20, 19]`` in a file of options: the same, in `Mapping.pp_layers` of
    tensorrt_llm/mapping.py (pull request 9003 of NVIDIA/TensorRT-LLM).
accelerate, device-map
    A device for each module; see `device_map`.
llama.cpp
    ``-ts 21,20,20,19``: shares of the repeated layers and the output; see `llama_cpp`. An output
    that is tied to the input layer, which is on the CPU, has a copy of its own there
    (``TENSOR_DUPLICATED`` in src/llama-model.cpp).
megatron
    ``--pipeline-model-parallel-layout "Et*20|t*21|t*20|t*19L"``, or counts; see `megatron`.
torch-pipelining, torch, torchtitan
    The first module of each stage but the first one, or the modules of each; see `torchtitan`.
deepspeed
    ``parts``: the first layer of each stage and the number of all, as `PipelineModule` has them in
    deepspeed/runtime/pipe/module.py. No option takes them, so that a subclass sets them.
"""

import ast
import json
import math
import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from boundmark.problems.arrays import IntArray, frozen
from boundmark.problems.errors import InvalidInputError, quoted
from boundmark.problems.layers.chain import LayerChain
from boundmark.problems.layers.instance import LayerAssignment, LayersInstance
from boundmark.problems.layers.tools import llama_cpp, megatron, torchtitan
from boundmark.problems.layers.tools.device_map import read_device_map, write_device_map
from boundmark.problems.layers.tools.launch import Launch, members, on_groups, pasted
from boundmark.problems.layers.tools.option_texts import (
    agree,
    differences,
    integers,
    others,
    read_options,
)

NO_RULES = "none"

FORMS = (
    "VLLM_PP_LAYER_PARTITION=9,9,7,7 or SGLANG_PP_LAYER_PARTITION=9,9,7,7, pp_partition: [9, 9], "
    "-ts 3,1 --n-cpu-moe 20, a layout of Megatron-LM such as Et*16|t*16L or its options, a device "
    "map as JSON, split_spec, module_fqns_per_model_part, parts=[0, 17, 34], or the layers of each "
    "stage, such as 9,9,7,7"
)


@dataclass(frozen=True)
class Tool:
    """The form in which a tool takes a split of layers, and the splits that it can have.

    Attributes
    ----------
    title
        Its name in sentences.
    release
        For which what is written is.
    write
        Returns what starts a split; raises `InvalidInputError` if the tool cannot have it.
    pattern
        Regular expression that finds a split in a text, as the first group; empty for JSON objects.
    read
        Returns how many layers each part has, from what the pattern has found.
    joined
        Returns the layers that it can only have together with the layer before them.
    is_input_on_host
        Whether what is before the repeated layers is on the CPU.
    has_virtual_stages
        Whether a device may have several parts.
    sizes
        Spellings of its options for the stages, and for the devices that split each layer.
    options
        Spellings of further options that are read; None where texts are no command lines.
    order
        Returns the order that a text gives the devices of a host, if it does.
    configuration
        Returns the configuration that a text says, of a chain whose layers may be split.
    has_replicas
        Whether its lines start several replicas.
    """

    title: str
    release: str
    write: Callable[[Launch], str]
    pattern: str = ""
    read: Callable[[re.Match[str], LayersInstance], list[int]] = lambda match, instance: []
    joined: Callable[[LayerChain], Collection[int]] = lambda chain: ()
    is_input_on_host: bool = False
    has_virtual_stages: bool = False
    sizes: tuple[tuple[str, ...], tuple[str, ...]] = ((), ())
    options: Collection[str] | None = None
    order: Callable[[str], list[int] | None] = lambda text: None
    configuration: Callable[[str, LayersInstance], tuple[int, ...]] = lambda text, instance: ()
    has_replicas: bool = False


def write_as(tool: str, launch: Launch) -> str:
    """Return a solution as a tool takes it."""
    if tool not in TOOLS:
        raise InvalidInputError(f"--as is {quoted(tool)}; expected {', '.join(TOOLS)}.")
    written, chain = TOOLS[tool], launch.instance.chain
    _check_virtual(written, launch.instance.virtual_stages)
    note = ""
    if launch.replicas > 1 and not written.has_replicas:
        note = f"# One of {launch.replicas} replicas, each on devices of its own.\n"
        launch = launch.one_replica()
    apart = {stage.first for stage in launch.solution.stages[1:]} & set(written.joined(chain))
    if apart:
        raise InvalidInputError(
            f"a stage begins with {quoted(chain.names[min(apart)])}, which {written.title} cannot "
            f"have; expected it with the layer before it, as with --rules {tool}."
        )
    return f"# {written.release}{launch.kinds()}\n{note}{written.write(launch)}"


def tool_of(text: str) -> str | None:
    """Return the tool in whose form a text is; None if it is in none, or in that of several."""
    found = _form(pasted(text)[0])
    return found[0] if found else None


def _form(text: str) -> tuple[str, re.Match[str]] | None:
    for name, tool in TOOLS.items():
        match = re.search(tool.pattern, text) if tool.pattern else None
        if match:
            return name, match
    return None


def read_text(
    text: str, instance: LayersInstance
) -> tuple[LayerAssignment, tuple[str, ...]] | None:
    """Read an assignment from a text of one of the tools, and notes; None if it is not such a text.

    Raises
    ------
    InvalidInputError
        If it is of one, and does not go with the instance.
    """
    text, visible = pasted(text)
    found = _form(text)
    if found is None:
        return _of_counts(text, instance, visible) or _of_names(text, instance, visible)
    name, match = found
    tool = TOOLS[name]
    torchtitan.check_schedule(text)
    _check_virtual(tool, instance.virtual_stages)
    counts = tool.read(match, instance)
    order = tool.order(text)
    if order is not None:
        if visible is not None and max(order) >= len(visible):
            raise InvalidInputError(
                f"-dev has device {max(order)}, and {len(visible)} are visible; expected fewer."
            )
        visible = order if visible is None else [visible[at] for at in order]
    solution = replace(
        _on_devices(instance, counts, visible), configuration=tool.configuration(text, instance)
    )
    notes = [f"read as a split of {tool.title}"]
    if tool.options is not None:
        _check_sizes(tool, text, len(counts) // instance.virtual_stages, instance, solution)
        left = others(text, {*tool.options, *tool.sizes[0], *tool.sizes[1]})
        notes += [f"not looked at: {', '.join(dict.fromkeys(left))}"] if left else []
    return solution, tuple(notes)


def _check_sizes(
    tool: Tool, text: str, stages: int, instance: LayersInstance, solution: LayerAssignment
) -> None:
    """Refuse options for another number of stages, or of devices that split each layer."""
    pipeline, tensor = tool.sizes
    if pipeline:
        agree(text, pipeline, stages, f"the split has {stages} stage{'s' * (stages != 1)}")
    if tensor:
        degree = Launch(instance, solution).degree(tool.title)
        words = f"each layer is on {degree} device{'s' * (degree != 1)} by --tensor-parallel"
        agree(text, tensor, degree, words)


def _of_counts(
    text: str, instance: LayersInstance, visible: list[int] | None
) -> tuple[LayerAssignment, tuple[str, ...]] | None:
    """Read the numbers of layers of each stage; None for other texts.

    In brackets, numbers may be the devices of all layers.
    """
    text = text.strip("\"' ")
    match = re.fullmatch(r"\[?\s*(\d{1,6}(?:\s*[,/ ]\s*\d{1,6})+)\s*\]?", text, re.ASCII)
    if match is None:
        return None
    counts = [int(one) for one in re.findall(r"\d+", match[1])]
    (before, behind), n = instance.chain.outer, instance.chain.layers
    if sum(counts) == n - before - behind:
        counts[0] += before
        counts[-1] += behind
    elif text.startswith("["):
        return None
    if sum(counts) != n:
        inner = f"{n - before - behind}, or {n} with what is before and behind" * bool(
            before + behind
        )
        raise InvalidInputError(
            f"the stages have {sum(counts)} layers together; expected {inner or n}."
        )
    note = "read as the layers of each stage, by the rules of no tool"
    return _on_devices(instance, counts, visible), (note,)


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
        input_bytes, capacity = int(chain.weights[:before].sum()), chain.capacity
        split = chain.split
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
    elif joined != chain.joined or chain.split is not None:
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


def _with_repeated(chain: LayerChain) -> set[int]:
    """Return what is together if input and output are with repeated layers."""
    return {*_first_repeated(chain), *_behind(chain, 0)}


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


def _on_devices(
    instance: LayersInstance, counts: Sequence[int], visible: Sequence[int] | None
) -> LayerAssignment:
    """Return the assignment with parts of so many layers, on the first devices or those visible."""
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
    hosts = [at for at, kind in enumerate(instance.chain.devices) if kind in instance.chain.first]
    if visible is None:
        used = sorted(range(known), key=lambda at: at not in hosts)[:size]
    else:
        used = [*hosts, *on_groups(instance.chain, visible)]
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


def _inner_counts(launch: Launch, title: str) -> str:
    """Return how many repeated layers each stage has, with commas."""
    counts = list(launch.counts)
    counts[0] -= launch.outer[0]
    counts[-1] -= launch.outer[1]
    if min(counts) < 1:
        raise InvalidInputError(
            f"stage {counts.index(min(counts))} has no repeated layer, which {title} cannot have; "
            "expected one in each."
        )
    return ",".join(map(str, counts))


def _write_vllm(launch: Launch) -> str:
    launch.evenly("vLLM")
    counts, degree = _inner_counts(launch, "vLLM"), launch.degree("vLLM")
    if 1 < launch.experts < launch.replicas:
        raise InvalidInputError(
            f"{launch.experts} of {launch.replicas} replicas share experts, and vLLM divides them "
            "among all devices or those of a replica; expected --rules sglang, or another e."
        )
    # Which replicas a host has follows from its rank (`create_engine_config`, arg_utils.py).
    replicas = f" --data-parallel-size {launch.replicas}" * (launch.replicas > 1)
    replicas += " --enable-expert-parallel" * (launch.experts > 1)

    def command(at: int, ranks: int) -> str:
        hosts = f" --nnodes {len(launch.nodes)} --node-rank {at} --master-addr HOST"
        hosts += " --headless" * (at > 0)
        return (
            f"VLLM_PP_LAYER_PARTITION={counts} vllm serve {launch.model} --pipeline-parallel-size "
            f"{len(launch.devices)} --tensor-parallel-size {degree}{_offloaded(launch, degree)}"
            f"{replicas}{hosts * (len(launch.nodes) > 1)}"
        )

    return f"{_without_attention(launch)}{launch.lines(command)}"


def _without_attention(launch: Launch) -> str:
    """Return a comment if a stage of a hybrid model has recurrences only.

    A rank aligns sizes of blocks with those of its own attention, and not at all without
    (`update_block_size_for_backend` of vllm/platforms/interface.py).
    """
    letters = ("", *launch.instance.chain.origin.pattern, "")
    for at, stage in enumerate(launch.solution.stages):
        found = {one[0] for one in letters[stage.first : stage.end] if one}
        if found and found <= {"M", "G"}:
            return f"# Stage {at} has no attention, with which vLLM may not start: try others.\n"
    return ""


def _offloaded(launch: Launch, degree: int) -> str:
    """Return vLLM's option for the first layers on the host, by what each device has of them.

    `OffloadConfig` of vllm/config/offload.py; parameters are offloaded one after the other until
    so many bytes are reached, which is why a number that is rounded down means the same.
    """
    split, (before, _), count = (
        launch.instance.chain.split,
        launch.outer,
        launch.solution.configuration,
    )
    if split is None or not count[0]:
        return ""
    size = int(split.bytes[before : before + count[0]].sum()) / degree
    return f" --cpu-offload-gb {math.floor(100 * size / 2**30) / 100:.2f}"


def _read_offloaded(text: str, instance: LayersInstance) -> tuple[int, ...]:
    """Return how many of the first layers are on the host, by vLLM's option."""
    split, (before, _) = instance.chain.split, instance.chain.outer
    given = read_options(text, {"--cpu-offload-gb": "size"}).get("size")
    try:
        size = float(given or "0")
    except ValueError:
        size = -1.0
    if not 0 <= size < 1e9:
        raise InvalidInputError(f"--cpu-offload-gb is {quoted(given)}; expected GiB.")
    if split is None:
        if size:
            raise InvalidInputError(
                f"--cpu-offload-gb is {given}, and no host is among the devices; expected one, "
                "such as --devices 3090,cpu:64GiB."
            )
        return ()
    degree = len(members(instance.chain)[0])
    ends = np.cumsum(split.bytes[before : before + split.most]) / degree
    return (int(np.searchsorted(ends, (size + 0.01) * 2**30, side="right")) if size else 0,)


def _write_sglang(launch: Launch) -> str:
    launch.evenly("SGLang")
    counts, degree = _inner_counts(launch, "SGLang"), launch.degree("SGLang")
    note, replicas = "", f" --dp-size {launch.replicas}" * (launch.replicas > 1)
    if launch.experts > 1:
        replicas += f" --enable-dp-attention --ep-size {launch.experts * degree}"
        degree *= launch.replicas
        launch, note = launch.stage_by_stage("SGLang")
    elif launch.replicas > 1:
        launch.on_one_host("SGLang with replicas that share no experts")

    def command(at: int, ranks: int) -> str:
        hosts = f" --nnodes {len(launch.nodes)} --node-rank {at} --dist-init-addr HOST:5000"
        return (
            f"SGLANG_PP_LAYER_PARTITION={counts} python3 -m sglang.launch_server --model-path "
            f"{launch.model} --pp-size {len(launch.devices)} --tp-size {degree}{replicas}"
            f"{hosts * (len(launch.nodes) > 1)}"
        )

    return note + launch.lines(command)


def _write_tensorrt(launch: Launch) -> str:
    launch.on_one_host("this line of TensorRT-LLM")
    counts, degree = _inner_counts(launch, "TensorRT-LLM"), launch.degree("TensorRT-LLM")
    start = launch.lines(
        lambda at, ranks: (
            f"trtllm-serve {launch.model} --pp_size {len(launch.devices)} --tp_size {degree} "
            "--extra_llm_api_options split.yaml"
        )
    )
    return f"echo 'pp_partition: [{counts.replace(',', ', ')}]' > split.yaml\n{start}"


def _read_inner(title: str) -> Callable[[re.Match[str], LayersInstance], list[int]]:
    """Return the reader of the repeated layers of each stage."""

    def read(match: re.Match[str], instance: LayersInstance) -> list[int]:
        counts = integers(match[1], match[0].partition("=")[0].partition(":")[0].strip("\"' "))
        if 0 in counts:
            raise InvalidInputError(
                f"stage {counts.index(0)} has no layer, which {title} cannot have; expected one in "
                "each."
            )
        before, behind = instance.chain.outer
        counts[0] += before
        counts[-1] += behind
        return counts

    return read


def _write_deepspeed(launch: Launch) -> str:
    chain, (before, behind) = launch.instance.chain, launch.outer
    parts = [stage.first for stage in launch.solution.stages] + [chain.layers]
    specs = [*chain.names[:before], f"{launch.repeated} layers"]
    specs += chain.names[chain.layers - behind :] if behind else []
    tensor = launch.degree("DeepSpeed")
    axis = f"  # {tensor} devices split each layer: the topology's axis `model`" * (tensor > 1)
    return (
        f"{launch.comments('THIS_FILE')}\nfrom deepspeed.pipe import PipelineModule\n\n\n"
        "class Split(PipelineModule):\n"
        "    def _partition_layers(self, method=None):\n"
        f"        self.parts = {json.dumps(parts)}\n"
        "        stage = self._topo.get_coord(self.global_rank).pipe\n"
        "        self._set_bounds(self.parts[stage], self.parts[stage + 1])\n\n\n"
        f"# `specs` are {chain.layers} LayerSpecs: {', '.join(specs)}.\n"
        f"model = Split(layers=specs, num_stages={len(launch.devices)}){axis}"
    )


def _read_deepspeed(match: re.Match[str], instance: LayersInstance) -> list[int]:
    return differences(integers(match[1], "parts"))


def _of_names(
    text: str, instance: LayersInstance, visible: list[int] | None
) -> tuple[LayerAssignment, tuple[str, ...]] | None:
    """Read a device map, or lists of names by device; return None for other texts."""
    match = re.search(r"device_map\s*=\s*(\{[^{}]*\})", text)
    text = match[1] if match else text
    value: Any = None
    if text.startswith("{"):
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            try:
                value = ast.literal_eval(text)
            except (ValueError, SyntaxError, MemoryError, RecursionError):
                return None
    if not isinstance(value, dict) or "format" in value or not value:
        return None
    if not all(isinstance(name, str) for name in value):
        return None
    if all(isinstance(item, list) for item in value.values()) and all(
        re.fullmatch(r"\d{1,6}", key, re.ASCII) for key in value
    ):
        value = {str(name): int(key) for key, names in value.items() for name in names}
    found = read_device_map(value, instance)
    if found is None:
        return None
    _check_virtual(TOOLS["device-map"], instance.virtual_stages)
    if visible is not None:
        most = int(found.devices.max())
        if most >= len(visible):
            raise InvalidInputError(
                f"the device map has device {most}, and {len(visible)} are visible; expected fewer."
            )
        devices = frozen([visible[at] for at in found.devices.tolist()])
        found = replace(found, devices=devices)
    return found, ("read as a device map",)


_DEVICE_MAP = Tool("a device map", "accelerate 1.15.0, transformers 5.24.0", write_device_map)

_TORCH = Tool(
    "a list of split points",
    "PyTorch 2.13.0",
    torchtitan.write_split_points,
    torchtitan.SPLIT_POINTS,
    lambda match, instance: torchtitan.read_split_points(match[1], instance),
    joined=_is_one_part_each,
    has_virtual_stages=True,
)

TOOLS: dict[str, Tool] = {
    "vllm": Tool(
        "vLLM",
        "vLLM 0.33.0",
        _write_vllm,
        r"VLLM_PP_LAYER_PARTITION=[\"']?([^\s\"']*)",
        _read_inner("vLLM"),
        joined=_with_repeated,
        sizes=(("--pipeline-parallel-size", "-pp"), ("--tensor-parallel-size", "-tp")),
        options=(
            "--nnodes",
            "-n",
            "--node-rank",
            "-r",
            "--master-addr",
            "--headless",
            "--cpu-offload-gb",
        ),
        configuration=_read_offloaded,
        has_replicas=True,
    ),
    "sglang": Tool(
        "SGLang",
        "SGLang 0.5.23",
        _write_sglang,
        r"SGLANG_PP_LAYER_PARTITION=[\"']?([^\s\"']*)",
        _read_inner("SGLang"),
        joined=_with_repeated,
        sizes=(
            ("--pp-size", "--pipeline-parallel-size"),
            ("--tp-size", "--tensor-parallel-size"),
        ),
        options=("-m", "--model-path", "--nnodes", "--node-rank", "--dist-init-addr"),
        has_replicas=True,
    ),
    "tensorrt-llm": Tool(
        "TensorRT-LLM",
        "TensorRT-LLM 1.2, by its documentation",
        _write_tensorrt,
        r"pp_partition[\"']?\s*[:=]\s*(\[[^\]]*\])",
        _read_inner("TensorRT-LLM"),
        joined=_with_repeated,
        sizes=(("--pp_size",), ("--tp_size",)),
        options=("--extra_llm_api_options", "--config"),
    ),
    "accelerate": _DEVICE_MAP,
    "device-map": _DEVICE_MAP,
    "llama.cpp": Tool(
        "llama.cpp",
        "llama.cpp at 0c1e57098",
        llama_cpp.write_llama,
        llama_cpp.PATTERN,
        lambda match, instance: llama_cpp.read_llama(match[1], instance),
        joined=lambda chain: {*_first_repeated(chain), *_behind(chain, 1)},
        is_input_on_host=True,
        options=llama_cpp.OPTIONS,
        order=llama_cpp.device_order,
        configuration=llama_cpp.read_experts,
    ),
    "megatron": Tool(
        "Megatron-LM",
        "megatron-core 0.16.1",
        megatron.write_megatron,
        megatron.PATTERN,
        lambda match, instance: megatron.read_megatron(match[1], instance),
        joined=lambda chain: _behind(chain, 1)[:-1],
        has_virtual_stages=True,
        sizes=((), ("--tensor-model-parallel-size",)),
        options=(*megatron.OPTIONS, *megatron.TORCHRUN),
        has_replicas=True,
    ),
    "torch-pipelining": _TORCH,
    "torch": _TORCH,
    "torchtitan": Tool(
        "torchtitan",
        "torchtitan 0.3.0",
        torchtitan.write_modules,
        torchtitan.MODULES,
        torchtitan.read_modules,
        joined=_is_one_part_each,
        has_virtual_stages=True,
    ),
    "deepspeed": Tool(
        "DeepSpeed",
        "DeepSpeed 0.19.8",
        _write_deepspeed,
        r"\bparts\s*=\s*(\[[^\]]*\])",
        _read_deepspeed,
    ),
}
