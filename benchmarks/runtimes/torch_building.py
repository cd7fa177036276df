"""Build programs of `torch.fx` from the JSON that `torch.export.save` stores.

Nothing of a file is evaluated: operators are looked up among those of ATen by name, and sizes that
the program leaves open are those of the example that it was recorded with. Weights and inputs are
random: finite, of ordinary size, and in range.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from math import prod
from operator import getitem
from typing import Any

from boundmark.benchmarks.runtimes.measured import SEED
from boundmark.datasets.readers.torch_export.aten import SAME
from boundmark.datasets.readers.torch_export.file import DTYPES
from boundmark.datasets.readers.torch_export.schema import (
    AUTOCAST,
    PLAIN,
    SEVERAL,
    TENSORS,
    a_size,
    an_integer,
    an_object,
    list_in,
    named_argument,
    names_of,
    object_in,
    only_field,
    text_in,
    without_regions,
)
from boundmark.datasets.readers.torch_export.writes import VIEWS, StoredTensor, is_write
from boundmark.problems.errors import InvalidInputError, quoted
from boundmark.problems.files import naming

_ATEN = "torch.ops.aten."

# These read and write files.
_REFUSED = frozenset({"from_file", "save"})

# What the reader calls types otherwise than torch.
_TORCH_NAMES = {
    "float8e4m3fnuz": "float8_e4m3fnuz", "float8e5m2fnuz": "float8_e5m2fnuz",
    "float8e8m0": "float8_e8m0fnu",
}  # fmt: skip


class Building:
    """Builds a program of `torch.fx` from JSON that the reader has checked.

    Attributes
    ----------
    fx
        The graph: inputs, then weights as attributes ``weight_0``, ``weight_1`` and so on.
    inputs, weights
        Names of these in the file, in this order.
    values
        Nodes by the names of tensors in the file.
    calls
        For each call in the file, by number, its node, and those that take its result apart.
    written
        Names of inputs and weights that are written in place.
    """

    def __init__(self, module: Mapping[str, Any], device: Any) -> None:
        import torch

        self.device = device
        self.fx = torch.fx.Graph()
        self.values: dict[str, Any] = {}
        self.calls: dict[int, list[Any]] = {}
        self.written: set[str] = set()
        self._graph = without_regions(object_in(module, "graph"))
        self._types = object_in(self._graph, "tensor_values")
        # By name of a tensor: the input or weight with which it shares memory.
        self._bases: dict[str, str] = {}
        self._autocast: list[Any] = []
        self._build(object_in(module, "signature"))

    def type_of(self, name: str) -> StoredTensor:
        """Return the type of a tensor."""
        known = object_in(self._types, name)
        sizes = tuple(map(a_size, list_in(known, "sizes")))
        return StoredTensor(sizes, DTYPES[an_integer(known.get("dtype"))])

    def strides_of(self, name: str) -> tuple[int, ...] | None:
        """Return the strides of a tensor; None if the file does not say."""
        known = object_in(self._types, name)
        return tuple(map(a_size, list_in(known, "strides"))) if "strides" in known else None

    def _build(self, signature: Mapping[str, Any]) -> None:
        own = _placeholders_of_weights(signature)
        given = [
            text_in(an_object(value), "name")
            for kind, value in map(_argument_in, list_in(self._graph, "inputs"))
            if kind == "as_tensor"
        ]
        self.inputs = [name for name in given if name not in own]
        self.weights = [name for name in given if name in own]
        self._bases = {name: name for name in given}
        for at, name in enumerate(self.inputs):
            self._bind(name, self.fx.placeholder(f"input_{at}"))
        for at, name in enumerate(self.weights):
            self._bind(name, self.fx.get_attr(f"weight_{at}"))
        for at, call in enumerate(list_in(self._graph, "nodes")):
            self._call(call, at)
        self._enter([])
        results = [
            self.values[name]
            for argument in self._results(signature)
            for name in names_of(*_argument_in(argument))
            if name is not None
        ]
        self.fx.output(tuple(results))

    def _results(self, signature: Mapping[str, Any]) -> list[Any]:
        """Return what the caller gets; new values of buffers are among the outputs, too."""
        outputs, specs = list_in(self._graph, "outputs"), signature.get("output_specs")
        if not isinstance(specs, list) or len(specs) != len(outputs):
            return outputs
        return [one for one, spec in zip(outputs, specs, strict=True) if "user_output" in spec]

    def _call(self, call: Mapping[str, Any], at: int) -> None:
        outputs = [_argument_in(one) for one in list_in(call, "outputs")]
        names = [name for kind, value in outputs for name in names_of(kind, value)]
        if not any(names):
            # Arithmetic of sizes, and checks.
            return
        text = text_in(call, "target")
        with naming(f"node {at}"), naming(text.removeprefix("torch.ops.")):
            target = _operator(text)
            given = {
                name: self._argument(kind, value)
                for name, kind, value in map(named_argument, list_in(call, "inputs"))
            }
            self._enter(call.get(AUTOCAST, []))
            args, kwargs = _placed(target, given)
            node = self.fx.call_function(target, args, kwargs)
            self.calls[at] = [node]
            types = tuple(None if name is None else self.type_of(name) for name in names)
            is_several = len(outputs) > 1 or outputs[0][0] != "as_tensor"
            node.meta["val"] = types if is_several else types[0]
            for place, name in enumerate(names):
                if name is not None:
                    one = self.fx.call_function(getitem, (node, place)) if is_several else node
                    self._bind(name, one)
                    self.calls[at] += [one] if is_several else []
        self._follow(call, text.removeprefix(_ATEN).partition(".")[0], names)

    def _follow(self, call: Mapping[str, Any], packet: str, made: Sequence[str | None]) -> None:
        """Note what shares memory with inputs and weights, and which of them are written."""
        read = [
            name
            for argument in map(named_argument, list_in(call, "inputs"))
            for name in names_of(*argument[1:])
        ]
        base = self._bases.get(read[0] or "") if read else None
        if base is None or not (is_write(packet) or packet in VIEWS or packet in SAME):
            return
        self._bases.update((name, base) for name in made if name is not None)
        if is_write(packet):
            self.written.add(base)

    def _enter(self, settings: Sequence[Any]) -> None:
        """Leave the region of `torch.autocast` that was entered before, and enter another one."""
        from torch.amp.autocast_mode import _enter_autocast, _exit_autocast

        wanted = list(settings) if len(settings) == 4 and settings[2] else []
        if wanted == self._autocast[:4]:
            return
        if self._autocast:
            self.fx.call_function(_exit_autocast, (self._autocast[4],))
        self._autocast = []
        if wanted:
            kind, dtype, is_on, keeps = wanted
            place = self.device.type if kind in ("cpu", "cuda") else kind
            arguments = (place, None if dtype is None else _dtype(dtype), is_on, keeps)
            self._autocast = [*wanted, self.fx.call_function(_enter_autocast, arguments)]

    def _argument(self, kind: str, value: Any) -> Any:
        if kind in TENSORS:
            found = [None if name is None else self.values[name] for name in names_of(kind, value)]
            return found if kind in SEVERAL else found[0]
        if kind == "as_none":
            return None
        if kind in ("as_float", "as_floats"):
            # Infinity and the like are texts.
            return float(value) if kind == "as_float" else [float(one) for one in value]
        if kind in PLAIN:
            return value
        if kind in ("as_sym_int", "as_sym_float", "as_sym_bool"):
            return self._open(kind, value)
        if kind in ("as_sym_ints", "as_sym_floats", "as_sym_bools"):
            return [self._open(kind.removesuffix("s"), one) for one in value]
        if kind in _CONVERTED:
            return _CONVERTED[kind](value)
        if kind == "as_device":
            return self.device
        raise InvalidInputError(f"an argument is {kind}; expected tensors and numbers.")

    def _open(self, kind: str, argument: Any) -> Any:
        """Return a number that the program leaves open, as it was in the example."""
        inner, value = only_field(argument, "a number")
        if inner != "as_name":
            return value
        known = object_in(self._graph, f"{kind.removeprefix('as_')}_values").get(value)
        if kind == "as_sym_int":
            return a_size(known)
        hint = an_object(only_field(known, "a number")[1]).get("hint")
        return only_field(hint, f"the example of {quoted(value)}")[1]

    def _bind(self, name: str, node: Any) -> None:
        node.meta["val"] = self.type_of(name)
        self.values[name] = node


def _placeholders_of_weights(signature: Mapping[str, Any]) -> set[str]:
    """Return the names that parameters, buffers and constants have in the program."""
    found = set()
    for one in list_in(signature, "input_specs"):
        kind, spec = only_field(one, "an entry of input_specs")
        if kind in ("parameter", "buffer", "tensor_constant"):
            found.add(text_in(object_in(an_object(spec), "arg"), "name"))
    return found


def _argument_in(argument: Any) -> tuple[str, Any]:
    return only_field(argument, "an argument")


def _operator(text: str) -> Any:
    """Return an operator of ATen, such as that called ``torch.ops.aten.add.Tensor``."""
    import torch

    packet, _, overload = text.removeprefix(_ATEN).partition(".")
    if not text.startswith(_ATEN) or packet in _REFUSED:
        raise InvalidInputError("it is not run; expected operators of ATen.")
    found = getattr(getattr(torch.ops.aten, packet, None), overload, None)
    # Whatever else the name of a file's operator leads to is not called.
    if not isinstance(found, torch._ops.OpOverload):
        raise InvalidInputError(f"torch {torch.__version__} has no such operator.")
    return found


def _placed(target: Any, given: Mapping[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return arguments by place, as far as possible, and by name."""
    args: list[Any] = []
    rest = dict(given)
    for argument in target._schema.arguments:
        if argument.kwarg_only or argument.name not in rest:
            break
        args.append(rest.pop(argument.name))
    return tuple(args), rest


def torch_dtype(name: str) -> Any:
    """Return the type of elements that a `StoredTensor` names."""
    import torch

    return getattr(torch, _TORCH_NAMES.get(name, name))


def _dtype(number: Any) -> Any:
    return torch_dtype(DTYPES[an_integer(number)])


def _memory_format(number: Any) -> Any:
    import torch

    names = (None, "contiguous_format", "channels_last", "channels_last_3d", "preserve_format")
    return getattr(torch, str(names[an_integer(number)]))


def _layout(number: Any) -> Any:
    import torch

    if number != _STRIDED:
        raise InvalidInputError(f"the layout is {quoted(number)}; expected dense tensors.")
    return torch.strided


def _complex(value: Any) -> complex:
    return complex(float(value["real"]), float(value["imag"]))


_STRIDED = 7

_CONVERTED: Mapping[str, Callable[[Any], Any]] = {
    "as_scalar_type": _dtype,
    "as_memory_format": _memory_format,
    "as_layout": _layout,
    "as_complex": _complex,
}


# Arguments of operators that choose rows of a tensor: that tensor, and the indices.
_LOOKUPS = {"embedding": ("weight", "indices"), "index": ("self", "indices")} | dict.fromkeys(
    ("index_select", "gather"), ("self", "index")
)

# Rows that integers may choose where nothing says how many there are; most things have two.
ROWS = 2


class RandomValues:
    """Draws tensors, the same ones each time.

    Weights of two dimensions and more are scaled so that sums over a row stay of size 1; those of
    one, which are scales, shifts and variances, lie around 1. So nothing grows out of range, and
    nothing gets so small that processors slow down. What chooses rows of a table is in its range,
    and masks let everything through.
    """

    def __init__(self, device: Any) -> None:
        import torch

        self.device = device
        # On the device meta, tensors have no values.
        is_meta = torch.device(device).type == "meta"
        self.generator = None if is_meta else torch.Generator(device=device).manual_seed(SEED)

    def weight(self, shape: tuple[int, ...], dtype: Any, rows: int, strides: Any = None) -> Any:
        """Return a parameter or buffer."""
        found = self._empty(shape, dtype, strides)
        if not (dtype.is_floating_point or dtype.is_complex):
            return self._integers(found, rows)
        if len(shape) < 2:
            return self._filled(found, lambda x: x.uniform_(0.5, 1.5, generator=self.generator))
        deviation = float(max(1, prod(shape[1:]))) ** -0.5
        return self._filled(found, lambda x: x.normal_(0, deviation, generator=self.generator))

    def result(self, shape: tuple[int, ...], dtype: Any, rows: int, strides: Any = None) -> Any:
        """Return an input of the program, or what an operator might have computed."""
        found = self._empty(shape, dtype, strides)
        if not (dtype.is_floating_point or dtype.is_complex):
            return self._integers(found, rows)
        return self._filled(found, lambda x: x.normal_(generator=self.generator))

    def _empty(self, shape: tuple[int, ...], dtype: Any, strides: Any) -> Any:
        import torch

        # Only an order of dimensions is kept, without gaps or overlaps.
        count = prod(shape)
        if strides is not None and len(strides) == len(shape) and count:
            last = sum(stride * (extent - 1) for extent, stride in zip(shape, strides, strict=True))
            if last + 1 == count and min(strides, default=1) >= 0:
                return torch.empty_strided(shape, strides, dtype=dtype, device=self.device)
        return torch.empty(shape, dtype=dtype, device=self.device)

    def _integers(self, found: Any, rows: int) -> Any:
        import torch

        if found.dtype == torch.bool or not found.dim():
            return found.fill_(1)
        high = max(1, min(rows, 2 ** (torch.iinfo(found.dtype).bits - 1) - 1))
        try:
            return found.random_(0, high, generator=self.generator)
        except (NotImplementedError, RuntimeError):
            # Unsigned types have few functions.
            return found.zero_()

    def _filled(self, found: Any, fill: Any) -> Any:
        import torch

        if found.dtype.itemsize > 1 and not found.dtype.is_complex:
            return fill(found)
        wide = torch.complex64 if found.dtype.is_complex else torch.float32
        drawn = torch.empty_like(found, dtype=wide)
        fill(torch.view_as_real(drawn) if drawn.is_complex() else drawn)
        return found.copy_(drawn)


def rows_of(node: Any) -> int:
    """Return how many rows a tensor of integers may choose, judged by what is done with it.

    Parameters
    ----------
    node
        Of `torch.fx`, the tensor, with types of tensors as its ``meta["val"]``.
    """
    direct = [rows for user in node.users if (rows := _rows_in(user, node)) is not None]
    if direct:
        return min(direct)
    return min([ROWS, *_rows_behind(node, set())])


def _rows_behind(node: Any, seen: set[Any]) -> Iterable[int]:
    """Yield the rows of all tables that are read with what follows from some integers."""
    pending = [node]
    while pending:
        one = pending.pop()
        for user in one.users:
            rows = _rows_in(user, one)
            if rows is not None:
                yield rows
            elif user not in seen and _is_integer(user.meta.get("val")):
                seen.add(user)
                pending.append(user)


def _rows_in(user: Any, node: Any) -> int | None:
    """Return the rows of the table in which an operator looks something up; None if it does not."""
    schema = getattr(user.target, "_schema", None)
    names = _LOOKUPS.get(getattr(user.target, "_opname", ""))
    if schema is None or names is None:
        return None
    given = {
        argument.name: value for argument, value in zip(schema.arguments, user.args, strict=False)
    } | user.kwargs
    table, indices = given.get(names[0]), given.get(names[1])
    is_read = node is indices or (isinstance(indices, list | tuple) and node in indices)
    if not is_read or table is None:
        return None
    shape = table.meta["val"].shape
    if isinstance(indices, list | tuple):
        return min(int(x) for x, one in zip(shape, indices, strict=False) if one is not None)
    axis = given.get("dim", 0)
    return int(shape[axis]) if shape else 1


def _is_integer(value: Any) -> bool:
    return str(getattr(value, "dtype", "")).startswith(("int", "uint"))
