"""The report of `layers`."""

from boundmark.problems.catalog import methods
from boundmark.problems.layers import PROBLEM
from boundmark.reports.layers import REPORT


def test_baselines_are_rules_of_tools() -> None:
    """Methods of the problem, and none that is exact; it is divided by what a model does."""
    known = {
        method.name: method.kind for method in methods().values() if method.problem == "layers"
    }
    assert [known[name] for name in REPORT.baselines] == ["heuristic"] * 3
    assert REPORT.grouping is not None
    assert REPORT.grouping.parameter in {one.name for one in PROBLEM.parameters}
