"""Reports on `microbatch`: every table on results small enough to compute by hand, and pages."""

import math
from typing import Any

import pandas as pd
import pytest
from documented import append
from schedules import one_after_another, v_shape

from boundmark.problems.errors import StoreError
from boundmark.problems.microbatch import Block, BlockLayout, MicrobatchInstance, Repetend, Schedule
from boundmark.reports.folder_results import read_folder
from boundmark.reports.methods import method_table
from boundmark.reports.microbatch import REPORT
from boundmark.reports.microbatch.communication import communication_table
from boundmark.reports.microbatch.drawings import chosen_for_drawing
from boundmark.reports.microbatch.schedules import (
    best_schedules,
    bubble_rate_by_memory_data,
    bubble_rate_by_repetend_data,
    bubble_rates,
    schedule_table,
)
from boundmark.reports.microbatch.search_time import mean_ratios, search_time
from boundmark.reports.problem_report import ProblemResults
from boundmark.reports.report import write_report
from boundmark.reports.stored.store import ResultStore
from boundmark.reports.tables.tasks import certified_table


def results_of(store: ResultStore) -> ProblemResults:
    """Return what a folder holds of the problem."""
    return read_folder(store).of_problem("microbatch", REPORT.grouping)


def table_of(store: ResultStore) -> pd.DataFrame:
    """Return the schedules of a folder."""
    return schedule_table(results_of(store))


@pytest.fixture
def schedules(store: ResultStore) -> pd.DataFrame:
    """Return the schedules of the folder with every sort of outcome."""
    return table_of(store)


@pytest.fixture
def best(store: ResultStore, schedules: pd.DataFrame) -> pd.DataFrame:
    """Return the best ones."""
    return best_schedules(schedules, certified_table(store.results()))


def of(table: pd.DataFrame, parameters: str, method: str) -> Any:
    """Return the one row of an instance and method."""
    (row,) = table[(table["parameters"] == parameters) & (table["method"] == method)].itertuples()
    return row


def test_what_schedules_are_like(schedules: pd.DataFrame) -> None:
    """Bubble rates follow from verified objectives, repetends from stored solutions."""
    good, poor = of(schedules, "memory=8", "modulo"), of(schedules, "memory=8", "naive")
    assert (good.devices, good.keeps_memory, good.bubble_rate) == (4, True, 0.0)
    assert (poor.bubble_rate, poor.repetend_micro_batches) == (0.75, 1)
    assert good.repetend_micro_batches == 4
    six = of(schedules, "memory=8, micro_batches=6", "modulo")
    assert six.bubble_rate == pytest.approx(1 - 6 * 16 / (4 * 36))
    nothing = of(schedules, "memory=8", "slow")
    assert math.isnan(nothing.bubble_rate)
    assert nothing.seconds == 12.0
    assert math.isnan(of(schedules, "memory=4", "slow").seconds)


def test_without_the_stored_instance_nothing_is_made_up(store: ResultStore) -> None:
    """Neither objective nor bubble rate is known."""
    for path in store.instances.iterdir():
        path.unlink()
    row = of(table_of(store), "memory=8", "modulo")
    assert pd.isna(row.objective)
    assert math.isnan(row.bubble_rate)


def test_refuses_changed_instances(store: ResultStore) -> None:
    """Their name is the hash of what they should be."""
    path = store.instances / f"{v_shape()[0].sha256}.json"
    path.write_text(path.read_text().replace("[8,8,8,8]", "[9,9,9,9]"))
    with pytest.raises(StoreError, match="was changed; expected the content with the hash"):
        table_of(store)


def test_bubble_rates(schedules: pd.DataFrame) -> None:
    """Bounds have none; who found nothing has a status instead."""
    rates = bubble_rates(schedules)
    assert set(rates["method"]) == {"modulo", "naive", "slow"}
    assert of(rates, "memory=4", "modulo").bubble_rate == 0.0
    assert of(rates, "memory=8", "slow").status == "timeout"
    assert of(rates, "memory=4", "slow").status == "unsupported"


def test_search_times_are_relative_to_modulo(schedules: pd.DataFrame) -> None:
    """Where it ended ok; a task that did not counts with what it took, and is marked."""
    times = search_time(schedules)
    assert of(times, "memory=8", "naive").ratio == pytest.approx(5.0)
    assert of(times, "memory=4", "naive").ratio == pytest.approx(2.5)
    slow = of(times, "memory=8", "slow")
    assert slow.is_limited
    assert slow.ratio == pytest.approx(120.0)
    assert math.isnan(of(times, "memory=1", "naive").ratio)
    means = mean_ratios(times).set_index("method")
    assert means.at["naive", "mean_ratio"] == pytest.approx((5 * 2.5 * 0.5) ** (1 / 3))
    assert means.loc["naive", ["instances", "limited"]].tolist() == [3, 0]
    assert means.loc["slow", ["instances", "limited"]].tolist() == [1, 1]
    assert "modulo" not in means.index


def test_time_until_the_best_schedule(store: ResultStore, add: Any) -> None:
    """When the best objective came, whatever followed; who did not reach it is marked."""
    slow: Any = {"method": "slow", "method_kind": "heuristic"}
    add(store, "e1", v_shape, memory=5, wall_seconds=3.0, found_at=[(0.1, 16), (0.5, 4)])
    add(store, "e2", v_shape, memory=5, wall_seconds=9.0, found_at=[(5.0, 4)], **slow)
    add(store, "e3", one_after_another, memory=5, method="naive", method_kind="heuristic",
        wall_seconds=2.0, found_at=[(0.2, 16)])  # fmt: skip
    times = search_time(table_of(store))
    assert of(times, "memory=5", "modulo").best_seconds == 0.5
    assert of(times, "memory=5", "slow").best_ratio == pytest.approx(10.0)
    naive = of(times, "memory=5", "naive")
    assert naive.is_best_limited
    assert naive.best_ratio == pytest.approx(4.0)
    means = mean_ratios(times).set_index("method")
    assert means.loc["naive", ["best_instances", "best_limited"]].tolist() == [1, 1]
    assert means.at["slow", "best_mean_ratio"] == pytest.approx(10.0)


def test_times_that_end_with_the_budget_are_lower_bounds(store: ResultStore, add: Any) -> None:
    """Though the task ended ok: the search was not over."""
    add(store, "e1", v_shape, memory=5, method="slow", method_kind="heuristic", wall_seconds=10.02)
    assert of(search_time(table_of(store)), "memory=5", "slow").is_limited


def test_without_modulo_there_are_no_ratios(schedules: pd.DataFrame) -> None:
    """Times stay."""
    times = search_time(schedules[schedules["method"] != "modulo"])
    assert times["ratio"].isna().all()
    assert times["seconds"].notna().any()
    assert len(mean_ratios(times)) == 0


def test_best_schedules(best: pd.DataFrame) -> None:
    """One an instance, with the bound that others certified."""
    known = best.set_index("parameters")
    assert known.at["memory=8", "method"] == "modulo"
    assert known.at["memory=8", "optimal"]
    assert known.at["memory=8", "bound_method"] == "device-load"
    assert known.at["memory=4", "gap"] == pytest.approx(1 / 3)
    assert known.at["memory=1", "method"] == "naive"
    assert len(best) == 4


def test_one_drawing_a_layout(best: pd.DataFrame) -> None:
    """With the least memory that allows the smallest bubble rate; makespans come last."""
    chosen = chosen_for_drawing(best)
    assert chosen["parameters"].tolist() == ["memory=4", "memory=8, micro_batches=6"]


def test_methods(store: ResultStore) -> None:
    """Means with the instances behind them; those on which nobody can be compared are left out."""
    results = results_of(store)
    table = method_table(results.tasks, results.certified).set_index("method")
    modulo, naive, slow = table.loc["modulo"], table.loc["naive"], table.loc["slow"]
    assert (modulo["instances"], modulo["solved"], modulo["shared"]) == (4, 3, 3)
    assert modulo["upper"] == pytest.approx((4 / 3) ** (1 / 3))
    assert (naive["instances"], naive["solved"], naive["shared"]) == (4, 3, 3)
    assert naive["shared_upper"] == pytest.approx((4 * 16 / 3 * 96 / 36) ** (1 / 3))
    assert (slow["solved"], slow["timed"], slow["failed"]) == (0, 1, 2)
    assert table.at["device-load", "lower"] == pytest.approx(math.sqrt(3 / 4))
    assert table.at["modulo", "bounded"] == 1
    assert table.loc["modulo", ["claiming", "claimed"]].tolist() == [1, 0.75]


def test_lines_over_memory(best: pd.DataFrame) -> None:
    """Periods only."""
    data = bubble_rate_by_memory_data(best).sort_values("memory")
    assert data["memory"].tolist() == [1, 4, 8]
    assert data["bubble_rate"].tolist() == [0.75, 0.0, 0.0]
    assert data["optimal"].tolist() == [False, False, True]


def test_steps_over_repetends(schedules: pd.DataFrame) -> None:
    """At the largest memory, the least bubble rate never rises."""
    data = bubble_rate_by_repetend_data(schedules)
    assert data["repetend_micro_batches"].tolist() == [1, 4]
    assert data["bubble_rate"].tolist() == [0.75, 0.0]


def test_transfers_cost_time(best: pd.DataFrame) -> None:
    """Beside blocks less than between them, and longer ones more."""
    chosen = chosen_for_drawing(best)
    drawn = {sha: v_shape() for sha in chosen["instance_sha256"]}
    table = communication_table(chosen, drawn)
    assert set(table["parameters"]) == {"memory=4"}
    assert table["transfer"].tolist() == [0.25, 0.5, 1.0]
    assert (table["non_blocking"] >= 1).all()
    assert (table["blocking"] > table["non_blocking"]).all()
    assert table["blocking"].is_monotonic_increasing
    assert len(communication_table(chosen, {})) == 0


def test_a_chain_of_two_by_hand() -> None:
    """One micro-batch a tick: transfers of half a tick are hidden, except the last, or are not."""
    blocks = [Block("a", "forward", 1, 0, (0,)), Block("b", "forward", 1, 0, (1,))]
    instance = MicrobatchInstance.of(BlockLayout.from_blocks(blocks, [(0, 1)], 2))
    schedule = Schedule([[0, 1]], Repetend(1, [0, 0]))
    row = {
        "dataset": "d", "instance": "i", "parameters": "", "instance_sha256": "s", "method": "m",
        "micro_batches": 0,
    }  # fmt: skip
    table = communication_table(pd.DataFrame([row]), {"s": (instance, schedule)})
    half = table[table["transfer"] == 0.5].iloc[0]
    assert half["non_blocking"] == pytest.approx((33 + 0.5) / 33)
    assert half["blocking"] == pytest.approx((33 + 32 * 0.5) / 33)


# Alone and beside other problems.


@pytest.mark.usefixtures("undrawn")
def test_everything_is_there(store: ResultStore, add: Any) -> None:
    """Sections, marks of failures, drawings and their data; nothing by k.

    Without schedules, there is a report as well, and drawings of the earlier one go.
    """
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
    for path in (store.directory / "results").iterdir():
        path.unlink()
    add(store, "e", status="error", status_detail="no luck")
    write_report(store.directory)
    assert not list((store.directory / "plots").rglob("schedule_*"))
    text = (store.directory / "report.md").read_text()
    assert "no luck" in text
    assert "## Schedules" not in text


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
def test_missing_instances_are_said(store: ResultStore) -> None:
    """Nothing is certified then, and the reader is told."""
    for path in store.instances.iterdir():
        path.unlink()
    write_report(store.directory)
    text = (store.directory / "report.md").read_text()
    assert "stored values left out, because no document supports them" in text
    assert text.count("0 of 4") == 2
