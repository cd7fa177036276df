"""The stages of a pipeline in a layout, and how many micro-batches each has in flight."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from boundmark.heuristics.microbatch.pattern import DeviceOrders, Pattern, peak_memory
from boundmark.problems.errors import UnsupportedError
from boundmark.problems.microbatch import BlockLayout, MicrobatchInstance
from boundmark.problems.microbatch.layout import backward_partners, forward_partners


@dataclass(frozen=True)
class Stage:
    """A forward block, and its backward and weight blocks on the same device if it has any."""

    device: int
    forward: int
    backward: int | None
    weight: int | None

    @property
    def is_training(self) -> bool:
        """Whether there is a backward block."""
        return self.backward is not None


def find_stages(layout: BlockLayout, among: Collection[int] | None = None) -> tuple[Stage, ...]:
    """Return the stages in the order in which data flows forward.

    Parameters
    ----------
    among
        The blocks to look at; all of them by default.

    Raises
    ------
    UnsupportedError
        If a block has several devices, or the blocks are not one forward block, one backward block
        in training, and perhaps one of kind weight for each stage.
    """
    chosen = set(range(len(layout.blocks)) if among is None else among)
    for i in sorted(chosen):
        block = layout.blocks[i]
        if len(block.devices) > 1:
            raise UnsupportedError(
                f"block {block.name!r} is on {len(block.devices)} devices; "
                "expected stages on one device each."
            )
    backward_of = {forward: i for i, forward in forward_partners(layout).items()}
    weight_of = {backward: i for i, backward in backward_partners(layout).items()}
    stages = []
    for i in layout.dag.topological_order.tolist():
        block = layout.blocks[i]
        if i in chosen and block.kind == "forward":
            backward = backward_of.get(i)
            weight = None if backward is None else weight_of.get(backward)
            stages.append(Stage(block.devices[0], i, backward, weight))
    found = [i for s in stages for i in (s.forward, s.backward, s.weight) if i is not None]
    if set(found) != chosen or len(found) != len(chosen):
        stray = layout.blocks[min(chosen - set(found), default=min(chosen))].name
        raise UnsupportedError(
            f"block {stray!r} belongs to no stage; expected a forward block on the same device, "
            "and the same number of both."
        )
    if not stages or len({stage.is_training for stage in stages}) != 1:
        raise UnsupportedError("some stages have no backward block; expected all or none to have.")
    return tuple(stages)


def forward_blocks(stages: Sequence[Stage]) -> list[int]:
    """Return the forward blocks in the order in which data reaches them."""
    return [stage.forward for stage in stages]


def backward_blocks(stages: Sequence[Stage]) -> list[int]:
    """Return the backward blocks in the order in which gradients reach them."""
    return [stage.backward for stage in reversed(stages) if stage.backward is not None]


def require_one_stage_per_device(stages: Sequence[Stage]) -> None:
    """Refuse stages that share a device.

    Raises
    ------
    UnsupportedError
        If two stages do.
    """
    devices = [stage.device for stage in stages]
    for device in devices:
        if devices.count(device) > 1:
            raise UnsupportedError(
                f"device {device} has {devices.count(device)} stages; expected one per device."
            )


def count_fitting(instance: MicrobatchInstance, stage: Stage, most: int) -> int:
    """Return how many forward blocks of a stage may run before the first backward block.

    Raises
    ------
    UnsupportedError
        If the device has no room for one.
    """
    capacity = instance.capacity[stage.device]
    for count in range(most, 0, -1):
        turns = [(i, 0) for i in (stage.backward, stage.weight) if i is not None]
        order = [(stage.forward, number) for number in range(count)] + turns
        if peak_memory(instance.layout, order) <= capacity:
            return count
    raise UnsupportedError(
        f"a micro-batch does not fit on device {stage.device}, which has {capacity} of memory."
    )


def count_in_flight(
    instance: MicrobatchInstance, stages: Sequence[Stage], limit: int | None = None
) -> list[int]:
    """Return how many micro-batches each stage has in flight: S for the first, 1 for the last one.

    There are fewer if memory or `limit` asks for it. The time that a micro-batch stays in a stage
    falls from the first stage to the last one, and so do the counts, in proportion.

    Raises
    ------
    UnsupportedError
        If a device has no room for one micro-batch.
    """
    size = len(stages)
    for first in range(min(size, limit or size), 0, -1):
        counts = [-(-first * (size - number) // size) for number in range(size)]
        if all(
            count <= count_fitting(instance, stage, count)
            for stage, count in zip(stages, counts, strict=True)
        ):
            break
    return counts


def stage_turns(stage: Stage, in_flight: int) -> list[tuple[int, int]]:
    """Return the turns of a stage's device, pairs (block, lag): forward, then any backward."""
    if stage.backward is None:
        return [(stage.forward, 0)]
    return [(stage.forward, in_flight - 1), (stage.backward, 0)]


def order_stages_alone(
    layout: BlockLayout, stages: Sequence[Stage], in_flight: Sequence[int], micro_batches: int
) -> DeviceOrders:
    """Return the 1F1B orders of the stages' own blocks, as if there were no others."""
    orders: list[Sequence[tuple[int, int]]] = [()] * layout.devices
    for stage, count in zip(stages, in_flight, strict=True):
        alone = Pattern((tuple(stage_turns(stage, count)),))
        (orders[stage.device],) = alone.orders(micro_batches)
    return orders
