"""Build programs of `torch.fx` from the JSON that `torch.export.save` stores.

Nothing of a file is evaluated: operators are looked up among those of ATen by name, and sizes that
the program leaves open are those of the example that it was recorded with.
"""

from collections.abc import Callable, Mapping, Sequence
from operator import getitem
from typing import Any

from boundmark.datasets.torch_file import DTYPES
from boundmark.datasets.torch_schema import (
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
from boundmark.datasets.torch_writes import VIEWS, StoredTensor, is_write
from boundmark.datasets.zoo.export.aten import SAME
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
