"""Nodes of a stored torch program, views of tensors, and what is written in place.

In a program that writes nothing in place, a write to a part of a tensor's memory is a new tensor of
the whole, with the part in its place.
"""

import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from boundmark.datasets.readers.torch_export.aten import RULES, SAME
from boundmark.problems.errors import InvalidInputError, quoted

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

    @property
    def namespace(self) -> str:
        """The part before the first dot, as torch's own targets have it."""
        return self.text.partition(".")[0]


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
    """The operator and the tensor that a view came from.

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
    """Return the node of a whole with another value of a part; None if that is not known."""
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


# Operators whose result is, or may be, in the memory of their first argument.
_VIEWS = (
    "alias as_strided chunk contiguous detach diagonal expand expand_as flatten imag lift_fresh "
    "movedim moveaxis narrow permute positive real reshape select slice split split_with_sizes "
    "squeeze swapaxes swapdims t to transpose type_as unbind unflatten unfold unsqueeze view "
    "view_as dropout feature_dropout adjoint broadcast_to conj dsplit hsplit mH mT matrix_H "
    "numpy_T ravel reshape_as tensor_split view_as_complex view_as_real vsplit"
)
VIEWS = frozenset(_VIEWS.split())

# Those of them that copy what is not dense.
MAY_COPY = frozenset({"contiguous", "flatten", "ravel", "reshape", "reshape_as"})

# Those of them whose result is all of the argument as it is.
_WHOLE = frozenset({"alias", "detach", "lift_fresh", "positive", "dropout", "feature_dropout"})


def is_write(packet: str) -> bool:
    """Whether an operator changes its first argument; torch's names of these end in one dash."""
    return packet.endswith("_") and not packet.endswith("__")


class Writes:
    """Follows which tensors share memory.

    Tensors that are the same view of the same memory have one value, of which all names stand for
    the newest after a write. A tensor that shares memory with another view of it is out of date
    after a write to that one, until it is renewed; what it holds is not known here, and reading it
    is refused.
    Where constants are written into constants, all stays constant, and nothing is out of date.
    """

    def __init__(self) -> None:
        # By name: the number of the memory, and that of the view.
        self._place: dict[str, tuple[int, int]] = {}
        self._members: dict[int, list[str]] = {}
        self._constants: set[str] = set()
        self._stale: set[str] = set()
        self._given: list[str] = []
        self._written: set[str] = set()
        self._views = 0

    def given(self, name: str, *, is_constant: bool) -> None:
        """Record an input tensor of the program."""
        self._new(name)
        self._given.append(name)
        if is_constant:
            self._constants.add(name)

    def read(
        self, packet: str, reads: Mapping[str, Sequence[str | None]], made: Sequence[str]
    ) -> list[str]:
        """Record a call, and return the names that stand for its result from now on."""
        first = next((x for names in reads.values() for x in names if x is not None), None)
        for names in reads.values():
            for name in filter(None, names):
                self.check(name)
        is_constant = self._is_constant(packet.removesuffix("_"), reads)
        writes = is_write(packet)
        if first in self._place and (writes or packet in VIEWS):
            memory, view = self._place[first]
            for name in made:
                if not writes and packet not in _WHOLE:
                    self._views += 1
                    view = self._views
                self._join(name, memory, view)
        else:
            for name in made:
                self._new(name)
        if is_constant:
            self._constants.update(made)
        return self._write(first, is_constant, made) if writes and first in self._place else []

    def view(self, name: str) -> int:
        """Return the number of the view that a tensor is, of those of all memory; -1 for none."""
        return self._place.get(name, (-1, -1))[1]

    def is_stale(self, name: str) -> bool:
        """Whether a tensor is out of date."""
        return name in self._stale

    def renew(self, name: str) -> list[str]:
        """Take a tensor for up to date after a write, and return all names of it."""
        memory, view = self._place[name]
        same = [one for one in self._members[memory] if self._place[one][1] == view]
        self._stale.difference_update(same)
        self._written.update(same)
        return same

    def check(self, name: str) -> None:
        """Raise `InvalidInputError` if a tensor is out of date."""
        if name in self._stale:
            raise InvalidInputError(
                f"tensor {quoted(name)} shares memory with a part of it that was written in "
                "place; expected none: run_decompositions({}) of the exported program, before it "
                "is saved, writes nothing in place."
            )

    def changed(self) -> list[str]:
        """Return the names of the inputs that the program has written to."""
        for name in self._given:
            self.check(name)
        return [name for name in self._given if name in self._written]

    def _write(self, target: str, is_constant: bool, made: Sequence[str]) -> list[str]:
        memory, view = self._place[target]
        others = [name for name in self._members[memory] if name not in made]
        if is_constant and self._constants.issuperset(others):
            return []
        same = [name for name in others if self._place[name][1] == view]
        self._stale.update(name for name in others if self._place[name][1] != view)
        self._constants.difference_update(self._members[memory])
        if is_constant:
            self._constants.update((*same, *made))
        self._written.update(same)
        return same

    def _is_constant(self, packet: str, reads: Mapping[str, Sequence[str | None]]) -> bool:
        rule = RULES.get(packet)
        counted = reads if rule is None or rule.reads is None or packet in SAME else rule.reads
        names = (name for argument in counted for name in reads.get(argument, ()))
        return self._constants.issuperset(filter(None, names))

    def _new(self, name: str) -> None:
        self._views += 1
        self._join(name, self._views, self._views)

    def _join(self, name: str, memory: int, view: int) -> None:
        self._place[name] = (memory, view)
        self._members.setdefault(memory, []).append(name)
