"""The files of a report, and the end of those of earlier ones."""

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from boundmark.problems.errors import StoreError
from boundmark.reports.stored.durable import write_durably
from boundmark.reports.stored.parquet import is_made_by_reports

FOLDERS = ("tables", "plots")

# Of this folder all belongs to reports: its files cannot say who made them.
OWN_FOLDER = "page_tables"


def write_files(directory: Path, files: Mapping[str, Any]) -> list[Path]:
    """Write files by their path below a directory, and return where they are.

    Raises
    ------
    StoreError
        If one cannot be written.
    """
    paths = [directory / name for name in files]
    try:
        for folder in (*(directory / name for name in FOLDERS), *(path.parent for path in paths)):
            folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StoreError(f"{directory} cannot be written: {error.strerror}.") from error
    for path, content in zip(paths, files.values(), strict=True):
        write_durably(path, content)
    return paths


def remove_stale(directory: Path, written: Collection[Path]) -> None:
    """Remove the tables, plots and pictures of earlier reports that were not written again.

    Files that no report wrote are left alone, but for LaTeX and CSV in `page_tables/`.
    """
    for path in (directory / OWN_FOLDER).glob("*"):
        if path.suffix in (".tex", ".csv") and path not in written:
            path.unlink()
    for folder in FOLDERS:
        for path in (directory / folder).rglob("*.parquet"):
            if is_made_by_reports(path):
                for ending in (".parquet", ".svg", ".png"):
                    if path.with_suffix(ending) not in written:
                        path.with_suffix(ending).unlink(missing_ok=True)
