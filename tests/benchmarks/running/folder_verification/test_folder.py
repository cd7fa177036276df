"""Whatever is altered in a results folder, some file or row of it is rejected."""

import random
from pathlib import Path

import pytest
from altered_folders import ALTERATIONS, copy_folder, read_rows, write_rows
from command_line import Boundmark
from selection import first_now

from boundmark.benchmarks.running.folder_verification import verify_folder


def test_an_honest_folder_is_accepted(finished_run: Path) -> None:
    """There is one verdict per document and per row, all of them good."""
    verdicts = list(verify_folder(finished_run))
    assert [verdict.reason for verdict in verdicts] == [None] * len(verdicts)
    folders = ("instances", "solutions", "certificates", "labels")
    files = [path for name in folders for path in (finished_run / name).glob("*.json")]
    assert len(verdicts) == len(files) + len(read_rows(finished_run))


@pytest.mark.parametrize("name", ALTERATIONS)
@pytest.mark.parametrize("seed", first_now(range(4)))
def test_an_alteration_is_noticed(name: str, seed: int, finished_run: Path, tmp_path: Path) -> None:
    """Something is rejected, and the reason is one line of printable text."""
    copy = tmp_path / "copy"
    copy_folder(finished_run, copy)
    done = ALTERATIONS[name](copy, random.Random(seed))
    rejected = [verdict for verdict in verify_folder(copy) if verdict.reason is not None]
    assert rejected, done
    for verdict in rejected:
        assert verdict.reason is not None
        assert verdict.reason.isprintable()


def test_bounds_set_to_the_best_cost_are_all_rejected(
    boundmark: Boundmark, finished_run: Path, tmp_path: Path
) -> None:
    """Rows that claim every solution optimal do not pass, with or without their certificates."""
    copy = tmp_path / "copy"
    copy_folder(finished_run, copy)
    rows = read_rows(copy)
    best = rows.groupby("instance_sha256")["objective"].transform("min")
    false = rows["bound_certified"] != best
    rows["bound_certified"] = best
    write_rows(copy, rows)
    done = boundmark("verify", copy, check=False)
    assert done.returncode == 1
    for task_id in rows.loc[false.fillna(True), "task_id"]:
        assert f"row of task {task_id!r}" in done.stdout
    rows["certificate_sha256"] = None
    write_rows(copy, rows)
    done = boundmark("verify", copy, check=False)
    assert done.returncode == 1
    assert done.stdout.count("rejected: ") == len(rows)
