import itertools

import matplotlib as mpl
import pandas as pd

mpl.use("Agg")

from matplotlib.figure import Figure

from boundmark.reports.placement.plots.gantt import (
    MOST_BOXES,
    NARROWEST,
    draw_gantt,
    gantt_data,
    gantt_height,
)


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
