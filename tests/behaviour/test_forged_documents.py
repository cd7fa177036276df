"""Documents that state what they do not prove, under their right hashes, make no result."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from command_line import Boundmark
from selection import first_now

from boundmark.benchmarks.library import Library
from boundmark.reports.stored.store import ResultStore, write_document

pytestmark = pytest.mark.usefixtures("all_undrawn")


def _forge(store: ResultStore, column: str, value_of: Callable[[pd.DataFrame], int]) -> int:
    """Let the best row of each instance state another value, as its forged document does."""
    hash_column, folder, field = {
        "objective": ("solution_sha256", store.solutions, "objective"),
        "bound_certified": ("certificate_sha256", store.certificates, "bound"),
    }[column]
    results = store.results()
    number = 0
    for _, rows in results.groupby("instance_sha256"):
        values = rows[column].dropna()
        at = values.idxmin() if column == "objective" else values.idxmax()
        path = folder / f"{results.loc[at, hash_column]}.json"
        document: dict[str, Any] = json.loads(path.read_text())
        forged = value_of(rows)
        assert forged != document[field]
        results.loc[at, hash_column] = write_document(folder, document | {field: forged})
        results.loc[at, column] = forged
        number += 1
    store.put(results, store.traces())
    return number


@pytest.fixture(params=first_now(["bound_certified", "objective"]))
def forged(
    request: pytest.FixtureRequest,
    finished_run: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Path:
    """Return a run of whose instances all look solved: by false bounds, or by false costs."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    copy = tmp_path / "forged"
    shutil.copytree(finished_run, copy)
    store = ResultStore.open(copy)
    if request.param == "objective":
        number = _forge(store, "objective", lambda rows: int(rows["bound_certified"].max()))
    else:
        number = _forge(store, "bound_certified", lambda rows: int(rows["objective"].min()))
    assert number >= 3
    return copy


def test_a_report_proves_nothing_by_them(
    boundmark: Boundmark, finished_run: Path, forged: Path
) -> None:
    """The table has the next best, the page and the terminal name what was rejected."""
    honest = ResultStore.open(finished_run).results()
    done = boundmark("report", forged)
    certified = pd.read_parquet(forged / "tables" / "certified.parquet")
    solved = honest.groupby("instance_sha256")
    assert not certified["optimal"].any()
    for row in certified.itertuples():
        rows = solved.get_group(row.instance_sha256)
        assert row.objective in set(rows["objective"])
        assert row.bound in set(rows["bound_certified"])
    unsupported = pd.read_parquet(forged / "tables" / "unsupported.parquet")
    assert len(unsupported) == len(certified)
    assert unsupported["reason"].str.startswith("the checker rejects ").all()
    assert f"{len(certified)} rejected" in done.stderr
    assert done.stderr.count("left out: ") == min(len(certified), 10) + (len(certified) > 10)
    for name in ("report.html", "report.md"):
        text = (forged / name).read_text()
        assert "none is proven optimal" in text
        assert "the checker rejects " in text


def test_the_library_takes_the_best_that_is_left(
    boundmark: Boundmark, finished_run: Path, forged: Path, tmp_path: Path
) -> None:
    """What the checker rejects is said and left out; all that is added is honest."""
    (tmp_path / "library.toml").write_text(
        "most_certificate_bytes = 1_000_000\n[datasets]\nonnx-light = '?'\nregal-style = '?'\n"
    )
    done = boundmark("library", "--library", tmp_path, "add", forged)
    assert "the checker rejects it: " in done.stdout
    stored = ResultStore.open(finished_run).results()
    entries = Library.open(tmp_path).entries()
    assert {one.instance_sha256 for one in entries} == set(stored["instance_sha256"])
    assert {one.solution_sha256 for one in entries} <= set(stored["solution_sha256"])
    assert {one.certificate_sha256 for one in entries} <= set(stored["certificate_sha256"])


def test_only_who_claims_a_record_is_checked_again(
    boundmark: Boundmark, suite_file: Path, finished_run: Path, forged: Path, tmp_path: Path
) -> None:
    """`run` ends without checks where nothing beats a record, and else tells no forged one."""
    same = tmp_path / "same"
    shutil.copytree(finished_run, same)
    # The checker would reject these, too.
    _forge(ResultStore.open(same), "objective", lambda rows: int(rows["objective"].max()) + 1)
    for out, said in ((forged, "the checker rejects "), (same, "")):
        done = boundmark("run", suite_file, "--out", out, "--quiet")
        assert "0 run" in done.stdout
        assert "better than the best known" not in done.stdout
        assert said in done.stderr if said else done.stderr == ""


@pytest.mark.slow
def test_a_draft_of_them_is_called_one(boundmark: Boundmark, forged: Path) -> None:
    """Without the checker, they are believed, and the page and the terminal say so first."""
    done = boundmark("report", forged, "--unchecked")
    assert "Draft: no document was checked for this page." in done.stderr
    assert "Draft: no document was checked for this page." in (forged / "report.md").read_text()
    assert pd.read_parquet(forged / "tables" / "certified.parquet")["optimal"].any()


def test_a_second_report_checks_nothing(
    boundmark: Boundmark,
    finished_run: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What was accepted is remembered, whatever the folder is called then."""
    copy, moved = tmp_path / "copy", tmp_path / "moved"
    shutil.copytree(finished_run, copy)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    first = boundmark("report", copy).stderr
    copy.rename(moved)
    again = boundmark("report", moved).stderr
    assert ", 0 accepted earlier by the same checker, none rejected" in first
    assert ": 0 checked now" not in first
    assert ": 0 checked now" in again
    assert "0 checked now" in (moved / "report.md").read_text()
