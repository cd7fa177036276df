"""How much memory parts of operators take, and whether any slicing of an operator has room."""

from typing import TYPE_CHECKING

from boundmark.problems.errors import InvalidInputError
from boundmark.problems.slicing.edge import CHANNELS

if TYPE_CHECKING:
    from boundmark.problems.slicing.graph import SlicingGraph


def weight_share(graph: "SlicingGraph", operator: int, width: int) -> int:
    """Return the bytes of parameters that so many indices of an operator need.

    Slices of channels need their share; slices of the height need all parameters, if not empty.
    """
    weights, length = int(graph.weights[operator]), int(graph.length[operator])
    if graph.axis[operator] == CHANNELS:
        return -(-weights * width // length)
    return weights if width else 0


def least_memory(graph: "SlicingGraph", operator: int, width: int) -> int:
    """Return what any part of this width takes at least: parameters, output and whole inputs."""
    if not width:
        return 0
    taken = weight_share(graph, operator, width) + width * int(graph.output[operator])
    for edge in graph.inputs[operator]:
        if edge.is_whole:
            crosses = graph.axis[edge.producer] != graph.axis[operator]
            taken += edge.unit * edge.extent * (int(graph.length[edge.producer]) if crosses else 1)
    return taken


def check_each_operator_fits(graph: "SlicingGraph") -> None:
    """Refuse memory limits that no slicing of some operator meets.

    Raises
    ------
    InvalidInputError
        With the first such operator, and what each device lacks.
    """
    capacity = graph.capacity.tolist()
    for operator, name in enumerate(graph.names):
        length = int(graph.length[operator])
        if _room(graph, operator, capacity) >= length:
            continue
        low, high = 0, least_memory(graph, operator, length)
        while low + 1 < high:
            more = (low + high) // 2
            if _room(graph, operator, [limit + more for limit in capacity]) >= length:
                high = more
            else:
                low = more
        raise InvalidInputError(
            f"no slicing of operator {name!r} meets the memory limits {capacity}: each device "
            f"would need at least {high} bytes more."
        )


def _room(graph: "SlicingGraph", operator: int, capacity: list[int]) -> int:
    """Return how many indices of an operator fit on all devices together, one more than needed."""
    length = int(graph.length[operator])
    room = 0
    for limit in capacity:
        low, high = 0, length + 1
        while low + 1 < high:
            width = (low + high) // 2
            if least_memory(graph, operator, width) <= limit:
                low = width
            else:
                high = width
        room += low
        if room >= length:
            break
    return room
