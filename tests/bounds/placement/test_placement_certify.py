"""What bounds take turns, when they end, and what becomes of the time."""

from dataclasses import dataclass

import pytest
from brute_force_placement import instance, optimum
from recording import Recorder

from boundmark.bounds import checker, portfolio
from boundmark.bounds.best import Best
from boundmark.bounds.placement import (
    interval_load,
    path_prices,
    placement_certify,
    port_prices,
    time_prices,
)
from boundmark.bounds.placement.series import method as series
from boundmark.bounds.placement.series.method import ClosingIn
from boundmark.bounds.portfolio import PortfolioSettings
from boundmark.problems.errors import UnsupportedError
from boundmark.problems.method import Budget
from boundmark.problems.placement import PlacementInstance

FORK_JOIN = [(0, 1), (0, 2), (1, 3), (2, 3)]
# Two modules, and a tensor that runs past the first one.
ROWS = [[2, 3], [5, 6], [6, 5], [1, 2], [6, 5], [5, 6], [2, 2]]
EDGES = [*FORK_JOIN, *((u + 3, v + 3) for u, v in FORK_JOIN), (0, 4)]
TIMES = [[0, 3, 2, 0]]


def certified(sample: PlacementInstance, known_cost: int = 0) -> Recorder:
    """Run the method; every bound has to be better than the last, and accepted."""
    reports = Recorder()
    placement_certify.run(sample, Budget(60), 1, reports, known_cost=known_cost)
    bounds = [report.bound for report in reports.bounds]
    assert bounds == sorted(set(bounds))
    for report in reports.bounds:
        document = report.to_json()
        assert checker.check_certificate(sample.to_json(), document) >= report.bound
    return reports


@dataclass
class Clock:
    """How many looks at it are left before the time is up."""

    left: int


class CountingBudget(Budget):
    """A budget that is spent after some looks at it, however long they take."""

    clock: Clock
    is_raising: bool

    def __init__(self, looks_left: int, *, is_raising: bool = False) -> None:
        super().__init__(60.0)
        object.__setattr__(self, "clock", Clock(looks_left))
        object.__setattr__(self, "is_raising", is_raising)

    def is_spent(self) -> bool:
        """Whether there are no looks left."""
        self.clock.left -= 1
        if self.clock.left < 0 and self.is_raising:
            raise KeyboardInterrupt
        return self.clock.left < 0


def refuse(*_: object, **__: object) -> None:
    """Do as a method does that a graph does not suit."""
    raise UnsupportedError("too large for the checker.")


def test_modules_without_anything_beside_them_are_solved() -> None:
    """Bound and schedule meet in the optimum."""
    sample = instance(ROWS[:4], FORK_JOIN, times=TIMES)
    reports = certified(sample)
    assert reports.bounds[-1].bound == optimum(sample)
    assert sample.objective(reports.solutions[-1]) == optimum(sample)


def test_a_known_makespan_that_paths_prove_ends_all() -> None:
    """Nothing takes a turn once the known makespan is proven."""
    sample = instance([[1, 2], [1, 2]], [(0, 1)])
    reports = certified(sample, known_cost=optimum(sample))
    assert [report.kind for report in reports.bounds] == ["critical-path/1"]


def test_the_others_go_on_where_one_refuses(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without modules, prices of ports and time, loads and prices still have their turns."""
    sample = instance(ROWS, EDGES, times=TIMES, memory=[1] * 7, capacity=[4, 6])
    asked: list[str] = []
    monkeypatch.setattr(series.ClosingIn, "of", refuse)
    monkeypatch.setattr(interval_load, "run", lambda *_: asked.append("loads"))
    monkeypatch.setattr(path_prices, "run", lambda *_: asked.append("prices"))
    monkeypatch.setattr(port_prices, "run", lambda *_: asked.append("prices of ports"))
    monkeypatch.setattr(time_prices, "run", lambda *_: asked.append("prices of time"))
    certified(sample)
    assert asked == ["prices of ports", "prices of time", "loads", "prices"]


def test_prices_see_what_is_searched_so_far(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the search goes on, the turns of prices are over the modules that it has by then."""
    seen: list[ClosingIn] = []

    def endless(closing: ClosingIn, budget: Budget) -> ClosingIn:
        while len(seen) < 3 and not budget.is_spent():
            pass
        return closing

    def note(sample: PlacementInstance, closing: ClosingIn, budget: Budget, best: Best) -> None:
        seen.append(closing)

    sample = instance(ROWS, EDGES, times=TIMES)
    monkeypatch.setattr(series, "search", endless)
    for prices in (path_prices, port_prices, time_prices):
        monkeypatch.setattr(prices, "report_with_modules", note)
    monkeypatch.setattr(portfolio, "FIRST_SECONDS", 0.01)
    monkeypatch.setattr(portfolio, "FIRST_FRACTION", 0.0)
    turns = PortfolioSettings(patience=0.0)
    placement_certify.run(sample, Budget(60), 1, Recorder(), known_cost=0, portfolio=turns)
    assert [closing.instance for closing in seen] == [sample] * 3


def test_turns_leave_time_for_what_does_not_look_at_the_clock(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A method that ends a little after its time still ends within the whole time."""
    left: list[float] = []

    def late(sample: PlacementInstance, budget: Budget, seed: int, best: Best) -> None:
        left.append(budget.remaining())

    monkeypatch.setattr(series.ClosingIn, "of", refuse)
    monkeypatch.setattr(interval_load, "run", late)
    sample = instance(ROWS, EDGES, times=TIMES)
    placement_certify.run(sample, Budget(600), 1, Recorder(), known_cost=0)
    assert left
    assert max(left) < 0.98 * 600


def test_a_solver_at_work_looks_at_the_clock() -> None:
    """Linear programs are given up soon after the time is up, counted in looks at the clock."""
    graph = instance(
        [[5 + v % 7, 9 + v % 5, 7] for v in range(60)],
        [(v, v + step) for step in (1, 7) for v in range(60 - step)],
        times=[[0, 3, 5, 3, 0, 4, 5, 4, 0]],
    ).graph
    arcs = path_prices.arcs_of(graph, [])
    patient = CountingBudget(looks_left=10**6)
    assert path_prices.best_prices(graph, arcs, patient) is not None
    looks = 10**6 - patient.clock.left
    assert looks > 10
    for left in (0, 1, 3, looks // 2):
        short = CountingBudget(looks_left=left)
        assert path_prices.best_prices(graph, arcs, short) is None
        # Of interior points, no step takes more than a few looks to end.
        assert short.clock.left >= -5


def test_what_the_clock_raises_ends_a_solver() -> None:
    """A method that is stopped while its solver runs is stopped, and raises what stopped it."""
    graph = instance([[5, 9]] * 9, [(v, v + 1) for v in range(8)], times=[[0, 3, 5, 0]]).graph
    stopped = CountingBudget(looks_left=3, is_raising=True)
    with pytest.raises(KeyboardInterrupt):
        path_prices.best_prices(graph, path_prices.arcs_of(graph, []), stopped)
