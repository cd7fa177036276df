"""Solvers of programs, and what becomes of their claims."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from brute_force import instance
from recording import Recorder

from boundmark.bounds.best import Best
from boundmark.bounds.mip import PRESOLVERS, SOLVERS, most_columns
from boundmark.bounds.mip.linear_model import LARGEST_COEFFICIENT, FloatingModel, LinearModel
from boundmark.bounds.mip.solving import ModelTooLargeError, Search, claim
from boundmark.bounds.pipeline.paper.integer_programs import (
    bottleneck_model,
    exact_columns,
    exact_model,
)
from boundmark.bounds.pipeline.quick_partition import segmented
from boundmark.problems.arrays import frozen
from boundmark.problems.errors import UnsupportedError
from boundmark.problems.method import Budget
from boundmark.problems.pipeline import Partition, PipelineInstance
from boundmark.problems.pipeline.graph import PipelineGraph

GraphMaker = Callable[..., PipelineGraph]


MODULES = {"highs": "highspy", "scip": "pyscipopt", "gurobi": "gurobipy"}


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_small_budget_stops(random_graph: GraphMaker, solver: str) -> None:
    """A program that takes minutes ends with what is known, within a budget of a fraction."""
    model = exact_model(exact_columns(random_graph(40, 1), 6))
    bounds: list[float] = []
    outcome = SOLVERS[solver](model, Search(Budget(0.5), on_bound=bounds.append))
    assert not outcome.finished
    assert bounds == sorted(set(bounds))


@pytest.mark.parametrize("solver", SOLVERS)
def test_enough_is_enough(random_graph: GraphMaker, solver: str) -> None:
    """A search ends at a bound that need not be improved."""
    model = exact_model(exact_columns(random_graph(20, 1), 6))
    outcome = SOLVERS[solver](model, Search(Budget(300), enough=175))
    assert outcome.bound >= 175
    assert not outcome.finished


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_start_is_not_lost(random_graph: GraphMaker, solver: str) -> None:
    """What comes out costs no more than what one starts with."""
    graph = random_graph(20, 2)
    columns = exact_columns(graph, 4)
    start = segmented(PipelineInstance(graph, 4), graph.dag.topological_order)
    found: list[Partition] = []
    SOLVERS[solver](
        exact_model(columns),
        Search(
            Budget(300),
            start=columns.values(start),
            enough=100,
            on_incumbent=lambda values: found.append(columns.partition(values)),
        ),
    )
    sample = PipelineInstance(graph, 4)
    assert min(map(sample.objective, found)) <= sample.objective(start)


@pytest.mark.parametrize("solver", SOLVERS)
def test_no_solution_is_an_infinite_bound(solver: str) -> None:
    """A model without solutions refutes what it assumed."""
    graph = instance([5, 5], [(0, 1)], 2).graph
    model = exact_model(exact_columns(graph, 2))
    upper = model.upper.copy()
    upper[model.objective] = 4
    object.__setattr__(model, "upper", upper)
    outcome = SOLVERS[solver](model, Search(Budget(10)))
    assert outcome.finished
    assert outcome.bound == float("inf")


@pytest.mark.parametrize("solver", SOLVERS)
def test_presolve_leaves_less_and_search_trees_have_nodes(
    random_graph: GraphMaker, solver: str
) -> None:
    """What tables of solvers show: the size after presolve, and nodes of the search."""
    model = bottleneck_model(random_graph(20, 2), 4)
    columns, rows = PRESOLVERS[solver](model)
    assert 0 < columns < model.columns
    assert 0 < rows <= model.rows
    assert SOLVERS[solver](model, Search(Budget(10))).nodes > 0


def test_gurobi_presolves_no_model_that_is_too_large(random_graph: GraphMaker) -> None:
    """It says what the licence does not cover, as it does of solving."""
    model = exact_model(exact_columns(random_graph(100, 1), 16))
    with pytest.raises(UnsupportedError, match=f"licence does not cover .* {model.rows} rows"):
        PRESOLVERS["gurobi"](model)


def test_gurobi_says_why_a_model_is_too_large(random_graph: GraphMaker) -> None:
    """Beyond 2,000 columns or rows the free licence ends: too large, with the sizes."""
    model = exact_model(exact_columns(random_graph(100, 1), 16))
    assert model.columns > most_columns("gurobi") == 2000
    assert most_columns("highs") == float("inf")
    with pytest.raises(ModelTooLargeError, match=f"licence does not cover .* {model.rows} rows"):
        SOLVERS["gurobi"](model, Search(Budget(5)))


def test_gurobi_says_that_it_has_no_licence(
    random_graph: GraphMaker, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A licence file that is not there is a reason to give up, not an error."""
    monkeypatch.setenv("GRB_LICENSE_FILE", str(tmp_path / "gurobi.lic"))
    model = exact_model(exact_columns(random_graph(5, 1), 2))
    with pytest.raises(UnsupportedError, match=r"licence does not cover .*: Unable to open"):
        SOLVERS["gurobi"](model, Search(Budget(5)))


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_missing_module_is_named(
    random_graph: GraphMaker, monkeypatch: pytest.MonkeyPatch, solver: str
) -> None:
    """A solver that is not installed is unsupported."""
    module = MODULES[solver]
    monkeypatch.setitem(sys.modules, module, None)
    model = exact_model(exact_columns(random_graph(5, 1), 2))
    with pytest.raises(UnsupportedError, match=f"^module {module} is not installed[;.]"):
        SOLVERS[solver](model, Search(Budget(5)))


@pytest.mark.parametrize("solver", SOLVERS)
def test_real_costs_lose_nothing_to_tolerances(random_graph: GraphMaker, solver: str) -> None:
    """The same costs in a finer tick have the same optimum, to a part in a million."""
    coarse, fine = (
        SOLVERS[solver](bottleneck_model(random_graph(12, 3, unit), 4), Search(Budget(300))).bound
        for unit in (10**3, 10**9)
    )
    assert fine == pytest.approx(coarse * 10**6, rel=1e-4)


def test_scaling_changes_no_digit(random_graph: GraphMaker) -> None:
    """Scaled coefficients are small, and powers of two bring back the integers."""
    model = bottleneck_model(random_graph(30, 4, 10**9), 4)
    floating = FloatingModel.of(model)
    assert abs(floating.row_values).max() <= LARGEST_COEFFICIENT
    assert floating.unit.is_integer()
    assert floating.ticks(floating.scaled(model.lower + 1)[model.objective]) == 1


def test_rows_without_entries_take_no_scale() -> None:
    """Neither the last one, nor one between others, whose neighbour is scaled by itself."""
    big = 2**40
    model = LinearModel(
        lower=frozen([0, 0]), upper=frozen([9, 9]), is_integer=np.array([False, False]),
        is_cost=np.array([False, False]), objective=0, row_start=frozen([0, 1, 1, 2, 2]),
        row_columns=frozen([0, 1]), row_values=frozen([3, big]), row_lower=frozen([1, 0, big, 0]),
        row_upper=frozen([7, 5, 2 * big, 5]),
    )  # fmt: skip
    floating = FloatingModel.of(model)
    assert floating.row_values[0] == 3
    assert floating.row_values[1] <= LARGEST_COEFFICIENT
    assert floating.row_upper.tolist()[:2] == [7, 5]
    assert floating.row_upper[2] == 2 * floating.row_values[1]
    assert floating.row_upper[3] == 5


def test_solvers_are_not_imported_before_use() -> None:
    """Some solvers cannot share a process, so registering methods imports none."""
    code = (
        "import sys, boundmark.bounds.pipeline as p; p.METHODS;"
        "print({'highspy', 'pyscipopt', 'gurobipy', 'ortools'} & set(sys.modules))"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert result.stdout == "set()\n", result.stderr


@pytest.mark.parametrize(
    ("ticks", "claimed"),
    [
        (float("-inf"), []),
        (float("inf"), []),
        (float("nan"), []),
        (6.9999999, [6.9999999]),
        (7.0000001, [7.0]),
        (6.5, [6.5]),
        (7.25, [7.25]),
        (2.0**50 + 1, [2.0**50 + 1]),
    ],
)
def test_claims_are_never_rounded_up(ticks: float, claimed: list[float]) -> None:
    """A hair above an integer is that integer; a hair below stays, and infinities say nothing."""
    recorder = Recorder()
    claim("exact", ticks, recorder)
    assert [bound.bound for bound in recorder.bounds] == claimed


def test_only_better_claims_pass() -> None:
    """Before a keeper of the best, a solver may forget what it knew."""
    recorder = Recorder()
    best = Best(instance([1], [], 1), recorder)
    for ticks in (3.0, 2.0, 3.0000001, 4.5, float("nan"), 4.0):
        claim("exact", ticks, best)
    assert [bound.bound for bound in recorder.bounds] == [3.0, 4.5]
