"""Graphs whose times were measured on accelerators and, for some, on processors."""

from dataclasses import dataclass

from boundmark.problems.arrays import IntArray, non_negative_integers
from boundmark.problems.dag import Dag
from boundmark.problems.errors import InvalidInputError


@dataclass(frozen=True, eq=False)
class MeasuredGraph:
    """A graph with measured times and sizes, before it is an instance of any problem.

    Attributes
    ----------
    dag
        n nodes, edges from producer to consumer.
    accelerator
        Ticks of each node on an accelerator, shape (n,).
    on_accelerator
        Whether accelerators can run each node, shape (n,).
    processor
        Ticks of each node on a processor, shape (n,); zeros where there are no processors.
    transfer
        Ticks to move each node's output between two devices, shape (n,).
    memory
        Bytes that each node takes on its device, shape (n,).
    accelerators, processors
        How many of each there are.
    capacity
        Bytes that an accelerator holds; processors hold everything.
    names
        Names of the nodes.
    tick
        What one tick is.
    colours
        Nodes of one colour share a device; -1 for those without. Empty if none have any.
    backward
        Whether each node is of the backward pass of training; empty if there are no colours.
    notes
        What was taken for granted when the graph was read, as sentences.
    costs
        Where the times were measured, in words; empty if the graph does not say.
    """

    dag: Dag
    accelerator: IntArray
    on_accelerator: tuple[bool, ...]
    processor: IntArray
    transfer: IntArray
    memory: IntArray
    accelerators: int
    processors: int
    capacity: int
    names: tuple[str, ...]
    tick: str = "ns"
    colours: tuple[int, ...] = ()
    backward: tuple[bool, ...] = ()
    notes: tuple[str, ...] = ()
    costs: str = ""

    def __post_init__(self) -> None:
        if not self.names:
            raise InvalidInputError("the graph has no nodes; expected at least one.")
        for field in ("accelerator", "processor", "transfer", "memory"):
            array = non_negative_integers(getattr(self, field), field, self.names)
            object.__setattr__(self, field, array)
        if len(self.on_accelerator) != self.dag.nodes:
            raise InvalidInputError("on_accelerator does not have one value for each node.")
        if len(self.colours) not in (0, self.dag.nodes) or len(self.backward) != len(self.colours):
            raise InvalidInputError("colours and backward do not have one value for each node.")
        for field in ("accelerators", "processors", "capacity"):
            value = getattr(self, field)
            if type(value) is not int or value < 0:
                raise InvalidInputError(f"{field} is {value!r}; expected a non-negative integer.")
