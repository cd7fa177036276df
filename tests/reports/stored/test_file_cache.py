"""What was read and what was accepted is remembered, and hides no damage."""

import json
import os
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from documented import add_instance

from boundmark.bounds import checker
from boundmark.reports.stored import checked_results
from boundmark.reports.stored.checked_results import SupportedResults, supported_results
from boundmark.reports.stored.file_cache import (
    LENGTH,
    MOST_FOLDERS,
    Accepted,
    CacheLimits,
    cache_folder,
    checker_version,
)
from boundmark.reports.stored.store import LARGEST_INLINE_PAYLOAD, ResultStore, write_document

# Few files are remembered too, and new ones.
EAGER = CacheLimits(least_files=1, settled_nanoseconds=-(10**12))


def read_results(store: ResultStore, remembering: CacheLimits = EAGER) -> SupportedResults:
    """Read a folder's results."""
    return supported_results(store, remembering=remembering)


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the cache folder of the test."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the names of files whose content is read from here on, but for payloads."""
    names: list[str] = []
    content_of = checked_results._content_of

    def noted(path: str) -> Any:
        if not path.endswith(".gz"):
            names.append(Path(path).name)
        return content_of(path)

    monkeypatch.setattr(checked_results, "_content_of", noted)
    return names


@pytest.fixture
def store(cache: Path, tmp_path: Path, make_row: Any) -> ResultStore:
    """Return a folder with one row whose certificate has a large payload, and that was read."""
    store = ResultStore.create_or_open(tmp_path / "folder")
    row = make_row("x", objective=500, bound_certified=400, bound_kind="share/1")
    add_instance(store, row["instance_sha256"])
    about = {"instance_sha256": row["instance_sha256"]}
    # Not the same over and over: of that, damage to the compressed file may make the same again.
    payload = {"payload": [number**3 for number in range(LARGEST_INLINE_PAYLOAD // 6)]}
    row["solution_sha256"] = write_document(store.solutions, about | {"objective": 500})
    row["certificate_sha256"] = write_document(store.certificates, about | {"bound": 400} | payload)
    store.append(row, [])
    assert read_results(store).unsupported.empty
    return store


def test_what_is_unchanged_is_not_read_again(store: ResultStore, read: list[str]) -> None:
    """Neither documents nor instances nor payloads; the results are the same."""
    (payload,) = store.certificates.glob("*.gz")
    opened = payload.stat().st_atime_ns
    again = read_results(store)
    assert read == []
    assert payload.stat().st_atime_ns == opened
    assert again.unsupported.empty
    assert again.results[["objective", "bound_certified"]].iloc[0].tolist() == [500, 400]


def _files(store: ResultStore) -> list[Path]:
    folders = (store.instances, store.solutions, store.certificates)
    return [path for folder in folders for path in sorted(folder.iterdir())]


def _alter(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(bytes(content))


def _alter_and_set_the_time_back(path: Path) -> None:
    before = path.stat()
    _alter(path)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert path.stat().st_mtime_ns == before.st_mtime_ns
    assert path.stat().st_size == before.st_size


def _replace(path: Path) -> None:
    other = path.with_name("other")
    shutil.copy2(path, other)
    _alter_and_set_the_time_back(other)
    other.replace(path)


def _cut(path: Path) -> None:
    os.truncate(path, path.stat().st_size - 1)


def _make_a_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


DAMAGES = (_alter, _alter_and_set_the_time_back, _replace, _cut, Path.unlink, _make_a_folder)


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("at", range(4), ids=["instance", "solution", "certificate", "payload"])
def test_damage_is_noticed_as_without_memory(
    store: ResultStore, cache: Path, damage: Callable[[Path], None], at: int
) -> None:
    """Of every file, with the same reason."""
    paths = [path for path in _files(store) if path.suffix != ".gz"]
    paths += [path for path in _files(store) if path.suffix == ".gz"]
    assert len(paths) == 4
    damage(paths[at])
    with_memory = read_results(store).unsupported
    shutil.rmtree(cache)
    pd.testing.assert_frame_equal(with_memory, read_results(store).unsupported)
    assert with_memory["column"].tolist() == {
        0: ["objective", "bound_certified"],
        1: ["objective"],
    }.get(at, ["bound_certified"])


def _row(store: ResultStore) -> dict[str, Any]:
    (row,) = store.results().to_dict("records")
    return {name: None if pd.isna(value) else value for name, value in row.items()}


def test_rows_that_say_something_else_are_noticed(store: ResultStore) -> None:
    """Of another value, of another instance, or with a document of another sort."""
    row = _row(store)
    names = ["objective", "instance_sha256", "solution_sha256", "bound_certified"]
    others = [501, "0" * 64, row["certificate_sha256"], 401]
    for at, (name, value) in enumerate(zip(names, others, strict=True)):
        store.append({**row, "task_id": f"false {at}", name: value}, [])
    found = read_results(store).unsupported
    wrong = sorted(zip(found["task_id"], found["column"], strict=True))
    assert wrong == [
        ("false 0", "objective"),
        ("false 1", "bound_certified"),
        ("false 1", "objective"),
        ("false 2", "objective"),
        ("false 3", "bound_certified"),
    ]


def test_copied_files_are_read_again(store: ResultStore, tmp_path: Path, read: list[str]) -> None:
    """Even where times are copied too: what is remembered is of these files and no others."""
    shutil.copytree(store.directory, tmp_path / "copy")
    shutil.rmtree(store.directory)
    (tmp_path / "copy").rename(store.directory)
    assert read_results(store).unsupported.empty
    assert len(read) == 3


def test_what_changed_just_now_is_read_again(
    store: ResultStore, cache: Path, read: list[str]
) -> None:
    """It may change once more within the same tick of the file system's clock."""
    shutil.rmtree(cache)
    for _ in range(2):
        read_results(store, replace(EAGER, settled_nanoseconds=10**11))
    assert len(read) == 6


def test_little_is_not_remembered(store: ResultStore, cache: Path) -> None:
    """Small folders leave nothing in the cache."""
    shutil.rmtree(cache)
    read_results(store, replace(EAGER, least_files=5))
    assert not cache.exists()


def test_damaged_memory_is_no_memory(store: ResultStore, cache: Path, read: list[str]) -> None:
    """Nor is that of another version."""
    (memory,) = cache.rglob("*.parquet")
    table = pd.read_parquet(memory)
    for content in (b"", b"?", memory.read_bytes()[:-9]):
        memory.write_bytes(content)
        read.clear()
        assert read_results(store).unsupported.empty
        assert len(read) == 3
    table.to_parquet(memory)
    read.clear()
    assert read_results(store).unsupported.empty
    assert len(read) == 3


def test_without_a_cache_all_is_read(
    store: ResultStore, monkeypatch: pytest.MonkeyPatch, read: list[str]
) -> None:
    """A folder that cannot be written is no fault."""
    monkeypatch.setenv("XDG_CACHE_HOME", "/dev/null")
    for _ in range(2):
        assert read_results(store).unsupported.empty
    assert len(read) == 6


def test_memory_does_not_grow(store: ResultStore, cache: Path) -> None:
    """Of documents that no row rests on any more nothing is kept, and of few folders anything."""
    (memory,) = cache.rglob("*.parquet")
    assert len(pd.read_parquet(memory)) == 4
    row = _row(store)
    store.append({**row, "bound_certified": None, "certificate_sha256": None}, [])
    read_results(store)
    assert len(pd.read_parquet(memory)) == 2
    for at in range(MOST_FOLDERS + 3):
        other = memory.with_name(f"{at}.parquet")
        other.write_bytes(b"")
        os.utime(other, (at, at))
    os.utime(store.solutions / f"{row['solution_sha256']}.json")
    read_results(store)
    assert len([*memory.parent.iterdir()]) == MOST_FOLDERS
    assert memory.exists()


def test_numbers_that_are_no_costs_are_not_remembered(
    store: ResultStore, read: list[str], make_row: Any
) -> None:
    """Documents may say anything; what does not fit is read each time, to the same end."""
    row = make_row("strange", objective=5)
    for value in (5.0, 2**70, [5]):
        document = {"instance_sha256": row["instance_sha256"], "objective": value}
        row["solution_sha256"] = write_document(store.solutions, json.loads(json.dumps(document)))
        store.append(row, [])
        unsupported = [read_results(store).unsupported["task_id"].tolist() for _ in range(2)]
        assert unsupported == ([[], []] if value == 5.0 else [["strange"], ["strange"]])


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
