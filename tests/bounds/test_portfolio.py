"""Methods here are fakes that pass time on a clock of the test, so turns are always the same."""

import itertools
import math
import threading
from collections.abc import Callable
from dataclasses import dataclass
from types import SimpleNamespace

import pytest
from brute_force import instance
from recording import Recorder

from boundmark.bounds import portfolio
from boundmark.bounds.best import Best
from boundmark.bounds.portfolio import PortfolioSettings, Record, Run, next_turn, run_by_turns
from boundmark.problems import method
from boundmark.problems.certificate import Certificate
from boundmark.problems.errors import UnsupportedError
from boundmark.problems.method import Budget
from boundmark.problems.pipeline import PipelineInstance

COST = 1000

AS_SET = PortfolioSettings()


@pytest.fixture
def sample() -> PipelineInstance:
    """Return an instance that nobody looks at."""
    return instance([1, 1], [(0, 1)], 2)


@dataclass
class Clock:
    """A clock that stands still unless a fake works."""

    now: float = 0.0

    def work(self, seconds: float) -> None:
        """Let time pass."""
        self.now += seconds


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """Return the clock of all budgets."""
    clock = Clock()
    monkeypatch.setattr(method, "time", SimpleNamespace(monotonic=lambda: clock.now))
    return clock


@dataclass
class Fake:
    """A method that works in steps of a tenth of a second, and proves `bounds(own seconds)`."""

    sample: PipelineInstance
    clock: Clock
    bounds: Callable[[float], float]
    seconds: float = 0.0
    most_seconds: float = math.inf

    def __call__(self, budget: Budget, best: Best) -> None:
        """Work until the budget is spent."""
        while not budget.is_spent() and self.seconds < self.most_seconds:
            self.clock.work(0.1)
            self.seconds += 0.1
            bound = int(self.bounds(self.seconds))
            best.bound(Certificate.of(self.sample, "fake/1", bound, {}, "fake"))


def played(
    sample: PipelineInstance,
    methods: dict[str, Run],
    settings: PortfolioSettings = AS_SET,
) -> tuple[Best, Recorder]:
    """Run methods by turns for a minute, from a bound of 500; return what they found."""
    reports = Recorder()
    best = Best(sample, reports)
    best.objective, best.certified = COST, 500
    run_by_turns(methods, sample, Budget(60.0, started=method.time.monotonic()), best, settings)
    return best, reports


def test_the_method_that_is_ahead_gets_most_of_the_time(
    sample: PipelineInstance, clock: Clock
) -> None:
    """The faster of two gets at least 60 % of the time, also if it is not the first."""
    slow = Fake(sample, clock, lambda t: 500 + 100 * t / (t + 3))
    fast = Fake(sample, clock, lambda t: 500 + 400 * t / (t + 3))
    played(sample, {"slow": slow, "fast": fast})
    assert fast.seconds >= 0.6 * 60
    assert clock.now == pytest.approx(60, abs=0.5)


def test_a_method_that_stalls_gives_way(sample: PipelineInstance, clock: Clock) -> None:
    """One that is quick at first and then proves nothing more leaves 40 % of the time to others."""
    staller = Fake(sample, clock, lambda t: 700 if t > 1 else 500)
    steady = Fake(sample, clock, lambda t: 500 + 5 * t)
    best, _ = played(sample, {"staller": staller, "steady": steady})
    assert steady.seconds >= 0.4 * 60
    assert best.certified == 700


def test_the_first_method_has_time_to_prepare(sample: PipelineInstance, clock: Clock) -> None:
    """It may prove nothing for a third of the time while others prove little."""
    preparing = Fake(sample, clock, lambda t: 900 if t > 20 else 500)
    little = Fake(sample, clock, lambda t: 500 + 50 * t / (t + 3))
    best, _ = played(sample, {"preparing": preparing, "little": little})
    assert best.certified == 900


def test_a_method_goes_on_where_its_turn_ended(sample: PipelineInstance, clock: Clock) -> None:
    """Each is started once, and its clock stands still while others have their turn."""
    own: list[float] = []

    def watching(budget: Budget, best: Best) -> None:
        step = budget.part(0.1)
        planned = step.wall_seconds
        while not budget.is_spent():
            clock.work(0.1)
            own.append(budget.spent())
            if step.is_spent() and not ends:
                ends.append(budget.spent())
        assert planned == pytest.approx(6.0)

    ends: list[float] = []
    other = Fake(sample, clock, lambda t: 500)
    played(sample, {"watching": watching, "other": other})
    assert own == sorted(own)
    assert [later - sooner for sooner, later in itertools.pairwise(own)] == pytest.approx(
        [0.1] * (len(own) - 1)
    )
    # A tenth of the time was its own, although others had theirs meanwhile.
    assert ends == [pytest.approx(6.0, abs=0.2)]
    assert other.seconds > 0


def test_what_a_method_raises_is_raised(sample: PipelineInstance, clock: Clock) -> None:
    """An error in a method's thread ends the portfolio, and all its threads."""

    def failing(budget: Budget, best: Best) -> None:
        clock.work(1.0)
        budget.remaining()
        raise ZeroDivisionError("by the method")

    before = threading.active_count()
    with pytest.raises(ZeroDivisionError, match="by the method"):
        played(sample, {"failing": failing, "other": Fake(sample, clock, lambda t: 500)})
    assert threading.active_count() == before


def test_an_interrupt_ends_the_threads(sample: PipelineInstance, clock: Clock) -> None:
    """Ctrl-C while a method runs ends those that wait."""

    def interrupted(budget: Budget, best: Best) -> None:
        clock.work(20.0)
        budget.remaining()
        raise KeyboardInterrupt

    before = threading.active_count()
    with pytest.raises(KeyboardInterrupt):
        played(sample, {"other": Fake(sample, clock, lambda t: 500), "interrupted": interrupted})
    assert threading.active_count() == before


def test_a_method_that_refuses_is_left_out(sample: PipelineInstance, clock: Clock) -> None:
    """`UnsupportedError` leaves the time to the others."""

    def refusing(budget: Budget, best: Best) -> None:
        raise UnsupportedError("too large")

    other = Fake(sample, clock, lambda t: 500 + t)
    best, _ = played(sample, {"refusing": refusing, "other": other})
    assert other.seconds == pytest.approx(60, abs=0.2)
    assert best.certified == 560


def test_it_ends_when_all_methods_have(sample: PipelineInstance, clock: Clock) -> None:
    """Time that nobody needs is left."""
    ending = Fake(sample, clock, lambda t: 500 + t, most_seconds=5.0)
    played(sample, {"one": ending})
    assert clock.now == pytest.approx(5.0, abs=0.2)


def test_nothing_follows_the_proof_of_the_best_cost(sample: PipelineInstance, clock: Clock) -> None:
    """Once a bound meets the cost, no method gets another turn, and no thread is left."""
    before = threading.active_count()
    proving = Fake(sample, clock, lambda t: COST if t > 2 else 500, most_seconds=2.2)
    other = Fake(sample, clock, lambda t: 500)
    best, reports = played(sample, {"proving": proving, "other": other})
    assert best.is_proven
    assert clock.now < 5
    assert threading.active_count() == before
    assert [report.bound for report in reports.bounds] == [COST]


def test_a_stalled_method_is_told_the_best_bound(
    sample: PipelineInstance, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It begins from there, while one that is new shows first what it proves by itself."""
    heard: list[float] = []

    def listening(budget: Budget, best: Best) -> None:
        while not budget.is_spent():
            clock.work(0.1)
            heard.append(best.certified)

    quick = Fake(sample, clock, lambda t: 500 + 5 * t)
    monkeypatch.setattr(portfolio, "SYNC_AFTER", 0.01)
    settings = PortfolioSettings(patience=0.01)
    played(sample, {"quick": quick, "listening": listening}, settings)
    assert heard[0] == 500
    assert heard[-1] > 600


def test_the_gap_is_extrapolated_as_a_power_of_time() -> None:
    """Halved while the time doubled, it is a quarter at four times the time, and no less later."""
    record = Record(base=600)
    for record.used, bound in ((5.0, 800), (10.0, 900)):
        record.rise(bound)
    assert record.expected_gap(COST, 10.0) == pytest.approx(50)
    assert record.expected_gap(COST, 30.0) == pytest.approx(25)
    assert record.expected_gap(COST, 300.0) == pytest.approx(25)
    record.used = 40.0
    assert record.is_stalled()
    assert record.expected_gap(COST, 30.0) == pytest.approx(100)


def test_turns_do_not_need_a_known_cost() -> None:
    """Without a solution, the method with the better bound leads all the same."""
    records = [Record(100, 10.0, [(1.0, 150), (9.0, 160)]), Record(100, 10.0, [(1.0, 110)])]
    number, seconds = next_turn(records, math.inf, Budget(60.0), PortfolioSettings(others_part=0))
    assert number == 0
    assert seconds > 0


def test_first_method_begins_alone() -> None:
    """Whatever others promise, none has a turn before that; then they are tried."""
    settings = PortfolioSettings(alone_seconds=10.0)
    records = [Record(100, 4.0), Record(100, 2.0, [(1.0, 150)])]
    assert next_turn(records, COST, Budget(60.0), settings) == (0, pytest.approx(6.0))
    records[0].used = 10.0
    assert next_turn(records, COST, Budget(12.0), settings)[0] == 1
    records = [Record(100, 4.0, is_over=True), Record(100)]
    assert next_turn(records, COST, Budget(60.0), settings)[0] == 1


def test_a_rival_catches_up() -> None:
    """What had proven no less than the leading method in the same time continues; others do not.

    Neither the first method counts as such, nor one that was told the bound of another.
    """
    settings = PortfolioSettings(others_part=0)
    leading = Record(100, 8.0, [(1.0, 500), (2.0, 600), (7.0, 900)])
    records = [Record(100, 10.0, [(2.0, 550)]), leading, Record(100, 2.0, [(1.5, 600)])]
    assert next_turn(records, COST, Budget(60.0), settings)[0] == 2
    records[2] = Record(100, 2.0, [(1.5, 599)])
    assert next_turn(records, COST, Budget(60.0), settings)[0] == 1
    records[2].restart(900)
    assert next_turn(records, COST, Budget(60.0), settings)[0] == 1


def test_others_are_tried_though_the_first_method_has_had_much() -> None:
    """When another method leads, the time of the first one is not taken for time of others."""
    leading = Record(100, 20.0, [(1.0, 800), (12.0, 850), (19.0, 900)])
    records = [Record(100, 20.0, [(15.0, 300)]), leading, Record(100)]
    assert next_turn(records, COST, Budget(60.0), PortfolioSettings(patience=0.1))[0] == 2
    records[2] = Record(100, 8.0, [(1.0, 200)])
    assert next_turn(records, COST, Budget(60.0), PortfolioSettings(patience=0.1))[0] == 1


def test_nothing_begins_in_the_last_part_of_the_time() -> None:
    """It would only prepare, and may exceed the limit; but if nothing else is left, it is tried."""
    stalled = Record(100, 20.0, [(1.0, 150)])
    records = [Record(100, 31.0, is_over=True), stalled, Record(100)]

    def next_after(seconds: float) -> int:
        whole = Budget(60.0, started=method.time.monotonic() - seconds)
        return next_turn(records, COST, whole, AS_SET)[0]

    assert (next_after(8), next_after(55)) == (2, 1)
    stalled.is_over = True
    assert next_after(55) == 2
