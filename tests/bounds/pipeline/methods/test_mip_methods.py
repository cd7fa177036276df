from dataclasses import dataclass, field
from typing import Any

import pytest
from brute_force import all_dags, instance, optimum

from boundmark.bounds.mip.linear_model import LinearModel
from boundmark.bounds.mip.solvers import SOLVERS
from boundmark.bounds.mip.solvers.search import Outcome, Search
from boundmark.bounds.pipeline import BOTTLENECK, BOTTLENECK_GUESS, EXACT, EXACT_STRONG
from boundmark.problems.certificate import Certificate, Claim
from boundmark.problems.errors import UnknownNameError
from boundmark.problems.method import Budget, Method
from boundmark.problems.pipeline import Partition, PipelineInstance

METHODS = (BOTTLENECK, BOTTLENECK_GUESS, EXACT, EXACT_STRONG)
BY_NAME = {method.name: method for method in METHODS}

# Every 25th DAG of five nodes with k = 2 and 3, half of them with overflow.
SAMPLES = [
    instance(
        [6, 2, 5, 1, 3],
        edges,
        k=2 + number % 2,
        transfer=[1, 4, 2, 2, 1],
        param_load=[3, 1, 2, 0, 5],
        cache=(100, 4)[number // 2 % 2],
    )
    for number, edges in enumerate(list(all_dags(5))[::25])
]


@dataclass
class Recorder:
    """Keeps what a method reports."""

    solutions: list[Partition] = field(default_factory=list)
    bounds: list[float] = field(default_factory=list)

    def solution(self, solution: Partition) -> None:
        """Keep a solution."""
        self.solutions.append(solution)

    def bound(self, bound: Certificate | Claim) -> None:
        """Keep a bound, which has to be a claim."""
        assert isinstance(bound, Claim)
        self.bounds.append(bound.bound)


def run(name: str, sample: PipelineInstance, seconds: float = 20, **params: Any) -> Recorder:
    """Run a method."""
    recorder = Recorder()
    method = BY_NAME[name]
    method.run(sample, Budget(seconds), 1, recorder, **{**method.params, **params})
    return recorder


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("name", BY_NAME)
def test_bounds_are_bounds_with_every_solver(name: str, solver: str) -> None:
    """Claims improve and never exceed the optimum; exact methods end at it."""
    for sample in SAMPLES:
        recorder = run(name, sample, solver=solver)
        best = optimum(sample)
        assert recorder.bounds == sorted(set(recorder.bounds))
        assert recorder.bounds[-1] <= best
        if BY_NAME[name].kind == "exact":
            assert recorder.bounds[-1] == pytest.approx(best)
            assert sample.objective(recorder.solutions[-1]) == best


@pytest.mark.parametrize("sample", SAMPLES)
def test_hierarchy(sample: PipelineInstance) -> None:
    """The paper's order: bottleneck, guess, exact; with two stages a guess is exact."""
    bottleneck, guess, exact = (
        run(name, sample).bounds[-1] for name in ("bottleneck", "bottleneck-guess", "exact")
    )
    assert bottleneck <= guess + 1e-6
    assert guess <= exact + 1e-6
    if sample.k == 2:
        assert guess == pytest.approx(exact)


@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.name)
def test_unknown_solver(method: Method) -> None:
    """A typing error in a suite is answered with what was probably meant."""
    with pytest.raises(UnknownNameError, match=r"no solver 'higs'; did you mean highs\.$"):
        run(method.name, SAMPLES[0], solver="higs")


@pytest.mark.parametrize("worse", [float("-inf"), float("nan"), -1.0, 0.0, 0.5])
@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.name)
def test_a_worse_bound_replaces_nothing(
    method: Method, worse: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A solver that forgets what it knew takes back neither its own bound nor a simple one."""

    def forgetful(model: LinearModel, search: Search) -> Outcome:
        for ticks in (1.5, worse):
            search.on_bound(ticks)
        return Outcome(worse, finished=False)

    monkeypatch.setitem(SOLVERS, "forgetful", forgetful)
    for sample in SAMPLES:
        recorder = run(method.name, sample, solver="forgetful")
        assert recorder.bounds == sorted(set(recorder.bounds))
        assert 1.5 <= recorder.bounds[-1] <= optimum(sample)


@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.name)
def test_no_time_still_leaves_a_bound(method: Method) -> None:
    """With the time already up, what costs nothing is reported."""
    recorder = run(method.name, SAMPLES[3], seconds=0)
    if method.name != "exact":
        assert recorder.bounds
    if method.kind == "exact":
        assert recorder.solutions
