"""From what a user names to a graph with costs."""

from pathlib import Path

from boundmark.datasets.graph_file import READERS, load_graph
from boundmark.problems.catalog import datasets, find
from boundmark.problems.computation_graph import ComputationGraph
from boundmark.problems.costed_graph import CostedGraph
from boundmark.problems.device import DEFAULT_DEVICE, DeviceProfile
from boundmark.problems.errors import UnknownNameError
from boundmark.problems.roofline import costed


def load_member(name: str) -> ComputationGraph | CostedGraph:
    """Return the graph with a name such as ``"onnx-light/resnet50"``.

    Raises
    ------
    UnknownNameError
        If there is no such data set, or it has no such graph.
    """
    dataset, separator, member = name.partition("/")
    if not separator:
        raise UnknownNameError(
            f"there is no graph {name!r}; expected DATASET/GRAPH, e.g. onnx-light/resnet50."
        )
    return find("data set", dataset, datasets()).load(member)


def load_source(source: str) -> ComputationGraph | CostedGraph:
    """Return the graph in a file, or else the one with this name in a data set.

    Raises
    ------
    InvalidInputError
        If the source has the form of a file, and the file is not what it should be.
    UnknownNameError
        If it has not, and no data set has such a graph.
    """
    path = Path(source)
    if path.suffix.lower() in READERS or path.exists():
        return load_graph(path)
    return load_member(source)


def costed_graph(
    source: ComputationGraph | CostedGraph, device: DeviceProfile = DEFAULT_DEVICE
) -> CostedGraph:
    """Return the graph with costs: its own if it has any, else those on the device.

    Raises
    ------
    InvalidInputError
        If the device cannot compute in the graph's dtype.
    """
    return source if isinstance(source, CostedGraph) else costed(source, device)
