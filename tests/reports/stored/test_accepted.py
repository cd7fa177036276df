"""What the checker accepted is remembered, of this checker alone."""

import os
from pathlib import Path

import pytest

from boundmark.bounds import checker
from boundmark.reports.stored.accepted import (
    LENGTH,
    Accepted,
    cache_folder,
    checker_version,
)


@pytest.fixture(autouse=True)
def folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Return the folder of entries, in a cache folder of the test."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "boundmark" / "accepted"


def remember(*pairs: tuple[str, str], most_entries: int = 500_000) -> None:
    """Add entries as one run does."""
    known = Accepted(most_entries)
    for pair in pairs:
        known.add(*pair)
    known.save()


def test_entries_are_of_instance_and_document(folder: Path) -> None:
    """A document that was accepted for one instance is not accepted for another."""
    remember(("a", "solutions/x.json"))
    known = Accepted()
    assert known.has("a", "solutions/x.json")
    assert not known.has("b", "solutions/x.json")
    assert not known.has("a", "certificates/x.json")
    assert [path.name for path in folder.iterdir()] == [checker_version()]


def test_runs_at_the_same_time_keep_the_entries_of_both() -> None:
    """Who writes last reads again what the other wrote."""
    one, other = Accepted(), Accepted()
    one.add("a", "x")
    other.add("b", "x")
    one.save()
    other.save()
    known = Accepted()
    assert known.has("a", "x")
    assert known.has("b", "x")


@pytest.mark.parametrize("content", [b"", b"short", b"x" * (LENGTH + 1)])
def test_damaged_entries_are_none(folder: Path, content: bytes) -> None:
    """A file of another length was not written by this."""
    remember(("a", "x"))
    (folder / checker_version()).write_bytes(content)
    assert not Accepted().has("a", "x")


def test_the_last_entries_are_kept() -> None:
    """The file does not grow for ever."""
    remember(("a", "x"), ("b", "x"), most_entries=2)
    remember(("c", "x"), most_entries=2)
    known = Accepted()
    assert [known.has(name, "x") for name in "abc"] == [False, True, True]


def test_files_of_old_checkers_go(folder: Path) -> None:
    """Those that were used last stay."""
    folder.mkdir(parents=True)
    for age, name in enumerate(("newer", "older", "oldest")):
        (folder / name).write_bytes(b"")
        os.utime(folder / name, (1000 - age, 1000 - age))
    remember(("a", "x"))
    assert {path.name for path in folder.iterdir()} == {checker_version(), "newer", "older"}


def test_a_cache_that_cannot_be_written_is_done_without(folder: Path) -> None:
    """Then all is checked again next time."""
    folder.parent.mkdir(parents=True)
    folder.write_bytes(b"in the way")
    remember(("a", "x"))
    assert not Accepted().has("a", "x")


def test_every_source_file_of_the_checker_counts(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Whoever mends a check, wherever it is, invalidates what was accepted."""
    sources = tmp_path / "checker"
    (sources / "pipeline").mkdir(parents=True)
    (sources / "__init__.py").write_text("")
    (sources / "pipeline" / "leaf.py").write_text("b + 1")
    monkeypatch.setattr(checker, "__file__", str(sources / "__init__.py"))
    before = checker_version()
    (sources / "pipeline" / "leaf.py").write_text("b - 1")
    after = checker_version()
    assert len({before, after}) == 2
    (sources / "pipeline" / "leaf.py").rename(sources / "leaf.py")
    assert checker_version() not in (before, after)


def test_a_relative_cache_folder_is_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    """A results folder that somebody is in cannot bring entries of its own."""
    monkeypatch.setenv("XDG_CACHE_HOME", "cache")
    monkeypatch.setenv("HOME", "/home/somebody")
    assert cache_folder("accepted") == Path("/home/somebody/.cache/boundmark/accepted")
