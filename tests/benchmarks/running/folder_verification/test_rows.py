"""Whatever a single field of a row claims that cannot be so is said in a sentence."""

import json
from pathlib import Path
from typing import Any

import pytest
from altered_folders import copy_folder, identified, read_rows, write_rows

from boundmark.benchmarks.running.folder_verification import verify_folder
from boundmark.reports.stored.store import write_document


@pytest.fixture
def copy(finished_run: Path, tmp_path: Path) -> Path:
    """Return a copy of a finished run."""
    copy_folder(finished_run, tmp_path / "copy")
    return tmp_path / "copy"


def reasons(folder: Path) -> str:
    """Return why anything in a folder is rejected."""
    verdicts = verify_folder(folder)
    return "\n".join(f"{one.subject}: {one.reason}" for one in verdicts if one.reason)


@pytest.mark.parametrize(
    ("column", "value", "expected"),
    [
        ("method_kind", "oracle", "method_kind is 'oracle'; expected one of heuristic, bound"),
        ("wall_seconds", 0.0, "its task for 0 s"),
        ("method", "memetic", "expected 'memetic "),
        ("method_version", 77, " 77', the row's method and its version"),
    ],
)
def test_a_field_of_a_row(copy: Path, column: str, value: Any, expected: str) -> None:
    """Even if the task's identity is made to fit."""
    rows = read_rows(copy)
    row = rows.index[rows["solution_sha256"].notna()][0]
    rows.loc[row, column] = value
    rows.loc[row, "task_id"] = identified(rows.loc[row])
    write_rows(copy, rows)
    assert expected in reasons(copy)


@pytest.mark.parametrize(
    ("kind", "hash_column"),
    [("solutions", "solution_sha256"), ("certificates", "certificate_sha256")],
)
@pytest.mark.parametrize(
    ("producer", "expected"),
    [
        ("memetic 5", "was found by 'memetic 5'; expected '"),
        ("", "was found by ''; expected '"),
        (None, "names no producer; expected '"),
        (7, "'s producer is not a text, but 7"),
    ],
)
def test_who_found_it(
    copy: Path, kind: str, hash_column: str, producer: Any, expected: str
) -> None:
    """A document says whose it is, under its own hash, which has to be the row's method."""
    rows = read_rows(copy)
    row = rows.index[rows[hash_column].notna()][0]
    document = json.loads((copy / kind / f"{rows.loc[row, hash_column]}.json").read_text())
    del document["producer"]
    if producer is not None:
        document["producer"] = producer
    rows.loc[row, hash_column] = write_document(copy / kind, document)
    write_rows(copy, rows)
    if producer is None and kind == "certificates":
        expected = "the certificate is not an object with the fields"
    assert expected in reasons(copy)
