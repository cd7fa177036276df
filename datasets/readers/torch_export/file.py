"""Computation graphs from programs that `torch.export.save` wrote; torch is not needed.

Such a file is a zip archive. The program in it is JSON and is read; weights, constants and sample
inputs beside it are pickles, or raw numbers, and are never opened: whoever unpickles a file runs
what its writer put there.

Nothing of the program is evaluated: targets of calls are names, sizes that it leaves open are those
of the example that it was recorded with, and the formulas from which they follow stay texts.
"""

import zipfile
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from boundmark.datasets.readers.kernel_recognition import with_kernels
from boundmark.datasets.readers.torch_export.graph_module import DEEPEST, with_origins
from boundmark.datasets.readers.torch_export.schema import (
    PLAIN,
    SEVERAL,
    TENSORS,
    a_size,
    an_integer,
    an_object,
    list_in,
    module_stack,
    named_argument,
    names_of,
    object_in,
    only_field,
    text_in,
    without_regions,
)
from boundmark.datasets.readers.torch_export.writes import (
    MAY_COPY,
    MOST_VIEWS,
    VIEWS,
    ShownPart,
    StoredNode,
    StoredTensor,
    Writes,
    is_write,
    item_of,
    shown,
    target_of,
    with_part,
)
from boundmark.problems.computation_graph import ComputationGraph
from boundmark.problems.errors import InvalidInputError, quoted
from boundmark.problems.files import most_inflated, naming, opened
from boundmark.problems.json_documents import json_object

# Where the program is: since torch 2.8 in a folder of any name, before by itself.
_PROGRAM, _OLD_PROGRAM = "/models/model.json", "serialized_exported_program.json"


def load(path: Path, largest_program: int = 2**28) -> ComputationGraph:
    """Read a program; nothing in the file is run, and no weights are read.

    Parameters
    ----------
    largest_program
        Bytes of the program without weights that are inflated at most; one of 100,000 operators has
        130 MB.

    Raises
    ------
    InvalidInputError
        If the file holds no program, or the program has sizes that depend on the data, or writes
        into parts of a tensor.
    """
    with naming(path):
        return graph_of(content(path, largest_program))[0]


def load_with_kernels(path: Path) -> ComputationGraph:
    """Read a program as `load` does, and recognise its kernels."""
    return with_kernels(load(path))


def content(path: Path, largest_program: int = 2**28) -> Mapping[str, Any]:
    """Return the JSON of the program in a file, unchecked."""
    return json_object(_program(path, largest_program))


def graph_of(content: Mapping[str, Any]) -> tuple[ComputationGraph, dict[int, str]]:
    """Return the graph of a program in JSON, and the operators that its calls are part of."""
    try:
        graph, origins = with_origins(stored_program(content))
    except (LookupError, TypeError, ValueError, ArithmeticError, AttributeError) as error:
        # Shapes and arguments in a file may be anything.
        reason = " ".join(str(error).split())[:200]
        raise InvalidInputError(
            "expected operators with arguments and shapes as torch has them, found "
            f"{type(error).__name__}: {reason}"
        ) from error
    calls = ((node.meta.get("call"), name) for node, name in origins.items())
    return graph, {at: name for at, name in calls if at is not None}


def _program(path: Path, largest: int) -> bytes:
    """Return the JSON of the program in an archive."""
    try:
        with opened(path, "an exported program") as file, zipfile.ZipFile(file) as archive:
            return _content(archive, _member(archive), largest)
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, ValueError) as error:
        raise InvalidInputError(
            f"expected a program of torch.export, found no complete zip archive: {error}"
        ) from error
    except (OSError, RuntimeError) as error:
        raise InvalidInputError(f"the archive cannot be read: {error}") from error


def _member(archive: zipfile.ZipFile) -> zipfile.ZipInfo:
    """Return the only entry that is a program."""
    found = [
        entry
        for entry in archive.infolist()
        if entry.filename == _OLD_PROGRAM
        or (entry.filename.endswith(_PROGRAM) and entry.filename.count("/") == 2)
    ]
    if len(found) != 1:
        raise InvalidInputError(
            f"expected a program of torch.export, found {len(found)} entries named "
            f"FOLDER{_PROGRAM} or {_OLD_PROGRAM}; other files of torch are pickles, which run code "
            "when they are read, and are refused."
        )
    return found[0]


def _content(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, largest: int) -> bytes:
    """Return the content of an entry, inflated up to a limit."""
    # The other methods of compression inflate without bound.
    if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise InvalidInputError(
            f"{entry.filename} is compressed by method {entry.compress_type}; expected none or "
            "deflate."
        )
    largest = most_inflated(entry.compress_size, largest)
    with archive.open(entry) as file:
        content = file.read(largest + 1)
    if len(content) > largest:
        raise InvalidInputError(f"the program has more than {largest >> 20} MiB.")
    return content


# First number of the schema's version; every file of torch 2.9 to 2.13 has it.
SCHEMA = 8

# More dimensions than torch's tensors have.
MOST_DIMENSIONS = 64

# Types of elements by number, named as torch names them.
DTYPES: Mapping[int, str] = {
    1: "uint8", 2: "int8", 3: "int16", 4: "int32", 5: "int64", 6: "float16", 7: "float32",
    8: "float64", 10: "complex64", 11: "complex128", 12: "bool", 13: "bfloat16", 28: "uint16",
    29: "float8_e4m3fn", 30: "float8_e5m2", 31: "float8e4m3fnuz", 32: "float8e5m2fnuz",
    33: "float8e8m0", 34: "uint32", 35: "uint64",
}  # fmt: skip

# What torch takes for arguments that a call leaves out, as far as attributes follow from them.
_CONVOLUTION = {"bias": None, "stride": 1, "padding": 0, "dilation": 1, "groups": 1}
_POOL: Mapping[str, Any] = {"stride": (), "padding": 0, "dilation": 1}
_NORMALISATION = {"weight": None, "bias": None}
_DEFAULTS: Mapping[str, Mapping[str, Any]] = {
    **dict.fromkeys((f"conv{n}d" for n in (1, 2, 3)), _CONVOLUTION),
    **dict.fromkeys((f"conv_transpose{n}d" for n in (1, 2, 3)), _CONVOLUTION),
    **dict.fromkeys((f"max_pool{n}d" for n in (1, 2, 3)), _POOL),
    **dict.fromkeys((f"max_pool{n}d_with_indices" for n in (1, 2, 3)), _POOL),
    **dict.fromkeys((f"avg_pool{n}d" for n in (1, 2, 3)), _POOL),
    **dict.fromkeys(("layer_norm", "group_norm"), _NORMALISATION),
    **{name: {"dim": 0} for name in ("cat", "concat", "concatenate")},
    "slice": {"dim": 0, "start": None, "step": 1},
}


@dataclass(frozen=True)
class _Graph:
    nodes: Sequence[StoredNode]


@dataclass(frozen=True)
class _Signature:
    """The model's names of parameters, buffers and constants, by placeholder."""

    inputs_to_parameters: Mapping[str, str]
    inputs_to_buffers: Mapping[str, str]
    inputs_to_lifted_tensor_constants: Mapping[str, str]


@dataclass(frozen=True)
class StoredProgram:
    """A program without in-place writes, in the form that `graph_module.to_graph` reads."""

    graph: _Graph
    graph_signature: _Signature


def stored_program(content: Mapping[str, Any]) -> StoredProgram:
    """Return the program that the JSON of a file describes."""
    version = object_in(content, "schema_version").get("major")
    if version != SCHEMA:
        raise InvalidInputError(
            f"the program's schema has the version {quoted(version)}; expected {SCHEMA}, that of "
            "torch 2.9 and later: export the model anew."
        )
    module = object_in(content, "graph_module")
    signature = _signature(object_in(module, "signature"))
    return StoredProgram(_Graph(_Reading(object_in(module, "graph")).nodes(signature)), signature)


class _Reading:
    """Reads a graph, call by call.

    Attributes
    ----------
    values
        What the names that calls so far gave to tensors stand for, nodes.
    writes
        Keeps account of what was written in place.
    parts
        How views came about, by their numbers in `writes`.
    """

    def __init__(self, graph: Mapping[str, Any], depth: int = 0) -> None:
        self.graph = without_regions(graph)
        self.depth = depth
        self.types = object_in(self.graph, "tensor_values")
        self.sizes = object_in(self.graph, "sym_int_values")
        self.values: dict[str, StoredNode] = {}
        self.writes = Writes()
        self.parts: dict[int, ShownPart] = {}
        self.found: list[StoredNode] = []
        # torch flattens by views where it takes a program apart to undo what is written in place,
        # and solutions know operators by the names that follow.
        self.is_functionalised = any(
            is_write(_packet(str(call.get("target"))))
            for call in list_in(self.graph, "nodes")
            if isinstance(call, dict)
        )

    def nodes(self, signature: _Signature) -> Sequence[StoredNode]:
        """Return all nodes: placeholders, calls and the output."""
        weights = {
            **signature.inputs_to_parameters,
            **signature.inputs_to_buffers,
            **signature.inputs_to_lifted_tensor_constants,
        }
        for at, argument in enumerate(list_in(self.graph, "inputs")):
            self._placeholder(f"input {at}", argument, weights)
        for at, call in enumerate(list_in(self.graph, "nodes")):
            with naming(f"node {at}"):
                self._call(call, at)
        results = [self._value(one) for one in list_in(self.graph, "outputs")]
        changed = [self.values[name] for name in self.writes.changed()]
        self.found.append(StoredNode("output", "output", args=((*changed, *results),)))
        return self.found

    def _placeholder(self, what: str, argument: Any, weights: Mapping[str, str]) -> None:
        kind, value = only_field(argument, what)
        if kind != "as_tensor":
            self.found.append(StoredNode("placeholder", what))
            return
        name = text_in(an_object(value), "name")
        self._bind(name, StoredNode("placeholder", name, meta={"val": self._type(name)}))
        self.writes.given(name, is_constant=name in weights)

    def _call(self, call: Any, at: int) -> None:
        if not isinstance(call, dict):
            raise InvalidInputError(f"it is {quoted(call)}; expected an object.")
        text = text_in(call, "target").removeprefix(_OPERATORS)
        outputs = [only_field(one, "an output") for one in list_in(call, "outputs")]
        written = [names_of(kind, value) for kind, value in outputs]
        if not any(isinstance(name, str) for names in written for name in names):
            # Arithmetic of sizes, and checks.
            return
        with naming(text):
            # Arguments of control flow have no names.
            named = [
                (name or str(place), kind, value)
                for place, (name, kind, value) in enumerate(
                    map(named_argument, list_in(call, "inputs"))
                )
            ]
            packet = _packet(text)
            if self.is_functionalised and packet == "flatten":
                packet = "view"
            reads = {name: list(names_of(kind, value)) for name, kind, value in named}
            read = [x for names in reads.values() for x in names if x is not None]
            wholes = self._wholes(read[0]) if read and is_write(packet) else []
            given = [
                (name, self._body(value) if kind == "as_graph" else self._argument(kind, value))
                for name, kind, value in named
            ]
            made = [x for names in written for x in names if x]
            how = "clone" if self._is_copy(packet, read, made) else packet
            changed = self.writes.read(how, reads, made)
            functional = packet.removesuffix("_") if is_write(packet) else packet
            given += [x for x in _DEFAULTS.get(functional, {}).items() if x[0] not in reads]
            is_several = len(written) > 1 or outputs[0][0] != "as_tensor"
            names = [name for several in written for name in several]
            types = tuple(None if name is None else self._type(name) for name in names)
            own = call.get("name")
            node = StoredNode(
                "call_function",
                own if isinstance(own, str) else next(filter(None, names), f"node_{at}"),
                target_of(text, functional, [name for name, _ in given]),
                tuple(value for _, value in given),
                meta={
                    "val": types if is_several else types[0],
                    "nn_module_stack": module_stack(call),
                    "call": at,
                },
            )
        if not is_several:
            self._bind(str(names[0]), node)
        else:
            self.found.append(node)
            for place, name in enumerate(names):
                if name is not None:
                    self._bind(name, item_of(node, name, place, types[place]))
        if changed:
            self._now(changed[0], self.values[str(names[0])])
            self._hand_up(changed[0], wholes, node)
        elif how == packet and packet in VIEWS and read:
            self._note_parts(read[0], node, names if is_several else names[0])

    def _note_parts(
        self, whole: str, node: StoredNode, names: Sequence[str | None] | str | None
    ) -> None:
        """Note how views came about."""
        several = [(None, names)] if isinstance(names, str) else list(enumerate(names or ()))
        for place, name in several:
            view = -1 if name is None else self.writes.view(name)
            if view not in (-1, self.writes.view(whole)):
                self.parts[view] = ShownPart(whole, node, place)

    def _is_copy(self, packet: str, read: Sequence[str], made: Sequence[str]) -> bool:
        """Whether what may be a view of its argument is none, since its type differs."""
        if packet not in ("to", "type_as") or not read:
            return False
        return self._type(read[0]).dtype != self._type(made[0]).dtype

    def _wholes(self, name: str) -> list[str]:
        """Return tensors that a tensor is a part of, up to the whole memory, if they are known."""
        found: list[str] = []
        while len(found) < MOST_VIEWS:
            part = self.parts.get(self.writes.view(name))
            if part is None:
                break
            name = part.whole
            self._renew(name)
            if self.writes.is_stale(name):
                break
            found.append(name)
        return found

    def _renew(self, name: str) -> None:
        """Show a tensor anew if its memory was written through another view."""
        missing: list[tuple[str, ShownPart]] = []
        while self.writes.is_stale(name) and len(missing) < MOST_VIEWS:
            part = self.parts.get(self.writes.view(name))
            if part is None:
                return
            missing.append((name, part))
            name = part.whole
        if self.writes.is_stale(name):
            return
        for one, part in reversed(missing):
            nodes = shown(part, self.values[part.whole])
            self.found += nodes
            self._now(one, nodes[-1])

    def _hand_up(self, name: str, wholes: Sequence[str], written: StoredNode) -> None:
        """Give the tensors that a written one is a part of their new values, where it is known."""
        for whole in wholes:
            part = self.parts[self.writes.view(name)]
            node = with_part(part, self.values[whole], self.values[name], written)
            if node is None or not self._is_plain(part):
                return
            self.found.append(node)
            self._now(whole, node)
            name = whole

    def _is_plain(self, part: ShownPart) -> bool:
        """Whether a part is in the memory of the whole: what may be a copy is if that is dense."""
        if part.node.target._opname not in MAY_COPY:
            return True
        known = object_in(self.types, part.whole)
        if "strides" not in known:
            return False
        dense = 1
        steps = map(a_size, reversed(list_in(known, "strides")))
        for size, step in zip(map(a_size, reversed(list_in(known, "sizes"))), steps, strict=True):
            if step != dense and size != 1:
                return False
            dense *= size
        return True

    def _now(self, name: str, node: StoredNode) -> None:
        """Let all names of a tensor stand for a new value."""
        for one in self.writes.renew(name):
            self.values[one] = node

    def _bind(self, name: str, node: StoredNode) -> None:
        if name in self.values:
            raise InvalidInputError(f"tensor {quoted(name)} is made twice; expected once.")
        self.values[name] = node
        self.found.append(node)

    def _type(self, name: str) -> StoredTensor:
        with naming(f"tensor {quoted(name)}"):
            known = object_in(self.types, name)
            number = known.get("dtype")
            dtype = DTYPES.get(number) if isinstance(number, int) else None
            if dtype is None:
                raise InvalidInputError(f"dtype is {quoted(number)}; expected a type of numbers.")
            sizes = list_in(known, "sizes")
            if len(sizes) > MOST_DIMENSIONS:
                raise InvalidInputError(
                    f"there are {len(sizes)} sizes; expected at most {MOST_DIMENSIONS}."
                )
            return StoredTensor(tuple(map(a_size, sizes)), dtype)

    def _value(self, argument: Any) -> Any:
        return self._argument(*only_field(argument, "an argument"))

    def _argument(self, kind: str, value: Any) -> Any:
        """Return an argument: a node, or several, for tensors; plain values; None for others."""
        if kind in TENSORS:
            found = [None if x is None else self._node(x) for x in names_of(kind, value)]
            return found if kind in SEVERAL else found[0]
        if kind == "as_sym_int":
            return self._open_size(value)
        if kind == "as_sym_ints":
            return [self._open_size(one) for one in value] if isinstance(value, list) else None
        check = PLAIN.get(kind)
        if check is None:
            return None
        if not check(value):
            raise InvalidInputError(f"{kind} is {quoted(value)}.")
        return value

    def _body(self, value: Any) -> StoredNode:
        """Return a node that stands for a graph, which control flow runs."""
        if self.depth >= DEEPEST:
            raise InvalidInputError(f"graphs are nested more than {DEEPEST} deep.")
        graph = object_in(an_object(value), "graph")
        nodes = _Reading(graph, self.depth + 1).nodes(_Signature({}, {}, {}))
        return StoredNode("get_attr", text_in(value, "name"), meta={"graph": _Graph(nodes)})

    def _node(self, name: str) -> StoredNode:
        if name not in self.values:
            raise InvalidInputError(
                f"it reads tensor {quoted(name)}, which nothing before it makes."
            )
        self._renew(name)
        self.writes.check(name)
        return self.values[name]

    def _open_size(self, argument: Any) -> int:
        kind, value = only_field(argument, "a size")
        if kind == "as_int":
            return an_integer(value)
        if not isinstance(value, str):
            raise InvalidInputError(f"a size is named {quoted(value)}; expected a text.")
        return a_size(self.sizes.get(value))


_OPERATORS = "torch.ops."


def _packet(target: str) -> str:
    """Return the short name of an ATen operator, such as ``add``; other names unchanged."""
    text = target.removeprefix(_OPERATORS)
    return text.removeprefix("aten.").partition(".")[0] if text.startswith("aten.") else text


def _signature(table: Mapping[str, Any]) -> _Signature:
    found: dict[str, dict[str, str]] = {"parameter": {}, "buffer": {}, "tensor_constant": {}}
    for one in list_in(table, "input_specs"):
        kind, spec = only_field(one, "an entry of input_specs")
        if kind in found:
            name = text_in(object_in(an_object(spec), "arg"), "name")
            found[kind][name] = text_in(spec, f"{kind}_name")
    return _Signature(found["parameter"], found["buffer"], found["tensor_constant"])
