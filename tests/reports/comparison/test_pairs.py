"""Thresholds are read as written, and mistakes are named with the file."""

from pathlib import Path

import pytest

from boundmark.problems.errors import BoundmarkError
from boundmark.reports.comparison.pairs import default_thresholds, read_thresholds


def test_what_is_left_out_is_as_by_default(tmp_path: Path) -> None:
    """One value changes, and no other."""
    path = tmp_path / "t.toml"
    path.write_text('objective_tolerance = 0.25\nclock_methods = ["certify"]')
    found = read_thresholds(path)
    assert (found.objective_tolerance, found.clock_methods) == (0.25, ("certify",))
    assert found.bound_tolerance == default_thresholds().bound_tolerance
    path.write_text("# none")
    assert read_thresholds(path) == default_thresholds()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("objective_tolerence = 1", "no threshold .* did you mean objective_tolerance"),
        ("objective_tolerance = -1", r"t\.toml: objective_tolerance is -1; expected a number"),
        ("objective_tolerance = nan", "objective_tolerance is nan"),
        ("objective_tolerance = 1" + 400 * "0" + ".0", "objective_tolerance is inf"),
        ("objective_tolerance = -1" + 400 * "0", "objective_tolerance is -1000"),
        ("clock_tolerance = true", "clock_tolerance is True"),
        ("time_tolerance = 0.1", "no threshold .*time_tolerance"),
        ("solved_lost = 0.5", "solved_lost is 0.5; expected an integer"),
        ("repeatable_share = 2", "repeatable_share is 2; expected at most 1"),
        ('missing_tasks = "maybe"', "missing_tasks is 'maybe'; expected one of told, worse"),
        ('clock_methods = "certify"', "clock_methods is 'certify'; expected a list of names"),
        ("clock_methods = [1]", r"clock_methods is \[1\]; expected names"),
        ("[", r"t\.toml: expected TOML"),
    ],
)
def test_mistakes_are_named(tmp_path: Path, text: str, message: str) -> None:
    """The file, the field, what it is and what was expected."""
    path = tmp_path / "t.toml"
    path.write_text(text)
    with pytest.raises(BoundmarkError, match=message):
        read_thresholds(path)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    """As any other mistake."""
    with pytest.raises(BoundmarkError, match=r"none\.toml does not exist; expected thresholds"):
        read_thresholds(tmp_path / "none.toml")
