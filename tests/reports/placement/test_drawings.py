"""Placements as spans, drawn with characters and as charts."""

import itertools
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from brute_force_placement import instance
from documented import append
from matplotlib.figure import Figure

from boundmark.problems.errors import StoreError
from boundmark.problems.placement import PlacementInstance, PlacementSchedule
from boundmark.problems.problem import solution_document
from boundmark.reports.folder_results import read_folder
from boundmark.reports.placement.drawings import (
    COLUMNS,
    MOST_BOXES,
    NARROWEST,
    busy_shares,
    draw_gantt,
    draw_placement,
    drawing_section,
    gantt_data,
    gantt_height,
    schedule_spans,
    shades,
)
from boundmark.reports.report import ProblemPart, part_of
from boundmark.reports.stored.store import ResultStore, write_document

mpl.use("Agg")


def spans(rows: list[tuple[int, str, int, int]]) -> pd.DataFrame:
    """Return spans as `schedule_spans` does."""
    return pd.DataFrame(
        [(*row, f"v{at}") for at, row in enumerate(rows)],
        columns=["device", "lane", "start", "end", "name"],
    )


def test_few_boxes_are_drawn_one_by_one() -> None:
    """Each operator and each end of a transfer has its place; lanes do not overlap."""
    rows = [(0, "run", 0, 2), (0, "run", 2, 3), (0, "send", 2, 6), (3, "receive", 2, 6)]
    data = gantt_data(spans(rows))
    assert data["count"].tolist() == [1, 1, 1, 1]
    axes = Figure().add_subplot()
    draw_gantt(data, axes)
    boxes = [(p.get_x(), p.get_width(), p.get_y(), p.get_height()) for p in axes.patches]
    assert [(x, width) for x, width, _, _ in boxes] == [(0, 2), (2, 1), (2, 4), (2, 4)]
    bottoms = {(y, y + height) for _, _, y, height in boxes}
    ordered = sorted(bottoms)
    assert all(a[1] <= b[0] for a, b in itertools.pairwise(ordered))
    assert [text.get_text() for text in axes.get_yticklabels()] == ["0", "3"]
    assert gantt_height(data) < gantt_height(gantt_data(spans([*rows, (5, "run", 0, 1)])))


def test_many_boxes_are_joined_where_no_gap_is_seen() -> None:
    """Time that is busy stays busy, and gaps that are seen stay gaps."""
    count = MOST_BOXES + 1
    step = 2
    rows = [(0, "run", step * at, step * at + step) for at in range(count)]
    end = rows[-1][3]
    gap = int(end * NARROWEST) + 10
    rows += [(0, "run", end + gap, end + gap + 5), (1, "send", 0, 5)]
    data = gantt_data(spans(rows))
    found = data[["device", "lane", "start", "end", "count"]].to_numpy().tolist()
    assert found == [
        [0, "run", 0, end, count], [0, "run", end + gap, end + gap + 5, 1], [1, "send", 0, 5, 1],
    ]  # fmt: skip


SAMPLE = instance([[2, 3], [9, 3]], [(0, 1)], times=[[0, 4, 5, 0]])
OTHER = instance([[2, 9], [2, 9]], [(0, 1)])
BEST = PlacementSchedule(np.array([1, 1]), np.array([0, 3]), np.zeros((0, 3), np.int64))
MOVED = PlacementSchedule(np.array([0, 1]), np.array([0, 6]), np.array([[0, 1, 2]]))
ALONE = PlacementSchedule(np.array([0, 0]), np.array([0, 2]), np.zeros((0, 3), np.int64))


def add(
    store: ResultStore,
    make_row: Callable[..., Any],
    sample: PlacementInstance,
    method: str,
    schedule: PlacementSchedule,
) -> Path:
    """Store a schedule, and return where it is."""
    write_document(store.instances, sample.to_json())
    document = solution_document(sample, schedule, sample.objective(schedule))
    row = {
        "problem": "placement", "dataset": "made", "instance": f"up-{sample.sha256[:2]}",
        "instance_sha256": sample.sha256, "instance_params": json.dumps(sample.parameters),
        "nodes": 2, "edges": 1, "method": method, "method_kind": "heuristic",
        "objective": document["objective"],
        "solution_sha256": write_document(store.solutions, document),
    }  # fmt: skip
    append(store, make_row(f"task-{method}-{sample.sha256[:6]}", **row), [])
    return store.solutions / f"{row['solution_sha256']}.json"


def part(store: ResultStore) -> ProblemPart:
    """Return the part of the report."""
    return part_of(read_folder(store), "placement")


def test_the_best_placements_on_several_devices_are_drawn(
    tmp_path: Path, make_row: Callable[..., Any]
) -> None:
    """A chart per instance; the text says of how many one device is best."""
    store = ResultStore.create_or_open(tmp_path)
    add(store, make_row, SAMPLE, "heft", MOVED)
    add(store, make_row, OTHER, "heft", ALONE)
    found = part(store)
    (section,) = (section for section in found.sections if section.title == "Placements")
    (plot,) = section.plots
    assert plot.caption == "By heft: makespan 9, no certified bound."
    assert "The best placement of 1 instance is on one device." in section.paragraphs[0]
    assert plot.data[["device", "lane", "start", "end"]].to_numpy().tolist() == [
        [0, "run", 0, 2], [0, "send", 2, 6], [1, "receive", 2, 6], [1, "run", 6, 9],
    ]  # fmt: skip
    assert f"plots/{plot.name}.svg" in found.files
    # A better one on a single device leaves nothing to draw.
    add(store, make_row, SAMPLE, "single-device", BEST)
    assert "Placements" not in [section.title for section in part(store).sections]


def test_a_damaged_schedule_is_named(tmp_path: Path, make_row: Callable[..., Any]) -> None:
    """What the folder holds is read again."""
    store = ResultStore.create_or_open(tmp_path)
    path = add(store, make_row, SAMPLE, "heft", MOVED)
    results = read_folder(store).of_problem("placement", None)
    path.write_text("{}")
    with pytest.raises(StoreError, match="was changed"):
        drawing_section(results, {})


@pytest.mark.parametrize(("transfers", "receiver"), [("per-tensor", 1), ("per-edge", 2)])
def test_spans_by_hand(transfers: str, receiver: int) -> None:
    """Operators where they run, transfers at both ends; what takes no time is not there."""
    sample = instance(
        [[2, 3], [0, 1], [4, 4]], [(0, 1), (0, 2)], times=[[0, 5, 6, 0]], transfers=transfers
    )
    schedule = PlacementSchedule.from_json(
        {"devices": [0, 0, 1], "starts": [0, 2, 7], "transfers": [[0, receiver, 2]]}
    )
    spans = schedule_spans(sample, schedule)
    assert spans.to_numpy().tolist() == [
        [0, "run", 0, 2, "v0"],
        [0, "send", 2, 7, "v0"],
        [1, "receive", 2, 7, "v0"],
        [1, "run", 7, 11, "v2"],
    ]


SPANS = pd.DataFrame(
    [
        [0, "run", 0, 50, "v0"],
        [0, "send", 50, 60, "v0"],
        [2, "receive", 50, 60, "v0"],
        [2, "run", 60, 100, "v1"],
    ],
    columns=COLUMNS,
)


def test_a_drawing() -> None:
    """Ten columns for a hundred ticks; a device that does nothing has no line."""
    lines = [line.plain for line in draw_placement(SPANS, 100, ("a", "b", "c"), 14)]
    assert lines == [
        "  a █████     ",
        "  →      █    ",
        "  c       ████",
        "  ←      █    ",
        "    0 to 100: ",
    ]


def test_shares_of_columns() -> None:
    """Spans are shared out among the columns that they meet."""
    spans = pd.DataFrame({"start": [5, 20], "end": [15, 40]})
    assert busy_shares(spans, 40, 4).tolist() == pytest.approx([0.5, 0.5, 1.0, 1.0])
    assert busy_shares(spans, 40, 1).tolist() == pytest.approx([0.75])


def test_what_is_short_is_seen() -> None:
    """Anything but idle has a shade."""
    assert shades(pd.Series([0.0, 0.001, 0.5, 1.0]).to_numpy()) == " ░▒█"


def test_nothing_to_draw() -> None:
    """A schedule in which nothing takes time has no drawing."""
    assert draw_placement(SPANS.iloc[:0], 0, ("a",), 80) == []


@pytest.mark.parametrize("width", [5, 20, 200])
def test_lines_fit(width: int) -> None:
    """Into any terminal."""
    assert all(
        len(line.plain) <= width for line in draw_placement(SPANS, 100, ("a", "b", "c"), width)
    )
