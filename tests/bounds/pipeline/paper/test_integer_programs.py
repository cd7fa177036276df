import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import pytest
from brute_force import all_dags, instance, optimum, stage_cost
from selection import first_now

from boundmark.bounds.mip import SOLVERS
from boundmark.bounds.mip.linear_model import UNBOUNDED, LinearModel
from boundmark.bounds.mip.solving import Outcome, Search
from boundmark.bounds.pipeline import BOTTLENECK, BOTTLENECK_GUESS, EXACT
from boundmark.bounds.pipeline.paper.integer_programs import (
    SuperblockColumns,
    bottleneck_model,
    exact_columns,
    exact_model,
    guess_model,
    simple_bound,
)
from boundmark.problems.arrays import IntArray, frozen
from boundmark.problems.certificate import Certificate, Claim
from boundmark.problems.errors import UnknownNameError
from boundmark.problems.method import Budget, Method
from boundmark.problems.pipeline import Partition, PipelineInstance

# Every 16th DAG of five nodes, with and without overflow: enough shapes, few enough solves.
MODEL_SAMPLES = [
    instance(
        [3, 1, 4, 1, 5],
        edges,
        k=1 + number % 4,
        transfer=[2, 7, 1, 3, 2],
        param_load=[0, 6, 2, 0, 5],
        cache=(100, 6, 3)[number % 3],
    )
    for number, edges in enumerate(all_dags(5)[::16])
]


def solved(model: LinearModel, solver: str = "highs") -> float:
    """Return the model's optimum."""
    outcome = SOLVERS[solver](model, Search(Budget(200)))
    assert outcome.finished
    return outcome.bound


def superblocks(sample: PipelineInstance) -> Iterator[tuple[set[int], set[int], set[int]]]:
    """Yield the node sets before, in and after a superblock of at least the simple bound's work."""
    least = simple_bound(sample.graph, sample.k)
    edges = list(zip(sample.graph.dag.sources, sample.graph.dag.targets, strict=True))
    for assignment in itertools.product(range(3), repeat=sample.nodes):
        if all(assignment[u] <= assignment[v] for u, v in edges):
            parts = [{v for v in range(sample.nodes) if assignment[v] == i} for i in range(3)]
            if sum(int(sample.graph.work[v]) for v in parts[1]) >= least:
                yield parts[0], parts[1], parts[2]


def average_cost(sample: PipelineInstance, part: set[int], superblocks: int) -> Fraction | float:
    """Return what the average of several merged superblocks costs at least."""
    if not superblocks:
        return math.inf if part else 0
    graph = sample.graph
    load = sum(int(graph.param_load[v]) for v in part)
    without_overflow = stage_cost(sample, part) - max(0, load - graph.cache)
    return Fraction(without_overflow + max(0, load - superblocks * graph.cache), superblocks)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("sample", first_now(MODEL_SAMPLES, 12))
def test_bottleneck_is_the_cheapest_middle_superblock(
    sample: PipelineInstance, solver: str
) -> None:
    """Section 3.2, by trying every three-superblock assignment."""
    expected = min(stage_cost(sample, middle) for _, middle, _ in superblocks(sample))
    assert solved(bottleneck_model(sample.graph, sample.k), solver) == pytest.approx(expected)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("sample", first_now(MODEL_SAMPLES, 12))
def test_guess_also_counts_the_average_of_the_rest(sample: PipelineInstance, solver: str) -> None:
    """Section 3.3, by trying every three-superblock assignment; infinite if none fits."""
    guess = 1 + sample.k // 2
    expected = min(
        max(
            average_cost(sample, before, guess - 1),
            stage_cost(sample, middle),
            average_cost(sample, after, sample.k - guess),
        )
        for before, middle, after in superblocks(sample)
    )
    bound = solved(guess_model(sample.graph, sample.k, guess), solver)
    assert bound == pytest.approx(float(expected))


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("sample", first_now(MODEL_SAMPLES, 12))
def test_exact_is_exact(sample: PipelineInstance, solver: str) -> None:
    """Figure 3 with overflow has the optimum of brute force."""
    model = exact_model(exact_columns(sample.graph, sample.k))
    assert solved(model, solver) == pytest.approx(optimum(sample))


@pytest.mark.parametrize("sample", MODEL_SAMPLES[::3])
def test_partitions_are_feasible_at_their_cost(sample: PipelineInstance) -> None:
    """A partition's values obey all rows, and cost what the partition costs; and back."""
    columns = exact_columns(sample.graph, sample.k)
    model = exact_model(columns)
    order = sample.graph.dag.topological_order
    for ends in itertools.combinations_with_replacement(range(sample.nodes + 1), sample.k - 1):
        partition = Partition.from_segments(order, frozen([*ends, sample.nodes]))
        values = columns.values(partition)
        assert_feasible(model, values)
        assert values[model.objective] == sample.objective(partition)
        assert columns.partition(values).to_json() == partition.to_json()


def assert_feasible(model: LinearModel, values: IntArray) -> None:
    """Check values against bounds and rows in exact arithmetic."""
    assert ((model.lower <= values) & (values <= model.upper)).all()
    for row in range(model.rows):
        entries = slice(model.row_start[row], model.row_start[row + 1])
        total = model.row_values[entries] @ values[model.row_columns[entries]]
        assert model.row_lower[row] <= total <= model.row_upper[row]


def test_columns_without_overflow_are_few() -> None:
    """Where parameters always fit there is no overflow column: the paper's sizes."""
    with_overflow, without = (
        SuperblockColumns(instance([1, 1], [], 2, param_load=[1, 1], cache=cache).graph, 2, (1, 2))
        for cache in (1, 2)
    )
    assert with_overflow.bottleneck == without.bottleneck + 2


@pytest.mark.parametrize("name", ["lower", "row_lower"])
def test_models_hold_integers(name: str) -> None:
    """Checkers and exact arithmetic can use them as they are."""
    array: Any = getattr(exact_model(exact_columns(MODEL_SAMPLES[5].graph, 2)), name)
    assert array.dtype == "int64"
    assert abs(array).max() <= UNBOUNDED


METHODS = (BOTTLENECK, BOTTLENECK_GUESS, EXACT)
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
    for number, edges in enumerate(all_dags(5)[::25])
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


def test_guesses_use_the_time_that_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    """The smallest is solved again, up to the next larger bound; none is below the simple bound."""
    # Guesses 2, 1 and 3; then 2 again, 3 again, and 2 in vain.
    bounds = iter([1.0, 15.0, 12.0, 14.0, 20.0, 14.0])
    asked: list[float] = []

    def solver(model: LinearModel, search: Search) -> Outcome:
        asked.append(search.enough)
        return Outcome(next(bounds), finished=False)

    monkeypatch.setitem(SOLVERS, "fake", solver)
    recorder = run("bottleneck-guess", instance([3, 1, 4, 1], [(0, 1), (1, 2)], 3), solver="fake")
    assert recorder.bounds[-1] == 14.0
    assert asked == [math.inf, 4.0, 4.0, 12.0, 14.0, 15.0]
    assert min(recorder.bounds) >= 4.0


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
