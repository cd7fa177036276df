"""Names and packages that are not there."""

import tomllib
from importlib.metadata import PackageNotFoundError
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from boundmark.problems.errors import EXTRAS, UnknownNameError, extra_with, find


def test_near_names_are_suggested() -> None:
    """A typing error is answered with what was probably meant."""
    with pytest.raises(UnknownNameError, match="there is no suite 'dmeo'; did you mean demo"):
        find("suite", "dmeo", {"demo": 1, "nightly": 2})


def test_known_names_are_listed_when_none_is_near() -> None:
    """Otherwise the user sees what there is."""
    with pytest.raises(UnknownNameError, match="known are demo, nightly"):
        find("suite", "xyzzy", {"demo": 1, "nightly": 2})


def test_of_many_names_the_first_are_listed() -> None:
    """If none comes near."""
    with pytest.raises(UnknownNameError, match=r"known are n0, n1, .*, n19 and 80 more\.$"):
        find("suite", "xyzzy", {f"n{number}": number for number in range(100)})


# What makes the graphs of a data set anew, whose users know what it takes, and all of them.
WITHOUT_MESSAGE = {"all", "zoo"}


def test_every_extra_is_named_with_its_packages() -> None:
    """As `pyproject.toml` has them, by names that an index has for them and not for us."""
    project = Path(__file__).parents[2] / "pyproject.toml"
    extras = tomllib.loads(project.read_text())["project"]["optional-dependencies"]
    assert {*EXTRAS.values()} == {*extras} - WITHOUT_MESSAGE
    for module, extra in EXTRAS.items():
        known = map(Requirement, extras[extra])
        here = [one for one in known if not one.marker or one.marker.evaluate()]
        packages = " ".join(f"'{one.name}{one.specifier}'" for one in here)
        command = f": pip install {packages}" * bool(here)
        assert extra_with(module) == f"; expected the extra {extra!r}{command}"


def test_an_extra_is_named_without_metadata(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the code was put on the path, and nothing says what an extra consists of."""

    def requires(name: str) -> list[str]:
        raise PackageNotFoundError(name)

    monkeypatch.setattr("importlib.metadata.requires", requires)
    assert extra_with("z3") == "; expected the extra 'z3'"
    assert extra_with("highspy") == ""
