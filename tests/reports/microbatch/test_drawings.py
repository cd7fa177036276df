"""Schedules as boxes, drawn with characters and as charts."""

import re

import pandas as pd
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from schedules import v_shape

from boundmark.problems.microbatch import Block, BlockLayout, MicrobatchInstance, Schedule
from boundmark.reports.microbatch.drawings import (
    MOST_BOXES,
    WIDEST,
    draw_gantt,
    draw_schedule,
    gantt_data,
    gantt_size,
    repetend_spans,
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
    # Python 3.14 no longer says which.
    with pytest.raises(ValueError, match=r"sideways|not in list"):
        draw_gantt(data, axes)


def test_long_schedules_are_drawn_from_the_start() -> None:
    """Up to a number of boxes, and no wider than a page scrolls."""
    boxes = schedule_boxes(*v_shape(micro_batches=1000))
    drawn = gantt_data(boxes)
    assert 0.9 * MOST_BOXES < len(drawn) <= MOST_BOXES
    assert drawn["start"].max() < boxes["start"].sort_values().iloc[MOST_BOXES]
    assert gantt_size(drawn)[0] == WIDEST


def test_a_box_for_each_block_on_each_device() -> None:
    """With start, end, kind and number as in the schedule, two micro-batches beyond its own."""
    instance, schedule = v_shape()
    boxes = schedule_boxes(instance, schedule)
    starts = schedule.starts_for(7)
    assert len(boxes) == starts.size
    for box in boxes.itertuples():
        block = instance.layout.blocks[box.block]
        assert box.start == starts[box.micro_batch, box.block]
        assert box.end == box.start + block.duration
        assert box.kind == block.kind
        assert box.device in block.devices


def test_repetitions_hold_each_block_once() -> None:
    """Each of the three that seven micro-batches have."""
    boxes = schedule_boxes(*v_shape())
    inside = boxes.dropna(subset="repetition").groupby("repetition")["block"]
    assert inside.apply(sorted).to_dict() == {at: list(range(8)) for at in range(3)}


def test_spans_are_a_period_long() -> None:
    """On every device, from the first block of a repetition to that of the next."""
    instance, schedule = v_shape()
    spans = repetend_spans(schedule_boxes(instance, schedule))
    assert spans == {0: (16, 20), 1: (17, 21), 2: (18, 22), 3: (16, 20)}


def test_shared_blocks_have_a_box_on_each_device() -> None:
    """So that no device seems idle."""
    from boundmark.datasets.microbatch.shapes import load
    from boundmark.problems.microbatch import MicrobatchInstance

    instance = MicrobatchInstance.of(load("m-4-infer"), micro_batches=1)
    boxes = schedule_boxes(instance, Schedule([[0, 1, 2, 3, 4]]))
    assert boxes[boxes["block"] == 0]["device"].tolist() == [0, 1, 2, 3]


def test_a_given_number_of_micro_batches_is_drawn() -> None:
    """Without a repetend there are no repetitions, and no spans."""
    instance, schedule = v_shape(micro_batches=5)
    boxes = schedule_boxes(instance, Schedule(schedule.starts))
    assert boxes["micro_batch"].max() == 4
    assert boxes["repetition"].isna().all()
    assert repetend_spans(boxes) == {}
    assert isinstance(boxes, pd.DataFrame)


def plain(width: int) -> list[str]:
    """Return the drawing of a V without its colours."""
    return [line.plain for line in draw_schedule(schedule_boxes(*v_shape()), width)]


def test_a_line_a_device_a_column_a_tick() -> None:
    """Numbers of micro-batches, the kinds apart, and bars around a period."""
    assert [line.rstrip() for line in plain(80)] == [
        "  0         10            20          30",
        "0 0   1   2   30<<┃4 1<<<┃5 2<<<63<< 4<< 5<< 6<<",
        "1  0   1   20<<31<<<┃4 2<<<┃5 3<<64<< 5<< 6<<",
        "2   0   10<<21<<32<<<<┃43<<<<┃54<<65<< 6<<",
        "3    00<<11<<22<<3┃3<<<<4┃4<<<<55<<66<<",
        "0> forward  0< backward  ┃ one period",
    ]


def test_kinds_have_colours() -> None:
    """Another one each, and the bars are red."""
    line = draw_schedule(schedule_boxes(*v_shape()), 80)[1]
    styles = {(line.plain[span.start], str(span.style)) for span in line.spans}
    assert ("┃", "bold red") in styles
    assert ("5", "black on bright_cyan") in styles
    assert ("<", "black on bright_yellow") in styles


@pytest.mark.parametrize("width", [1, 12, 20, 40, 60, 80, 200])
def test_no_line_is_wider_than_the_terminal(width: int) -> None:
    """Whatever the width, down to a few columns; what is missing is said."""
    lines = plain(width)
    assert max(map(len, lines)) <= max(width, 10)
    assert any("Cut"[:width] in line for line in lines) == (width < 60)


def test_a_cut_names_the_first_tick_left_out() -> None:
    """Here, its column would be the 19th."""
    assert plain(22)[-1] == "Cut at tick 18 of 40."


def test_many_ticks_share_a_column() -> None:
    """The shortest box keeps a column, and the scale is told."""
    blocks = (Block("a", "forward", 1000, 0, (0,)), Block("b", "backward", 3000, 0, (1,)))
    instance = MicrobatchInstance.of(BlockLayout.from_blocks(blocks, [(0, 1)], 2), micro_batches=3)
    starts = [[3000 * n, 3000 * n + 1000] for n in range(3)]
    lines = [line.plain for line in draw_schedule(schedule_boxes(instance, Schedule(starts)), 40)]
    scale = re.fullmatch(r"A column is (\d+) ticks\.", lines[-1])
    assert scale
    assert 10000 / 38 <= int(scale[1]) <= 1000
    assert re.fullmatch(r"0 0>+ +1>+ +2>+ +", lines[1])


def test_narrow_boxes_show_the_last_digit() -> None:
    """Micro-batch 12 in a box of a column is 2."""
    layout = BlockLayout.from_blocks([Block("a", "forward", 1, 0, (0,))], [], 1)
    instance = MicrobatchInstance.of(layout, micro_batches=13)
    starts = [[n] for n in range(13)]
    line = draw_schedule(schedule_boxes(instance, Schedule(starts)), 18)[1]
    assert line.plain == "0 0123456789012 "
