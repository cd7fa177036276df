"""The contents of a picture of a graph: boxes with a label and a colour, and lines between them."""

import colorsys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from boundmark.problems.dag import Dag

# More kinds of operators than these share one colour.
MOST_KINDS = 11

OTHER = "other"

# Between hues of neighbouring stages, as a part of the circle: no two soon look alike.
GOLDEN_RATIO = 0.381966


@dataclass(frozen=True)
class Picture:
    """A graph with what its boxes say.

    Attributes
    ----------
    labels
        Short, one for each node, e.g. its operator's type.
    hints
        What to show when pointed at, e.g. the operator's name.
    groups
        What each node belongs to: its stage, or its kind of operator. A node's colour.
    are_parts
        Whether groups are parts of a solution, so that lines between them are transfers.
    """

    dag: Dag
    labels: Sequence[str]
    hints: Sequence[str]
    groups: Sequence[str]
    are_parts: bool = False

    def colours(self) -> dict[str, str]:
        """Return the colour of each group, the order being that of a legend."""
        if self.are_parts:
            order = sorted(set(self.groups), key=lambda name: (len(name), name))
        else:
            order = [name for name, _ in Counter(self.groups).most_common()]
        return {name: _colour(at) for at, name in enumerate(order)}


def kinds(op_types: Sequence[str]) -> list[str]:
    """Return the operators' types, the rare ones as ``"other"``."""
    usual = {name for name, _ in Counter(op_types).most_common(MOST_KINDS)}
    return [name if name in usual else OTHER for name in op_types]


def _colour(at: int) -> str:
    red, green, blue = colorsys.hls_to_rgb(0.58 + at * GOLDEN_RATIO, 0.78 - 0.1 * (at % 3), 0.55)
    return f"#{round(red * 255):02x}{round(green * 255):02x}{round(blue * 255):02x}"
