"""Stages of whole layers on groups of GPUs, as Piper plans them ([PIPER21]).

A stage has layers that follow one another. Its GPUs split each layer (tensor parallelism), or take
turns with micro-batches (data parallelism), or both. Piper minimises the time that the slowest
stage takes for a micro-batch, where 1F1B keeps one micro-batch in flight for each replica of a
stage and of those behind it. Its dynamic program is over down-sets of a graph; those of a chain are
its prefixes. What it also has, a choice of recomputation and transfers in a stage's time, is left
out: [TESSEL24] recomputes every layer, and transfers run beside blocks here.
"""

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from boundmark.problems.errors import InvalidInputError

# Stages whose times differ by less take equally long.
ROUNDING = 1e-12


@dataclass(frozen=True)
class Degrees:
    """Degrees of parallelism in a stage: `tensor` GPUs split a layer in each replica."""

    tensor: int = 1
    replicas: int = 1

    @property
    def gpus(self) -> int:
        """The GPUs of the stage."""
        return self.tensor * self.replicas


@dataclass(frozen=True)
class LayerCosts:
    """Times and bytes of each layer under some degrees of parallelism.

    Attributes
    ----------
    seconds
        Time of the stage for a micro-batch, so that replicas, which take turns, divide it.
    held, kept
        Bytes on each GPU, for good and for each micro-batch in flight.
    """

    seconds: Sequence[float]
    held: Sequence[float]
    kept: Sequence[float]


@dataclass(frozen=True)
class PlannedStage:
    """Layers `start` to `end` - 1 on GPUs with some degrees."""

    start: int
    end: int
    degrees: Degrees


def plan(
    first: Mapping[Degrees, LayerCosts], others: Mapping[Degrees, LayerCosts], gpus: int,
    memory: float, *, in_flight: int = 0, is_all: bool = False,
) -> list[PlannedStage]:  # fmt: skip
    """Return the stages whose slowest is quickest.

    Of equals, they have the fewest GPUs and then the most replicas; and each stage has the degrees
    that are given first, and with them as many layers as it can have.
    """
    layers = len(next(iter(first.values())).seconds)
    sums = {
        (is_first, degrees): [np.cumsum([0.0, *column]) for column in _columns(costs)]
        for is_first, given in ((True, first), (False, others))
        for degrees, costs in given.items()
    }

    def stage(i: int, end: int, degrees: Degrees) -> tuple[float, int]:
        """Return a stage's time, and for how many replicas of it and behind it memory lasts."""
        seconds, held, kept = (float(c[end] - c[i]) for c in sums[i == 0, degrees])
        left = memory - held
        if in_flight or kept <= 0:
            return seconds, gpus if left >= in_flight * kept else 0
        return seconds, min(gpus, math.floor(left / kept) * degrees.replicas) if left > 0 else 0

    # By first layer, GPUs and replicas of the stages from there on: the time of the slowest.
    best = np.full((layers + 1, gpus + 1, gpus + 1), np.inf)
    best[layers, 0, 0] = 0.0
    for i in reversed(range(layers)):
        for degrees in first if i == 0 else others:
            if degrees.gpus > gpus:
                continue
            used, replicas = degrees.gpus, degrees.replicas
            for end in range(i + 1, layers + 1):
                seconds, most = stage(i, end, degrees)
                if most < replicas:
                    break
                rest = best[end, : gpus + 1 - used, : most + 1 - replicas]
                here = best[i, used:, replicas : most + 1]
                np.minimum(here, np.maximum(rest, seconds), out=here)
    totals = best[0, gpus:] if is_all else best[0]
    slowest = float(totals.min())
    if slowest == np.inf:
        raise InvalidInputError(
            f"no stages of {layers} layers fit on {gpus} GPUs; expected smaller weights."
        )
    limit = slowest + ROUNDING
    left = int(np.nonzero((totals <= limit).any(axis=1))[0][0])
    behind = int(np.nonzero(totals[left] <= limit)[0][-1])
    left += gpus if is_all else 0
    stages: list[PlannedStage] = []
    start = 0
    while start < layers:
        ways = first if start == 0 else others
        for degrees, end in itertools.product(ways, range(layers, start, -1)):
            if degrees.gpus > left or degrees.replicas > behind:
                continue
            seconds, most = stage(start, end, degrees)
            rest = best[end, left - degrees.gpus, behind - degrees.replicas]
            if most >= behind and max(seconds, rest) <= limit:
                break
        stages.append(PlannedStage(start, end, degrees))
        start, left, behind = end, left - degrees.gpus, behind - degrees.replicas
    return stages


def _columns(costs: LayerCosts) -> tuple[Sequence[float], ...]:
    return costs.seconds, costs.held, costs.kept
