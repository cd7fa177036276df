"""A baseline says of a run what its folder says, in one small file."""

import json
from pathlib import Path
from typing import Any

import pytest

from boundmark.problems.errors import StoreError
from boundmark.reports.comparison.compare import compare_runs
from boundmark.reports.comparison.recorded_run import keep_as_baseline, read_run
from boundmark.reports.stored.run_records import write_reference_seconds
from boundmark.reports.stored.store import ResultStore

RECORD = {"commit": "c" * 40, "dirty": False, "cpu": "A CPU", "libraries": {"highspy": "1.2"}}


@pytest.fixture
def folder(stored: Any, run_rows: Any) -> Path:
    """Return the folder of a run that knows its environment and the machine's speed."""
    path: Path = stored("run", run_rows)
    store = ResultStore.open(path)
    (store.environments / f"{'e' * 64}.json").write_text(json.dumps(RECORD))
    (store.environments / f"{'f' * 64}.json").write_text(json.dumps(RECORD | {"commit": "d" * 40}))
    write_reference_seconds(store, [0.5, 0.75])
    return path


def test_a_run_equals_its_baseline(folder: Path, tmp_path: Path) -> None:
    """Nothing is found, label and reference times are the same, and so are the bytes each time."""
    run = read_run(folder)
    paths = [tmp_path / "deep" / name for name in ("1.parquet", "2.parquet")]
    for path in paths:
        keep_as_baseline([run], path)
    kept = read_run(paths[0])
    assert paths[0].read_bytes() == paths[1].read_bytes()
    found = compare_runs(kept, run)
    assert (found.exit_code, found.compared, found.findings) == (0, 6, ())
    assert kept.label == run.label
    assert kept.reference_seconds == (0.5, 0.75)


def test_of_a_changed_method_only_the_newest_version_is_kept(
    stored: Any, run_rows: Any, make_row: Any, tmp_path: Path
) -> None:
    """A run that went on after a change has rows of both; other methods keep all of theirs."""
    changed = [
        make_row("c1", instance="a", method="brkga", seed=1, objective=19, method_version=2),
        make_row("c2", instance="b", method="brkga", seed=1, objective=7, method_version=2),
    ]
    run = read_run(stored("run", [*run_rows, *changed]))
    keep_as_baseline([run], tmp_path / "kept.parquet")
    rows = read_run(tmp_path / "kept.parquet").tasks
    assert set(rows["task_id"]) == {"a3", "b3", "c1", "c2"}


def test_the_label_is_of_what_rows_name(folder: Path) -> None:
    """Commit, solver versions, host and start; environments of nobody's rows do not count."""
    label = read_run(folder).label
    assert label.commits == ("c" * 40,)
    assert label.solvers == {"highspy": "1.2"}
    assert label.hosts == ("here",)
    assert label.short == f"2026-01-02 03:04, {'c' * 10}"


def test_changed_checkouts_are_marked(folder: Path) -> None:
    """A commit that is not what ran bears a plus sign, also when it is abbreviated."""
    path = folder / "environments" / f"{'e' * 64}.json"
    path.write_text(json.dumps(RECORD | {"dirty": True}))
    assert read_run(folder).label.commit_text == "c" * 10 + "+"


def test_what_cannot_be_a_baseline_is_refused(folder: Path, stored: Any, tmp_path: Path) -> None:
    """A run without results, or with a bound whose certificate is gone."""
    with pytest.raises(StoreError, match="holds no results"):
        keep_as_baseline([read_run(stored("empty", []))], tmp_path / "x.parquet")
    next((folder / "certificates").iterdir()).unlink()
    with pytest.raises(StoreError, match="1 costs or bounds without documents"):
        keep_as_baseline([read_run(folder)], tmp_path / "x.parquet")
    assert not (tmp_path / "x.parquet").exists()


def test_other_files_are_no_baselines(folder: Path, tmp_path: Path) -> None:
    """A results folder's own Parquet file, or none at all."""
    shard = next((folder / "results").iterdir())
    with pytest.raises(StoreError, match="is no baseline; expected a file that"):
        read_run(shard)
    text = tmp_path / "text.parquet"
    text.write_text("nothing")
    with pytest.raises(StoreError, match=r"cannot be read as Parquet.*`boundmark baseline`"):
        read_run(text)
