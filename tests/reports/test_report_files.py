"""The files of a report, and of earlier ones."""

from pathlib import Path

import pandas as pd
import pytest

from boundmark.problems.errors import StoreError
from boundmark.reports.report_files import remove_stale, write_files
from boundmark.reports.stored.parquet import parquet_bytes

FRAME = pd.DataFrame({"a": [1]})
PLOT = {"plots/p/x.parquet": parquet_bytes(FRAME), "plots/p/x.svg": b"<svg/>", "plots/p/x.png": b""}


def names(directory: Path) -> set[str]:
    """Return the files below a folder."""
    return {str(path.relative_to(directory)) for path in directory.rglob("*") if path.is_file()}


def test_files_of_earlier_reports_go(tmp_path: Path) -> None:
    """A plot goes with its data, a table alone; what was written again stays."""
    write_files(tmp_path, {**PLOT, "tables/p/old.parquet": parquet_bytes(FRAME)})
    written = write_files(tmp_path, {"tables/p/new.parquet": parquet_bytes(FRAME)})
    remove_stale(tmp_path, written)
    assert names(tmp_path) == {"tables/p/new.parquet"}


def test_pictures_that_nobody_asked_for_again_go(tmp_path: Path) -> None:
    """They would show what an earlier report showed."""
    write_files(tmp_path, PLOT)
    written = write_files(tmp_path, {name: PLOT[name] for name in PLOT if name[-3:] != "png"})
    remove_stale(tmp_path, written)
    assert names(tmp_path) == {"plots/p/x.parquet", "plots/p/x.svg"}


def test_files_of_others_stay(tmp_path: Path) -> None:
    """Tables and pictures that no report wrote are nobody's business."""
    write_files(tmp_path, {"plots/mine.svg": b"<svg/>", "tables/broken.parquet": b"?"})
    FRAME.to_parquet(tmp_path / "tables" / "mine.parquet")
    remove_stale(tmp_path, [])
    assert names(tmp_path) == {"plots/mine.svg", "tables/broken.parquet", "tables/mine.parquet"}


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    """And why."""
    (tmp_path / "tables").write_text("a file")
    with pytest.raises(StoreError, match=r"cannot be written: (File exists|Not a directory)"):
        write_files(tmp_path, {"tables/p/x.parquet": b""})
