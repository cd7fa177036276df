"""Schedules as charts."""

import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from schedules import v_shape

from boundmark.reports.microbatch.drawings import (
    MOST_BOXES,
    WIDEST,
    draw_gantt,
    gantt_data,
    gantt_size,
    schedule_boxes,
)


@pytest.fixture
def axes() -> Axes:
    """Return empty axes of some width."""
    return Figure(figsize=(10, 3)).subplots()


def test_a_box_per_block_and_a_number_in_each(axes: Axes) -> None:
    """Where the schedule has them, with the period on every device."""
    data = gantt_data(schedule_boxes(*v_shape()))
    draw_gantt(data, axes)
    drawn = {
        (patch.get_x(), patch.get_width(), round(patch.get_y() + 0.4)) for patch in axes.patches
    }
    assert drawn == {(box.start, box.end - box.start, box.device) for box in data.itertuples()}
    assert len(axes.texts) == len(data)
    assert axes.get_legend_handles_labels()[1] == ["one period", "forward", "backward"]
    assert len(axes.collections) == 4


def test_unknown_kinds_of_blocks_are_not_dropped(axes: Axes) -> None:
    """A drawing without them would be wrong."""
    data = schedule_boxes(*v_shape()).assign(kind="sideways")
    with pytest.raises(ValueError, match="sideways"):
        draw_gantt(data, axes)


def test_long_schedules_are_drawn_from_the_start() -> None:
    """Up to a number of boxes, and no wider than a page scrolls."""
    boxes = schedule_boxes(*v_shape(micro_batches=1000))
    drawn = gantt_data(boxes)
    assert 0.9 * MOST_BOXES < len(drawn) <= MOST_BOXES
    assert drawn["start"].max() < boxes["start"].sort_values().iloc[MOST_BOXES]
    assert gantt_size(drawn)[0] == WIDEST
