"""What drawings show."""

import pandas as pd
from schedules import v_shape

from boundmark.problems.microbatch import Schedule
from boundmark.reports.microbatch.gantt.boxes import repetend_spans, schedule_boxes


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
