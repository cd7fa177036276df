from hypothesis import given
from hypothesis import strategies as st
from layouts import shape

from boundmark.datasets.microbatch.shapes import Costs, interleaved
from boundmark.heuristics.microbatch.several_stages_per_device import (
    add_up_slots,
    round_to_slots,
    schedule_first_fit,
)


@given(st.integers(1, 4), st.integers(1, 5), st.integers(1, 4))
def test_no_slot_is_used_twice(forward: int, backward: int, devices: int) -> None:
    """In every period that has room, each device runs one block at a time, inputs first."""
    layout = interleaved(devices, Costs(forward, backward))
    slots = [block.duration for block in layout.blocks]
    order = list(range(len(slots)))
    for period in range(max(layout.loads), 2 * max(layout.loads)):
        starts = schedule_first_fit(layout, [order], slots, period, (0,), {})
        if starts is None:
            continue
        assert all(starts[i + 1] >= starts[i] + slots[i] for i in order[:-1])
        for members in layout.on_device:
            used = [(starts[i] + slot) % period for i in members for slot in range(slots[i])]
            assert len(used) == len(set(used))


def test_limits_are_kept() -> None:
    """With one micro-batch in flight at most, nothing shorter than the whole chain is found."""
    layout = shape("v-2-train").layout
    slots = [block.duration for block in layout.blocks]
    limits = {3: (0, 1)}
    found = [
        period
        for period in range(4, 9)
        if schedule_first_fit(layout, [[0, 1, 2, 3]], slots, period, (0,), limits) is not None
    ]
    assert found == [8]


def test_slots_are_few_whatever_the_ticks() -> None:
    """The busiest device needs about 32 slots, and every block at least one."""
    layout = shape("v-4-train-f1-b999999").layout
    slots = round_to_slots(layout)
    assert min(slots) == 1
    assert 32 <= max(add_up_slots(layout, slots)) <= 34
