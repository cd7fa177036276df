"""Drawings of characters."""

import re

import pytest
from schedules import v_shape

from boundmark.problems.microbatch import Block, BlockLayout, MicrobatchInstance, Schedule
from boundmark.reports.microbatch.gantt.boxes import schedule_boxes
from boundmark.reports.microbatch.gantt.terminal import draw_schedule


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
