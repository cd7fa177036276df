"""`shapes`: operator layout strategies with the shapes of [TESSEL24], Figures 1 and 8.

A shape is drawn with devices downwards and time to the right: in V, a micro-batch goes down the
devices with its forward blocks and up again with its backward ones. For inference, the backward
blocks are left out and nothing is kept in memory.

Members are called e.g. ``shapes/nn-4-train``.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from boundmark.problems.dataset import Dataset
from boundmark.problems.errors import InvalidInputError, UnknownNameError, find
from boundmark.problems.microbatch import Block, BlockLayout
from boundmark.problems.microbatch.layout import Kind

DEVICES = (4, 8, 16)

NAME = re.compile(
    r"(?P<shape>[a-z_]+)-(?P<devices>[1-9]\d{0,3})-(?P<mode>train|infer)"
    r"(?:-f(?P<forward>[1-9]\d{0,8}))?(?:-b(?P<backward>[1-9]\d{0,8}))?"
    r"(?:-a(?P<activation>\d{1,9}))?"
)

EXPECTED = (
    "SHAPE-DEVICES-train or SHAPE-DEVICES-infer, and after it -f, -b and -a with the ticks of "
    "forward and backward blocks and the memory of an activation, e.g. nn-4-train-b2"
)


def members() -> tuple[str, ...]:
    """Return the names of all shapes with 4, 8 and 16 devices; others load as well."""
    return tuple(
        f"{shape}-{devices}-{mode}"
        for shape in SHAPES
        for devices in DEVICES
        for mode in ("train", "infer")
    )


def load(member: str) -> BlockLayout:
    """Return the layout with a name such as ``"nn-4-train"`` or ``"v-8-train-f2-b5-a3"``.

    Raises
    ------
    UnknownNameError
        If the name has another form, or there is no such shape.
    InvalidInputError
        If the shape cannot be had with that many devices.
    """
    match = NAME.fullmatch(member)
    if match is None:
        raise UnknownNameError(f"there is no layout {member!r}; expected {EXPECTED}.")
    draw = find("shape", match["shape"], SHAPES)
    given = {
        name: int(match[name])
        for name in ("forward", "backward", "activation")
        if match[name] is not None
    }
    costs = Costs(**given, is_training=match["mode"] == "train")
    return draw(int(match["devices"]), costs)


DATASET = Dataset(
    name="shapes",
    source=BlockLayout,
    summary="Layouts with the shapes of [TESSEL24], for any number of devices and any costs.",
    members=members,
    load=load,
)


# Ticks of a block that all devices share, as in [TESSEL24], Figure 8.
SHARDED_DURATION = 1


@dataclass(frozen=True)
class Costs:
    """Durations and memory of a stage's blocks.

    Attributes
    ----------
    forward, backward
        Ticks; with recomputation, a backward block takes three times as long as a forward block
        ([TESSEL24], Section VI-B).
    activation
        Memory that a forward block allocates and its backward block releases.
    is_training
        Whether there are backward blocks.
    """

    forward: int = 1
    backward: int = 3
    activation: int = 1
    is_training: bool = True


@dataclass
class _Drawing:
    """Collects the blocks of a layout and their dependencies."""

    devices: int
    costs: Costs
    blocks: list[Block] = field(default_factory=list)
    dependencies: list[tuple[int, int]] = field(default_factory=list)

    def add(
        self, name: str, kind: Kind, duration: int, memory: int, devices: tuple[int, ...],
        after: tuple[int, ...],
    ) -> int:  # fmt: skip
        number = len(self.blocks)
        memory = memory if self.costs.is_training else 0
        self.blocks.append(Block(name, kind, duration, memory, devices))
        self.dependencies += [(earlier, number) for earlier in after]
        return number

    def forward(self, name: str, device: int, *after: int) -> int:
        costs = self.costs
        return self.add(f"F{name}", "forward", costs.forward, costs.activation, (device,), after)

    def backward(self, name: str, device: int, *after: int) -> int:
        costs = self.costs
        return self.add(f"B{name}", "backward", costs.backward, -costs.activation, (device,), after)

    def sharded(self, name: str, kind: Kind, memory: int, *after: int) -> int:
        everywhere = tuple(range(self.devices))
        return self.add(name, kind, SHARDED_DURATION, memory, everywhere, after)

    def layout(self) -> BlockLayout:
        return BlockLayout.from_blocks(self.blocks, self.dependencies, self.devices)


def v_shape(devices: int, costs: Costs) -> BlockLayout:
    """Draw V: one stage per device, forward blocks down the devices and backward blocks up."""
    drawing = _Drawing(devices, costs)
    _chain(drawing, "", list(range(devices)))
    return drawing.layout()


def x_shape(devices: int, costs: Costs) -> BlockLayout:
    """Draw X: two independent V's, the second one with the devices reversed ([CHIMERA21])."""
    drawing = _Drawing(devices, costs)
    _chain(drawing, "a", list(range(devices)))
    _chain(drawing, "b", list(reversed(range(devices))))
    return drawing.layout()


def interleaved(devices: int, costs: Costs) -> BlockLayout:
    """Draw two stages per device: V with twice as many stages, dealt out to the devices in turn."""
    drawing = _Drawing(devices, costs)
    _chain(drawing, "", [stage % devices for stage in range(2 * devices)])
    return drawing.layout()


def m_shape(devices: int, costs: Costs) -> BlockLayout:
    """Draw M: V with a sharded block before its first and one after its last block."""
    drawing = _Drawing(devices, costs)
    first = drawing.sharded("SF", "forward", 0)
    last = _chain(drawing, "", list(range(devices)), first)
    if costs.is_training:
        drawing.sharded("SB", "backward", 0, last)
    return drawing.layout()


def nn_shape(devices: int, costs: Costs) -> BlockLayout:
    """Draw NN: M with a second sharded pair halfway down and up."""
    return _nn(devices, costs, is_eager=False)


def nn_eager(devices: int, costs: Costs) -> BlockLayout:
    """Draw NN whose second sharded pair depends on, and delays, only half of the devices."""
    return _nn(devices, costs, is_eager=True)


def k_shape(devices: int, costs: Costs) -> BlockLayout:
    """Draw K: two V's on half of the devices each, joined by a sharded block where they turn."""
    return _joined(devices, costs, branches=2)


def multi_modal(devices: int, costs: Costs) -> BlockLayout:
    """Draw K with three branches, as for text, images and sound."""
    return _joined(devices, costs, branches=3)


def split_backward(devices: int, costs: Costs) -> BlockLayout:
    """Draw V with split backward blocks, as zero-bubble schedules ask for ([ZEROBUBBLE24]).

    The gradients of the weights take as long as a forward block, and nothing waits for them; they
    release the memory. What is left of the backward block passes the gradients on.
    """
    return _split(devices, costs, list(range(devices)))


def zb_v(devices: int, costs: Costs) -> BlockLayout:
    """Draw two stages per device, down the devices and up again, with split backward blocks.

    ZB-V ([ZEROBUBBLE24], Section 6) and DualPipeV ([DEEPSEEK24]) are schedules of this layout.
    """
    return _split(devices, costs, [*range(devices), *reversed(range(devices))])


SHAPES: Mapping[str, Callable[[int, Costs], BlockLayout]] = {
    "v": v_shape,
    "x": x_shape,
    "m": m_shape,
    "nn": nn_shape,
    "k": k_shape,
    "nn_eager": nn_eager,
    "multi_modal": multi_modal,
    "interleaved": interleaved,
    "split": split_backward,
    "zb_v": zb_v,
}


def _chain(drawing: _Drawing, label: str, stages: list[int], *after: int) -> int:
    """Draw forward blocks through the devices in turn and backward ones back; return the last."""
    forward = []
    for number, device in enumerate(stages):
        forward.append(drawing.forward(f"{label}{number}", device, *after))
        after = (forward[-1],)
    if drawing.costs.is_training:
        for number, device in reversed(list(enumerate(stages))):
            after = (drawing.backward(f"{label}{number}", device, *after, forward[number]),)
    return after[0]


def _split(devices: int, costs: Costs, stages: list[int]) -> BlockLayout:
    """Draw stages on devices in turn, with split backward blocks."""
    if costs.is_training and costs.backward <= costs.forward:
        raise InvalidInputError(
            f"backward blocks take {costs.backward}; "
            f"expected more than forward blocks, {costs.forward}, to split them."
        )
    drawing = _Drawing(devices, costs)
    latest: tuple[int, ...] = ()
    forward = []
    for number, device in enumerate(stages):
        forward.append(drawing.forward(str(number), device, *latest))
        latest = (forward[-1],)
    for number, device in reversed(list(enumerate(stages))) if costs.is_training else ():
        passed_on = drawing.add(
            f"B{number}", "backward", costs.backward - costs.forward, 0, (device,),
            (*latest, forward[number]),
        )  # fmt: skip
        drawing.add(
            f"W{number}", "weight", costs.forward, -costs.activation, (device,), (passed_on,)
        )
        latest = (passed_on,)
    return drawing.layout()


def _nn(devices: int, costs: Costs, *, is_eager: bool) -> BlockLayout:
    if devices < 2:
        raise InvalidInputError(f"an NN-shape has {devices} device; expected at least 2.")
    drawing = _Drawing(devices, costs)
    middle = devices // 2
    forward = []
    latest = drawing.sharded("SF", "forward", 0)
    for device in range(devices):
        after = [latest]
        if device == middle:
            second = drawing.sharded("TF", "forward", 0, *([] if is_eager else [latest]))
            after = [latest, second] if is_eager else [second]
        forward.append(drawing.forward(str(device), device, *after))
        latest = forward[-1]
    if costs.is_training:
        for device in reversed(range(devices)):
            latest = drawing.backward(str(device), device, latest, forward[device])
            if device == middle:
                second = drawing.sharded("TB", "backward", 0, latest)
                latest = latest if is_eager else second
        drawing.sharded("SB", "backward", 0, latest)
    return drawing.layout()


def _joined(devices: int, costs: Costs, *, branches: int) -> BlockLayout:
    if devices < branches:
        raise InvalidInputError(
            f"{branches} branches are on {devices} devices; expected a device for each of them."
        )
    drawing = _Drawing(devices, costs)
    parts = [
        list(range(devices * part // branches, devices * (part + 1) // branches))
        for part in range(branches)
    ]
    forward, ends = {}, []
    for part, members in zip("abc", parts[:branches], strict=False):
        latest: tuple[int, ...] = ()
        for device in members:
            forward[device] = drawing.forward(f"{part}{device}", device, *latest)
            latest = (forward[device],)
        ends.append(latest[0])
    joint = drawing.sharded("SF", "forward", costs.activation, *ends)
    if costs.is_training:
        turned = drawing.sharded("SB", "backward", -costs.activation, joint)
        for part, members in zip("abc", parts[:branches], strict=False):
            latest = (turned,)
            for device in reversed(members):
                latest = (drawing.backward(f"{part}{device}", device, *latest, forward[device]),)
    return drawing.layout()
