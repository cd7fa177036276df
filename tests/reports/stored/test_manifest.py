"""A manifest tells what was removed, added or changed since it was written."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from boundmark.problems.errors import InvalidInputError, StoreError
from boundmark.reports.stored.manifest import (
    differences,
    files_of_run,
    read_manifest,
    write_manifest,
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder as a run and a report leave it."""
    for name in (
        "results/merged.parquet", "traces/merged.parquet", "instances/a.json", "labels/a.json",
        "environment.json", "notes.json", "report.md", "tables/certified.parquet", ".lock",
        "instances/.b.json.1-1.part",
    ):  # fmt: skip
        path = tmp_path / "out" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)
    return tmp_path / "out"


def wrong(folder: Path, manifest: Path) -> dict[str, str]:
    """Return what is wrong with files, by their names."""
    found = differences(folder, read_manifest(manifest))
    return {name: reason for name, reason in found if reason is not None}


def test_what_a_run_wrote(folder: Path, tmp_path: Path) -> None:
    """Without reports, locks and partial files; `sha256sum` reads it, too."""
    digest = write_manifest(folder, tmp_path / "m.sha256")
    assert files_of_run(folder) == [
        "environment.json", "instances/a.json", "labels/a.json", "notes.json",
        "results/merged.parquet", "traces/merged.parquet",
    ]  # fmt: skip
    assert wrong(folder, tmp_path / "m.sha256") == {}
    (folder / "report.md").write_text("another")
    assert wrong(folder, tmp_path / "m.sha256") == {}
    if shutil.which("sha256sum") is None:
        pytest.skip("there is no sha256sum")
    done = subprocess.run(["sha256sum", "-c", "--quiet", "../m.sha256"], cwd=folder)
    assert done.returncode == 0
    own = subprocess.run(["sha256sum", tmp_path / "m.sha256"], capture_output=True, text=True)
    assert own.stdout.split()[0] == digest


def test_each_change_is_named(folder: Path, tmp_path: Path) -> None:
    """A file that is missing, added, changed, or none any more."""
    write_manifest(folder, tmp_path / "m.sha256")
    (folder / "labels/a.json").unlink()
    (folder / "results/one.parquet").write_text("row")
    (folder / "instances/a.json").write_text("easier")
    (folder / "notes.json").unlink()
    os.mkfifo(folder / "notes.json")
    found = wrong(folder, tmp_path / "m.sha256")
    assert found.pop("labels/a.json") == "it is missing: the manifest lists it"
    assert found.pop("results/one.parquet") == "it was added: the manifest does not list it"
    assert found.pop("instances/a.json").startswith("it was changed: it is ")
    assert found.pop("notes.json").startswith("it was changed: it is no regular file; the manif")
    assert found == {}
    with pytest.raises(StoreError, match=r"notes\.json cannot be read; expected a regular file"):
        write_manifest(folder, tmp_path / "again.sha256")


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("no hash", 1),
        ("0" * 63 + "  a", 1),
        ("0" * 64 + "  a\n\n", 2),
        ("0" * 64 + "  a\n" + "1" * 64 + "  a\n", 2),
        ("0" * 64 + " \n", 1),
    ],
)
def test_what_is_no_manifest(text: str, line: int, tmp_path: Path) -> None:
    """The first wrong line is said; an empty file, or none, is no manifest either."""
    path = tmp_path / "m.sha256"
    path.write_text(text)
    with pytest.raises(InvalidInputError, match=rf"m\.sha256: line {line} is .*expected a SHA-256"):
        read_manifest(path)
    path.write_text("")
    with pytest.raises(InvalidInputError, match="is empty; expected a manifest"):
        read_manifest(path)
    with pytest.raises(InvalidInputError, match="does not exist"):
        read_manifest(tmp_path / "none")
