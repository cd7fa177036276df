"""Schedules of two stages per device in a V, with split backward blocks: `zb-v`, `dualpipe-v`.

Forward blocks pass down the devices and up again, so that the first device has the first stage and
the last one, and the backward pass begins where the forward pass ends. `zb-v` has no bubble if
forward blocks and both parts of backward blocks take equally long ([ZEROBUBBLE24], Section 6).
`dualpipe-v` is half of DualPipe ([DEEPSEEK24]): beside each forward block runs a backward block of
the other stage, behind which its communication hides. Here a device runs one block at a time, so
such a pair is a forward block, then a backward block.

The orders are those of `torch.distributed.pipelining` in PyTorch 2.13, `ScheduleZBVZeroBubble` and
`ScheduleDualPipeV`; a test compares them where PyTorch is installed. Without a number of
micro-batches, what the middle of the order repeats is repeated in the shortest period.
"""

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

from boundmark.heuristics.microbatch.pattern import Pattern, report_orders, report_pattern
from boundmark.heuristics.microbatch.stages import find_stages
from boundmark.problems.errors import UnsupportedError
from boundmark.problems.method import Budget, Progress
from boundmark.problems.microbatch import BlockLayout, MicrobatchInstance

# Pairs (block, micro-batch), or (block, lag) in a pattern.
Turns: TypeAlias = list[tuple[int, int]]


class _Place(NamedTuple):
    """The blocks of a device's two stages, and its place in the V.

    Attributes
    ----------
    devices, rank
        Number of devices, D, and how many of them data pass before this one.
    f0, b0, w0, f1, b1, w1
        Forward, backward and weight block of the stage that data pass first, and of the other one.
    """

    devices: int
    rank: int
    f0: int
    b0: int
    w0: int
    f1: int
    b1: int
    w1: int


def run_zb_v(instance: MicrobatchInstance, budget: Budget, seed: int, progress: Progress) -> None:
    """Report ZB-V."""
    _report(instance, progress, zb_v_order, _zb_v_pattern)


def run_dualpipe_v(
    instance: MicrobatchInstance, budget: Budget, seed: int, progress: Progress
) -> None:
    """Report DualPipeV."""
    count, stages = instance.micro_batches, 2 * instance.layout.devices
    if 0 < count < stages:
        raise UnsupportedError(
            f"there are {count} micro-batches; expected at least one for each of the {stages} "
            "stages."
        )
    _report(instance, progress, dualpipe_v_order, _dualpipe_v_pattern)


def _report(
    instance: MicrobatchInstance,
    progress: Progress,
    order: Callable[[_Place, int], Turns],
    pattern: Callable[[_Place], Turns],
) -> None:
    places, count = find_places(instance.layout), instance.micro_batches
    if count:
        report_orders(instance, [order(place, count) for place in places], progress)
        return
    turns = [pattern(place) for place in places]
    report_pattern(instance, Pattern.aligned(instance.layout, turns), progress)


def find_places(layout: BlockLayout) -> list[_Place]:
    """Return the place of each device, by the devices' numbers."""
    stages = find_stages(layout)
    on = [stage.device for stage in stages]
    half = on[: layout.devices]
    if len(set(half)) != layout.devices or on != [*half, *reversed(half)]:
        raise UnsupportedError(
            f"the stages are on the devices {on} in turn; expected two on each device, down the "
            "devices and up again, such as in shapes/zb_v-4-train."
        )
    places: dict[int, _Place] = {}
    pairs = zip(stages[: layout.devices], reversed(stages), strict=False)
    for rank, (down, up) in enumerate(pairs):
        if down.backward is None or down.weight is None or up.backward is None or up.weight is None:
            raise UnsupportedError(
                f"device {down.device} has a stage without split backward blocks; expected a "
                "backward block and one of kind weight."
            )
        places[down.device] = _Place(
            *(layout.devices, rank, down.forward, down.backward, down.weight),
            *(up.forward, up.backward, up.weight),
        )
    return [places[device] for device in range(layout.devices)]


class _Order:
    """The turns of a device so far; each block runs its micro-batches in turn."""

    def __init__(self) -> None:
        self.turns: Turns = []
        self._done: dict[int, int] = {}

    def run(self, *blocks: int) -> None:
        """Run the next micro-batch of each block."""
        for block in blocks:
            self.turns.append((block, self.done(block)))
            self._done[block] = self.done(block) + 1

    def done(self, block: int) -> int:
        """Return how many micro-batches of a block are done."""
        return self._done.get(block, 0)


def zb_v_order(place: _Place, micro_batches: int) -> Turns:
    """Return the turns of a device in ZB-V.

    For fewer than 2 D - 1 micro-batches, they are those for so many without the others.
    """
    devices, rank, f0, b0, w0, f1, b1, w1 = place
    count, order = max(2 * devices - 1, micro_batches), _Order()
    order.run(*[f0] * (2 * (devices - rank) - 1))
    order.run(*[f1, f0] * rank)
    order.run(*[f1, b1, w1] * (devices - rank))
    while order.done(f1) < count:
        order.run(*[f0] * (order.done(f0) < count), b0, w0, f1, b1, w1)
    order.run(*[b0, b1] * rank)
    order.run(*[b0, w0] * (devices - rank))
    order.run(*[w1] * rank, *[w0] * rank)
    return [(block, number) for block, number in order.turns if number < micro_batches]


def _zb_v_pattern(place: _Place) -> Turns:
    """Return the turns of a device in the middle of ZB-V, with lags."""
    devices, rank, f0, b0, w0, f1, b1, w1 = place
    ahead = 2 * devices - rank - 1
    return [
        (f0, ahead),
        (b0, 0),
        (w0, 0),
        (f1, devices),
        (b1, devices - rank),
        (w1, devices - rank),
    ]


def dualpipe_v_order(place: _Place, micro_batches: int) -> Turns:
    """Return the turns of a device in DualPipeV, for 2 D micro-batches or more."""
    devices, rank, f0, b0, w0, f1, b1, w1 = place
    order, below = _Order(), devices - rank - 1
    order.run(*[f0] * (2 * below))
    order.run(*[f0, f1] * (rank + 1))
    order.run(*[b1, w1, f1] * below)
    order.run(*[f0, b1, w1, f1, b0, w0] * (micro_batches - 2 * devices + rank + 1))
    order.run(*[b1, w1, f1, b0, w0] * below)
    # Then backward blocks only; from the middle on, weights wait until nothing else is left to do.
    delayed: list[int] = []
    backward = [b1, b0] * (rank + 1)
    at_once = (rank + 1) // 2 * 2 + (rank + 1) % 2
    for number, block in enumerate(backward):
        order.run(block)
        weight = w1 if block == b1 else w0
        if number < at_once:
            order.run(weight)
        else:
            delayed.append(weight)
    for _ in range(below):
        order.run(*delayed[:1], b0)
        delayed = [*delayed[1:], w0]
    order.run(*delayed)
    return order.turns


def _dualpipe_v_pattern(place: _Place) -> Turns:
    """Return the turns of a device in the middle of DualPipeV, with lags."""
    devices, rank, f0, b0, w0, f1, b1, w1 = place
    ahead, below = 2 * devices - rank - 1, devices - rank - 1
    return [(f0, ahead), (b1, below), (w1, below), (f1, devices), (b0, 0), (w0, 0)]
