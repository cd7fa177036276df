"""Convert a program that `torch.export` recorded into a computation graph, without torch."""

import operator
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeAlias, runtime_checkable

from boundmark.datasets.file_format import main_dtype, with_scales
from boundmark.datasets.readers.torch_export.aten import (
    CHECKS,
    NOTHING,
    RULES,
    SAME,
    AtenRule,
    rule_of,
)
from boundmark.problems.computation_graph import (
    LEFT_OUT,
    ComputationGraph,
    Operator,
    Tensor,
    arithmetic_dtype,
)
from boundmark.problems.errors import MOST_NAMES, InvalidInputError, quoted

# A value of the recorded program: the number of a tensor, several of them, or no tensor.
Value: TypeAlias = int | tuple[int | None, ...] | None

# Key in the `meta` of nodes that compute gradients, see `backward`.
IS_GRADIENT = "is_gradient"


@runtime_checkable
class RecordedTensor(Protocol):
    """The metadata of a tensor in a program of torch or of `file`."""

    @property
    def shape(self) -> Iterable[Any]:
        """Extent of each dimension."""
        ...

    @property
    def dtype(self) -> Any:
        """Type of the elements; as a text, torch's name of it."""
        ...


@runtime_checkable
class RecordedNode(Protocol):
    """The interface of a recorded node, which `torch.fx` and `file` provide."""

    op: str
    name: str
    target: Any
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    meta: dict[str, Any]


_DTYPES = {"float8_e4m3fn": "float8e4m3fn", "float8_e5m2": "float8e5m2"}


@dataclass
class _Recorded:
    """A program as recorded, before unused operators are left out.

    Attributes
    ----------
    tensors
        By number: name, shape and type of elements.
    constants
        Tensors that depend on no input of the model.
    stored
        Of constants that are computed from quantised ones: their elements as the model has them,
        and what these are scaled and shifted by.
    arithmetic
        The type of an operator's first input as a number, if that is stored as another.
    operators
        With numbers of tensors.
    unknown
        Types of those that the tables do not have.
    controlled
        How operators that stand for control flow are costed, by their names.
    """

    tensors: list[Tensor] = field(default_factory=list)
    constants: set[int] = field(default_factory=set)
    stored: dict[int, tuple[int, ...]] = field(default_factory=dict)
    arithmetic: dict[str, str] = field(default_factory=dict)
    operators: list[Operator] = field(default_factory=list)
    unknown: set[str] = field(default_factory=set)
    controlled: dict[str, str] = field(default_factory=dict)

    def add(self, name: str, value: Any) -> int:
        dtype = str(value.dtype).removeprefix("torch.")
        shape = tuple(map(_size, value.shape))
        self.tensors.append(Tensor(name, shape, _DTYPES.get(dtype, dtype)))
        return len(self.tensors) - 1


def _size(extent: Any) -> int:
    try:
        return int(extent)
    except RuntimeError as error:
        raise InvalidInputError(
            f"the size {quoted(str(extent))} depends on the data; expected fixed sizes."
        ) from error


def to_graph(program: Any, prefix: str = "") -> ComputationGraph:
    """Return the graph of an exported program.

    What depends on no input is folded into constants. Checks, copies that change nothing, and what
    no output depends on are left out. Operators that the tables of `aten` do not know are costed by
    the bytes that they move; a note names them.
    """
    return with_origins(program, prefix)[0]


def with_origins(program: Any, prefix: str = "") -> tuple[ComputationGraph, dict[Any, str]]:
    """Return the graph of an exported program, and the operator that each recorded call is part of.

    That is the operator that yields the call's value: the call itself, or the one of whose result
    it makes a copy. Calls that are folded into constants, checks, and what no output depends on are
    part of none.
    """
    recorded = _Recorded()
    values: dict[Any, Value] = {}
    names = _Names(prefix)
    weights = _weights(program)
    outputs: tuple[int, ...] = ()
    for node in program.graph.nodes:
        if node.op == "placeholder":
            values[node] = _placeholder(recorded, node, weights, prefix)
        elif node.op == "call_function":
            values[node] = _call(recorded, node, values, names)
        elif node.op == "output":
            outputs = tuple(_numbers(node.args[0], values))
    graph = _without_unneeded(recorded, outputs)
    kept = {number: one.name for one in recorded.operators for number in one.writes}
    names_kept = set(graph.names)
    origins = {
        node: kept[number]
        for node in values
        if node.op == "call_function"
        for number in _numbers(node, values)[:1]
        if kept.get(number) in names_kept
    }
    return graph, origins


def functional(program: Any) -> Any:
    """Return an exported program in which no operator changes one of its inputs.

    Nor has it regions: what ran under `torch.no_grad`, for instance, is among the other operators.
    Operators without a rule are taken apart into others where torch says how.
    """
    is_plain = not (_writes_in_place(program) or _has_regions(program))
    plain = program if is_plain else program.run_decompositions({})
    return _with_rules(plain)


def _with_rules(program: Any) -> Any:
    """Return a program in which torch's decompositions replace operators without a rule."""
    missing = {node.target for node in program.graph.nodes if _is_without_rule(node.target)}
    if not missing:
        return program
    import torch

    table = torch.export.default_decompositions()
    if missing.isdisjoint(table):
        return program
    # Decompositions may consist of operators without a rule, too.
    found = program.run_decompositions(
        {target: parts for target, parts in table.items() if _is_without_rule(target)}
    )
    # Those with checks that must not be lost, such as of inverses, become calls of another kind.
    has_effects = any(map(_is_higher_order, found.graph.nodes))
    return program if has_effects else found


def _is_higher_order(node: Any) -> bool:
    """Whether a node calls a graph, or an operator in a way of its own."""
    return getattr(node.target, "namespace", "") == "higher_order"


def _is_without_rule(target: Any) -> bool:
    """Whether a call is of an ATen operator that the tables do not have."""
    packet = _packet(target)
    is_of_aten = getattr(target, "namespace", "") == "aten"
    return is_of_aten and not (packet in RULES or packet in SAME or packet in CHECKS)


def _has_regions(program: Any) -> bool:
    """Whether some calls name graphs of their own, which are attributes of the program."""
    return any(node.op == "get_attr" for node in program.graph.nodes)


def _writes_in_place(program: Any) -> bool:
    """Whether some operator changes one of its inputs; torch's names of these end in one dash."""
    names = (getattr(node.target, "_opname", "") for node in program.graph.nodes)
    return any(name.endswith("_") and not name.endswith("__") for name in names)


def _weights(program: Any) -> Mapping[str, str]:
    signature = program.graph_signature
    return {
        **signature.inputs_to_parameters,
        **signature.inputs_to_buffers,
        **signature.inputs_to_lifted_tensor_constants,
    }


def _placeholder(recorded: _Recorded, node: Any, weights: Mapping[str, str], prefix: str) -> Value:
    value = node.meta.get("val")
    if not isinstance(value, RecordedTensor):
        return None
    number = recorded.add(weights.get(node.name, node.name).removeprefix(prefix), value)
    if node.name in weights:
        recorded.constants.add(number)
    return number


def _call(recorded: _Recorded, node: Any, values: Mapping[Any, Value], names: "_Names") -> Value:
    """Return what a call yields, and record it if it computes something from the inputs."""
    if node.target is operator.getitem:
        several = values[node.args[0]]
        return several[node.args[1]] if isinstance(several, tuple) else several
    if _is_higher_order(node):
        return _controlled(recorded, node, values, names)
    packet = _packet(node.target)
    result = node.meta.get("val")
    if packet in CHECKS or not _has_tensor(result):
        return None
    if packet in SAME or _changes_nothing(packet, node):
        return values[node.args[0]]
    arguments = _arguments(node)
    rule = rule_of(packet, arguments)
    reads = _reads(rule.reads if rule else None, arguments, values)
    is_constant = {number for number in reads if number != LEFT_OUT} <= recorded.constants
    if is_constant:
        value, written = _results(recorded, names.constant(node), result)
        recorded.constants.update(written)
        if packet in _DEQUANTISING and len(written) == 1:
            _note_stored(recorded, written[0], reads)
        return value
    if rule is None:
        rule = AtenRule(str(node.target).rpartition(".")[0], count=NOTHING)
        recorded.unknown.add(rule.op_type)
    name = names.operator(node, rule.op_type)
    value, written = _results(recorded, name, result)
    shapes = [None if x == LEFT_OUT else recorded.tensors[x].shape for x in reads]
    shapes_out = [recorded.tensors[x].shape for x in written]
    attributes = rule.attributes(arguments, shapes, shapes_out)
    count = rule.flops(shapes, shapes_out, attributes)
    reads_stored = _as_stored(recorded, reads, name)
    recorded.operators.append(
        Operator(name, rule.op_type, count, reads_stored, tuple(written), attributes)
    )
    return value


# Deeper control flow is refused.
DEEPEST = 20


def _controlled(
    recorded: _Recorded, node: Any, values: Mapping[Any, Value], names: "_Names"
) -> Value:
    """Record control flow as one operator, as `readers.onnx.control_flow` does.

    ``cond`` costs what its dearer branch does, ``while_loop`` one iteration with its condition. It
    reads all that its bodies are given, weights of other branches included.
    """
    kind = str(node.target).rpartition(".")[2]
    expected = {"cond": ("If", slice(1, 3)), "while_loop": ("Loop", slice(0, 2))}.get(kind)
    if expected is None or names.depth >= DEEPEST:
        raise InvalidInputError(
            f"{node.target}: this control flow is not supported; expected operators, cond or "
            f"while_loop, at most {DEEPEST} deep."
        )
    op_type, bodies = expected
    if [getattr(one, "op", "") for one in node.args[bodies]] != ["get_attr"] * 2:
        raise InvalidInputError(f"{node.target} does not name two graphs; expected these.")
    given = [number for one in node.args[bodies.stop :] for number in _numbers(one, values)]
    found = [_body_flops(recorded, body, given, names) for body in node.args[bodies]]
    flops, _, dtype = max(found)
    # In all branches, since which one is dearer hangs on them.
    unknown = sum(one[1] for one in found)
    how = "costed by its dearer branch"
    if op_type == "Loop":
        flops = sum(one[0] for one in found)
        how = "costed by one iteration"
    if unknown:
        how += f", without the arithmetic of {unknown} unknown operator{'s' * (unknown > 1)} in it"
    name = names.operator(node, op_type)
    value, written = _results(recorded, name, node.meta.get("val"))
    reads = (*_numbers(node.args[: bodies.start], values), *given)
    recorded.operators.append(Operator(name, op_type, flops, reads, tuple(written), {}))
    recorded.controlled[name] = how
    if dtype:
        recorded.arithmetic[name] = dtype
    return value


def _body_flops(
    outer: _Recorded, body: Any, given: Sequence[int], names: "_Names"
) -> tuple[int, int, str]:
    """Return a body's operations, its number of unknown operators, and the type of most work."""
    graph = body.meta.get("graph")
    if graph is None:
        # Bodies of a program in memory are modules of the one that calls them.
        graph = operator.attrgetter(body.target)(body.graph.owning_module).graph
    recorded, inside = _Recorded(), _Names("", names.depth + 1)
    values: dict[Any, Value] = {}
    operands = iter(given)
    for node in graph.nodes:
        if node.op == "placeholder":
            if not isinstance(node.meta.get("val"), RecordedTensor):
                values[node] = None
                continue
            number = values[node] = recorded.add(node.name, node.meta["val"])
            if next(operands, LEFT_OUT) in outer.constants:
                recorded.constants.add(number)
        elif node.op == "call_function":
            values[node] = _call(recorded, node, values, inside)
    unknown = sum(one.op_type in recorded.unknown for one in recorded.operators)
    most = max(recorded.operators, key=lambda one: one.flops, default=None)
    dtype = ""
    if most is not None:
        first = (recorded.tensors[x].dtype for x in most.reads if x != LEFT_OUT)
        dtype = recorded.arithmetic.get(most.name) or next(first, "")
    return sum(one.flops for one in recorded.operators), unknown, dtype


# What takes packed elements apart, and makes numbers of them; runtimes do it where they are read.
_DEQUANTISING = frozenset(
    {"to", "_to_copy", "type_as", "view", "_unsafe_view", "reshape", "permute", "transpose", "t"}
    | {"unsqueeze", "squeeze", "contiguous", "clone", "flatten", "stack", "cat", "slice"}
    | {"mul", "sub", "add", "div", "bitwise_and", "__and__", "bitwise_right_shift", "__rshift__"}
    | {"bitwise_left_shift", "__lshift__", "remainder"}
    | {"quantized_decomposed.dequantize_per_tensor.default"}
    | {"quantized_decomposed.dequantize_per_channel.default"}
    | {"quantized_decomposed.dequantize_per_channel_group.default"}
    | {"torchao.dequantize_affine.default"}
)

# Bits of an element that is stored, or packed into larger ones.
_QUANTISED_BITS = (2, 4, 8)


def _note_stored(recorded: _Recorded, number: int, reads: Sequence[int]) -> None:
    """Note of a constant where its elements are stored, if it is computed from quantised ones."""
    read = [one for one in reads if one != LEFT_OUT]
    tensors = recorded.tensors
    chains = [recorded.stored.get(one, (one,)) for one in read]
    packed = [one for one in chains if _is_packed(tensors[one[0]].dtype)]
    if packed:
        elements = max(packed, key=lambda one: tensors[one[0]].bytes)
        others = (x for chain in (elements, *chains) for x in chain if x != elements[0])
        recorded.stored[number] = (elements[0], *dict.fromkeys(others))


def _is_packed(dtype: str) -> bool:
    """Whether weights are stored as such elements, alone or several in one."""
    return dtype in ("int8", "uint8", "int32") or dtype.startswith("float8")


def _is_number(dtype: str) -> bool:
    return dtype in ("bfloat16", "float16", "float32", "float64")


def _as_stored(recorded: _Recorded, reads: Sequence[int], name: str) -> tuple[int, ...]:
    """Return what an operator reads, with quantised constants as they are stored.

    Their elements keep the place and the shape; scales and zero points come behind all inputs.
    """
    found = list(reads)
    beside: list[int] = []
    for at, number in enumerate(reads):
        chain = recorded.stored.get(number, ())
        tensor = recorded.tensors[number] if chain else None
        if tensor is None or not _is_number(tensor.dtype) or not tensor.elements:
            continue
        bits = 8 * recorded.tensors[chain[0]].bytes / tensor.elements
        if bits not in _QUANTISED_BITS:
            continue
        kind = recorded.tensors[chain[0]].dtype
        dtype = kind if kind.startswith("float8") else f"uint{int(bits)}"
        recorded.tensors.append(Tensor(f"{tensor.name}:{dtype}", tensor.shape, dtype))
        found[at] = len(recorded.tensors) - 1
        recorded.constants.add(found[at])
        beside += chain[1:]
        if at == 0:
            recorded.arithmetic[name] = tensor.dtype
    return with_scales(found, beside)


def _packet(target: Any) -> str:
    """Return the short name of an ATen operator, such as ``add``; others may be called alike."""
    text = str(target)
    return str(getattr(target, "_opname", text)) if text.startswith("aten.") else text


def _results(recorded: _Recorded, name: str, result: Any) -> tuple[Value, list[int]]:
    """Record the tensors that a call yields; return them as it does, and as a list."""
    if isinstance(result, RecordedTensor):
        number = recorded.add(name, result)
        return number, [number]
    # A call that yields several tensors may leave some out.
    several = tuple(
        recorded.add(f"{name}:{at}" if at else name, one)
        if isinstance(one, RecordedTensor)
        else None
        for at, one in enumerate(result)
    )
    return several, [number for number in several if number is not None]


def _has_tensor(value: Any) -> bool:
    values = value if isinstance(value, tuple | list) else (value,)
    return any(isinstance(one, RecordedTensor) for one in values)


_MAY_CHANGE_NOTHING = frozenset(
    {"_to_copy", "to", "view", "_unsafe_view", "reshape", "expand", "slice", "pad"}
    | {"broadcast_to", "expand_as", "narrow", "ravel", "reshape_as", "type_as", "view_as"}
)


def _changes_nothing(packet: str, node: Any) -> bool:
    """Whether shape and type of a view, slice or cast are those of its input."""
    if packet not in _MAY_CHANGE_NOTHING:
        return False
    before, after = node.args[0].meta["val"], node.meta["val"]
    return before.dtype == after.dtype and before.shape == after.shape


def _arguments(node: Any) -> dict[str, Any]:
    """Return the arguments of a call by name, with torch's defaults."""
    given = dict(node.kwargs)
    schema = getattr(node.target, "_schema", None)
    if schema is None:
        return {**{str(at): value for at, value in enumerate(node.args)}, **given}
    found = {}
    for at, argument in enumerate(schema.arguments):
        if at < len(node.args):
            found[argument.name] = node.args[at]
        else:
            found[argument.name] = given.get(argument.name, argument.default_value)
    return found


def _reads(
    order: tuple[str, ...] | None, arguments: Mapping[str, Any], values: Mapping[Any, Value]
) -> list[int]:
    """Return the numbers of the tensors among some arguments, or among all of them."""
    if order is None:
        return list(_numbers(list(arguments.values()), values))
    reads: list[int] = []
    for name in order:
        if name in arguments:
            reads += _numbers(arguments[name], values) or (LEFT_OUT,)
    while reads and reads[-1] == LEFT_OUT:
        reads.pop()
    return reads


def _numbers(argument: Any, values: Mapping[Any, Value]) -> Sequence[int]:
    """Return the numbers of all tensors in an argument."""
    if isinstance(argument, RecordedNode):
        value = values[argument]
        several = value if isinstance(value, tuple) else (value,)
        return tuple(number for number in several if number is not None)
    if isinstance(argument, list | tuple):
        return tuple(number for one in argument for number in _numbers(one, values))
    return ()


class _Names:
    """Names operators after the module that runs them, like ``layer1.0.conv1/Conv``.

    Those of the backward pass are called like ``h.0.mlp.c_fc/grad/MatMul``.
    """

    def __init__(self, prefix: str, depth: int = 0) -> None:
        self.prefix = prefix
        # Depth of control flow around the operators.
        self.depth = depth
        self.taken: Counter[str] = Counter()

    def operator(self, node: Any, op_type: str) -> str:
        path = self._path(node)
        what = f"grad/{op_type}" if node.meta.get(IS_GRADIENT) else op_type
        return self._unique(f"{path}/{what}" if path else what)

    def constant(self, node: Any) -> str:
        path = self._path(node)
        return f"{path}/{node.name}" if path else node.name

    def _path(self, node: Any) -> str:
        stack = list(node.meta.get("nn_module_stack", {}).values())
        path: str = stack[-1][0] if stack else ""
        return path.removeprefix(self.prefix.rstrip(".")).lstrip(".")

    def _unique(self, name: str) -> str:
        self.taken[name] += 1
        if self.taken[name] == 1:
            return name
        return self._unique(f"{name}_{self.taken[name]}")


def _without_unneeded(recorded: _Recorded, outputs: Iterable[int]) -> ComputationGraph:
    """Return the graph of the operators that some output depends on, tensors numbered anew."""
    returned = [number for number in outputs if number not in recorded.constants]
    wanted = set(returned)
    needed: list[Operator] = []
    for one in reversed(recorded.operators):
        if not wanted.isdisjoint(one.writes):
            wanted.update(one.reads)
            needed.append(one)
    numbers: dict[int, int] = {}
    operators = []
    for one in reversed(needed):
        writes = [number for number in one.writes if number in wanted]
        for number in (*one.reads, *writes):
            if number != LEFT_OUT:
                numbers.setdefault(number, len(numbers))
        operators.append(
            Operator(
                one.name,
                one.op_type,
                one.flops,
                tuple(LEFT_OUT if x == LEFT_OUT else numbers[x] for x in one.reads),
                tuple(numbers[x] for x in writes),
                one.attributes,
            )
        )
    tensors = [recorded.tensors[number] for number in numbers]
    inside = {
        one.name: {arithmetic_dtype(recorded.arithmetic[one.name]): one.flops}
        for one in operators
        if one.name in recorded.arithmetic
    }
    return ComputationGraph(
        operators=tuple(operators),
        tensors=tuple(tensors),
        parameters=frozenset(numbers[x] for x in recorded.constants if x in numbers),
        results=tuple(dict.fromkeys(numbers[x] for x in returned if x in numbers)),
        dtype=main_dtype(operators, tensors, inside),
        notes=(
            *_on_unknown([one.op_type for one in operators if one.op_type in recorded.unknown]),
            *_on_control_flow([one.name for one in operators], recorded.controlled),
        ),
    )


def _on_control_flow(names: Sequence[str], controlled: Mapping[str, str]) -> Iterator[str]:
    """Yield a note on each way in which operators that stand for control flow are costed."""
    ways: dict[str, list[str]] = {}
    for name in names:
        if name in controlled:
            ways.setdefault(controlled[name], []).append(name)
    for how, own in ways.items():
        more = f" and {len(own) - 1} more" if len(own) > 1 else ""
        yield f"control flow {quoted(own[0])}{more} is one operator, {how}"


def _on_unknown(op_types: Sequence[str]) -> tuple[str, ...]:
    """Return a note on operators of types that the tables do not have, if there are any."""
    counted = [f"{quoted(kind)} ({often})" for kind, often in Counter(op_types).items()]
    if not counted:
        return ()
    more = [f"{len(counted) - MOST_NAMES} more"] if len(counted) > MOST_NAMES else []
    listed = ", ".join(counted[:MOST_NAMES] + more)
    what = "operator is" if len(op_types) == 1 else "operators are"
    return (f"{len(op_types)} {what} unknown, costed by the bytes read and written: {listed}",)
