"""Where methods live: bounds and exact methods in `bounds`, and listing them imports none."""

import inspect
import subprocess
import sys

import pytest

from boundmark.problems.catalog import methods, problems
from boundmark.problems.method import Deferred, Method

# Heuristics and bounds know nothing of each other. The search of `time-optimal` is that of
# `tessel`, a heuristic.
ELSEWHERE = {"time-optimal"}

OURS = [
    method
    for method in methods().values()
    if isinstance(method.run, Deferred) and method.run.path.startswith("boundmark.")
]


@pytest.mark.parametrize("method", OURS, ids=lambda method: method.name)
def test_what_reports_bounds_is_in_bounds(method: Method) -> None:
    """Bounds and exact methods are in the problem's folder of `bounds`, and heuristics are not."""
    module = inspect.getmodule(method.load())
    assert module is not None
    folder = f"boundmark.bounds.{method.problem}."
    reports_bounds = method.kind in ("bound", "exact")
    is_in_bounds = reports_bounds != (method.name in ELSEWHERE)
    assert module.__name__.startswith(folder) == is_in_bounds


def test_ours_treat_every_problem() -> None:
    """So that the tests above have something to look at."""
    assert {method.problem for method in OURS} == set(problems())


def test_listing_methods_imports_no_solver_and_compiles_nothing() -> None:
    """Methods are data; what runs them is imported when it is needed."""
    code = (
        "import sys; from boundmark.problems.catalog import methods; assert len(methods()) > 80;"
        "print(sorted({'numba', 'scipy', 'highspy', 'ortools', 'pyscipopt', 'gurobipy', 'z3',"
        "'matplotlib', 'onnx', 'jax'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


# What importing reports costs.

HEAVY = ("matplotlib", "jinja2")


@pytest.mark.parametrize("name", ["pipeline", "microbatch.drawings", "stored.store"])
def test_only_who_draws_or_renders_waits_for_it(name: str) -> None:
    """Commands that show a solution or store results start without libraries for pages."""
    code = (
        f"import sys, boundmark.reports.{name}\n"
        f"print([name for name in {HEAVY!r} if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.strip() == "[]"
