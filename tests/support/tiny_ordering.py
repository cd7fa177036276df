"""Tiny instances of `ordering`."""

import itertools
import random
from collections.abc import Iterator, Sequence

import brute_force
from brute_force import KINDS_OF_COSTS
from brute_force_ordering import instance, optimum
from hypothesis import strategies as st
from large_numbers import multiplied

from boundmark.problems.ordering import OrderingInstance

# Two modules of three branches, the second within a skip connection.
LARGER = instance(
    12,
    [
        (4, -1, [0]), (9, 0, [1, 2, 3, 5]), (3, 1, [4]), (8, 2, [4]), (2, 3, [4]),
        (6, 4, [5]), (7, 5, [6, 7, 8, 11]), (1, 6, [9]), (9, 7, [10]), (5, 8, [10]),
        (4, 9, [11]), (2, 10, [11]), (3, 11, []),
    ],
    kept=[12],
    metric="sum",
)  # fmt: skip


def tiny() -> list[tuple[OrderingInstance, int]]:
    """Return instances and their optimum, by trying all orders."""
    return [(sample, optimum(sample)) for sample in _instances()]


def _instances() -> Iterator[OrderingInstance]:
    """Yield every DAG of up to four operators, and some larger ones, with everything in turn.

    Inputs, results, tensors that nobody reads, operators with several outputs or without any,
    tensors of size 0, overwriting, and all treatments of parameters.
    """
    number = 0
    for nodes in range(1, 5):
        for edges in brute_force.all_dags(nodes):
            yield drawn(nodes, edges, random.Random(number), number)
            number += 1
    for seed in range(60):
        dice = random.Random(seed)
        nodes = dice.randint(5, 6)
        edges = [(u, w) for w in range(nodes) for u in range(w) if dice.random() < 0.35]
        yield drawn(nodes, edges, dice, number)
        number += 1


@st.composite
def random_instances(draw: st.DrawFn) -> OrderingInstance:
    """Return random instances for `optimum`, some with equal tensors or many of no size."""
    nodes, dice = draw(st.integers(1, 6)), draw(st.randoms())
    pairs = list(itertools.combinations(range(nodes), 2))
    edges = draw(st.lists(st.sampled_from(pairs), unique=True)) if pairs else []
    sizes = draw(st.sampled_from(KINDS_OF_COSTS))
    return drawn(nodes, edges, dice, draw(st.integers(0, 15)), sizes)


def drawn(
    nodes: int,
    edges: list[tuple[int, int]],
    dice: random.Random,
    number: int,
    sizes: Sequence[int] = range(10),
) -> OrderingInstance:
    """Return a random instance of a graph; the number says which options it has."""
    tensors = []
    for u in range(nodes):
        readers = [w for v, w in edges if v == u]
        if readers and dice.random() < 0.3:
            # A second output, for some of the readers.
            tensors.append((dice.choice(sizes), u, dice.sample(readers, 1)))
        if readers or dice.random() < 0.5:
            tensors.append((dice.choice(sizes), u, readers))
    sources = [v for v in range(nodes) if not any(w == v for _, w in edges)]
    tensors += [(dice.choice(sizes), -1, [v]) for v in sources if dice.random() < 0.6]
    return instance(
        nodes,
        tensors,
        kept=[t for t in range(len(tensors)) if dice.random() < 0.15],
        parameters=[dice.randint(0, 5) for _ in range(nodes)],
        metric=("peak", "sum")[number % 2],
        in_place=("no", "yes")[number // 2 % 2],
        weights=("none", "none", "streamed", "resident")[number // 4 % 4],
    )


def scaled(sample: OrderingInstance, best: int, factor: int) -> tuple[OrderingInstance, int]:
    """Return an instance with all bytes multiplied, and its optimum."""
    sizes = ("size", "parameter_size", "parameter_total")
    document = multiplied(sample.to_json(), sizes, factor)
    return OrderingInstance.from_json(document), best * factor
