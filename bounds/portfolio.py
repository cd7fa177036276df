"""A time-sharing portfolio: the method with the smallest extrapolated gap runs next.

Each method runs in a thread of its own, but only one runs at a time. Its budget counts nothing but
the time of its own turns, and hands over when a turn is over, wherever the method looks at the
clock. So a turn goes on where the one before stopped, and no method has to know that it is not
alone.

After each turn, every method's gap to the best known cost is extrapolated over the time that is
left, and the method with the smallest one continues. Others get short turns of growing length that
take a small part of the time, or a large part once the leading method stalls. A method that had
proven no less than the leading one when both had run for the same time is a rival, and catches up.
"""

import math
import threading
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from boundmark.bounds.best import Best
from boundmark.problems.certificate import Certificate, Claim
from boundmark.problems.errors import UnsupportedError
from boundmark.problems.method import Budget
from boundmark.problems.problem import Instance, Solution

Run: TypeAlias = Callable[[Budget, Best], None]


# Length of a method's first turn: this part of the time, but at least so many seconds.
FIRST_FRACTION = 0.02
FIRST_SECONDS = 0.75

# A turn of a method takes this part of the time that it has had, if that is longer.
GROWTH = 0.25

# While the leading method stalls, others get this part of the time so far, at most. A method stalls
# if its bound stayed the same for STALLED_PART of its time.
OTHERS_PART_WHEN_STALLED = 0.6
STALLED_PART = 0.5

# A gap is extrapolated to so many times a method's own time, at most.
FARTHEST = 4.0

# Nothing begins after this part of the time, unless nothing else is left: it would prepare only,
# some methods for seconds without a look at the clock.
NO_START_AFTER = 0.9

# A stalled method that has had this part of the time is told the best bound of all. Before, its own
# bounds say more about what it is worth.
SYNC_AFTER = 0.05


@dataclass(frozen=True)
class PortfolioSettings:
    """Settings of a portfolio: who gets the next turn.

    Attributes
    ----------
    others_part
        Part of the time so far that methods which do not lead get, at most.
    patience, expected_gain
        Until it has had the part `patience` of the time, the first method is expected to close the
        part `expected_gain` at least of the gap that it began with: some prepare for long before
        they prove anything, and then prove most.
    alone_seconds
        The first method runs for so long before another one has a turn: in the first seconds, most
        methods only prepare, and what they would be compared by is still nothing.
    """

    others_part: float = 0.15
    patience: float = 0.5
    expected_gain: float = 0.3
    alone_seconds: float = 0.0


@dataclass
class Record:
    """The bounds that a method has proven, by the method's own time.

    Attributes
    ----------
    base
        The bound from which it started, or was told last.
    used
        Seconds that it has run.
    rises
        Own time and bound, whenever the bound became better.
    is_over
        Whether the method has ended.
    first
        The bound from which it started.
    """

    base: float
    used: float = 0.0
    rises: list[tuple[float, float]] = field(default_factory=list)
    is_over: bool = False

    def __post_init__(self) -> None:
        self.first = self.base

    @property
    def bound(self) -> float:
        """The best bound so far."""
        return self.rises[-1][1] if self.rises else self.base

    def rise(self, bound: float) -> None:
        """Record a bound if it is better than those before."""
        if bound > self.bound:
            self.rises.append((self.used, bound))

    def restart(self, bound: float) -> None:
        """Clear the record, because the method starts again from another bound."""
        self.base = bound
        self.rises.clear()

    def bound_at(self, seconds: float) -> float:
        """Return the best bound after some seconds of the method's own time."""
        found = bisect_right(self.rises, (seconds, math.inf))
        return self.rises[found - 1][1] if found else self.base

    def is_rival_of(self, leader: "Record") -> bool:
        """Whether it has proven no less than a leader that has run longer had in the same time.

        A method that was told the bound of another says nothing about itself.
        """
        return (
            0 < self.used < leader.used
            and self.base == self.first
            and self.bound >= leader.bound_at(self.used)
        )

    def is_stalled(self) -> bool:
        """Whether the bound stayed the same for a large part of the method's time."""
        return self.bound_at((1 - STALLED_PART) * self.used) == self.bound

    def expected_gap(self, cost: float, seconds: float) -> float:
        """Extrapolate the gap to a cost over some more seconds, as a power of the time.

        The power is that of the time since a part of the method's time.
        """
        gap = max(cost - self.bound, 0.0)
        before = cost - self.bound_at((1 - STALLED_PART) * self.used)
        if not gap or before <= gap or not self.used:
            return gap
        power = math.log(before / gap) / math.log(1 / (1 - STALLED_PART))
        farther = min(1 + seconds / self.used, FARTHEST)
        return gap * math.pow(farther, -power)


def next_turn(
    records: Sequence[Record], cost: float, whole: Budget, settings: PortfolioSettings
) -> tuple[int, float]:
    """Return the number of the method whose turn is next, and how many seconds it gets.

    Parameters
    ----------
    records
        Of the methods, those that are expected to prove most first. One at least has not ended.
    cost
        Of the best known solution. While there is none, twice the best bound serves as well.
    """
    left = whole.remaining()
    first = max(FIRST_SECONDS, FIRST_FRACTION * whole.wall_seconds)
    if math.isinf(cost):
        cost = 2 * max(record.bound for record in records)
    alive = [i for i, record in enumerate(records) if not record.is_over]
    if whole.spent() > NO_START_AFTER * whole.wall_seconds:
        alive = [i for i in alive if records[i].used] or alive
    if alive[0] == 0 and records[0].used < settings.alone_seconds:
        return 0, max(first, settings.alone_seconds - records[0].used)

    def is_given_time(i: int) -> bool:
        return i == 0 and records[i].used < settings.patience * whole.wall_seconds

    def expected(i: int) -> float:
        gap = records[i].expected_gap(cost, left)
        least = (1 - settings.expected_gain) * (cost - records[i].first)
        return min(gap, least) if is_given_time(i) else gap

    leader = min(alive, key=lambda i: (expected(i), -records[i].bound, i))
    others = [i for i in alive if i != leader]
    # The first method may prepare for long, so it is not held to what others prove early.
    rivals = [i for i in others if leader and i and records[i].is_rival_of(records[leader])]
    if rivals:
        rival = max(rivals, key=lambda i: (records[i].bound, -i))
        return rival, max(first, GROWTH * records[rival].used)
    if records[leader].used and others:
        total = sum(record.used for record in records)
        part = (
            OTHERS_PART_WHEN_STALLED
            if records[leader].is_stalled() and not is_given_time(leader)
            else settings.others_part
        )
        # Those that are expected to prove more are tried longer.
        for waiting in sorted(others, key=lambda i: (records[i].used * (i + 1), i)):
            turn = max(first, records[waiting].used)
            # The time in which the first method was to lead is not what the others have had.
            led = records[0].used if leader and waiting else 0.0
            if total - records[leader].used - led + turn <= part * (total + turn):
                return waiting, turn
    return leader, max(first, GROWTH * records[leader].used)


class _StoppedError(BaseException):
    """Ends a method that gets no more turns; no `except Exception` of the method catches it."""


@dataclass(frozen=True, kw_only=True)
class TurnBudget(Budget):
    """A budget whose clock stops between a method's turns; reading it may end a turn.

    `wall_seconds` and `started` are times of the method's own clock, but what remains is never more
    than what remains of the whole time. So a method plans as if all of that were its own, and a
    step that it plans is not cut short by the turns of others.
    """

    player: "_Player"

    def remaining(self) -> float:
        """Return the seconds left, 0.0 when the time is up."""
        own = self.started + self.wall_seconds - self.player.look()
        return max(0.0, min(own, self.player.whole.remaining()))

    def spent(self) -> float:
        """Return the seconds of the method's own time since it started."""
        return self.player.look() - self.started

    def part(self, fraction: float) -> Budget:
        """Return a budget for a step: a fraction of the time that is left, from now on."""
        seconds = fraction * self.remaining()
        return replace(self, wall_seconds=seconds, started=self.player.look())


class _Player:
    """A method in a thread that runs only while it has the turn.

    Attributes
    ----------
    whole
        The portfolio's budget.
    own
        What the method reported, and what it was told.
    """

    def __init__(self, name: str, run: Run, instance: Instance, whole: Budget, best: Best) -> None:
        self.whole, self._best, self._run = whole, best, run
        self.own = Best(instance, self, passes_claims=False)
        self.own.objective, self.own.certified = best.objective, best.certified
        self.record = Record(best.certified)
        self.error: BaseException | None = None
        self._is_stopped = False
        self._before = self._resumed = self._until = 0.0
        self._go, self._handed_over = threading.Lock(), threading.Lock()
        self._go.acquire()
        self._handed_over.acquire()
        # A thread that an interrupted portfolio leaves behind does not keep the process alive.
        self._thread = threading.Thread(target=self._play, name=name, daemon=True)

    def solution(self, solution: Solution) -> None:
        """Pass a solution on."""
        self._best.solution(solution)

    def bound(self, bound: Certificate | Claim) -> None:
        """Record when a certificate came, and pass it on."""
        self.record.used = self._now()
        self.record.rise(bound.bound)
        self._best.bound(bound)

    def tell(self) -> None:
        """Let the method begin its next turn from the best bound of all methods."""
        if self._best.certified > self.own.certified:
            self.own.certified = self._best.certified
            self.record.restart(self._best.certified)

    def take_turn(self, seconds: float) -> None:
        """Let the method run for some seconds, or until it ends.

        Raises
        ------
        BaseException
            What the method raised, unless it refused the instance.
        """
        self.own.objective = min(self.own.objective, self._best.objective)
        self._until = self._before + seconds
        self._resumed = self.whole.spent()
        if self._thread.ident is None:
            self._thread.start()
        else:
            self._go.release()
        self._handed_over.acquire()
        if self.error is not None:
            raise self.error

    def stop(self) -> None:
        """End the method where it waits, or where it looks at the clock next."""
        self._is_stopped = True
        if self._thread.is_alive():
            if self._go.locked():
                self._go.release()
            # A solver that an interrupt found at work may take longer.
            self._thread.join(timeout=1.0)

    def look(self) -> float:
        """Return the method's own time; if its turn is over, first wait for the next."""
        if self._is_stopped:
            raise _StoppedError
        now = self._now()
        if now >= self._until and not self.whole.is_spent():
            self.record.used = self._before = now
            self._handed_over.release()
            self._go.acquire()
            if self._is_stopped:
                raise _StoppedError
        return now

    def _now(self) -> float:
        return self._before + self.whole.spent() - self._resumed

    def _play(self) -> None:
        budget = TurnBudget(
            self.whole.remaining(), self.whole.memory_bytes, self.whole.threads, 0.0, player=self
        )
        try:
            self._run(budget, self.own)
        except (_StoppedError, UnsupportedError):
            pass
        except BaseException as error:
            self.error = error
        finally:
            self.record.used = self._now()
            self.record.is_over = True
            self._handed_over.release()


def run_by_turns(
    methods: Mapping[str, Run],
    instance: Instance,
    budget: Budget,
    best: Best,
    settings: PortfolioSettings = PortfolioSettings(),
) -> None:
    """Run methods by turns until all have ended, the time is up or the best solution is proven.

    A method that raises `UnsupportedError` is left out. A method that stalls is told the best bound
    of all before its next turn, and each is told the best cost.

    Parameters
    ----------
    methods
        By name, those that are expected to prove most first. Each gets a budget of its own and a
        `Best` that knows what is known when the portfolio starts.
    best
        Receives what all of them report.
    """
    players = [_Player(name, run, instance, budget, best) for name, run in methods.items()]
    records = [player.record for player in players]
    try:
        while not (
            best.is_proven or budget.is_spent() or all(record.is_over for record in records)
        ):
            number, seconds = next_turn(records, best.objective, budget, settings)
            record = records[number]
            has_had = record.used >= SYNC_AFTER * budget.wall_seconds
            if has_had and record.is_stalled():
                players[number].tell()
            players[number].take_turn(seconds)
    finally:
        for player in players:
            player.stop()
