"""Nodes of a stored program of torch, and views: tensors that show a part of another one's memory.

In a program that writes nothing in place, a write to a part is a new tensor of the whole, with the
part in its place.
"""

import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

# Views of views of a tensor, of which real programs have few.
MOST_VIEWS = 32


@dataclass(frozen=True)
class StoredTensor:
    """The type of a tensor in a file."""

    shape: tuple[int, ...]
    dtype: str


@dataclass(frozen=True)
class _Argument:
    name: str
    default_value: Any


@dataclass(frozen=True)
class _Schema:
    arguments: tuple[_Argument, ...]


@dataclass(frozen=True)
class _Target:
    """An operator's name, such as ``aten.add.Tensor``, and its arguments' names and defaults."""

    text: str
    _opname: str
    _schema: _Schema

    def __str__(self) -> str:
        return self.text


def target_of(text: str, packet: str, arguments: Sequence[str]) -> Any:
    """Return what a node calls: an operator's name, its short name, and those of its arguments."""
    return _Target(text, packet, _Schema(tuple(_Argument(name, None) for name in arguments)))


@dataclass(eq=False)
class StoredNode:
    """A node of a stored program, with the interface of `graph_module.RecordedNode`."""

    op: str
    name: str
    target: Any = None
    args: tuple[Any, ...] = ()
    kwargs: dict[str, Any] = field(default_factory=dict)
    meta: dict[str, Any] = field(default_factory=dict)


def item_of(node: StoredNode, name: str, place: int, kind: StoredTensor | None) -> StoredNode:
    """Return one of a call's several results, in the way of torch."""
    return StoredNode("call_function", name, operator.getitem, (node, place), meta={"val": kind})


@dataclass(frozen=True)
class ShownPart:
    """How a view came about.

    Attributes
    ----------
    whole
        Name of the tensor that it is a view of.
    node
        The call.
    place
        Which of the call's results it is; None if that is the only one.
    """

    whole: str
    node: StoredNode
    place: int | None


def shown(part: ShownPart, whole: StoredNode) -> list[StoredNode]:
    """Return the nodes that show a part of another value of the whole, the part last."""
    meta = {key: value for key, value in part.node.meta.items() if key != "call"}
    again = replace(part.node, args=(whole, *part.node.args[1:]), meta=meta)
    if part.place is None:
        return [again]
    return [again, item_of(again, again.name, part.place, meta["val"][part.place])]


# What puts a part back, by the operator that shows it.
_SCATTERS: Mapping[str, str] = {
    **dict.fromkeys(("slice", "narrow", "split", "split_with_sizes", "chunk"), "slice_scatter"),
    **dict.fromkeys(("tensor_split", "hsplit", "vsplit", "dsplit"), "slice_scatter"),
    **dict.fromkeys(("select", "unbind"), "select_scatter"),
    "diagonal": "diagonal_scatter",
}

_RESHAPED = frozenset(
    {"view", "unsqueeze", "squeeze", "flatten", "unflatten", "reshape", "view_as", "ravel"}
    | {"reshape_as", "contiguous"}
)

# Done twice, they change nothing.
_SWAPPED = frozenset(
    {"transpose", "t", "swapaxes", "swapdims", "mT", "mH", "adjoint", "numpy_T", "matrix_H"}
)


def with_part(
    part: ShownPart, whole: StoredNode, value: StoredNode, written: StoredNode
) -> StoredNode | None:
    """Return the node of a whole with another value of a part; None if that is not known.

    Parameters
    ----------
    written
        The call that writes, of whose module the node is.
    """
    packet = part.node.target._opname
    args: tuple[Any, ...]
    if packet in _SCATTERS:
        made, names, args = _SCATTERS[packet], ["self", "src"], (whole, value)
    elif packet in _RESHAPED:
        made, names, args = "view", ["self"], (value,)
    elif packet in _SWAPPED:
        made = packet
        names = [one.name for one in part.node.target._schema.arguments]
        args = (value, *part.node.args[1:])
    elif packet == "permute":
        order = part.node.args[1]
        places = sorted(range(len(order)), key=lambda at: order[at] % len(order))
        made, names, args = "permute", ["self", "dims"], (value, places)
    else:
        return None
    return StoredNode(
        "call_function",
        f"{written.name}_{whole.name}",
        target_of(f"aten.{made}.default", made, names),
        args,
        meta={"val": whole.meta["val"], "nn_module_stack": written.meta["nn_module_stack"]},
    )
