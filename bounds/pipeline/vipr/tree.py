"""Derives the bound of a tree from its leaves."""

from dataclasses import dataclass
from typing import Any

from boundmark.bounds.pipeline.vipr.derivation import Derivation
from boundmark.bounds.pipeline.vipr.leaf import derive_leaf
from boundmark.bounds.pipeline.vipr.model import Model
from boundmark.bounds.pipeline.vipr.windows import Windows


@dataclass(eq=False)
class Branching:
    """A node of the tree: v is in stage b or earlier, or it is later.

    Attributes
    ----------
    windows
        What holds on both sides.
    earlier, later
        Number of the assumption on each side; the latter is made once the first side is done.
    derived
        Number of the bound on the first side, once it is derived.
    """

    windows: Windows
    v: int
    b: int
    earlier: int
    later: int = -1
    derived: int = -1


def derive_tree(model: Model, nodes: list[Any], bound: int, out: Derivation) -> None:
    """Derive that z is at least a bound; no line of the derivation follows that one.

    Parameters
    ----------
    nodes
        As in the payload of the certificate: parents first, the first side before the second.
    """
    windows = Windows.root(model)
    path: list[Branching] = []
    for node in nodes:
        if isinstance(node, list):
            v, b = map(int, node)
            side, assumption = windows.earlier(v, b, out)
            path.append(Branching(windows, v, b, assumption))
            windows = side
            continue
        derived = derive_leaf(windows, node, bound, out)
        while path and path[-1].derived >= 0:
            done = path.pop()
            sides = ((derived, done.later), (done.derived, done.earlier))
            derived = out.join(f"G {bound} OBJ", sides)
        if path:
            path[-1].derived = derived
            windows, path[-1].later = path[-1].windows.later(path[-1].v, path[-1].b, out)
