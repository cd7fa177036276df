"""What bounds take turns, when they end, and what becomes of the time."""

import pytest
from brute_force_placement import instance, optimum
from recording import Recorder

from boundmark.bounds import checker
from boundmark.bounds.best import Best
from boundmark.bounds.placement import (
    interval_load,
    path_prices,
    placement_certify,
    time_prices,
)
from boundmark.bounds.placement.placement_certify import PlacementCertifySettings
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
    """Without modules, prices of time, loads and prices still have their turns."""
    sample = instance(ROWS, EDGES, times=TIMES, memory=[1] * 7, capacity=[4, 6])
    asked: list[str] = []
    monkeypatch.setattr(series.ClosingIn, "of", refuse)
    monkeypatch.setattr(interval_load, "run", lambda *_: asked.append("loads"))
    monkeypatch.setattr(path_prices, "run", lambda *_: asked.append("prices"))
    monkeypatch.setattr(time_prices, "run", lambda *_: asked.append("prices of time"))
    certified(sample)
    assert asked == ["prices of time", "loads", "prices"]


def test_prices_see_what_is_searched_so_far(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the search goes on, the turns of prices are over the modules that it has by then."""
    seen: list[ClosingIn] = []

    def endless(closing: ClosingIn, budget: Budget) -> ClosingIn:
        while not budget.is_spent():
            pass
        return closing

    def note(sample: PlacementInstance, closing: ClosingIn, budget: Budget, best: Best) -> None:
        seen.append(closing)

    sample = instance(ROWS, EDGES, times=TIMES)
    monkeypatch.setattr(series, "search", endless)
    monkeypatch.setattr(path_prices, "report_with_modules", note)
    monkeypatch.setattr(time_prices, "report_with_modules", note)
    short = PlacementCertifySettings(portfolio=PortfolioSettings(first_seconds=0.01))
    placement_certify.run(sample, Budget(1), 1, Recorder(), known_cost=0, settings=short)
    assert [closing.instance for closing in seen] == [sample, sample]


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
