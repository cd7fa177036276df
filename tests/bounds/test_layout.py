"""Where methods live: bounds and exact methods in `bounds`, one module per method."""

import importlib
import inspect
import pkgutil

import pytest

from boundmark.bounds.microbatch import methods as microbatch_methods
from boundmark.bounds.ordering import methods as ordering_methods
from boundmark.bounds.pipeline import methods as pipeline_methods
from boundmark.bounds.placement import methods as placement_methods
from boundmark.bounds.slicing import methods as slicing_methods
from boundmark.problems.catalog import methods
from boundmark.problems.method import Method

FOLDERS = {
    "pipeline": pipeline_methods,
    "microbatch": microbatch_methods,
    "placement": placement_methods,
    "slicing": slicing_methods,
    "ordering": ordering_methods,
}

# Heuristics and bounds know nothing of each other. The search of `time-optimal` is that of
# `tessel`, a heuristic, and the programs of `forward-greedy` are those of `reach`, an exact method.
ELSEWHERE = {"time-optimal", "forward-greedy"}

OURS = [method for method in methods().values() if method.problem in FOLDERS]


@pytest.mark.parametrize("method", OURS, ids=lambda method: method.name)
def test_what_reports_bounds_is_in_bounds(method: Method) -> None:
    """Bounds and exact methods are in the problem's folder of methods, and heuristics are not."""
    module = inspect.getmodule(method.run)
    assert module is not None
    folder = f"boundmark.bounds.{method.problem}.methods."
    reports_bounds = method.kind in ("bound", "exact")
    is_in_bounds = reports_bounds != (method.name in ELSEWHERE)
    assert module.__name__.startswith(folder) == is_in_bounds


@pytest.mark.parametrize("problem", FOLDERS)
def test_each_module_is_one_method(problem: str) -> None:
    """A method's module is called like the method, and all are registered."""
    folder = FOLDERS[problem]
    names = [module.name for module in pkgutil.iter_modules(folder.__path__)]
    found = [importlib.import_module(f"{folder.__name__}.{name}").METHOD for name in names]
    assert [method.name.replace("-", "_") for method in found] == names
    assert {method.name for method in folder.METHODS} == {method.name for method in found}
