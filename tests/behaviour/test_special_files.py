"""Whatever lies in a results folder in place of a file, commands end and name what they refuse."""

import gzip
import json
import os
import re
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from altered_folders import copy_folder, read_rows, write_rows

from boundmark.benchmarks.folder_check import check_folder
from boundmark.problems.errors import StoreError
from boundmark.reports.best_known import read_records
from boundmark.reports.comparison.recorded_run import read_run
from boundmark.reports.history import read_history
from boundmark.reports.merging import merge_folders
from boundmark.reports.query import query_folder
from boundmark.reports.report import write_report
from boundmark.reports.stored.store import write_document

pytestmark = pytest.mark.usefixtures("all_undrawn")

# What has not ended by then waits for a pipe.
PATIENCE_SECONDS = 60


def _report(folder: Path) -> list[str]:
    write_report(folder, ("md",))
    return [(folder / "report.md").read_text()]


def _verify(folder: Path) -> list[str]:
    return [f"{one.subject}: {one.reason}" for one in check_folder(folder) if one.reason]


def _merge(folder: Path) -> list[str]:
    merged = merge_folders([folder], folder.with_name("merged"))
    told = [f"{name}: {reason}" for name, reason in merged.left_files.items()]
    return [*told, *map(str, merged.unsupported["reason"])]


def _query(folder: Path) -> list[str]:
    answer = query_folder(folder, "select reason from unsupported")
    return [*answer.notes, *(str(row[0]) for row in answer.rows)]


def _compare(folder: Path) -> list[str]:
    return [str(reason) for reason in read_run(folder).unsupported["reason"]]


COMMANDS: dict[str, Callable[[Path], list[str]]] = {
    "report": _report,
    "verify": _verify,
    "merge": _merge,
    "query": _query,
    "compare": _compare,
}

# Which commands read what lies where. Reports take labels that cannot be read for none.
READERS = {
    "results/more.parquet": set(COMMANDS),
    "traces/more.parquet": set(COMMANDS),
    "instances/*.json": set(COMMANDS),
    "solutions/*.json": set(COMMANDS),
    "certificates/*.json": set(COMMANDS),
    "labels/*.json": {"verify", "merge"},
    "environments/*.json": {"report", "verify", "merge", "compare"},
    "environment.json": {"report", "verify", "merge"},
    "machine/*.json": {"verify", "merge", "compare"},
}


@pytest.fixture
def folder(finished_run: Path, tmp_path: Path) -> Path:
    """Return a copy of a finished run."""
    copy_folder(finished_run, tmp_path / "copy")
    return tmp_path / "copy"


@pytest.fixture(autouse=True)
def _no_waiting() -> Iterator[None]:
    """Fail instead of waiting for a pipe."""

    def give_up(number: int, frame: object) -> None:
        raise AssertionError("it waits for a pipe")

    before = signal.signal(signal.SIGALRM, give_up)
    signal.alarm(PATIENCE_SECONDS)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


def told_by(command: str, folder: Path) -> str:
    """Return every sentence of a command, the last one of its failure included."""
    try:
        return "\n".join(COMMANDS[command](folder))
    except StoreError as error:
        return str(error)


def replaced(folder: Path, place: str, special: str) -> Path:
    """Put something special in the place of a file, and return its path."""
    path = min(folder.glob(place)) if "*" in place else folder / place
    path.unlink(missing_ok=True)
    if special == "pipe":
        os.mkfifo(path)
    else:
        path.symlink_to("/dev/null")
    return path


@pytest.mark.slow
@pytest.mark.parametrize(
    ("place", "special"),
    [*((place, "pipe") for place in READERS), ("solutions/*.json", "device")],
)
@pytest.mark.parametrize("command", COMMANDS)
def test_special_files(folder: Path, command: str, place: str, special: str) -> None:
    """No command waits, and each one that reads the file says that it is no file."""
    path = replaced(folder, place, special)
    told = told_by(command, folder)
    if command in READERS[place]:
        assert re.search(rf"{path.name}.*no(t a)? regular file", told), told
    else:
        assert path.name not in told


@pytest.mark.slow
@pytest.mark.parametrize("command", COMMANDS)
def test_gigabytes_behind_a_small_payload(folder: Path, command: str) -> None:
    """They are not decompressed, and the certificate does not count."""
    rows = read_rows(folder)
    row = rows.index[rows["certificate_sha256"].notna()][0]
    certificates = folder / "certificates"
    document = json.loads(
        (certificates / f"{rows.loc[row, 'certificate_sha256']}.json").read_text()
    )
    document.pop("payload", None)
    name = f"{'a' * 64}.json.gz"
    with gzip.open(certificates / name, "wb", compresslevel=1) as file:
        for _ in range(130):
            file.write(bytes(2**20))
    document |= {"payload_file": name, "payload_sha256": "a" * 64}
    rows.loc[row, "certificate_sha256"] = write_document(certificates, document)
    write_rows(folder, rows)
    assert "more than 128 MiB" in told_by(command, folder)


def test_tables_of_a_report(folder: Path) -> None:
    """A query does without a table that is none."""
    write_report(folder, ())
    path = replaced(folder, "tables/certified.parquet", "pipe")
    (told,) = (note for note in query_folder(folder, "select 1").notes if path.name in note)
    assert told == f"{path} is left out: it is no regular file."


@pytest.mark.parametrize("read", [read_records, read_history])
@pytest.mark.parametrize("special", ["pipe", "device"])
def test_files_beside_a_folder(
    tmp_path: Path, read: Callable[[Path], object], special: str
) -> None:
    """Records and histories are regular files, too."""
    path = replaced(tmp_path, "kept.parquet", special)
    with pytest.raises(StoreError, match=f"{path} cannot be read"):
        read(path)
