"""Choose configurations of `boundmark plan` by rules of thumb, as people do.

Each rule is an order of preference; the first configuration in it in which an even cut of the
layers fits is reported. All take no expert parallelism, as many micro-batches as stages where these
go round, and run layers again in training only if nothing fits otherwise. Sources:

vLLM
    docs/serving/parallelism_scaling.md: tensor parallelism over all devices of a host, pipeline
    parallelism over hosts.
Megatron-LM
    [MEGATRON21], takeaways 1 and 2: tensor parallelism up to the devices of a host, then as few
    stages as fit, then replicas.
replicas
    Answers to users of vLLM (issues 367, 1435, 6938): as many replicas as fit, each with tensor
    parallelism.
"""

from collections.abc import Callable
from functools import wraps
from typing import Any

from boundmark.heuristics.layers.defaults import even
from boundmark.problems.arrays import frozen
from boundmark.problems.errors import InvalidInputError, UnsupportedError
from boundmark.problems.layers import LayerAssignment, LayersInstance, Question
from boundmark.problems.layers.model import TRAINING
from boundmark.problems.method import Budget, Progress

# Devices that split layers, and replicas.
Rule = Callable[[int, int], tuple[int, int]]


def _reporting(rule: Rule) -> Callable[..., None]:
    """Return the method that reports the first configuration, by a rule, that an even cut fits."""

    @wraps(rule)
    def run(
        instance: LayersInstance | Question,
        budget: Budget,
        seed: int,
        progress: Progress,
        **params: Any,
    ) -> None:
        if not isinstance(instance, Question):
            raise UnsupportedError(
                "devices are divided already; the rule expects a question of `boundmark plan`."
            )
        is_training = instance.table["goal"] == TRAINING

        def preference(name: tuple[int, ...]) -> tuple[int, ...]:
            tensor, replicas, experts, count, batch, again = name
            # Small micro-batches fill a pipeline; caches are for as many sequences as fit.
            waits = batch if is_training else abs(count - instance.split(name).stages)
            return *rule(tensor, replicas), experts, again, waits, -batch

        for name in sorted(instance.configurations, key=preference):
            if budget.is_spent():
                return
            if instance.configurations[name].fields is None:
                continue
            try:
                solution = _evenly(instance, name)
                instance.objective(solution)
            except InvalidInputError:
                continue
            progress.solution(solution)
            return
        raise UnsupportedError("no configuration with an even cut fits into the memory.")

    return run


def _evenly(instance: Question, name: tuple[int, ...]) -> LayerAssignment:
    """Return equal counts of layers on all groups, where layers that are joined count as one."""
    joined = set(instance.table["joined"])
    groups, units = instance.split(name).stages, instance.layers - len(joined)
    counts = even(units, groups)
    of_unit = [group for group, count in enumerate(counts) for _ in range(count)]
    devices, unit = [], -1
    for layer in range(instance.layers):
        unit += layer not in joined
        devices.append(of_unit[unit])
    return LayerAssignment(frozen(devices), name)


@_reporting
def tensor_then_stages(tensor: int, replicas: int) -> tuple[int, int]:
    """Prefer tensor parallelism over a host, then few replicas."""
    return -tensor, replicas


@_reporting
def tensor_then_replicas(tensor: int, replicas: int) -> tuple[int, int]:
    """Prefer tensor parallelism over a host, then many replicas."""
    return -tensor, -replicas


@_reporting
def replicas_then_tensor(tensor: int, replicas: int) -> tuple[int, int]:
    """Prefer many replicas, then tensor parallelism in each."""
    return -replicas, -tensor
