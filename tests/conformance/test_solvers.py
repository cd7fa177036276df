"""Solvers that cannot be loaded by one process."""

import pytest

from boundmark.problems.catalog import methods, problems


@pytest.mark.parametrize("problem", problems())
def test_warm_modules_get_along(problem: str) -> None:
    """Tasks start with what the methods of their problem warm; HiGHS keeps CP-SAT from loading."""
    warm = {name for one in methods().values() if one.problem == problem for name in one.warm}
    packages = {name.partition(".")[0] for name in warm}
    assert not {"highspy", "ortools"} <= packages
    if problem == "placement":
        # One of its methods uses each of them, so neither may be there when a task starts.
        assert not {"highspy", "ortools"} & packages
