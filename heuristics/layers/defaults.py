"""The rules by which tools split layers over devices, each written from the tool's source.

All go through the devices in their given order, and none looks at time. Layers before and behind
the repeated ones (`outer`: an embedding, scores of words) are with the first and the last device,
unless a rule says otherwise. Sources, as of the commits:

vLLM
    `get_pp_indices` in vllm/distributed/utils.py, vLLM 0.33.0. Of L mod k layers
    that remain, the last stage gets none: they go to the stages before it, from behind.
accelerate
    `infer_auto_device_map` and `get_balanced_memory` in src/accelerate/utils/modeling.py,
    accelerate 1.15.0; transformers 5 has a copy of the rule. Here, what is free is the capacity;
    the first device keeps room for the largest layer that is left; the buffer is 1.25 times the
    largest repeated layer. The mean of all leaf modules, which may be larger than that in small
    models, is not known here; layers are never split. What does not fit goes to the CPU there, and
    is refused here.
llama.cpp
    `load_tensors` in src/llama-model.cpp, ggml-org/llama.cpp at 0c1e57098, with `-ngl all` and
    without `-ts`, which is a split by free memory; see `counts_by_shares`. It remains where all
    fits: otherwise `--fit`, the default today, changes context, layers and shares first. The input
    layer, on the CPU there, is with layer 0; with the option `rules` it takes nothing on that
    device.
Megatron-LM
    `get_num_layers_to_build` in megatron/core/transformer/transformer_block.py, megatron-core
    0.16.1: counts are equal or refused; with `--account-for-embedding-in-pipeline-split` and
    `--account-for-loss-in-pipeline-split`, embedding and loss are a layer each. Layers that predict
    further words are with the loss. With virtual stages, all parts of all ranks are equal.
DeepSpeed
    `partition_uniform` and `partition_balanced` in deepspeed/runtime/utils.py, DeepSpeed 0.19.8, as
    `PipelineModule(partition_method="uniform" | "parameters")` calls them; since 0.12.5, the latter
    looks at the difference between the largest and the smallest sum.
torchtitan
    `_generate_llm_fqn_per_model_part` in torchtitan/distributed/pipeline_parallel.py, torchtitan
    0.3.0, with input and output weight 1, and one stage per device, or
    several with a looped schedule, which puts stage j on rank j mod pp.
"""

import itertools
from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any, TypeAlias

import numpy as np

from boundmark.problems.arrays import frozen
from boundmark.problems.errors import InvalidInputError, UnsupportedError
from boundmark.problems.layers import LayerAssignment, LayersInstance
from boundmark.problems.layers.tools.llama_cpp import counts_by_shares
from boundmark.problems.method import Budget, Progress

BUFFER = (5, 4)


Rule: TypeAlias = Callable[[LayersInstance], list[int]]


def _reporting(rule: Rule) -> Callable[..., None]:
    """Return the method that reports the assignment whose parts have a rule's counts of layers."""

    @wraps(rule)
    def run(
        instance: LayersInstance, budget: Budget, seed: int, progress: Progress, **params: Any
    ) -> None:
        report(instance, rule(instance), progress, 1)

    return run


def _reporting_virtual(rule: Rule) -> Callable[..., None]:
    """Return the same where a device has several parts, and refuse instances with one for each."""

    @wraps(rule)
    def run(
        instance: LayersInstance, budget: Budget, seed: int, progress: Progress, **params: Any
    ) -> None:
        if instance.virtual_stages == 1:
            raise UnsupportedError(
                "virtual_stages is 1, and the rule is for several parts on a device; expected more."
            )
        report(instance, rule(instance), progress, instance.virtual_stages)

    return run


def report(
    instance: LayersInstance, counts: Sequence[int], progress: Progress, virtual: int
) -> None:
    """Report the assignment whose parts have these numbers of consecutive layers."""
    if instance.virtual_stages != virtual:
        raise UnsupportedError(
            f"virtual_stages is {instance.virtual_stages}, and the tool gives each device one run "
            "of layers; expected virtual_stages=1."
        )
    size = len(counts) // virtual
    devices = [part % size for part, count in enumerate(counts) for _ in range(count)]
    solution = LayerAssignment(frozen(devices))
    try:
        instance.objective(solution)
    except InvalidInputError as error:
        raise UnsupportedError(f"the rule's assignment is none here: {error}") from error
    progress.solution(solution)


def with_outer(instance: LayersInstance, counts: Sequence[int]) -> list[int]:
    """Return counts of all layers, for counts of the repeated ones."""
    before, behind = instance.chain.outer
    found = list(counts)
    found[0] += before
    # Where the last devices get nothing, what is behind stays with the last repeated layer.
    found[max(at for at, count in enumerate(found) if count or at == 0)] += behind
    return found


def _repeated(instance: LayersInstance) -> int:
    return instance.chain.layers - sum(instance.chain.outer)


def _refuse_more_stages(layers: int, stages: int) -> None:
    if stages > layers:
        raise UnsupportedError(
            f"there are {stages} stages for {layers} layers; the tool expects no more stages."
        )


def even(layers: int, stages: int) -> list[int]:
    """Return the number of layers of each stage, as vLLM splits them."""
    counts = [layers // stages] * stages
    for at in range(2, layers % stages + 2):
        counts[-at] += 1
    return counts


@_reporting
def vllm(instance: LayersInstance) -> list[int]:
    """Return vLLM's split."""
    layers, stages = _repeated(instance), len(instance.chain.devices)
    _refuse_more_stages(layers, stages)
    return with_outer(instance, even(layers, stages))


def filled(sizes: Sequence[int], limits: Sequence[int]) -> list[int]:
    """Return how many layers go on each device, one after the other, as long as they fit."""
    counts = [0] * len(limits)
    device, room = 0, limits[0]
    # The largest of each layer and those behind it, for which the first device keeps room.
    reserve = list(itertools.accumulate(reversed(sizes), max))[::-1]
    for at, size in enumerate(sizes):
        while size > room - (0 if device else reserve[at]):
            device += 1
            if device == len(limits):
                raise UnsupportedError(
                    f"{len(sizes) - at} of {len(sizes)} layers do not fit on the devices; the tool "
                    "offloads them to the CPU."
                )
            room = limits[device]
        counts[device] += 1
        room -= size
    return counts


def _memory(instance: LayersInstance) -> list[int]:
    return [int(instance.chain.capacity[kind]) for kind in instance.chain.devices]


@_reporting
def accelerate_sequential(instance: LayersInstance) -> list[int]:
    """Return the split of device_map='sequential'."""
    return filled(instance.chain.sizes.tolist(), _memory(instance))


def balanced_limits(instance: LayersInstance, low_zero: bool) -> list[int]:
    """Return how much accelerate puts on each device at most."""
    free, sizes = _memory(instance), instance.chain.sizes.tolist()
    count, total = len(free), sum(sizes)
    if count == 1:
        return [free[0] * 9 // 10]
    before, behind = instance.chain.outer
    repeated = sizes[before : len(sizes) - behind] or sizes
    share = total // (count - 1 if low_zero else count) + BUFFER[0] * max(repeated) // BUFFER[1]
    limits = [min(share, one) for one in free[:-1]] + free[-1:]
    if low_zero:
        limits[0] = min(free[0], max(0, total - sum(limits[1:])))
    return limits


@_reporting
def accelerate_balanced(instance: LayersInstance) -> list[int]:
    """Return the split of device_map='auto' and 'balanced'."""
    return filled(instance.chain.sizes.tolist(), balanced_limits(instance, low_zero=False))


@_reporting
def accelerate_balanced_low_0(instance: LayersInstance) -> list[int]:
    """Return the split of device_map='balanced_low_0'."""
    return filled(instance.chain.sizes.tolist(), balanced_limits(instance, low_zero=True))


@_reporting
def llama_cpp(instance: LayersInstance) -> list[int]:
    """Return the split by free memory."""
    before, behind = instance.chain.outer
    layers = instance.chain.layers - before - max(1, behind)
    if layers < 0:
        raise UnsupportedError("there is no layer besides the output; the tool expects some.")
    counts = counts_by_shares(layers, _memory(instance), instance.chain.origin.predicting)
    counts[min(at for at, count in enumerate(counts) if count)] += before
    counts[max(at for at, count in enumerate(counts) if count)] += max(0, behind - 1)
    return counts


def equal(layers: int, stages: int) -> list[int]:
    """Return equal counts."""
    if layers % stages or layers == 0:
        raise UnsupportedError(
            f"{layers} layers do not divide by {stages} stages, as the tool asks."
        )
    return [layers // stages] * stages


@_reporting
def megatron_uniform(instance: LayersInstance) -> list[int]:
    """Return equal counts, with embedding and loss on the first and the last stage."""
    counts = equal(_repeated(instance), len(instance.chain.devices))
    return with_outer(instance, counts)


@_reporting
def megatron_outer(instance: LayersInstance) -> list[int]:
    """Return equal counts of all layers, embedding and loss among them."""
    # Layers that predict further words do not count, and are with the loss.
    predicting = max(0, instance.chain.outer[1] - 1)
    counts = equal(instance.chain.layers - predicting, len(instance.chain.devices))
    counts[-1] += predicting
    return counts


@_reporting_virtual
def megatron_interleaved(instance: LayersInstance) -> list[int]:
    """Return equal counts in all virtual stages, with embedding and loss in first and last one."""
    parts = instance.virtual_stages * len(instance.chain.devices)
    return with_outer(instance, equal(_repeated(instance), parts))


def uniform_counts(layers: int, stages: int) -> list[int]:
    """Return equal counts; the first ones are larger by one if there is a remainder."""
    return [layers // stages + (at < layers % stages) for at in range(stages)]


@_reporting
def uniform(instance: LayersInstance) -> list[int]:
    """Return DeepSpeed's partition_method='uniform'."""
    return uniform_counts(instance.chain.layers, len(instance.chain.devices))


def balanced_counts(sizes: Sequence[int], stages: int) -> list[int]:
    """Return DeepSpeed's counts, by its recurrence: of largest less smallest sum, the last least.

    A state keeps one split of the layers before, so that it may miss the least difference.
    """
    n = len(sizes)
    if n <= stages:
        return uniform_counts(n, stages)
    sums = np.cumsum([0, *sizes])
    largest, smallest = np.full((n + 1, stages + 1), -1), np.full((n + 1, stages + 1), sums[-1] + 1)
    largest[0, 0], before = 0, np.zeros((n + 1, stages + 1), int)
    for end, stage in itertools.product(range(1, n + 1), range(1, stages + 1)):
        if stage > end:
            continue
        first = slice(stage - 1, end if stage > 1 else 1)
        last = sums[end] - sums[first]
        high = np.maximum(largest[first, stage - 1], last)
        low = np.minimum(smallest[first, stage - 1], last)
        at = len(last) - 1 - int(np.argmin((high - low)[::-1]))
        largest[end, stage], smallest[end, stage] = high[at], low[at]
        before[end, stage] = first.start + at
    ends = [n]
    for stage in range(stages, 0, -1):
        ends.append(int(before[ends[-1], stage]))
    return [b - a for a, b in itertools.pairwise(ends[::-1])]


@_reporting
def parameters(instance: LayersInstance) -> list[int]:
    """Return DeepSpeed's partition_method='parameters', which is its default."""
    return balanced_counts(instance.chain.sizes.tolist(), len(instance.chain.devices))


@_reporting
def torchtitan(instance: LayersInstance) -> list[int]:
    """Return torchtitan's split, one stage per device."""
    return weighted(instance, len(instance.chain.devices))


@_reporting_virtual
def torchtitan_interleaved(instance: LayersInstance) -> list[int]:
    """Return torchtitan's split for looped schedules."""
    return weighted(instance, instance.virtual_stages * len(instance.chain.devices))


def weighted(instance: LayersInstance, stages: int) -> list[int]:
    """Return torchtitan's counts, for which embedding and output are a layer each."""
    layers = _repeated(instance)
    effective = layers + 2
    if stages > effective:
        raise UnsupportedError(f"{stages} stages are more than the {effective} layers that count.")
    if stages == 1:
        return [instance.chain.layers]
    counts = uniform_counts(effective, stages)
    counts[0] -= 1
    counts[-1] -= 1
    # As there, layers are handed out in turn until there are none.
    left = layers
    for at, count in enumerate(counts):
        counts[at] = min(count, left)
        left -= counts[at]
    before, behind = instance.chain.outer
    counts[0] += before
    counts[-1] += behind
    return counts
