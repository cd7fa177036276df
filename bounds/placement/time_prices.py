"""`time-prices`: intervals bounded by prices of devices' time, found by linear programs.

Loads see how much work there is, but not that operators at the begin and at the end of an interval
leave devices idle, and cannot be divided among them. Here an operator takes a device without a
pause, from one of its possible starts on. Devices' time is divided into equal pieces; the dual of
the program that needs the least of each piece says what a tick is worth. What such prices prove is
computed exactly; see `boundmark.bounds.checker.placement.time_prices`.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
from scipy.sparse import coo_array

from boundmark.bounds import checker
from boundmark.bounds.best import Best
from boundmark.bounds.checker import TooLarge
from boundmark.bounds.checker.placement.alike import module_key
from boundmark.bounds.checker.placement.instance import Instance
from boundmark.bounds.checker.placement.intervals import by_loads
from boundmark.bounds.checker.placement.modules import module_of, tensors_written
from boundmark.bounds.checker.placement.paths import NEVER, OUTSIDE, Network
from boundmark.bounds.checker.placement.time_prices import TimePrices, pairs_like
from boundmark.bounds.mip.highs import dual_in_time, highs_solver
from boundmark.bounds.mip.linear_model import FloatArray
from boundmark.bounds.placement.interval_load import IntervalTicks, intervals_inside, least_whole
from boundmark.bounds.placement.series.certificate import WHOLE, affordable
from boundmark.bounds.placement.series.method import ClosingIn
from boundmark.problems.arrays import IntArray
from boundmark.problems.certificate import Certificate
from boundmark.problems.method import Budget, Progress
from boundmark.problems.placement import PlacementInstance

KIND = "time-prices/1"

# The first and the last operator of an interval, and those in between.
Ends: TypeAlias = tuple[int, int, list[int]]


# Intervals that make the whole longer by less than one part in so many are left out.
LEAST_GAIN = 10_000

# Operators of an interval: of more, programs take minutes.
MOST_OPERATORS = 500

# Programs for each pair of devices of an interval. Thresholds are tried until they differ by less
# than one part in `PRECISION`; the next one exceeds the one before by `LARGEST_STEP` of it at most.
MOST_PROGRAMS = 8
PRECISION = 500
LARGEST_STEP = 0.3

# Of a tick, after rounding: with larger ones, less is lost and certificates are longer.
LARGEST_PRICE = 2**20


@dataclass(frozen=True)
class TimePriceSettings:
    """Settings of `time-prices`.

    Attributes
    ----------
    pieces
        Into so many pieces the time of an interval is divided, in one round of all intervals after
        the other. What is proven inside of an interval makes it longer in the next one.
    least_operators
        Operators of an interval: of fewer, searches prove more.
    most_columns
        Possible starts of operators of one program.
    """

    pieces: tuple[int, ...] = (16, 24)
    least_operators: int = 4
    most_columns: int = 40_000


DEFAULTS = TimePriceSettings()


@dataclass(frozen=True)
class Row:
    """Prices that refute a threshold: of each device, from one end of a piece to the next."""

    threshold: int
    ends: list[int]
    prices: list[list[int]]

    def to_json(self, devices: tuple[int, int]) -> dict[str, Any]:
        """Return the row as certificates have it, for devices of the interval's ends."""
        return {
            "devices": list(devices),
            "threshold": self.threshold,
            "ends": self.ends,
            "prices": self.prices,
        }


@dataclass
class _Proofs:
    """Intervals with their rows, in the order in which the checker goes through them.

    Attributes
    ----------
    network
        With all that the documents prove.
    documents
        Of modules that were searched before, and then of intervals with prices.
    whole
        Rows about the whole schedule.
    """

    instance: PlacementInstance
    read: Instance
    network: Network
    documents: list[dict[str, Any]]
    whole: list[dict[str, Any]] = field(default_factory=list)

    @property
    def bound(self) -> int:
        """What paths over all intervals prove of the whole schedule, and its own rows."""
        return max([least_whole(self.network), *(int(row["threshold"]) + 1 for row in self.whole)])

    def report(self, bound: int, best: Best) -> None:
        """Report the bound."""
        payload = {"intervals": [*self.documents, {**WHOLE, "prices": self.whole}]}
        best.bound(Certificate.of(self.instance, KIND, bound, payload, "time-prices"))

    def add(self, same: Sequence[Ends], rows: list[dict[str, Any]]) -> None:
        """Add intervals that are the same, and that the rows are about."""
        if same[0][:2] == (OUTSIDE, OUTSIDE):
            self.whole = rows
            return
        for first, last, body in same:
            jump = by_loads(self.network, first, last, body, [])
            for row in rows:
                source, target = row["devices"]
                has_ends = first != OUTSIDE, last != OUTSIDE
                alike = self.network.alike(self.read)
                for d, e in pairs_like(alike, (source, target), *has_ends):
                    jump.least[d][e] = max(jump.least[d][e], row["threshold"] + 1)
            self.network.add(jump)
            interval = {"first": first, "last": last, "rows": [], "searches": [], "prices": rows}
            self.documents.append(interval)

    def take_back(self, same: Sequence[Ends]) -> None:
        """Remove the intervals that were added last."""
        if same[0][:2] == (OUTSIDE, OUTSIDE):
            self.whole = []
            return
        for first, last, _ in reversed(same):
            self.network.jumps_to[last].pop()
            self.network.jumps_from[first].pop()
            self.documents.pop()


def run(
    instance: PlacementInstance,
    budget: Budget,
    seed: int,
    progress: Progress,
    settings: TimePriceSettings = DEFAULTS,
    **params: Any,
) -> None:
    """Report bounds by prices of time, each with one more sort of interval."""
    read = checker.check_instance(instance.to_json())
    best = Best.before(instance, progress)
    proofs = _Proofs(instance, read, Network(read), [])
    # What the longest path takes, which is all that there is to say of one operator.
    if proofs.bound > best.certified:
        proofs.report(proofs.bound, best)
    _price(proofs, budget, best, settings)


def report_with_modules(
    instance: PlacementInstance,
    closing: ClosingIn,
    budget: Budget,
    best: Best,
    settings: TimePriceSettings = DEFAULTS,
) -> None:
    """Report the same bounds with modules that were searched as tensors between operators."""
    parts = affordable(closing.parts)
    proofs = _Proofs(
        instance,
        closing.read,
        Network(closing.read),
        [{**part.to_json(), "prices": []} for part in parts],
    )
    for part in parts:
        proofs.network.add(part.jump())
    _price(proofs, budget, best, settings)


def _price(proofs: _Proofs, budget: Budget, best: Best, settings: TimePriceSettings) -> None:
    """Bound intervals, those with most work first, and report whenever the whole is longer.

    What does not make it longer is left out of the certificates.
    """
    known = max(proofs.bound, best.certified)
    sorts = _sorts_of_intervals(proofs, settings)
    for pieces in settings.pieces:
        for same in sorts:
            if budget.is_spent() or best.is_proven:
                return
            rows = list(_rows(proofs, same[0], budget, pieces, settings))
            if not rows:
                continue
            proofs.add(same, rows)
            bound = proofs.bound
            if bound > known * (1 + 1 / LEAST_GAIN):
                known = bound
                proofs.report(bound, best)
            else:
                proofs.take_back(same)


def _sorts_of_intervals(proofs: _Proofs, settings: TimePriceSettings) -> list[list[Ends]]:
    """Return intervals between operators that all paths pass, those that are the same together.

    What is most work on the best device comes first.
    """
    network, written = proofs.network, tensors_written(proofs.read)
    least = [min(row) for row in network.duration]
    found: dict[object, list[Ends]] = {}
    whole = (OUTSIDE, OUTSIDE)
    for first, last in [*intervals_inside(proofs.instance.graph), whole]:
        body = network.inside(first, last)
        if not settings.least_operators <= len(body) <= MOST_OPERATORS:
            continue
        key: object = (first, last)
        try:
            module = module_of(proofs.read, network, written, (first, last), body)
            key = module_key(module), first == OUTSIDE, last == OUTSIDE
        except TooLarge:
            # Large intervals are told apart by their ends.
            pass
        found.setdefault(key, []).append((first, last, body))

    def work(same: list[Ends]) -> int:
        return sum(least[v] for _, _, body in same for v in body)

    return sorted(found.values(), key=work, reverse=True)


def _rows(
    proofs: _Proofs, ends: Ends, budget: Budget, pieces: int, settings: TimePriceSettings
) -> Iterator[dict[str, Any]]:
    """Yield rows of an interval, one for devices that are alike."""
    first, last, body = ends
    network = proofs.network
    alike = network.alike(proofs.read)
    sources, targets = (1 if v == OUTSIDE else network.devices for v in (first, last))
    done: set[tuple[int, int]] = set()
    for target in range(targets):
        tails = network.tails(body, last, target)
        for source in range(sources):
            if (source, target) in done or budget.is_spent():
                continue
            done.update(pairs_like(alike, (source, target), first != OUTSIDE, last != OUTSIDE))
            heads, to_last = network.heads(first, source, body, last)
            ticks = IntervalTicks.of(network, body, heads, tails)
            row = best_row(ticks, to_last[target], budget, pieces, settings)
            if row is not None:
                yield row.to_json((source, target))


def best_row(
    ticks: IntervalTicks,
    least: int,
    budget: Budget,
    pieces: int,
    settings: TimePriceSettings = DEFAULTS,
) -> Row | None:
    """Return prices that refute about the largest threshold that such prices can refute.

    Parameters
    ----------
    least
        What is proven already; None is returned if nothing more is.
    """
    found: Row | None = None
    # Devices that all work all the time take at least this long.
    work = int(ticks.duration.min(axis=1).sum())
    at = max(least, -(-work // ticks.duration.shape[1]) - 1)
    low, high, excess = least, None, 0.0
    for _ in range(MOST_PROGRAMS):
        if budget.is_spent() or at >= NEVER:
            break
        row = prices_at(ticks, at, budget, pieces, settings)
        ratio = 0.0 if row is None else demand(ticks, row) / max(1, offered(row))
        if row is not None and demand(ticks, row) > offered(row):
            found, low, excess = row, at, ratio - 1
        elif found is None or row is None:
            break
        else:
            # The line through the last two says where time is just enough.
            high = at
            excess = excess or 1e-3
            at = low + int((high - low) * excess / max(excess + 1 - ratio, 1e-9))
        if high is None:
            at = low + max(1, int(low * min(LARGEST_STEP, (ratio - 1) / 2)))
            continue
        margin = max(1, (high - low) // 8)
        at = min(max(at, low + margin), high - margin)
        if high - low <= max(1, low // PRECISION) or not low < at < high:
            break
    return found


def offered(row: Row) -> int:
    """Return what all time costs."""
    return sum(TimePrices.of([0, *row.ends], prices).cost[-1] for prices in row.prices)


def demand(ticks: IntervalTicks, row: Row) -> int:
    """Return what all operators pay at least; more than any prices if one can be nowhere."""
    tables = [TimePrices.of([0, *row.ends], prices) for prices in row.prices]
    known: dict[tuple[int, ...], int] = {}
    paid = 0
    for head, duration, tail in zip(
        ticks.head.tolist(), ticks.duration.tolist(), ticks.tail.tolist(), strict=True
    ):
        costs = []
        for d, table in enumerate(tables):
            begin, end, long = head[d], row.threshold - tail[d], duration[d]
            if begin + long <= end:
                # Devices with the same prices are asked once.
                key = (row.prices.index(row.prices[d]), begin, end, long)
                if key not in known:
                    known[key] = table.least(begin, end, long)
                costs.append(known[key])
        if not costs:
            return NEVER
        paid += min(costs)
    return paid


def prices_at(
    ticks: IntervalTicks,
    threshold: int,
    budget: Budget,
    pieces: int,
    settings: TimePriceSettings = DEFAULTS,
) -> Row | None:
    """Return the best prices for a threshold, None if the program is too large or takes too long.

    Minimise z such that each operator starts once, in fractions, and devices that are the same to
    all operators use at most z of each piece of their time. The dual of a piece's row, divided by
    its length, is the price of a tick.
    """
    devices = ticks.duration.shape[1]
    size = max(1, -(-threshold // pieces))
    ends = np.minimum(np.arange(1, pieces + 1) * size, threshold)
    ends = np.unique(ends[ends > 0])
    allowed = ticks.total <= threshold
    if not len(ends):
        return None
    if not allowed.any(axis=1).all():
        # Whatever the prices are.
        return Row(threshold, ends.tolist(), [[0] * len(ends)] * devices)
    columns = np.concatenate([ticks.head, ticks.duration, ticks.tail])
    _, first, kind = np.unique(columns, axis=1, return_index=True, return_inverse=True)
    program = _Program([0, *ends.tolist()], np.bincount(kind.ravel()))
    whole = np.concatenate([ticks.head, ticks.duration, ticks.tail], axis=1)
    _, where, count = np.unique(whole, axis=0, return_index=True, return_counts=True)
    for v, times in zip(where.tolist(), count.tolist(), strict=True):
        if not ticks.duration[v][allowed[v]].all():
            # It takes no time somewhere, and so pays nothing.
            continue
        for k, d in enumerate(first.tolist()):
            if allowed[v, d]:
                begin, long = int(ticks.head[v, d]), int(ticks.duration[v, d])
                program.add(k, begin, threshold - int(ticks.tail[v, d]), long, times)
        program.close()
        if program.columns > settings.most_columns:
            return None
    dual = program.solve(budget)
    if dual is None:
        return None
    price = dual / program.length / program.count[:, None]
    most = float(price.max())
    scale = LARGEST_PRICE / most if most > 0 else 0.0
    rounded = np.rint(scale * price).astype(np.int64).tolist()
    return Row(threshold, ends.tolist(), [rounded[k] for k in kind.ravel().tolist()])


class _Program:
    """The linear program of operators' starts, built operator by operator.

    Parameters
    ----------
    ends
        Of the pieces of time, beginning with 0.
    count
        Devices of each kind.
    """

    def __init__(self, ends: Sequence[int], count: IntArray) -> None:
        self.ends = np.array(ends, dtype=np.int64)
        self.length = np.diff(self.ends).astype(np.float64)
        self.count = count
        self.columns = 0
        self._operators = 0
        self._row: list[IntArray] = []
        self._column: list[IntArray] = []
        self._value: list[FloatArray] = []
        self._owner: list[IntArray] = []

    def add(self, kind: int, begin: int, end: int, ticks: int, times: int) -> None:
        """Add the possible starts of an operator, or of several equal ones, on a kind of device."""
        last = end - ticks
        starts = np.concatenate([[begin, last], self.ends, self.ends - ticks])
        starts = np.unique(starts[(starts >= begin) & (starts <= last)])
        used = np.minimum(self.ends[None, 1:], starts[:, None] + ticks)
        used = used - np.maximum(self.ends[None, :-1], starts[:, None])
        at, piece = np.nonzero(used > 0)
        self._column.append(self.columns + at)
        self._row.append(kind * len(self.length) + piece)
        self._value.append(used[at, piece] * times / (self.length[piece] * self.count[kind]))
        self._owner.append(np.full(len(starts), self._operators))
        self.columns += len(starts)

    def close(self) -> None:
        """End the operator that starts were added of."""
        self._operators += 1

    def solve(self, budget: Budget) -> FloatArray | None:
        """Return the dual of each kind of device and piece, None if there is none in time."""
        if not self.columns or budget.is_spent():
            return None
        pieces = len(self.count) * len(self.length)
        rows = [np.concatenate(self._row), np.arange(pieces), pieces + np.concatenate(self._owner)]
        columns = [
            np.concatenate(self._column),
            np.full(pieces, self.columns),
            np.arange(self.columns),
        ]
        values = [-np.concatenate(self._value), np.ones(pieces), np.ones(self.columns)]
        matrix = coo_array(
            (np.concatenate(values), (np.concatenate(rows), np.concatenate(columns))),
            shape=(pieces + self._operators, self.columns + 1),
        ).tocsr()
        cost = np.append(np.zeros(self.columns), 1.0)
        free = np.full(self.columns + 1, np.inf)
        lower = np.concatenate([np.zeros(pieces), np.ones(self._operators)])
        upper = np.full(pieces + self._operators, np.inf)
        solver = highs_solver(
            matrix, cost, (np.zeros(self.columns + 1), free), (lower, upper), budget.threads
        )
        dual = dual_in_time(solver, budget)
        if dual is None:
            return None
        prices: FloatArray = np.maximum(0.0, dual[:pieces])
        return prices.reshape(len(self.count), len(self.length))
