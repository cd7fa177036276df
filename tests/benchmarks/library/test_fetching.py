import json
import tarfile
import zipfile
from pathlib import Path

import pytest

from boundmark.benchmarks.library.fetching import fetch, recorded_entries
from boundmark.bounds import checker
from boundmark.problems.errors import InvalidInputError, StoreError

LIBRARY = Path(__file__).parents[3] / "library"
ENTRY = recorded_entries("microbatch/shapes-k-4-infer-4")[0]
FILE = LIBRARY / f"{ENTRY.name}.jsonl.gz"


def packed(kind: str, folder: Path) -> Path:
    """Return the entry's file as it is, in a folder, or in an archive."""
    path = folder / f"packed.{kind}"
    if kind == "zip":
        with zipfile.ZipFile(path, "w") as archive:
            archive.write(FILE, f"boundmark/library/{ENTRY.name}.jsonl.gz")
    elif kind == "tar":
        with tarfile.open(path, "w:gz") as archive:
            archive.add(FILE, f"boundmark/library/{ENTRY.name}.jsonl.gz")
    return {"file": FILE, "folder": LIBRARY.parent / "library"}.get(kind, path)


@pytest.mark.parametrize("kind", ["file", "folder", "zip", "tar"])
def test_what_is_fetched_is_what_the_checker_accepts(kind: str, tmp_path: Path) -> None:
    """The entry's instance, solution and certificate, whatever they come in."""
    written = fetch(packed(kind, tmp_path), ENTRY.name, tmp_path / "out")
    assert {path.parent.name for path in written} >= {"instances", "solutions", "certificates"}
    assert ENTRY.bound is not None
    out = tmp_path / "out"
    instance = json.loads((out / "instances" / f"{ENTRY.instance_sha256}.json").read_bytes())
    certificate = checker.read_document(out / "certificates" / f"{ENTRY.bound.sha256}.json")
    assert certificate["bound"] == ENTRY.bound.value
    checker.check_certificate(instance, certificate)


def test_other_documents_are_refused(tmp_path: Path) -> None:
    """A file that has an entry's name, and what another entry has."""
    other = LIBRARY / f"{recorded_entries('ordering/')[0].name}.jsonl.gz"
    path = tmp_path / FILE.name
    path.write_bytes(other.read_bytes())
    with pytest.raises(InvalidInputError, match="does not hold the documents"):
        fetch(path, "", tmp_path / "out")


def test_nothing_to_fetch(tmp_path: Path) -> None:
    """No such record, no such file, and no archive: each is a sentence."""
    with pytest.raises(InvalidInputError, match="no record has"):
        recorded_entries("nothing")
    with pytest.raises(InvalidInputError, match="holds no file of an entry"):
        fetch(tmp_path, "", tmp_path / "out")
    (tmp_path / "text").write_text("no archive")
    with pytest.raises(StoreError, match="it is no whole archive; expected a tar or zip"):
        fetch(tmp_path / "text", "", tmp_path / "out")
