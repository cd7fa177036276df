"""The contract of a data set: named graphs or layouts that load on demand."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from boundmark.problems.computation_graph import ComputationGraph
from boundmark.problems.microbatch.layout import BlockLayout
from boundmark.problems.pipeline.graph import PipelineGraph

Source: TypeAlias = ComputationGraph | PipelineGraph | BlockLayout


@dataclass(frozen=True)
class Dataset:
    """A named collection of graphs or layouts.

    Attributes
    ----------
    name
        First part of an instance's name, e.g. ``"onnx-light"`` of ``"onnx-light/resnet50"``.
    summary
        One sentence for `boundmark datasets`, with the source.
    members
        Returns the second parts, in the order in which tables list them.
    load
        Returns one member: a graph, with costs if the data set is about costs and without if a
        device has to be chosen first, or a layout. Raises `UnknownNameError` for a member that
        there is not.
    """

    name: str
    summary: str
    members: Callable[[], tuple[str, ...]]
    load: Callable[[str], Source]
