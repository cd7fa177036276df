"""Sources are cited by keys of one bibliography."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BIBLIOGRAPHY = ROOT / "docs" / "references.md"

# What is read by people, from docstrings to data files.
FOLDERS = ("problems", "datasets", "heuristics", "bounds", "reports", "benchmarks", "docs", "tests")
SUFFIXES = {".py", ".md", ".toml", ".j2"}

KEY = re.compile(r"\[([A-Z][A-Z0-9]*[A-Z][0-9]{2})\]")
ENTRY = re.compile(r"^- \*\*\[([A-Z0-9]+)\]\*\* ", re.MULTILINE)


def texts() -> dict[str, str]:
    """Return all texts but the bibliography and this module, by path."""
    paths = [path for folder in FOLDERS for path in sorted((ROOT / folder).rglob("*"))]
    paths += [ROOT / "README.md", ROOT / "CHANGELOG.md"]
    return {
        str(path.relative_to(ROOT)): path.read_text()
        for path in paths
        if path.suffix in SUFFIXES and path not in (BIBLIOGRAPHY, Path(__file__))
    }


def cited() -> dict[str, set[str]]:
    """Return the keys that each text cites."""
    return {path: set(KEY.findall(text)) for path, text in texts().items()}


def test_the_bibliography_has_every_key_once_in_order() -> None:
    """Entries are sorted, and no two have the same key."""
    keys = ENTRY.findall(BIBLIOGRAPHY.read_text())
    assert len(keys) > 20
    assert keys == sorted(set(keys))


def test_every_key_that_is_cited_has_an_entry() -> None:
    """A reader finds the full reference of whatever code and documentation cite."""
    known = set(ENTRY.findall(BIBLIOGRAPHY.read_text()))
    unknown = {path: keys - known for path, keys in cited().items() if keys - known}
    assert unknown == {}


@pytest.mark.parametrize("folder", [folder for folder in FOLDERS if folder != "bounds"])
def test_no_source_is_cited_by_a_path(folder: str) -> None:
    """Papers are no part of the project, so that a path to one would lead nowhere."""
    found = [path for path, text in texts().items() if "papers/" in text]
    assert [path for path in found if path.startswith(f"{folder}/")] == []


def test_keys_are_recognised() -> None:
    """What counts as a key: capitals and a year in brackets, and nothing else."""
    text = "([MTPP24], Lemma 3.3; [BRKGA11]) but not [0], [A100], [i]: [INT8] or [N, K]"
    assert KEY.findall(text) == ["MTPP24", "BRKGA11"]
