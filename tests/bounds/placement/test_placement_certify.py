"""What bounds there are one after another, when they end, and what becomes of the time."""

import pytest
from brute_force_placement import instance, optimum
from recording import Recorder

from boundmark.bounds import checker
from boundmark.bounds.best import Best
from boundmark.bounds.placement import placement_certify
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


def test_what_refuses_is_left_out_and_time_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    """The next bound has its turn, and ends within the whole time if it ends a little late."""
    left: list[float] = []

    def late(sample: PlacementInstance, budget: Budget, seed: int, best: Best) -> None:
        left.append(budget.remaining())

    monkeypatch.setattr(placement_certify, "PARTS", ((refuse, 1.0), (late, 0.5), (late, 1.0)))
    sample = instance(ROWS, EDGES, times=TIMES)
    placement_certify.run(sample, Budget(600), 1, Recorder(), known_cost=0)
    assert 0 < left[0] <= 300 < left[1] < 0.98 * 600
