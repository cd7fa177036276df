from pathlib import Path

import pytest

from boundmark.problems.errors import StoreError
from boundmark.reports.stored.run_records import read_environments, reference_seconds
from boundmark.reports.stored.store import ResultStore, read_document
from boundmark.reports.tables.parameters import json_object

# Beyond what Python's parser follows.
DEEP = "[" * 100_000


def written(path: Path) -> Path:
    """Write text that is nested too deeply, and return its path."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(DEEP)
    return path


def test_documents(tmp_path: Path) -> None:
    """A document that cannot be parsed is named, as any unreadable one."""
    written(tmp_path / "abc.json")
    with pytest.raises(StoreError, match=r"abc\.json cannot be read as JSON"):
        read_document(tmp_path, "abc")


def test_records_of_the_machine(tmp_path: Path) -> None:
    """So are environments and the times of the reference task."""
    store = ResultStore(tmp_path)
    written(store.environments / "abc.json")
    written(Path(store.machine) / "abc.json")
    with pytest.raises(StoreError, match=r"abc\.json cannot be read as JSON"):
        read_environments(store)
    with pytest.raises(StoreError, match=r"abc\.json cannot be read as JSON"):
        reference_seconds(store)


def test_parameters() -> None:
    """Parameters in a row are refused with their column."""
    with pytest.raises(StoreError, match="params of a result is"):
        json_object("params", DEEP)
