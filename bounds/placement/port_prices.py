"""`port-prices`: intervals bounded by prices of work and of transfers, from one linear program.

Loads put each operator wherever it costs least, as if moving tensors took no time. Here a tensor
that is moved occupies a port of its sender and of its receiver, and there is no more time at ports
than in the interval. Operators that exchange tensors then keep together. The program assigns
operators to devices in fractions. Equal operators are one in it, and readings of tensors between
equal operators too, so that thousands of operators make a program of some hundred rows. What its
dual proves is computed exactly; see `boundmark.bounds.checker.placement.port_prices`.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array

from boundmark.bounds.best import Best
from boundmark.bounds.checker.placement.instance import Instance
from boundmark.bounds.checker.placement.paths import NEVER, OUTSIDE, Jump, Network
from boundmark.bounds.checker.placement.port_prices import (
    PortPrices,
    Reading,
    is_refuted,
    readings_inside,
)
from boundmark.bounds.checker.placement.time_prices import pairs_like
from boundmark.bounds.mip.highs import dual_in_time, highs_solver
from boundmark.bounds.mip.linear_model import FloatArray
from boundmark.bounds.placement.assignment_load import BoolArray
from boundmark.bounds.placement.interval_load import IntervalTicks, least_whole
from boundmark.bounds.placement.series.certificate import affordable
from boundmark.bounds.placement.series.method import ClosingIn
from boundmark.problems.certificate import Certificate
from boundmark.problems.method import Budget, Progress
from boundmark.problems.placement import PlacementInstance

KIND = "port-prices/1"

# The sum of the rounded prices, nearly.
UNITS = 2**20


# Programs for each pair of devices of an interval. Another one is solved if the one before has
# raised the threshold by more than one part in so many.
MOST_PROGRAMS = 3
LEAST_GAIN = 1000

# Operators are equal if they have equal costs, and so have those at a distance of so many tensors.
LIKENESS = 2

# Steps of the checker for the rows of an interval, about; it allows for four times as many.
MOST_ROW_STEPS = 2**24


@dataclass(frozen=True)
class PortPriceSettings:
    """Settings of `port-prices`.

    Attributes
    ----------
    least_operators
        Operators of an interval; of fewer, searches prove more.
    most_columns
        Of a program.
    """

    least_operators: int = 41
    most_columns: int = 100_000


DEFAULTS = PortPriceSettings()


@dataclass
class Between:
    """What lies between two operators, as the program sees it.

    Attributes
    ----------
    readings
        Of tensors, in the order of the checker.
    heads, tails
        As far as they were asked for, by the device of the first or the last operator.
    """

    read: Instance
    network: Network
    first: int
    last: int
    body: list[int]
    readings: list[Reading]
    heads: dict[int, tuple[dict[int, list[int]], list[int]]] = field(default_factory=dict)
    tails: dict[int, dict[int, list[int]]] = field(default_factory=dict)

    @classmethod
    def of(
        cls, read: Instance, network: Network, first: int, last: int, likeness: int = LIKENESS
    ) -> "Between":
        """Return the interval; equal operators and readings are put together."""
        body = network.inside(first, last)
        readings = readings_inside(read, first, last, body)
        groups = _groups(read, network, body, readings, likeness)
        readings = [r._replace(group=group) for r, group in zip(readings, groups, strict=True)]
        return cls(read, network, first, last, body, readings)

    @property
    def groups(self) -> list[int]:
        """The group of each reading."""
        return [reading.group for reading in self.readings]

    def from_first(self, device: int) -> tuple[dict[int, list[int]], list[int]]:
        """Return the heads, and the least ticks to each device of the last operator."""
        if device not in self.heads:
            self.heads[device] = self.network.heads(self.first, device, self.body, self.last)
        return self.heads[device]

    def to_last(self, device: int) -> dict[int, list[int]]:
        """Return the tails."""
        if device not in self.tails:
            self.tails[device] = self.network.tails(self.body, self.last, device)
        return self.tails[device]


def _groups(
    read: Instance,
    network: Network,
    body: Sequence[int],
    readings: Sequence[Reading],
    likeness: int,
) -> list[int]:
    """Return a group for each reading, equal for those whose tensors and ends are alike."""
    names: dict[object, int] = {}
    inside = set(body)
    kind: dict[int, int] = {}
    for reading in readings:
        for v in (reading.producer, reading.reader):
            key = tuple(network.duration[v]) if v in inside else ("an end", v)
            kind[v] = names.setdefault(key, len(names))
    for _ in range(likeness):
        near: dict[int, list[tuple[int, int, int]]] = {v: [] for v in kind}
        for reading in readings:
            size = read.size[reading.tensor]
            near[reading.producer].append((0, size, kind[reading.reader]))
            near[reading.reader].append((1, size, kind[reading.producer]))
        kind = {
            v: names.setdefault((kind[v], tuple(sorted(found))), len(names))
            for v, found in near.items()
        }
    readers: dict[int, list[int]] = {}
    for reading in readings:
        readers.setdefault(reading.tensor, []).append(kind[reading.reader])
    groups: dict[object, int] = {}
    found = []
    for reading in readings:
        sort = (
            kind[reading.producer],
            read.size[reading.tensor],
            tuple(sorted(readers[reading.tensor])),
            kind[reading.reader],
        )
        found.append(groups.setdefault(sort, len(groups)))
    return found


@dataclass(frozen=True)
class _Sort:
    """Equal operators: they pay the same on each device, whatever the prices are.

    Attributes
    ----------
    duration
        On each device; None where they cannot be.
    near, far
        How many of their tensors' readings, and of their own, are in each group.
    """

    duration: tuple[int | None, ...]
    near: tuple[tuple[int, int], ...]
    far: tuple[tuple[int, int], ...]


class _Program:
    """The program of an interval for given devices of its ends.

    Minimise z such that operators are assigned once, in fractions, and the work of each device, and
    the transfers of each port, take at most z. A reading is divided among pairs of devices, such
    that producer and reader are there by the same fractions; a tensor is moved from one device to
    another at least by the fraction of each of its readings.
    """

    def __init__(self, between: Between, pair: tuple[int, int]) -> None:
        self.between, self.pair = between, pair
        self.span = between.network.devices
        head, tail = between.from_first(pair[0])[0], between.to_last(pair[1])
        self.ticks = IntervalTicks.of(between.network, between.body, head, tail)
        self.groups = 1 + max((reading.group for reading in between.readings), default=-1)
        place = {v: at for at, v in enumerate(between.body)}
        for end in (between.first, between.last):
            place.setdefault(end, len(place))
        shape = len(place), max(1, self.groups)
        rows = [
            np.array([place[v] for v in ends], dtype=np.int64)
            for ends in (
                [r.producer for r in between.readings],
                [r.reader for r in between.readings],
            )
        ]
        group = np.array([r.group for r in between.readings], dtype=np.int64)
        ones = np.ones(len(group))
        # How many readings of each group an operator writes, or reads.
        self.near, self.far = (coo_array((ones, (at, group)), shape).tocsr() for at in rows)
        self.ends = place[between.first], place[between.last]

    def sorts(self, allowed: BoolArray) -> Counter[_Sort]:
        """Return the sorts of operators, and how many there are of each."""
        near, far = self._counted(self.near), self._counted(self.far)
        found: Counter[_Sort] = Counter()
        for at, (row, cans) in enumerate(
            zip(self.ticks.duration.tolist(), allowed.tolist(), strict=True)
        ):
            ticks = tuple(t if can else None for t, can in zip(row, cans, strict=True))
            found[_Sort(ticks, near[at], far[at])] += 1
        return found

    @staticmethod
    def _counted(matrix: Any) -> list[tuple[tuple[int, int], ...]]:
        """Return the groups of each row of a matrix, and how many there are of each."""
        start, group, count = (
            part.tolist() for part in (matrix.indptr, matrix.indices, matrix.data)
        )
        return [
            tuple(sorted((group[i], int(count[i])) for i in range(a, b)))
            for a, b in pairwise(start)
        ]


def best_row(
    between: Between,
    pair: tuple[int, int],
    least: int,
    budget: Budget,
    settings: PortPriceSettings = DEFAULTS,
) -> PortPrices | None:
    """Return prices that refute about the largest threshold that such prices can refute.

    Parameters
    ----------
    least
        What is proven already; None is returned if nothing more is.
    """
    program = _Program(between, pair)
    found: PortPrices | None = None
    at = least
    for _ in range(MOST_PROGRAMS):
        if budget.is_spent() or at >= NEVER:
            break
        prices = prices_at(program, at, budget, settings)
        if prices is None:
            break
        reached = _reached(program, prices, at)
        row = prices._replace(threshold=reached)
        if reached < at or not _holds(program, row):
            break
        gain, found, at = reached + 1 - at, row, reached + 1
        if gain * LEAST_GAIN < at:
            break
    return found


def _holds(program: _Program, row: PortPrices) -> bool:
    """Whether the checker agrees that prices refute their threshold."""
    between, (source, target) = program.between, program.pair
    jump = Jump(between.first, between.last, [])
    heads, tails = between.from_first(source)[0], between.to_last(target)
    return is_refuted(between.network, jump, program.pair, heads, tails, between.readings, row)


def _reached(program: _Program, prices: PortPrices, least: int) -> int:
    """Return about the largest threshold that prices refute, one below the given if none."""
    near, far = (np.array(t, dtype=np.float64).reshape(-1, program.span)
                 for t in (prices.near, prices.far))  # fmt: skip
    work = np.array(prices.work, dtype=np.float64)
    more = np.zeros((program.near.shape[0], program.span))
    if program.groups:
        more = program.near @ near + program.far @ far
    paid = work * program.ticks.duration + more[: len(program.ticks.duration)]
    ends = zip((program.between.first, program.between.last), program.ends, program.pair,
               strict=True)  # fmt: skip
    fixed = sum(float(more[at, d]) for v, at, d in ends if v != OUTSIDE)
    ports = float(sum(prices.send) + sum(prices.receive))

    def refutes(threshold: int) -> bool:
        allowed = program.ticks.total <= threshold
        if not allowed.any(axis=1).all():
            return True
        demand = fixed + np.where(allowed, paid, np.inf).min(axis=1).sum()
        lost, used = program.ticks.lost(allowed)
        offered = threshold * ports + (work * (threshold - lost))[used].sum()
        # Whoever computes in floats has to leave something.
        return bool(demand > offered * (1 + 1e-12))

    if not refutes(least):
        return least - 1
    low, step = least, max(1, least // 64)
    while low + step < NEVER and refutes(low + step):
        low, step = low + step, 2 * step
    high = low + step
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if refutes(middle) else (low, middle)
    return low


def prices_at(
    program: _Program,
    threshold: int,
    budget: Budget,
    settings: PortPriceSettings = DEFAULTS,
) -> PortPrices | None:
    """Return the best prices for a threshold, None if the program is too large or slow."""
    allowed = program.ticks.total <= threshold
    span, between = program.span, program.between
    nothing = [[0] * span] * program.groups
    if not allowed.any(axis=1).all():
        # Whatever the prices are.
        free = [0] * span
        return PortPrices(threshold, free, free, free, nothing, nothing)
    sorts = program.sorts(allowed)
    tensors = _tensors(between)
    groups = program.groups
    columns = span * len(sorts) + span**2 * (groups + len(tensors)) + 1
    if columns > settings.most_columns:
        return None
    layout = _Layout(span, list(sorts.items()), tensors, groups)
    lost, _ = program.ticks.lost(allowed)
    scale = max(1, int(program.ticks.duration[allowed].max()))
    dual = layout.dual(program, lost, scale, budget)
    return None if dual is None else _rounded(layout, program, dual, threshold, scale)


def _tensors(between: Between) -> Counter[tuple[int, tuple[int, ...]]]:
    """Return size and groups of the tensors that are moved as one, and how many there are."""
    read, groups_of = between.read, dict[int, list[int]]()
    for reading in between.readings:
        groups_of.setdefault(reading.tensor, []).append(reading.group)
    found: Counter[tuple[int, tuple[int, ...]]] = Counter()
    for tensor, groups in groups_of.items():
        if read.transfers == "per-tensor":
            found[read.size[tensor], tuple(sorted(groups))] += 1
        else:
            found.update((read.size[tensor], (group,)) for group in groups)
    return found


@dataclass
class _Layout:
    """Rows and columns of the program.

    Attributes
    ----------
    sorts, tensors
        With how many there are of each.
    groups
        Number of groups of readings.
    """

    span: int
    sorts: list[tuple[_Sort, int]]
    tensors: Mapping[tuple[int, tuple[int, ...]], int]
    groups: int

    def dual(
        self, program: _Program, lost: NDArray[np.int64], scale: int, budget: Budget
    ) -> FloatArray | None:
        """Solve the program; return the dual of its rows, None if there is none in time.

        The first rows are those of work, of sending and of receiving, a row for each device; then
        those of what groups share with producers, and then with readers.
        """
        d = self.span
        rows: list[int] = []
        columns: list[int] = []
        values: list[float] = []

        def put(row: int, column: int, value: float) -> None:
            rows.append(row)
            columns.append(column)
            values.append(value)

        size = Counter[int]()
        for (_, shared), count in self.tensors.items():
            for group in shared:
                size[group] += count
        ends = self._ends(program)
        near, far, once = 3 * d, (3 + self.groups) * d, (3 + 2 * self.groups) * d
        lower = np.zeros(once + len(self.sorts))
        upper = lower.copy()
        lower[: 3 * d] = -np.inf
        upper[:d] = -lost / scale
        lower[once:] = upper[once:] = 1.0
        for shift, amounts in ((near, ends[0]), (far, ends[1])):
            for (group, device), amount in amounts.items():
                at = shift + group * d + device
                lower[at] = upper[at] = amount / size[group]
        column = 0
        for at, (sort, count) in enumerate(self.sorts):
            for device, ticks in enumerate(sort.duration):
                if ticks is None:
                    continue
                put(device, column, count * ticks / scale)
                put(once + at, column, 1.0)
                for shift, found in ((near, sort.near), (far, sort.far)):
                    for group, often in found:
                        put(shift + group * d + device, column, -count * often / size[group])
                column += 1
        of_group = column
        for group in range(self.groups):
            for at in range(d * d):
                put(near + group * d + at // d, column, 1.0)
                put(far + group * d + at % d, column, 1.0)
                column += 1
        limits = once + len(self.sorts)
        times = program.between.read.times
        for (table, shared), count in self.tensors.items():
            for at in range(d * d):
                source, target = divmod(at, d)
                if source == target or not times[table][at]:
                    continue
                moved = count * times[table][at] / scale
                put(d + source, column, moved)
                put(2 * d + target, column, moved)
                for group in set(shared):
                    put(limits, column, 1.0)
                    put(limits, of_group + group * d * d + at, -1.0)
                    limits += 1
                column += 1
        for row in range(3 * d):
            put(row, column, -1.0)
        more = limits - len(lower)
        matrix = coo_array((values, (rows, columns)), shape=(limits, column + 1)).tocsr()
        cost = np.append(np.zeros(column), 1.0)
        solver = highs_solver(
            matrix, cost, (np.zeros(column + 1), np.full(column + 1, np.inf)),
            (np.append(lower, np.zeros(more)), np.append(upper, np.full(more, np.inf))),
            budget.threads,
        )  # fmt: skip
        dual = dual_in_time(solver, budget)
        if dual is None:
            return None
        dual[near:once] /= np.repeat([max(1, size[g]) for g in range(self.groups)] * 2, d)
        return dual

    def _ends(self, program: _Program) -> list[Counter[tuple[int, int]]]:
        """Return how many readings of each group the first and the last operator fix.

        The first of two counters is for producers, the second one for readers.
        """
        between, (source, target) = program.between, program.pair
        found: list[Counter[tuple[int, int]]] = [Counter(), Counter()]
        for reading in between.readings:
            if reading.producer == between.first:
                found[0][reading.group, source] += 1
            if reading.reader == between.last:
                found[1][reading.group, target] += 1
        return found


def _rounded(
    layout: _Layout, program: _Program, dual: FloatArray, threshold: int, scale: int
) -> PortPrices:
    """Round the dual, such that no tensor hands over more than its transfers pay."""
    d, groups = layout.span, layout.groups
    work, send, receive = (
        [round(float(value) * UNITS) for value in np.maximum(0.0, -dual[at : at + d])]
        for at in (0, d, 2 * d)
    )
    handed = np.floor(dual[3 * d : (3 + 2 * groups) * d] * scale * UNITS)
    rows = [[int(value) for value in row] for row in handed.reshape(2 * groups, d)]
    near, far = rows[:groups], rows[groups:]
    times = program.between.read.times
    for table, shared in layout.tensors:
        for at in range(d * d):
            source, target = divmod(at, d)
            amounts = {group: near[group][source] + far[group][target] for group in set(shared)}
            handed_over = sum(max(0, amounts[group]) for group in shared)
            too_much = handed_over - (send[source] + receive[target]) * times[table][at]
            if too_much > 0:
                # Any of the readings may hand over nothing yet, so all take it back.
                for group in amounts:
                    far[group][target] -= too_much
    return PortPrices(threshold, work, send, receive, near, far)


def rows_between(
    between: Between, jump: Jump, budget: Budget, settings: PortPriceSettings = DEFAULTS
) -> list[dict[str, Any]]:
    """Return rows of an interval, one for devices that are alike; raise the ticks of the jump."""
    rows: list[dict[str, Any]] = []
    alike = between.network.alike(between.read)
    has_ends = between.first != OUTSIDE, between.last != OUTSIDE
    done: set[tuple[int, int]] = set()
    steps = 2 * (len(between.body) + len(between.readings)) * between.network.devices
    for source, ticks in enumerate(jump.least):
        for target, least in enumerate(ticks):
            is_full = steps * (len(rows) + 1) > MOST_ROW_STEPS
            if (source, target) in done or is_full or budget.is_spent():
                continue
            same = pairs_like(alike, (source, target), *has_ends)
            done.update(same)
            row = best_row(between, (source, target), least, budget, settings)
            if row is None:
                continue
            rows.append({"devices": [source, target], **row._asdict()})
            for d, e in same:
                jump.least[d][e] = max(jump.least[d][e], row.threshold + 1)
    return rows


def run(
    instance: PlacementInstance,
    budget: Budget,
    seed: int,
    progress: Progress,
    settings: PortPriceSettings = DEFAULTS,
    **params: Any,
) -> None:
    """Report bounds by prices of ports, along a chain whose modules are not searched."""
    best = Best.before(instance, progress)
    closing = ClosingIn.of(instance, budget, best, "port-prices")
    report_with_modules(instance, closing, budget, best, settings)


def report_with_modules(
    instance: PlacementInstance,
    closing: ClosingIn,
    budget: Budget,
    best: Best,
    settings: PortPriceSettings = DEFAULTS,
) -> None:
    """Report what prices of ports prove, with modules that were searched.

    Intervals of the chain that are too large for searches come first, and then the whole schedule.
    """
    network = Network(closing.read)
    documents = []
    for part in affordable(closing.parts):
        documents.append({**part.to_json(), "groups": [], "ports": []})
        network.add(part.jump())
    whole = Jump(OUTSIDE, OUTSIDE, [[least_whole(network)]])
    proofs = _Proofs(instance, network, documents, best)
    proofs.report(whole.least[0][0], [], [])
    large = [part for part in closing.parts if len(part.body) >= settings.least_operators]
    for part in sorted(large, key=lambda part: len(part.body), reverse=True):
        if (part.first, part.last) == (OUTSIDE, OUTSIDE) or best.is_proven or budget.is_spent():
            continue
        between = Between.of(closing.read, network, part.first, part.last)
        # Not all searches may be affordable, so only what the network knows counts.
        sources = range(part.sources)
        jump = Jump(part.first, part.last, [list(between.from_first(d)[1]) for d in sources])
        rows = rows_between(between, jump, budget, settings)
        if rows:
            network.add(jump)
            proofs.add(between, rows)
            proofs.report(least_whole(network), [], [])
    if best.is_proven or budget.is_spent():
        return
    between = Between.of(closing.read, network, OUTSIDE, OUTSIDE)
    whole = Jump(OUTSIDE, OUTSIDE, [[max(least_whole(network), int(best.certified))]])
    rows = rows_between(between, whole, budget, settings)
    if rows:
        proofs.report(whole.least[0][0], between.groups, rows)


@dataclass
class _Proofs:
    """Intervals with their rows, in the order in which the checker goes through them."""

    instance: PlacementInstance
    network: Network
    documents: list[dict[str, Any]]
    best: Best

    def add(self, between: Between, rows: list[dict[str, Any]]) -> None:
        """Add an interval with rows."""
        self.documents.append(_document(between.first, between.last, between.groups, rows))

    def report(self, bound: int, groups: list[int], rows: list[dict[str, Any]]) -> None:
        """Report a bound of the whole schedule, if it is more than the best one."""
        if bound > self.best.certified:
            whole = _document(OUTSIDE, OUTSIDE, groups, rows)
            payload = {"intervals": [*self.documents, whole]}
            self.best.bound(Certificate.of(self.instance, KIND, bound, payload, "port-prices"))


def _document(
    first: int, last: int, groups: list[int], rows: list[dict[str, Any]]
) -> dict[str, Any]:
    return {
        "first": first, "last": last, "rows": [], "searches": [], "groups": groups, "ports": rows,
    }  # fmt: skip
