"""Placement and schedule as a mixed-integer linear program ([MOIRAI24], Equations 4 to 8).

It is the published one, but for this: each big-M is the least that windows of the operators allow,
which follow from the longest paths and a known makespan; pairs whose order is clear by paths or
windows have no rows; z, which says whether a tensor is moved, is written as the sum of u, which
says from where to where, and so are the differences of x in the rows of congestion control; with
transfers per tensor, there is one for all consumers on a device; what takes no time is in nobody's
way; and devices that are alike are used in the order of their numbers.
"""

from collections.abc import Mapping

import numpy as np

from boundmark.bounds.mip.linear_model import LinearModel, RowCollector
from boundmark.bounds.placement.programs.columns import Columns
from boundmark.bounds.placement.programs.twins import first_uses
from boundmark.problems.arrays import frozen
from boundmark.problems.placement.feasibility import PER_TENSOR


class _Rows(RowCollector):
    """Gathers rows one at a time."""

    def at_least(self, terms: Mapping[int, int], lower: int) -> None:
        """Add ``sum of coefficient * column >= lower``."""
        kept = {column: value for column, value in terms.items() if value}
        columns = np.array([list(kept)], dtype=np.int64).reshape(1, -1)
        self.add(columns, np.array(list(kept.values()), dtype=np.int64), lower)


def linear_model(columns: Columns) -> LinearModel:
    """Return the program for the columns; it minimises the makespan."""
    rows = _Rows()
    _add_operators(columns, rows)
    _add_moves(columns, rows)
    _add_operator_pairs(columns, rows)
    _add_move_pairs(columns, rows)
    lower, upper = np.zeros(columns.count, dtype=np.int64), np.ones(columns.count, dtype=np.int64)
    upper[: columns.costs] = columns.horizon
    lower[columns.makespan] = int((columns.head + columns.least + columns.tail).max())
    lower[columns.start] = columns.head
    is_cost = np.arange(columns.count) < columns.costs
    return LinearModel(
        lower=frozen(lower),
        upper=frozen(upper),
        is_integer=~is_cost,
        is_cost=is_cost,
        objective=columns.makespan,
        **rows.csr(),
    )


def _ticks(columns: Columns, v: int, sign: int = 1) -> dict[int, int]:
    """Return an operator's duration as terms."""
    duration = columns.instance.graph.duration
    return {column: sign * int(duration[v, d]) for d, column in columns.on[v].items()}


def _add_operators(columns: Columns, rows: _Rows) -> None:
    """Equations 4, 4a to 4c and 5, and the order among devices that are alike."""
    graph = columns.instance.graph
    for v, on in enumerate(columns.on):
        rows.add(np.array([list(on.values())]), np.ones(len(on), dtype=np.int64), 1, 1)
        rows.at_least(
            {columns.makespan: 1, columns.start[v]: -1, **_ticks(columns, v, -1)},
            int(columns.tail[v]),
        )
    for u, w in graph.dag.edge_pairs().tolist():
        rows.at_least({columns.start[w]: 1, columns.start[u]: -1, **_ticks(columns, u, -1)}, 0)
    for d, capacity in enumerate(graph.capacity.tolist()):
        held = {on[d]: -int(graph.memory[v]) for v, on in enumerate(columns.on) if d in on}
        if -sum(held.values()) > capacity:
            rows.at_least(held, -capacity)
    for v, d, earlier, e in first_uses(graph):
        if d in columns.on[v]:
            used = {columns.on[u][e]: 1 for u in earlier if e in columns.on[u]}
            rows.at_least({**used, columns.on[v][d]: -1}, 0)


def _add_moves(columns: Columns, rows: _Rows) -> None:
    """Equation 7: which transfers there are, and who waits for them."""
    graph = columns.instance.graph
    is_shared = columns.instance.transfers == PER_TENSOR
    for q, move in enumerate(columns.moves):
        moved, begin = columns.moved[q], columns.move_start[q]
        source = columns.on[move.producer]
        ticks = {
            column: int(graph.times[graph.size[move.tensor], d, e])
            for (d, e), column in moved.items()
        }
        if moved:
            rows.at_least(dict.fromkeys(moved.values(), -1), -1)
        start = columns.start[move.producer]
        rows.at_least({begin: 1, start: -1, **_ticks(columns, move.producer, -1)}, 0)
        for reader in move.readers:
            target = columns.on[reader]
            for (d, e), column in moved.items():
                if e in target:
                    rows.at_least({column: 1, source[d]: -1, target[e]: -1}, -1)
            for e in move.targets:
                arriving = {column: 1 for (_, to), column in moved.items() if to == e}
                if arriving and e in target:
                    local = {source[e]: 1} if e in source else {}
                    rows.at_least({**arriving, **local, target[e]: -1}, 0)
            waits = {columns.start[reader]: 1, begin: -1, **{c: -t for c, t in ticks.items()}}
            if is_shared:
                (e,) = move.targets
                if e in target:
                    # It only waits if it is there.
                    enough = columns.latest_arrival(move) - int(columns.head[reader])
                    rows.at_least({**waits, target[e]: -max(0, enough)}, -max(0, enough))
            else:
                rows.at_least(waits, 0)


def _add_operator_pairs(columns: Columns, rows: _Rows) -> None:
    """Equation 6: a device runs one operator at a time."""
    duration = columns.instance.graph.duration
    for (v, w), before in columns.before.items():
        for d in columns.on[v].keys() & columns.on[w].keys():
            if not (duration[v, d] and duration[w, d]):
                continue
            on = {columns.on[v][d]: -1, columns.on[w][d]: -1}
            for first, second, is_first in ((v, w, True), (w, v, False)):
                enough = columns.latest_end(first) - int(columns.head[second])
                terms = {column: enough * value for column, value in on.items()}
                terms[columns.start[second]] = 1
                terms[columns.start[first]] = -1
                terms[before] = -enough if is_first else enough
                slack = 3 * enough if is_first else 2 * enough
                rows.at_least(terms, int(duration[first, d]) - slack)


def _add_move_pairs(columns: Columns, rows: _Rows) -> None:
    """Equation 8: a device sends one tensor, and receives one, at a time."""
    graph = columns.instance.graph
    for (q, r), before in columns.move_before.items():
        for end in (0, 1):
            for d in range(graph.devices):
                uses = []
                for move in (q, r):
                    table = graph.times[graph.size[columns.moves[move].tensor]]
                    uses.append(
                        {
                            column: int(table[pair])
                            for pair, column in columns.moved[move].items()
                            if pair[end] == d and table[pair]
                        }
                    )
                if not all(uses):
                    continue
                for first, second, ticks, is_first in (
                    (q, r, uses[0], True),
                    (r, q, uses[1], False),
                ):
                    enough = columns.latest_arrival(columns.moves[first]) - columns.earliest_move(
                        columns.moves[second]
                    )
                    terms = {column: -enough for use in uses for column in use}
                    for column, duration in ticks.items():
                        terms[column] -= duration
                    terms[columns.move_start[second]] = 1
                    terms[columns.move_start[first]] = -1
                    terms[before] = -enough if is_first else enough
                    rows.at_least(terms, -3 * enough if is_first else -2 * enough)
