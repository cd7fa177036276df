"""Computes the bound that the multipliers at a leaf of a tree prove."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ..budget import hold, spend
from ..values import LARGEST_AMOUNT, Rejected, fields, integers
from .instance import Instance
from .limits import TREE_SHARE_UNITS
from .windows import Windows

TREE_ROWS = ("cost", "share", "overflow", "enters", "leaves", "edge", "later")

# What one column or row of a leaf takes.
TERM_BYTES = 200


class Program(NamedTuple):
    """Superblocks: how many stages each has at most, and the first and last one of each node."""

    merged: list[int]
    windows: Windows


class WeighedRow(NamedTuple):
    """A row about weights of nodes, in units of 1 / TREE_SHARE_UNITS.

    It says that the sum, over the pairs (b, sign) of `prefixes`, of sign times the weight of what
    is in superblock b or earlier is at least `least`.
    """

    weights: list[int]
    prefixes: tuple[tuple[int, int], ...]
    least: int


def add_up(
    graph: Instance,
    program: Program,
    shares: list[int],
    weighed: Mapping[str, Sequence[WeighedRow]],
    leaf: Any,
) -> tuple[int, int] | None:
    """Return integers `total` and L such that ``total z >= L``; None if there is no partition.

    Adds up the rows, each times its multiplier, to ``total z >= L`` and minimises L over the box of
    all columns: z, the cost of the most expensive stage; y(v, b), whether v is in superblock b or
    earlier; c(u, b) and d(u, b), whether the tensor of u enters superblock b, and whether it leaves
    it; o(b), the overflow of superblock b; with x(v, b) = y(v, b) - y(v, b - 1). Each row holds for
    every partition whose stages, numbered as data flows, cost at most the threshold, and whose
    nodes are in the superblocks from first to last, of merged[b] stages at most:

    cost, b            merged[b] z >= work x(., b) + transfer (c(., b) + d(., b)) + o(b)
    share, b           merged[b] >= shares x(., b), shares being in units of 1 / TREE_SHARE_UNITS
    overflow, b        o(b) >= param_load x(., b) - merged[b] cache
    enters, (u, w), b  c(u, b) >= x(w, b) - x(u, b)
    leaves, (u, w), b  d(u, b) >= x(u, b) - x(w, b)
    edge, (u, w), b    y(u, b) >= y(w, b)
    later, v, b        y(v, b + 1) >= y(v, b)

    There may be more families, of weighed rows.
    """
    leaf = fields(leaf, "a leaf", {*TREE_ROWS, *weighed})
    merged, (first, last) = program
    if any(low > high for low, high in zip(first, last, strict=True)):
        return None
    n, m, k = len(graph.work), len(graph.edges), len(merged)
    sizes = {"cost": k, "share": k, "overflow": k}
    sizes |= {"enters": m * k, "leaves": m * k, "edge": m * k, "later": n * k}
    sizes |= {name: len(rows) for name, rows in weighed.items()}
    rows = {name: _multipliers(leaf[name], name, sizes[name], name in weighed) for name in leaf}
    with_rows = {b for name in ("cost", "overflow", "share") for b in rows[name]}
    sums = 2 * (len(with_rows) + sum(len(rows[name]) for name in weighed))
    terms = n * sums + 4 * sum(map(len, rows.values()))
    spend(terms)
    hold(TERM_BYTES * terms)
    y: dict[tuple[int, int], int] = defaultdict(int)
    tensors: dict[tuple[str, int, int], int] = defaultdict(int)
    constant = total = 0

    def add_prefix(amounts: Sequence[int], b: int, factor: int) -> int:
        """Add a multiple of a sum over y(., b), and return the part that windows fix."""
        fixed = 0
        for v, amount in enumerate(amounts):
            if b >= last[v]:
                fixed += amount
            elif b >= first[v]:
                y[v, b] += factor * amount
        return factor * fixed

    def add_x(v: int, b: int, amount: int) -> None:
        y[v, b] += amount
        y[v, b - 1] -= amount

    for b in with_rows:
        cost, overflow, share = (rows[name].get(b, 0) for name in ("cost", "overflow", "share"))
        total += merged[b] * cost
        constant -= merged[b] * (overflow * graph.cache + share * TREE_SHARE_UNITS)
        constant += min(0, cost - overflow) * sum(graph.param_load)
        amounts = [
            cost * work + overflow * load + share * part
            for work, load, part in zip(graph.work, graph.param_load, shares, strict=True)
        ]
        constant += add_prefix(amounts, b, 1) + (add_prefix(amounts, b - 1, -1) if b else 0)
    for name, found in weighed.items():
        for row, weight in rows[name].items():
            constant += weight * found[row].least
            for b, sign in found[row].prefixes:
                constant += add_prefix(found[row].weights, b, -sign * weight)
    for name, sign in (("enters", 1), ("leaves", -1)):
        for row, amount in rows[name].items():
            (u, w), b = graph.edges[row // k], row % k
            tensors[name, u, b] -= amount
            add_x(w, b, sign * amount)
            add_x(u, b, -sign * amount)
    for row, amount in rows["edge"].items():
        (u, w), b = graph.edges[row // k], row % k
        y[u, b] -= amount
        y[w, b] += amount
    for row, amount in rows["later"].items():
        v, b = row // k, row % k
        y[v, b] += amount
        y[v, min(b + 1, k - 1)] -= amount
    for (v, b), amount in y.items():
        if b >= last[v]:
            constant += amount
        elif b >= first[v]:
            constant += min(0, amount)
    for (_, u, b), amount in tensors.items():
        constant += min(0, amount + rows["cost"].get(b, 0) * graph.transfer[u])
    return total, constant


def _multipliers(values: Any, name: str, rows: int, is_weighed: bool) -> dict[int, int]:
    """Return the multipliers of rows, scaled so that those of shares are integers."""
    scale = 1 if is_weighed or name == "share" else TREE_SHARE_UNITS
    values = integers(values, f"{name} of a leaf", 0, LARGEST_AMOUNT)
    if len(values) % 2 or any(row >= rows for row in values[::2]):
        raise Rejected(f"{name} of a leaf is not a list of rows and multipliers")
    found: dict[int, int] = defaultdict(int)
    for row, amount in zip(values[::2], values[1::2], strict=True):
        found[row] += scale * amount
    return found
