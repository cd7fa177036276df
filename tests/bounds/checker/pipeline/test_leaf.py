"""What the checker adds up at a leaf, against the rows as `leaf.add_up` states them."""

import itertools
import random
from collections import defaultdict
from typing import Any

import pytest
from selection import each_seed

from boundmark.bounds import checker
from boundmark.bounds.checker.pipeline.instance import Instance
from boundmark.bounds.checker.pipeline.leaf import TREE_ROWS, Program, WeighedRow, add_up
from boundmark.bounds.checker.pipeline.limits import TREE_SHARE_UNITS

UNIT = TREE_SHARE_UNITS
GRAPH = Instance(3, [3, 1, 2], [2, 5, 4], [2, 0, 3], 2, [(0, 1), (0, 2), (1, 2)])
NODES, EDGES = range(3), range(3)
BLOCKS = 3

Rows = dict[str, dict[int, int]]


def leaf_of(rows: Rows) -> dict[str, Any]:
    """Return multipliers as certificates have them."""
    return {
        name: list(itertools.chain.from_iterable(rows.get(name, {}).items()))
        for name in (*TREE_ROWS, "extra")
    }


def least(
    program: Program, shares: list[int], extra: list[WeighedRow], rows: Rows, y: dict[Any, int]
) -> int:
    """Return what the rows prove of total z where the columns y are given, in units."""

    def inside(v: int, b: int) -> int:
        return y[v, b] - (y[v, b - 1] if b else 0)

    def factor(name: str, row: int) -> int:
        return rows.get(name, {}).get(row, 0) * (1 if name in ("share", "extra") else UNIT)

    proved = 0
    # Of c(u, b), d(u, b) and o(b), which are in no other row, the best value counts.
    c: dict[tuple[int, int], int] = defaultdict(int)
    d: dict[tuple[int, int], int] = defaultdict(int)
    for b, stages in enumerate(program.merged):
        work, load, part = (
            sum(amount * inside(v, b) for v, amount in enumerate(amounts))
            for amounts in (GRAPH.work, GRAPH.param_load, shares)
        )
        proved += factor("cost", b) * work
        proved += factor("share", b) * (part - stages * UNIT)
        proved += factor("overflow", b) * (load - stages * GRAPH.cache)
        most_overflow = sum(GRAPH.param_load)
        proved += min(0, (factor("cost", b) - factor("overflow", b)) * most_overflow)
        for u in NODES:
            c[u, b] += factor("cost", b) * GRAPH.transfer[u]
            d[u, b] += factor("cost", b) * GRAPH.transfer[u]
        for e, (u, w) in enumerate(GRAPH.edges):
            row = e * BLOCKS + b
            proved += factor("enters", row) * (inside(w, b) - inside(u, b))
            proved += factor("leaves", row) * (inside(u, b) - inside(w, b))
            proved += factor("edge", row) * (y[w, b] - y[u, b])
            c[u, b] -= factor("enters", row)
            d[u, b] -= factor("leaves", row)
        for v in NODES:
            # Behind the last superblock there is nothing more.
            proved += factor("later", v * BLOCKS + b) * (y[v, b] - y.get((v, b + 1), y[v, b]))
    for number, row in enumerate(extra):
        held = sum(
            sign * sum(w * y[v, b] for v, w in enumerate(row.weights)) for b, sign in row.prefixes
        )
        proved += factor("extra", number) * (row.least - held)
    return proved + sum(min(0, amount) for amount in (*c.values(), *d.values()))


def boxes(program: Program) -> list[dict[Any, int]]:
    """Return all values of the columns y that the windows leave."""
    first, last = program.windows
    pairs = [(v, b) for v in NODES for b in range(BLOCKS)]
    choices = [[1] if b >= last[v] else [0] if b < first[v] else [0, 1] for v, b in pairs]
    return [dict(zip(pairs, values, strict=True)) for values in itertools.product(*choices)]


@each_seed(range(40))
def test_rows_are_those_that_are_stated(seed: int) -> None:
    """For any multipliers, what is proved is the least over all columns that windows leave."""
    dice = random.Random(seed)
    windows = [sorted(dice.choices(range(BLOCKS), k=2)) for _ in NODES]
    first, last = [low for low, _ in windows], [high for _, high in windows]
    program = Program([dice.choice([1, 1, 2]) for _ in range(BLOCKS)], (first, last))
    shares = [dice.randrange(UNIT) for _ in NODES]
    extra = [WeighedRow([2, 1, 5], ((1, 1), (0, -1)), 4), WeighedRow([1, 3, 0], ((2, -1),), -3)]
    sizes = dict.fromkeys(("cost", "share", "overflow"), BLOCKS)
    sizes |= dict.fromkeys(("enters", "leaves", "edge", "later"), 3 * BLOCKS) | {"extra": 2}
    rows: Rows = {
        name: {row: dice.randrange(1, 9) for row in range(size) if dice.random() < seed / 40 + 0.1}
        for name, size in sizes.items()
    }
    found = add_up(GRAPH, program, shares, {"extra": extra}, leaf_of(rows))
    total = sum(UNIT * rows["cost"].get(b, 0) * m for b, m in enumerate(program.merged))
    expected = min(least(program, shares, extra, rows, y) for y in boxes(program))
    assert found == (total, expected)


def test_tensors_pay_for_each_way() -> None:
    """Entering and leaving have a column each: neither takes from what the other is limited to."""
    program = Program([1, 1, 1], ([0, 0, 2], [0, 2, 2]))
    cost = {"cost": {1: 1}}
    one_way = {name: {1: GRAPH.transfer[0]} for name in ("enters", "leaves")}
    proved = []
    for rows in ({}, *({name: one_way[name]} for name in one_way), one_way):
        found = add_up(GRAPH, program, [0] * 3, {"extra": []}, leaf_of(cost | rows))
        assert found is not None
        assert found[0] == UNIT
        expected = min(least(program, [0] * 3, [], cost | rows, y) for y in boxes(program))
        assert found[1] == expected
        proved.append(found[1])
    # Both rows of one edge together say that 0 >= 0, and cost nothing.
    assert proved[3] == proved[0]


@pytest.mark.parametrize("name", TREE_ROWS)
def test_each_row_alone(name: str) -> None:
    """At every partition, each row proves what it says, and no more."""
    size = BLOCKS if name in ("cost", "share", "overflow") else 3 * BLOCKS
    shares = [UNIT, UNIT // 2, 0]
    for stages in itertools.product(range(BLOCKS), repeat=3):
        program = Program([1, 2, 1], (list(stages), list(stages)))
        for row in range(size):
            rows: Rows = {name: {row: 1}}
            found = add_up(GRAPH, program, shares, {"extra": []}, leaf_of(rows))
            (y,) = boxes(program)
            expected = least(program, shares, [], rows, y)
            assert found == (UNIT * program.merged[row] if name == "cost" else 0, expected)


def test_repeated_rows_add_up() -> None:
    """A row may be named twice."""
    program = Program([1, 1, 1], ([0, 1, 2], [0, 1, 2]))
    twice = {**leaf_of({}), "cost": [1, 2, 1, 3]}
    once = {**leaf_of({}), "cost": [1, 5]}
    found = add_up(GRAPH, program, [0] * 3, {"extra": []}, twice)
    assert found == add_up(GRAPH, program, [0] * 3, {"extra": []}, once) == (5 * UNIT, 5 * UNIT)


def test_an_empty_window_is_an_empty_leaf() -> None:
    """Nothing is left if one node has no superblock, and something is if all have one."""
    empty = leaf_of({})
    program = Program([1] * 3, ([0, 0, 2], [0, 0, 1]))
    assert add_up(GRAPH, program, [0] * 3, {"extra": []}, empty) is None
    program = Program([1] * 3, ([0, 0, 1], [0, 0, 1]))
    assert add_up(GRAPH, program, [0] * 3, {"extra": []}, empty) == (0, 0)


@pytest.mark.parametrize(
    ("name", "row"),
    [*((name, 3) for name in TREE_ROWS[:3]), *((name, 9) for name in TREE_ROWS[3:])],
)
def test_rows_that_there_are_not(name: str, row: int) -> None:
    """The first number behind the last row, and a row without a multiplier, are rejected."""
    program = Program([1, 1, 1], ([0, 1, 2], [0, 1, 2]))
    for values in ([row, 1], [row - 1]):
        with pytest.raises(checker.Rejected, match="not a list of rows and multipliers"):
            add_up(GRAPH, program, [0] * 3, {"extra": []}, {**leaf_of({}), name: values})
    assert add_up(GRAPH, program, [0] * 3, {"extra": []}, {**leaf_of({}), name: [row - 1, 1]})
