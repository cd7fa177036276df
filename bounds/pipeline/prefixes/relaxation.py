"""The linear relaxation at a threshold: a lower bound on the bottleneck stage's cost.

A superblock is a stage, or stands for merged(b) stages in a row. Columns are y(v, b), 1 if node v
is in superblock b or earlier ([MTPP24], Section 3.1), for the superblocks where the windows leave
it open; c(u, b), 1 if the tensor of u enters or leaves superblock b; o(b), the overflow of
superblock b; s, by how much shares may be too large, at a price; and z, the cost of the bottleneck
stage. With x(v, b) = y(v, b) - y(v, b - 1), all rows are "at least":

    later     y(v, b + 1) - y(v, b) >= 0
    edge      y(u, b) - y(w, b) >= 0                      for an edge (u, w)
    enters    c(u, b) - x(w, b) + x(u, b) >= 0            stronger than the paper's Equation 9
    leaves    c(u, b) - x(u, b) + x(w, b) >= 0            stronger than the paper's Equation 10
    overflow  o(b) - param_load x(., b) >= -merged(b) cache
    share     s - shares x(., b) >= -merged(b)            holds only below the threshold
    cost      merged(b) z - work x(., b) - transfer c(., b) - o(b) >= 0
    at_least  weights y(., b) >= at_least[b]              only if prefixes are weighed
    at_most   -weights y(., b) >= -at_most[b]             the same

Non-negative multipliers of these rows prove a bound on z, optimal ones or not: the checker adds up
the rows and minimises the sum over the box. The column s exists for the solver only: with it, the
program of all stages is always feasible, and multipliers exist.
"""

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from boundmark.bounds.pipeline.prefixes.windows import SHARE_UNITS, Windows
from boundmark.problems.arrays import IntArray
from boundmark.problems.errors import UnsupportedError
from boundmark.problems.pipeline import PipelineInstance
from boundmark.problems.pipeline.graph import PipelineGraph

FloatArray = npt.NDArray[np.float64]

# The families of rows that every leaf of a certificate has, and all families.
TREE_FAMILIES = ("later", "edge", "enters", "leaves", "overflow", "share", "cost")
FAMILIES = (*TREE_FAMILIES, "at_least", "at_most")

# The multipliers of a leaf as certificates store them: by family, rows and multipliers in turn.
Multipliers: TypeAlias = dict[str, list[int]]


def refuse_more_than(largest: int, instance: PipelineInstance) -> None:
    """Raise `UnsupportedError` if an instance has more nodes or stages."""
    found = max(instance.nodes, instance.k)
    if found > largest:
        raise UnsupportedError(
            f"the instance has {found} nodes or stages; expected at most {largest}."
        )


@dataclass(frozen=True, eq=False)
class PrefixWeights:
    """The weight of superblocks 0 to b together, for each b but the last."""

    # Weight of each node, in units of 1 / SHARE_UNITS, shape (n,).
    weights: IntArray
    # at_least, at_most: Bounds in the same unit, shape (K - 1,).
    at_least: IntArray
    at_most: IntArray


@dataclass(frozen=True, eq=False)
class Superblocks:
    """The superblocks of a program."""

    # How many stages each superblock stands for, at most, shape (K,).
    merged: IntArray
    # Whether the program has the rows of a superblock, shape (K,). They hold in any case.
    is_costed: npt.NDArray[np.bool_]
    # If not None, what the superblocks weigh together up to each one.
    prefixes: PrefixWeights | None = None


def single_stages(k: int) -> Superblocks:
    """Return the superblocks of the exact program, a stage each."""
    return Superblocks(np.ones(k, dtype=np.int64), np.ones(k, dtype=np.bool_))


@dataclass(frozen=True, eq=False)
class Relaxation:
    """A linear program ``min z + price s`` in triplets; the last two columns are s and z."""

    # rows, columns, values: The non-zeros.
    rows: IntArray
    columns: IntArray
    values: FloatArray
    # The rows' lower bounds.
    lower: FloatArray
    # The columns' upper bounds; all lower bounds are 0.
    upper: FloatArray
    # family, number: What each row is, as an index into `FAMILIES` and the number by which
    # certificates know it: v K + b, or e K + b for edge e, or b, where K is the number of
    # superblocks.
    family: IntArray
    number: IntArray
    # Column of y(v, b), shape (n, K), or -1 where it is fixed.
    y: IntArray
    # Column of c(u, b), shape (n, K), or -1 where the program does without it.
    c: IntArray


class _Rows:
    """Builder of rows over the terms y(v, b), some of them fixed to 0 or 1."""

    def __init__(self, y: IntArray, windows: Windows) -> None:
        self.y = y
        self.windows = windows
        self.count = 0
        self.parts: list[tuple[IntArray, IntArray, FloatArray]] = []
        self.constants: list[tuple[IntArray, FloatArray]] = []
        self.lower: list[FloatArray] = []
        self.family: list[IntArray] = []
        self.number: list[IntArray] = []

    def new(self, family: str, number: IntArray, lower: npt.ArrayLike = 0.0) -> IntArray:
        rows = np.arange(self.count, self.count + len(number))
        self.count += len(number)
        self.lower.append(np.broadcast_to(np.asarray(lower, float), rows.shape))
        self.family.append(np.full(len(number), FAMILIES.index(family)))
        self.number.append(number)
        return rows

    def add(self, rows: IntArray, columns: IntArray, values: npt.ArrayLike) -> None:
        self.parts.append((rows, columns, np.broadcast_to(np.asarray(values, float), rows.shape)))

    def add_y(self, rows: IntArray, v: IntArray, b: IntArray, values: npt.ArrayLike) -> None:
        values = np.broadcast_to(np.asarray(values, float), rows.shape)
        inside = b >= 0
        rows, v, b, values = rows[inside], v[inside], b[inside], values[inside]
        columns = self.y[v, b]
        is_open = columns >= 0
        self.add(rows[is_open], columns[is_open], values[is_open])
        is_one = ~is_open & (b >= self.windows.last[v])
        self.constants.append((rows[is_one], values[is_one]))

    def add_x(self, rows: IntArray, v: IntArray, b: IntArray, values: npt.ArrayLike) -> None:
        self.add_y(rows, v, b, values)
        self.add_y(rows, v, b - 1, -np.asarray(values, float))


def relax(
    graph: PipelineGraph, superblocks: Superblocks, amounts: IntArray, windows: Windows
) -> Relaxation:
    """Build the relaxation."""
    # `amounts`: Each node's share of a stage in units of 1 / SHARE_UNITS, shape (n,). `windows`:
    # First and last superblock of each node.
    dag, count = graph.dag, len(superblocks.merged)
    first, last = windows.first, windows.last
    numbers = np.arange(count)
    costed = np.flatnonzero(superblocks.is_costed)
    is_open = (numbers >= first[:, None]) & (numbers < last[:, None])
    y = np.full((dag.nodes, count), -1, dtype=np.int64)
    y[is_open] = np.arange(int(is_open.sum()))
    rows = _Rows(y, windows)

    v, b = np.nonzero(is_open[:, 1:] & is_open[:, :-1])
    later = rows.new("later", v * count + b)
    rows.add_y(later, v, b + 1, 1.0)
    rows.add_y(later, v, b, -1.0)

    e, b = np.nonzero(is_open[dag.sources] & is_open[dag.targets])
    edge = rows.new("edge", e * count + b)
    rows.add_y(edge, dag.sources[e], b, 1.0)
    rows.add_y(edge, dag.targets[e], b, -1.0)

    may_be_in = (numbers >= first[:, None]) & (numbers <= last[:, None]) & superblocks.is_costed
    c = np.full((dag.nodes, count), -1, dtype=np.int64)
    touched = np.zeros((dag.nodes, count), dtype=bool)
    np.logical_or.at(touched, dag.sources, may_be_in[dag.targets] | may_be_in[dag.sources])
    c[touched] = int(is_open.sum()) + np.arange(int(touched.sum()))
    overflow = int(is_open.sum()) + int(touched.sum())
    excess = overflow + count
    z = excess + 1
    for family, inner, outer in (
        ("enters", dag.targets, dag.sources),
        ("leaves", dag.sources, dag.targets),
    ):
        e, b = np.nonzero(may_be_in[inner])
        cut = rows.new(family, e * count + b)
        rows.add(cut, c[dag.sources[e], b], 1.0)
        rows.add_x(cut, inner[e], b, -1.0)
        rows.add_x(cut, outer[e], b, 1.0)

    v, b = np.nonzero(may_be_in)
    at = np.searchsorted(costed, b)
    merged = superblocks.merged[costed]
    streamed = rows.new("overflow", costed, lower=-float(graph.cache) * merged)
    rows.add(streamed, overflow + costed, 1.0)
    rows.add_x(streamed[at], v, b, -graph.param_load[v])
    share = rows.new("share", costed, lower=-merged)
    rows.add(share, np.full(len(costed), excess), 1.0)
    rows.add_x(share[at], v, b, -amounts[v] / SHARE_UNITS)
    cost = rows.new("cost", costed)
    rows.add(cost, np.full(len(costed), z), merged)
    rows.add(cost, overflow + costed, -1.0)
    rows.add_x(cost[at], v, b, -graph.work[v])
    u, b = np.nonzero(touched)
    rows.add(cost[np.searchsorted(costed, b)], c[u, b], -graph.transfer[u])
    if superblocks.prefixes is not None:
        _add_prefix_rows(rows, superblocks.prefixes)

    lower = np.concatenate(rows.lower)
    for at, values in rows.constants:
        np.subtract.at(lower, at, values)
    upper = np.ones(z + 1)
    upper[overflow:excess] = float(graph.param_load.sum())
    upper[excess:] = np.inf
    return Relaxation(
        rows=np.concatenate([part[0] for part in rows.parts]),
        columns=np.concatenate([part[1] for part in rows.parts]),
        values=np.concatenate([part[2] for part in rows.parts]),
        lower=lower,
        upper=upper,
        family=np.concatenate(rows.family),
        number=np.concatenate(rows.number),
        y=y,
        c=c,
    )


def _add_prefix_rows(rows: _Rows, prefixes: PrefixWeights) -> None:
    v = np.flatnonzero(prefixes.weights)
    for family, sign, bounds in (
        ("at_least", 1, prefixes.at_least),
        ("at_most", -1, prefixes.at_most),
    ):
        b = np.arange(len(bounds))
        added = rows.new(family, b, lower=sign * bounds / SHARE_UNITS)
        amounts = np.tile(sign * prefixes.weights[v] / SHARE_UNITS, len(b))
        rows.add_y(added.repeat(len(v)), np.tile(v, len(b)), b.repeat(len(v)), amounts)


def whole_multipliers(relaxation: Relaxation, amounts: FloatArray) -> Multipliers:
    """Round the rows' multipliers to integers, scaled down if they exceed what certificates store.

    Multipliers of rows prove the same when all are divided by one number.
    """
    result: Multipliers = {name: [] for name in FAMILIES}
    largest = float(amounts.max(initial=0.0))
    if not np.isfinite(largest):
        return result
    # Half of the largest multiplier that the checker accepts.
    most = 2.0**79
    scaled = np.rint(amounts * min(1.0, most / max(largest, 1.0)))
    for row in np.flatnonzero(scaled > 0).tolist():
        family = FAMILIES[relaxation.family[row]]
        # A Python integer: costs of 2^39 ticks would exceed 64 bits.
        result[family] += [int(relaxation.number[row]), int(scaled[row])]
    return result
