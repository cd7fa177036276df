"""Reports on `microbatch`, alone and beside other problems."""

from typing import Any

import pandas as pd
import pytest
from documented import append

from boundmark.reports.report import write_report
from boundmark.reports.stored.store import ResultStore


def test_everything_is_there(store: ResultStore) -> None:
    """Sections, marks of failures, drawings and their data; nothing by k."""
    paths = {str(path.relative_to(store.directory)) for path in write_report(store.directory)}
    text = (store.directory / "report.md").read_text().replace("\\", "")
    for title in ("Instances", "Bubble rates", "Methods", "Search time", "Schedules"):
        assert f"## {title}" in text
    for mark in ("×", "≥ 12.000 (≥ 120×)", "– (timeout)", "| memory=8, micro_batches=6 |"):
        assert mark in text
    assert "by k" not in text.replace("tables by k", "")
    assert "nan" not in text.lower()
    assert "Left out" not in text
    for name in ("bubble_rate_by_memory", "bubble_rate_by_repetend", "search_time"):
        assert f"plots/microbatch/{name}.svg" in paths
    gantts = [
        path for path in paths if path.startswith("plots/microbatch/schedule_v_4_train_memory_")
    ]
    assert len(gantts) == 2 * 2
    rows = pd.read_parquet(store.directory / "tables" / "microbatch" / "schedules.parquet")
    assert len(rows) == 12


@pytest.mark.usefixtures("undrawn")
def test_problems_do_not_mix(store: ResultStore, synthetic: Any) -> None:
    """Each has its sections, and the tables by k are what they are without the other problem."""
    for row, trace in synthetic(members=1, datasets=("zoo",)):
        append(store, row, trace)
    write_report(store.directory)
    text = (store.directory / "report.md").read_text()
    for title in (
        "microbatch: Bubble rates", "microbatch: Instances", "pipeline: Gaps",
        "pipeline: Paper form of solutions", "pipeline: Instances", "Failed tasks",
    ):  # fmt: skip
        assert f"## {title}" in text
    own = text[text.index("pipeline: Gaps") : text.index("pipeline: Instances")]
    assert "zoo" in own
    assert "v-4-train" not in own
    by_k = pd.read_parquet(store.directory / "tables" / "pipeline" / "solutions_by_k.parquet")
    assert "modulo" not in set(by_k["method"])
    assert "- pipeline: " in text
    assert "- microbatch: " in text


@pytest.mark.usefixtures("undrawn")
def test_a_folder_without_schedules_has_a_report(store: ResultStore, add: Any) -> None:
    """Drawings of an earlier report go."""
    write_report(store.directory)
    assert list((store.directory / "plots").rglob("schedule_*"))
    for path in (store.directory / "results").iterdir():
        path.unlink()
    add(store, "e", status="error", status_detail="no luck")
    write_report(store.directory)
    assert not list((store.directory / "plots").rglob("schedule_*"))
    text = (store.directory / "report.md").read_text()
    assert "no luck" in text
    assert "## Schedules" not in text


@pytest.mark.usefixtures("undrawn")
def test_missing_instances_are_said(store: ResultStore) -> None:
    """Nothing is certified then, and the reader is told."""
    for path in store.instances.iterdir():
        path.unlink()
    write_report(store.directory)
    text = (store.directory / "report.md").read_text()
    assert "stored values left out, because no document supports them" in text
    assert text.count("0 of 4") == 2
