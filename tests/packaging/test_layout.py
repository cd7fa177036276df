"""Where methods and tests live, and what importing layers costs."""

import ast
import inspect
import re
import subprocess
import sys
from collections.abc import Iterable, Mapping
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

from boundmark.problems.catalog import methods, problems
from boundmark.problems.method import Deferred

# Heuristics and bounds know nothing of each other. The search of `time-optimal` is that of
# `tessel`, a heuristic.
ELSEWHERE = {"time-optimal"}

OURS = [
    method
    for method in methods().values()
    if isinstance(method.run, Deferred) and method.run.path.startswith("boundmark.")
]


def test_what_reports_bounds_is_in_bounds() -> None:
    """Bounds and exact methods are in the problem's folder of `bounds`, and heuristics are not."""
    for method in OURS:
        module = inspect.getmodule(method.load())
        assert module is not None
        folder = f"boundmark.bounds.{method.problem}."
        reports_bounds = method.kind in ("bound", "exact")
        is_in_bounds = reports_bounds != (method.name in ELSEWHERE)
        assert module.__name__.startswith(folder) == is_in_bounds, method.name


def test_ours_treat_every_problem() -> None:
    """So that the tests above have something to look at."""
    assert {method.problem for method in OURS} == set(problems())


def test_no_test_replaces_a_private_name() -> None:
    """It would test how something is done instead of what it does."""
    call = r"(?:setattr|delattr|patch\.object)"
    pattern = re.compile(call + r"""\([^"'()]*["'](?:[\w.]*\.)?(_\w+)["']""")
    files = Path(__file__).parents[1].rglob("*.py")
    found = {name for path in files for name in pattern.findall(path.read_text())}
    assert not {name for name in found if not name.startswith("__")}


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
    """Nor do commands and versions: to import them takes as long as the search.

    Only Gantt charts, of micro-batches and placements, are drawn from data frames.
    """
    code = (
        "import sys, boundmark.benchmarks.solving.search, boundmark.reports.text,"
        "boundmark.benchmarks.running.execution.engine, boundmark.benchmarks.cli.group,"
        "boundmark.reports.stored.run_records;"
        "from boundmark.benchmarks.solving.presentation import presentation_of;"
        "[presentation_of(name) for name in ('pipeline', 'ordering', 'slicing', 'layers')];"
        "print({'pandas', 'pyarrow', 'numba', 'scipy', 'onnx'} & {*sys.modules})"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


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


@cache
def nodes_of(text: str, late: bool) -> list[ast.Import | ast.ImportFrom]:
    """Return the imports of a module; late, also those for types and within functions."""
    tree = ast.parse(text)
    nodes = ast.walk(tree) if late else tree.body
    return [node for node in nodes if isinstance(node, ast.Import | ast.ImportFrom)]


def imports(files: Mapping[str, str], *, late: bool = True) -> dict[str, set[str]]:
    """Return which of some modules each imports; late, also for types and within functions."""
    found: dict[str, set[str]] = {}
    for name, text in files.items():
        named = set()
        for node in nodes_of(text, late):
            if isinstance(node, ast.Import):
                named |= {one.name for one in node.names}
            else:
                whole = {f"{node.module}.{one.name}" for one in node.names}
                named |= whole & set(files) or {str(node.module)}
        found[name] = named & set(files) - {name}
    return found


def modules_of(*layers: str) -> dict[str, str]:
    """Return the texts of all modules of some layers."""
    files = {
        ".".join(("boundmark", *path.relative_to(ROOT).with_suffix("").parts)): path.read_text()
        for layer in layers
        for path in (ROOT / layer).rglob("*.py")
    }
    return {name.removesuffix(".__init__"): text for name, text in files.items()}


# What they import late is for other methods of their file.
NEED_NO_KERNELS = {"operator-memory", "single-device"}


def test_kernels_are_imported_before_the_clock() -> None:
    """What a method imports as it runs, and is compiled at first, is among what it is to find."""
    files = modules_of("problems", "heuristics", "bounds")
    compiled = {name for name, text in files.items() if "problems.compiling import" in text}
    assert len(compiled) > 20

    def reached(starts: Iterable[str], graph: Mapping[str, set[str]]) -> set[str]:
        found: set[str] = set()
        waiting = [name for name in starts if name in graph]
        while waiting:
            if (name := waiting.pop()) not in found:
                found.add(name)
                waiting += graph[name]
        return found & compiled

    early, late = imports(files, late=False), imports(files)
    for method in OURS:
        assert isinstance(method.run, Deferred)
        module = method.run.path.partition(":")[0]
        lacking = reached([module], late) - reached([module, *method.warm], early)
        assert not lacking or method.name in NEED_NO_KERNELS, (method.name, lacking)


# `problems` is left out: kinds of instances and of their solutions know each other there.
@pytest.mark.parametrize("layer", ["datasets", "heuristics", "bounds", "benchmarks", "reports"])
def test_no_files_import_each_other(layer: str) -> None:
    """Each file can be read before those that use it: there is no circle of files in a layer."""
    tuple(TopologicalSorter(imports(modules_of(layer))).static_order())


@pytest.mark.parametrize(
    "back",
    [
        "from boundmark.a import one",
        "from boundmark import a",
        "import boundmark.a",
        "if TYPE_CHECKING:\n    from boundmark.a import One",
        "def late():\n    from boundmark.a import one",
    ],
)
def test_a_circle_of_files_is_seen(back: str) -> None:
    """However the second file imports the first."""
    files = {"boundmark.a": "from boundmark.b import two", "boundmark.b": back}
    with pytest.raises(CycleError):
        TopologicalSorter(imports(files)).prepare()
