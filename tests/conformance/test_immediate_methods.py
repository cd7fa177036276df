"""The methods that `solve` runs first, in its own process: they import nothing that takes long."""

import json
import subprocess
import sys

import pytest

from boundmark.problems.catalog import methods, problems

# What takes long to import, or may be imported in processes of its own only.
HEAVY = ("numba", "ortools", "highspy", "pyscipopt", "gurobipy", "z3", "jax", "matplotlib", "onnx")

IMPORTING = """
import json, sys
from boundmark.problems.catalog import methods, problems
for problem in problems().values():
    for name in problem.immediate:
        methods(problem.name)[name].load()
print(json.dumps(sorted({module.partition(".")[0] for module in sys.modules})))
"""


def test_they_import_nothing_heavy() -> None:
    """Or the first answer would come when the others are ready, too."""
    done = subprocess.run(
        [sys.executable, "-c", IMPORTING], check=True, capture_output=True, text=True
    )
    assert not set(HEAVY) & set(json.loads(done.stdout))


@pytest.mark.parametrize("problem", problems())
def test_they_are_methods_of_the_problem(problem: str) -> None:
    """A solution and a bound, if any; with parameters that they have."""
    immediate = problems()[problem].immediate
    known = methods(problem)
    kinds = {known[name].kind for name in immediate}
    assert not kinds or "exact" in kinds or {"heuristic", "bound"} <= kinds
    for name, params in immediate.items():
        assert set(params) <= set(known[name].params)
