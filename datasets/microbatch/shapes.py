"""The data set `shapes`: layouts by name, such as ``shapes/nn-4-train``."""

import re

from boundmark.datasets.microbatch.layout_shapes import SHAPES, Costs
from boundmark.problems.dataset import Dataset
from boundmark.problems.errors import UnknownNameError
from boundmark.problems.lookup import find
from boundmark.problems.microbatch import BlockLayout

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
    summary="Layouts with the shapes of [TESSEL24], any number of devices and costs.",
    members=members,
    load=load,
)
