"""Tables, sections and plots of a small run."""

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from command_line import Boundmark

from boundmark.reports.ordering import best_orders, draw_timeline, mean_savings, saving_section

SUITE = """
description = "A model of which the default order is not the best."
problem = "ordering"
time_limit_seconds = 20
memory_limit_gib = 2
seeds = [1]
methods = ["live-cut", "default-order", "bfs-order", "downset-dp"]

[[instances]]
dataset = "onnx-light"
members = ["shufflenet"]
metric = ["peak", "sum"]
"""


@pytest.fixture(autouse=True, scope="module")
def _stand_ins_are_accepted() -> None:
    """Nothing here is made up: documents of the run are checked."""


@pytest.fixture(scope="module")
def reported(boundmark: Boundmark, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a results folder with its report."""
    folder = tmp_path_factory.mktemp("ordering")
    (folder / "suite.toml").write_text(SUITE)
    boundmark("run", folder / "suite.toml", "--out", folder / "out", "--quiet")
    boundmark("report", folder / "out", "--format", "html,md")
    return folder / "out"


def test_savings(reported: Path) -> None:
    """The default order saves nothing; dynamic programming saves what can be saved."""
    table = pd.read_parquet(reported / "tables" / "ordering" / "savings.parquet")
    by_method = table.set_index(["param_metric", "method"])
    for metric in ("peak", "sum"):
        assert by_method.loc[(metric, "default-order"), "saved"] == 0
        best = by_method.loc[(metric, "downset-dp")]
        assert best["objective"] == best["bound"]
        assert best["saved"] == best["savable"] > 0
    means = mean_savings(table)
    assert means[means["method"] == "default-order"]["saved"].tolist() == [0, 0]
    # For the peak, breadth first is as good, and who was faster is credited.
    for_peak, for_sum = best_orders(table)["method"]
    assert for_peak in ("bfs-order", "downset-dp")
    assert for_sum == "downset-dp"


def test_the_page(reported: Path) -> None:
    """It has the table in the paper's form, and the timeline."""
    text = (reported / "report.md").read_text()
    assert "Memory against the default order" in text
    assert "Memory saved, in percent of the default order: metric peak" in text
    savings = pd.read_parquet(reported / "tables" / "ordering" / "savings.parquet")
    credited = best_orders(savings)["method"].iloc[0]
    assert f"By {credited}: peak 2,885,120 B, proven optimal; 7.3" in text
    plots = list((reported / "plots" / "ordering").glob("timeline_shufflenet*.svg"))
    assert len(plots) == 1


def test_timelines_are_what_the_orders_take(reported: Path) -> None:
    """A row for each operator and order; the best one has its objective as peak or sum."""
    tables = reported / "tables" / "ordering"
    lines = pd.read_parquet(tables / "timelines.parquet")
    savings = pd.read_parquet(tables / "savings.parquet")
    assert lines.groupby("order").size().tolist() == [203, 203]
    (sha,) = lines["instance_sha256"].unique()
    row = best_orders(savings).set_index("instance_sha256").loc[sha]
    memory = lines[lines["order"] == "best"]["memory"]
    assert row["objective"] == (memory.max() if row["param_metric"] == "peak" else memory.sum())
    document: Any = json.loads((reported / "instances" / f"{sha}.json").read_text())
    assert len(document["parameter_size"]) == 203


def test_drawing() -> None:
    """A line for each order, labelled, from the first operator to the last."""
    from matplotlib.figure import Figure

    axes = Figure().subplots()
    data = pd.DataFrame(
        [
            ("x", name, step, 2**20 * (step + 1))
            for name in ("default", "best")
            for step in range(4)
        ],
        columns=["instance_sha256", "order", "step", "memory"],
    )
    draw_timeline(data, axes)
    assert [line.get_label() for line in axes.lines][::2] == ["default order", "best order"]
    assert axes.get_xlim() == (1, 4)
    assert list(axes.lines[0].get_ydata()) == [1, 2, 3, 4]


def test_without_orders_there_is_no_section() -> None:
    """Nothing is said."""
    assert saving_section(None, {"savings": pd.DataFrame()}) is None  # type: ignore[arg-type]
