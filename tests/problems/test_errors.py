"""Names that are not there."""

import pytest

from boundmark.problems.errors import UnknownNameError, find


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
