"""`regal-style`: seeded random graphs in the style of the synthetic ones of REGAL.

REGAL ([REGAL20], Appendix A.1.4) turns classic random graphs into computation graphs, and [MTPP24],
Appendix C.2, describes them again. Neither gives everything that is needed to repeat the published
set, and the published set was filtered besides: hence only its style.

Members are called ``FAMILY-SEED``, ``FAMILY-SEED-plain`` and ``FAMILY-SEED-sparse``, e.g.
``erdos-renyi-7``. All three have the same nodes and tensor sizes. The first two have the same edges
and differ in the costs of nodes; the third has the costs of the second and only some of its edges.

Everything is drawn with `random.Random.random`, the only sampler whose sequence Python promises to
keep. networkx and numpy may change theirs, and then an instance would change its identity with the
version of a library.
"""

import hashlib
import itertools
import random
import re
from collections.abc import Callable, Iterator, Mapping
from statistics import NormalDist

from boundmark.problems.arrays import frozen
from boundmark.problems.dag import Dag
from boundmark.problems.dataset import Dataset
from boundmark.problems.errors import UnknownNameError, find
from boundmark.problems.pipeline.graph import PipelineGraph

SMALLEST, LARGEST = 50, 200
SIZE_MEAN, SIZE_DEVIATION = 50.0, 10.0
FRACTION_DEVIATION = 0.1

# Edges per node of sparse graphs, in expectation: with these, the simple bound is about as far from
# the best partitions as on the published graphs ([MTPP24], Table 3).
FEWEST_EDGES, MOST_EDGES = 0.75, 1.0

# Seeds that `members` lists; any other seed loads as well.
LISTED_SEEDS = range(1, 26)

Edges = Iterator[tuple[int, int]]


def _below(limit: int, rng: random.Random) -> int:
    """Draw an integer from ``0 .. limit - 1``."""
    return int(rng.random() * limit)


def _standard_normal(rng: random.Random) -> float:
    """Draw from N(0, 1) by inversion, which is undefined at 0."""
    return NormalDist().inv_cdf(max(rng.random(), 2.0**-60))


def _erdos_renyi(nodes: int, rng: random.Random) -> Edges:
    """Join each pair with probability 0.05."""
    return (pair for pair in itertools.combinations(range(nodes), 2) if rng.random() < 0.05)


def _barabasi_albert(nodes: int, rng: random.Random) -> Edges:
    """Join each new node to 2 others, drawn in proportion to their degrees; start with a path."""
    ends = [0, 1, 1, 2]
    yield from ((0, 1), (1, 2))
    for node in range(3, nodes):
        first = second = ends[_below(len(ends), rng)]
        while second == first:
            second = ends[_below(len(ends), rng)]
        yield from ((first, node), (second, node))
        ends += (first, node, second, node)


def _watts_strogatz(nodes: int, rng: random.Random) -> Edges:
    """Join each node to 4 neighbours on a ring; then move an end of each edge with chance 0.3."""
    around = [{(v + step) % nodes for step in (-2, -1, 1, 2)} for v in range(nodes)]
    for step in (1, 2):
        for node in range(nodes):
            if rng.random() >= 0.3:
                continue
            old, new = (node + step) % nodes, node
            while new == node or new in around[node]:
                new = _below(nodes, rng)
            around[node].remove(old)
            around[old].remove(node)
            around[node].add(new)
            around[new].add(node)
    return ((u, v) for u in range(nodes) for v in sorted(around[u]) if u < v)


def _stochastic_block(nodes: int, rng: random.Random) -> Edges:
    """Join pairs within one of 4 equal groups with probability 0.3, other pairs with 0.01."""
    for u, v in itertools.combinations(range(nodes), 2):
        if rng.random() < (0.3 if 4 * u // nodes == 4 * v // nodes else 0.01):
            yield u, v


FAMILIES: Mapping[str, Callable[[int, random.Random], Edges]] = {
    "erdos-renyi": _erdos_renyi,
    "barabasi-albert": _barabasi_albert,
    "watts-strogatz": _watts_strogatz,
    "stochastic-block": _stochastic_block,
}

# A seed has one spelling, so that an instance has one name.
_MEMBER = re.compile(r"(?P<family>.+)-(?P<seed>0|[1-9][0-9]*)(?P<kind>-plain|-sparse)?", re.ASCII)


def members() -> tuple[str, ...]:
    """Return the names with the listed seeds."""
    return tuple(
        f"{family}-{seed}{kind}"
        for kind in ("", "-plain", "-sparse")
        for family in FAMILIES
        for seed in LISTED_SEEDS
    )


def load(member: str) -> PipelineGraph:
    """Generate a graph; nodes are numbered in a topological order.

    The numbers of nodes are uniform on 50 .. 200. A random order of the nodes orients the edges.
    Tensor sizes are N(50, 10), rounded, at least 1, and a tensor takes as many ticks to transfer.
    A node's cost is the sum of its input tensors and its own output tensor plus ``|r|`` times the
    sum of all tensors, rounded, with r from N(0, 0.1) for each node. The paper says r where we say
    ``|r|``, but r is as often negative as positive and then so is the cost. Plain costs are
    distributed like tensor sizes. A sparse graph keeps each edge of the plain one with the same
    chance, so that 0.75 to 1 edges per node are left in expectation, drawn uniformly.

    Nodes without edges can occur, as in the families themselves. A node without consumers has an
    output of some size too, which counts in its own cost and is never transferred.

    Raises
    ------
    UnknownNameError
        If the name has another form, or there is no such family.
    """
    parsed = _MEMBER.fullmatch(member)
    if parsed is None:
        raise UnknownNameError(
            f"there is no graph {member!r} in regal-style; expected FAMILY-SEED, FAMILY-SEED-plain "
            "or FAMILY-SEED-sparse, e.g. erdos-renyi-7."
        )
    family, seed, kind = parsed.groups()
    sample = find("family of regal-style", family, FAMILIES)
    digest = hashlib.sha256(f"regal-style/{family}-{seed}".encode()).digest()
    rng = random.Random(int.from_bytes(digest))

    nodes = SMALLEST + _below(LARGEST - SMALLEST + 1, rng)
    pairs = list(sample(nodes, rng))
    draws = [rng.random() for _ in range(nodes)]
    position = {v: p for p, v in enumerate(sorted(range(nodes), key=draws.__getitem__))}
    edges = [sorted((position[u], position[v])) for u, v in pairs]
    sizes = [_size(rng) for _ in range(nodes)]
    work = [_size(rng) for _ in range(nodes)] if kind else _memory_bound_work(edges, sizes, rng)
    if kind == "-sparse":
        wanted = nodes * (FEWEST_EDGES + (MOST_EDGES - FEWEST_EDGES) * rng.random())
        edges = [edge for edge in edges if rng.random() * len(edges) < wanted]
    dag = Dag.from_edges(nodes, ((tail, head) for tail, head in edges))
    names = tuple(str(v) for v in range(nodes))
    return PipelineGraph.without_parameters(dag, frozen(work), frozen(sizes), names)


def _size(rng: random.Random) -> int:
    return max(1, round(SIZE_MEAN + SIZE_DEVIATION * _standard_normal(rng)))


def _memory_bound_work(edges: list[list[int]], sizes: list[int], rng: random.Random) -> list[int]:
    total = sum(sizes)
    inputs = [0] * len(sizes)
    for tail, head in edges:
        inputs[head] += sizes[tail]
    return [
        size + read + round(abs(FRACTION_DEVIATION * _standard_normal(rng)) * total)
        for size, read in zip(sizes, inputs, strict=True)
    ]


DATASET = Dataset(
    name="regal-style",
    source=PipelineGraph,
    summary=(
        "Random graphs of 50 to 200 nodes in the style of REGAL's synthetic set "
        "([REGAL20]; [MTPP24], Appendix C.2); any seed works."
    ),
    members=members,
    load=load,
)
