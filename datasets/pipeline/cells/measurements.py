"""From a network's operators to costs that look measured.

A profiler finds an operator's time near what a roofline predicts, off by a factor that hardly
changes among operators of one type and shape, plus a little noise. Both are drawn here.
"""

import hashlib
import math
import random
from statistics import NormalDist

from boundmark.datasets.pipeline.cells.network import Network
from boundmark.problems.arrays import frozen
from boundmark.problems.dag import Dag
from boundmark.problems.pipeline.graph import PipelineGraph

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


def measured(network: Network, name: str) -> PipelineGraph:
    """Return a graph with work and transfer times in nanoseconds; all parameters fit.

    Parameters
    ----------
    name
        Seeds all draws. As in `regal_style`, they come from `random.Random.random` alone.
    """
    rng = random.Random(int.from_bytes(hashlib.sha256(name.encode()).digest()))
    factors: dict[tuple[str, int, int, int], float] = {}
    work = []
    for operator in network.operators:
        shape = (operator.op_type, operator.flops, operator.read_bytes, operator.written_bytes)
        if shape not in factors:
            factors[shape] = _factor(KIND_DEVIATION, rng)
        moved = operator.read_bytes + operator.written_bytes + operator.param_bytes
        roofline = max(operator.flops / FLOPS_RATE, moved / MEMORY_RATE)
        work.append(round((START + roofline) * factors[shape] * _factor(OWN_DEVIATION, rng)))
    edges = [
        (producer, node)
        for node, operator in enumerate(network.operators)
        for producer in operator.producers
    ]
    sizes = [operator.written_bytes for operator in network.operators]
    return PipelineGraph.without_parameters(
        Dag.from_edges(len(work), edges),
        frozen(work),
        frozen([round(size / LINK_RATE) for size in sizes]),
        tuple(f"{operator.op_type}_{node}" for node, operator in enumerate(network.operators)),
        tick="ns",
    )


def _factor(deviation: float, rng: random.Random) -> float:
    return math.exp(deviation * NormalDist().inv_cdf(max(rng.random(), 2.0**-60)))
