"""Placements as spans, and drawn with characters."""

import pandas as pd
import pytest
from brute_force_placement import instance

from boundmark.problems.placement import PlacementSchedule
from boundmark.reports.placement.drawings import (
    COLUMNS,
    busy_shares,
    draw_placement,
    schedule_spans,
    shades,
)


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
