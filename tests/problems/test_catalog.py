import pytest

from boundmark.problems import catalog
from boundmark.problems.errors import UnknownNameError


def test_near_names_are_suggested() -> None:
    """A typing error is answered with what was probably meant."""
    with pytest.raises(UnknownNameError, match="there is no suite 'dmeo'; did you mean demo"):
        catalog.find("suite", "dmeo", {"demo": 1, "nightly": 2})


def test_known_names_are_listed_when_none_is_near() -> None:
    """Otherwise the user sees what there is."""
    with pytest.raises(UnknownNameError, match="known are demo, nightly"):
        catalog.find("suite", "xyzzy", {"demo": 1, "nightly": 2})


def test_own_methods_come_through_entry_points() -> None:
    """The project registers as third-party packages do."""
    assert {"share", "brkga-10000"} <= set(catalog.methods())
    assert {"onnx-light", "regal-style"} <= set(catalog.datasets())
    assert {"pipeline", "microbatch"} <= set(catalog.problems())


def test_problems_are_in_the_order_of_their_precedence() -> None:
    """Where several suit, `solve` takes the first."""
    order = [problem.precedence for problem in catalog.problems().values()]
    assert order == sorted(order)
    assert next(iter(catalog.problems())) == "pipeline"
