"""Where methods and tests live, and what importing layers costs."""

import inspect
import subprocess
import sys
from pathlib import Path

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


def test_a_search_needs_no_data_frames() -> None:
    """Beside other work, to import them takes as long as the search."""
    code = (
        "import sys, boundmark.benchmarks.solving, boundmark.benchmarks.execution.engine,"
        "boundmark.benchmarks.slicing.operator_order, boundmark.reports.text;"
        "print('pandas' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


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


ROOT = Path(__file__).resolve().parents[2]
LAYERS = ("problems", "datasets", "heuristics", "bounds", "benchmarks", "reports")


@pytest.mark.parametrize("folder", [*LAYERS, "docs/tables"])
def test_tests_are_named_after_what_they_test(folder: str) -> None:
    """A module or package of the folder that they mirror, or the folder, and perhaps an aspect."""
    tests = sorted((ROOT / "tests" / folder).rglob("test_*.py"))
    assert tests
    strays = [path for path in tests if not is_named_after_a_module(path)]
    assert strays == []


def is_named_after_a_module(test: Path) -> bool:
    """Say whether `x/test_y.py` or `x/test_y_aspect.py` is about a module `x.y`, or `x` itself."""
    mirrored = ROOT / test.parent.relative_to(ROOT / "tests")
    if not mirrored.is_dir():
        return False
    modules = {path.stem for path in mirrored.glob("*.py")}
    packages = {path.parent.name for path in mirrored.glob("*/__init__.py")}
    name = test.stem.removeprefix("test_")
    return any(
        name == known or name.startswith(f"{known}_")
        for known in (modules | packages | {mirrored.name}) - {"__init__"}
    )


@pytest.mark.parametrize(
    ("test", "expected"),
    [
        ("bounds/test_best.py", True),
        ("bounds/mip/test_mip_solvers.py", True),
        ("bounds/checker/test_budget_bounds_the_work.py", True),
        ("bounds/test_bests.py", False),
        ("bounds/mip/test_best.py", False),
        ("bounds/nothing/test_nothing.py", False),
    ],
)
def test_names_of_tests(test: str, expected: bool) -> None:
    """Another folder's module gives no name, and neither does a folder that mirrors none."""
    assert is_named_after_a_module(ROOT / "tests" / test) == expected
