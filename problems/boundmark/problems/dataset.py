"""The contract of a data set: named graphs that load on demand."""

from collections.abc import Callable
from dataclasses import dataclass

from boundmark.problems.computation_graph import ComputationGraph
from boundmark.problems.costed_graph import CostedGraph


@dataclass(frozen=True)
class Dataset:
    """A named collection of graphs.

    Attributes
    ----------
    name
        First part of an instance's name, e.g. ``"onnx-light"`` of ``"onnx-light/resnet50"``.
    summary
        One sentence for `boundmark datasets`, with the source.
    members
        Returns the second parts, in the order in which tables list them.
    load
        Returns the graph of one member: with costs if the data set is about costs, without if a
        device has to be chosen first. Raises `UnknownNameError` for a member that there is not.
    """

    name: str
    summary: str
    members: Callable[[], tuple[str, ...]]
    load: Callable[[str], ComputationGraph | CostedGraph]
