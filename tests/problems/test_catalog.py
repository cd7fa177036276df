from types import SimpleNamespace

import pytest

from boundmark.problems import catalog
from boundmark.problems.errors import BoundmarkError, UnknownNameError
from boundmark.problems.method import Method


def test_near_names_are_suggested() -> None:
    """A typing error is answered with what was probably meant."""
    with pytest.raises(UnknownNameError, match="there is no suite 'dmeo'; did you mean demo"):
        catalog.find("suite", "dmeo", {"demo": 1, "nightly": 2})


def test_known_names_are_listed_when_none_is_near() -> None:
    """Otherwise the user sees what there is."""
    with pytest.raises(UnknownNameError, match="known are demo, nightly"):
        catalog.find("suite", "xyzzy", {"demo": 1, "nightly": 2})


def method(name: str) -> Method:
    """Build a method that does nothing."""
    return Method(name, "pipeline", "bound", "Nothing.", run=lambda *a, **k: None)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([method("a"), method("a")], "registers 'a', which is taken"),
        ([(method("a"), method("b"), method("b"))], "registers 'b', which is taken"),
        (["not a method"], "holds a str; expected a Method or a tuple of them"),
    ],
)
def test_bad_entry_points_are_named(
    values: list[object], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A third-party package that registers badly is told so by name."""
    points = [
        SimpleNamespace(name=f"point-{i}", load=lambda value=value: value)
        for i, value in enumerate(values)
    ]
    monkeypatch.setattr(catalog, "entry_points", lambda group: points)
    with pytest.raises(BoundmarkError, match=message):
        catalog._load("boundmark.methods", Method)


def test_own_methods_come_through_entry_points() -> None:
    """The project registers as third-party packages do."""
    assert {"share", "brkga-10000"} <= set(catalog.methods())
    assert {"onnx-light", "regal-style"} <= set(catalog.datasets())
