"""`cells`: large image classifiers made of repeated cells, with costs that look measured.

The graphs are those of published networks, operator by operator: wide enough to have far too many
down-sets to list, and long. Costs are drawn, with a seed; so numbers on these graphs are about
methods and not about the networks.

A profiler finds an operator's time near what a roofline predicts, off by a factor that hardly
changes among operators of one type and shape, plus a little noise. Both are drawn here.

Members are called ``NETWORK-SEED``, e.g. ``nasnet-mobile-1``.

The operators of the networks come with the package. Inception-v3 ([INCEPTION16], Table 1, Figures
5 to 7 and 10) has the numbers of filters of the published implementations, which the paper does not
give, and no auxiliary classifier. NASNet-A is as in [NASNET18], Figures 2 (right) and 4.
"""

import gzip
import hashlib
import json
import math
import random
import re
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from statistics import NormalDist
from typing import NamedTuple

from boundmark.problems.arrays import frozen
from boundmark.problems.dag import Dag
from boundmark.problems.dataset import Dataset
from boundmark.problems.errors import UnknownNameError, find
from boundmark.problems.pipeline.graph import PipelineGraph

_FILE = files("boundmark.datasets.pipeline") / "data" / "cells.json.gz"


class Operator(NamedTuple):
    """An operator, with its arithmetic for one input of the network, batch size 1.

    Attributes
    ----------
    producers
        Numbers of the operators that it reads from.
    flops
        Arithmetic operations; a multiply-add counts as two.
    read_bytes, written_bytes, param_bytes
        Bytes of its inputs, of its output, and of its parameters.
    """

    op_type: str
    producers: Sequence[int]
    flops: int
    read_bytes: int
    written_bytes: int
    param_bytes: int


NETWORKS = ("inception-v3", "nasnet-small", "nasnet-mobile", "nasnet-large")


@cache
def networks() -> Mapping[str, Sequence[Operator]]:
    """Return the operators of each network, in a topological order."""
    stored = json.loads(gzip.decompress(_FILE.read_bytes()))
    return {name: tuple(Operator(*row) for row in stored[name]) for name in NETWORKS}


# Seeds that `members` lists; any other seed loads as well.
LISTED_SEEDS = range(1, 4)

# A seed has one spelling, so that an instance has one name.
_MEMBER = re.compile(r"(?P<network>.+)-(?P<seed>0|[1-9][0-9]*)", re.ASCII)


def members() -> tuple[str, ...]:
    """Return the names with the listed seeds."""
    return tuple(f"{network}-{seed}" for network in NETWORKS for seed in LISTED_SEEDS)


def load(member: str) -> PipelineGraph:
    """Draw the costs of a network.

    Raises
    ------
    UnknownNameError
        If the name has another form, or there is no such network.
    """
    parsed = _MEMBER.fullmatch(member)
    if parsed is None:
        raise UnknownNameError(
            f"there is no graph {member!r} in cells; expected NETWORK-SEED, e.g. nasnet-mobile-1."
        )
    return measured(find("network of cells", parsed["network"], networks()), f"cells/{member}")


# Operations and bytes a nanosecond, of the kind of an inference accelerator with 8 TFLOPS and
# 320 GB/s, behind a link of 12 GB/s; and nanoseconds to start an operator.
FLOPS_RATE = 8000
MEMORY_RATE = 320
LINK_RATE = 12
START = 5000

# Standard deviations of logarithms: what operators of one type and shape have in common, and what
# is each one's own.
KIND_DEVIATION = 0.3
OWN_DEVIATION = 0.05


def measured(operators: Sequence[Operator], name: str) -> PipelineGraph:
    """Return a graph with work and transfer times in nanoseconds; all parameters fit."""
    rng = random.Random(int.from_bytes(hashlib.sha256(name.encode()).digest()))
    factors: dict[tuple[str, int, int, int], float] = {}
    work = []
    for operator in operators:
        shape = (operator.op_type, operator.flops, operator.read_bytes, operator.written_bytes)
        if shape not in factors:
            factors[shape] = _factor(KIND_DEVIATION, rng)
        moved = operator.read_bytes + operator.written_bytes + operator.param_bytes
        roofline = max(operator.flops / FLOPS_RATE, moved / MEMORY_RATE)
        work.append(round((START + roofline) * factors[shape] * _factor(OWN_DEVIATION, rng)))
    edges = [
        (producer, node)
        for node, operator in enumerate(operators)
        for producer in operator.producers
    ]
    sizes = [operator.written_bytes for operator in operators]
    return PipelineGraph.without_parameters(
        Dag.from_edges(len(work), edges),
        frozen(work),
        frozen([round(size / LINK_RATE) for size in sizes]),
        tuple(f"{operator.op_type}_{node}" for node, operator in enumerate(operators)),
        tick="ns",
    )


def _factor(deviation: float, rng: random.Random) -> float:
    return math.exp(deviation * NormalDist().inv_cdf(max(rng.random(), 2.0**-60)))


DATASET = Dataset(
    name="cells",
    source=PipelineGraph,
    summary=(
        "NASNet-A (Zoph et al., CVPR 2018) and Inception-v3 (Szegedy et al., CVPR 2016), "
        "308 to 1,235 operators, with random costs; any seed works."
    ),
    members=members,
    load=load,
)
