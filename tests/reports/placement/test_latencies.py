from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from command_line import boundmark_here

from boundmark.reports.folder_results import read_folder
from boundmark.reports.pages.page import Section
from boundmark.reports.placement.latencies import (
    fusion_section,
    fusion_table,
    latency_section,
    latency_table,
    time_section,
)
from boundmark.reports.problem_report import Grouping
from boundmark.reports.stored.store import ResultStore


def task(method: str, objective: int | None, fusion: str | None = None, **other: object) -> dict:
    """Return a row of tasks, as far as it is read."""
    return {
        "dataset": "made", "instance": "up", "device": "pair", "param_transfers": "per-edge",
        "param_fusion": fusion, "nodes": 10 if fusion is None else 6, "method": method,
        "method_kind": "heuristic", "objective": objective, "wall_seconds": 2.0, **other,
    }  # fmt: skip


TASKS = pd.DataFrame(
    [
        task("single-device", 120),
        task("heft", 100, wall_seconds=4.0),
        task("heft", 60, wall_seconds=8.0),
        task("m-etf", None),
        task("critical-path", None, method_kind="bound"),
        task("heft", 90, "backends", wall_seconds=3.0),
        task("m-etf", 110, "backends"),
        task("single-device", 80, instance="other"),
    ]
)
CERTIFIED = pd.DataFrame(
    [
        {**task("", 60), "bound": 50},
        {**task("", 90, "backends"), "bound": 75},
        {**task("", 80, instance="other"), "bound": None},
    ]
)


def test_latencies_by_hand() -> None:
    """Means over seeds; speedups are over the original graph, gaps of the same graph."""
    table = latency_table(TASKS, CERTIFIED)
    rows = table.set_index(["instance", "fusion", "method"])
    heft = rows.loc["up", "none", "heft"]
    assert (heft["makespan"], heft["seconds"]) == (80.0, 6.0)
    assert (heft["speedup"], heft["gap"]) == (1.5, pytest.approx(0.6))
    fused = rows.loc["up", "backends", "heft"]
    assert (fused["speedup"], fused["bound"]) == (pytest.approx(120 / 90), 75)
    assert (fused["gap"], fused["base"]) == (pytest.approx(0.2), "single-device")
    assert set(table["memory"]) == {"parameters+outputs"}
    assert pd.isna(rows.loc["other", "none", "single-device"]["gap"])
    assert ("up", "none", "m-etf") not in rows.index


def test_a_model_that_no_device_takes() -> None:
    """Speedups are over the first method of the list that found a placement."""
    large = pd.DataFrame([task("heft", 50), task("fill-devices", 100), task("heft", 40, "moirai")])
    rows = latency_table(large, CERTIFIED).set_index(["fusion", "method"])
    assert set(rows["base"]) == {"fill-devices"}
    assert rows["speedup"].to_dict() == {
        ("moirai", "heft"): 2.5, ("none", "fill-devices"): 1.0, ("none", "heft"): 2.0,
    }  # fmt: skip


def test_fusion_by_hand() -> None:
    """Over the methods that found a placement of both: `m-etf` did not."""
    (row,) = fusion_table(latency_table(TASKS, CERTIFIED)).to_dict("records")
    assert (row["operators"], row["fused_operators"], row["methods"]) == (10, 6, 1)
    assert row["makespan_ratio"] == pytest.approx(90 / 80)
    assert row["seconds_ratio"] == pytest.approx(3 / 6)


def texts(section: Section | None) -> list[list[str]]:
    """Return the rows of a section's only table, headings among them."""
    assert section is not None
    (table,) = section.tables
    found = [list(table.columns)]
    for group in table.groups:
        found.append([group.heading[0].text])
        found += [[f"{cell.text}|{cell.detail}".rstrip("|") for cell in row] for row in group.rows]
    return found


def test_sections() -> None:
    """A group per scenario, the original graphs first; a row per model; means below."""
    latencies = latency_table(TASKS, CERTIFIED)
    found = {"latencies": latencies, "fusion": fusion_table(latencies)}
    results: Any = None
    assert texts(latency_section(results, found)) == [
        ["model", "heft", "m-etf", "single-device", "best", "at most"],
        ["pair, per-edge, parameters+outputs, original"],
        ["other", "–", "–", "1.000", "1.000", "–"],
        ["up", "1.500|60.0 %", "–", "1.000|140.0 %", "1.500|60.0 %", "2.400"],
        ["geometric mean", "1.500", "–", "1.000", "1.225", "2.400"],
        ["pair, per-edge, parameters+outputs, fusion backends"],
        ["up", "1.333|20.0 %", "1.091|46.7 %", "–", "1.333|20.0 %", "1.600"],
    ]
    assert texts(time_section(results, found))[3] == ["up", "6.000", "–", "2.000"]
    assert texts(fusion_section(results, found))[2] == [
        "up",
        "10",
        "6|60%",
        "–",
        "1.125",
        "1.500",
        "0.50",
        "1",
    ]


def test_what_bounds_shared_transfers_bounds_those_for_each_edge() -> None:
    """The better one of both bounds counts, of the same graph with live tensors only."""
    shared = {"param_transfers": "per-tensor", "param_memory": "parameters+live"}
    known = [
        {**task("", 60), "bound": 40},
        {**task("", 60, **shared), "bound": 50},
        {**task("", 60, **shared, instance="other"), "bound": 99},
        {**task("", 60, **shared), "nodes": 11, "bound": 99},
    ]
    (row,) = latency_table(pd.DataFrame([task("heft", 60)]), pd.DataFrame(known)).to_dict("records")
    assert (row["bound"], row["gap"]) == (50, pytest.approx(0.2))


def test_claims_of_the_paper() -> None:
    """The largest ratio to the paper's program, beside what the paper says, and the mean."""
    rows = [
        task(method, objective, instance=model, device="moirai-inter-server")
        for model, method, objective in (
            ("a", "moirai-milp", 10), ("a", "m-sct", 20), ("a", "placement-search", 9),
            ("b", "moirai-milp", 10), ("b", "m-sct", 80), ("b", "getf", None),
            ("c", "m-sct", 1), ("a", "single-device", 10), ("b", "single-device", 10),
        )
    ]  # fmt: skip
    latencies = latency_table(pd.DataFrame(rows), CERTIFIED)
    section = latency_section(None, {"latencies": latencies})  # type: ignore[arg-type]
    assert section is not None
    table = section.tables[1]
    assert table.columns == ("graphs", "m-sct", "placement-search")
    ((_, *cells),) = table.groups[0].rows
    assert [(cell.text, cell.detail) for cell in cells] == [
        ("8.00", "paper 1.77; mean 4.000, n = 2"), ("0.90", "mean 0.900, n = 1"),
    ]  # fmt: skip


def test_without_fusion() -> None:
    """Results of a folder without fused graphs have no such parameter, and no such section."""
    tasks = TASKS[TASKS["param_fusion"].isna()].drop(columns="param_fusion")
    latencies = latency_table(tasks, CERTIFIED.iloc[:1].drop(columns="param_fusion"))
    assert set(latencies["fusion"]) == {"none"}
    tables = {"latencies": latencies, "fusion": fusion_table(latencies)}
    assert fusion_section(None, tables) is None
    assert latency_section(None, {**tables, "latencies": latencies.iloc[:0]}) is None
    assert time_section(None, {**tables, "latencies": latencies.iloc[:0]}) is None


SUITE = """
description = "A model of the paper on both of its clusters, which its name then says."
problem = "placement"
time_limit_seconds = 20
memory_limit_gib = 1
methods = ["single-device"]
"""
GROUP = """
[[instances]]
dataset = "zoo"
members = ["gpt-3-330m"]
device = "moirai-{}-server"
fusion = ["none", "moirai"]
"""


def test_the_papers_operators_stand_beside_those_of_a_folder(tmp_path: Path) -> None:
    """Also where names of instances end with the device, since there are several."""
    suite, out = tmp_path / "suite.toml", tmp_path / "out"
    suite.write_text(SUITE + "".join(map(GROUP.format, ("inter", "intra"))))
    boundmark_here("run", suite, "--out", out, "--quiet", "--workers", "1")
    found = read_folder(ResultStore.open(out)).of_problem("placement", Grouping(None))
    assert set(found.tasks["instance"]) == {
        f"gpt-3-330m on moirai-{one}-server" for one in ("inter", "intra")
    }
    latencies = latency_table(found.tasks, found.certified)
    tables = {"latencies": latencies, "fusion": fusion_table(latencies)}
    rows = [row for row in texts(fusion_section(found, tables)) if row[0].startswith("gpt")]
    assert [row[1:4] for row in rows] == [["940", "628|67%", "3,682|76%"]] * 2
