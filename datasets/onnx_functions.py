"""Functions defined in ONNX models: inlined, once it is known how large the model will be."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

import onnx.checker
import onnx.inliner
from onnx import FunctionProto, ModelProto, NodeProto

from boundmark.datasets.onnx_control_flow import bodies
from boundmark.datasets.onnx_operators import domain_of
from boundmark.problems.errors import InvalidInputError

# Domain, name and overload.
_Key: TypeAlias = tuple[str, str, str]


@dataclass(frozen=True)
class InliningLimits:
    """Largest size of a model with inlined functions; the largest real models are a tenth of that.

    Attributes
    ----------
    nodes
        In the whole model, and in any one function.
    mebibytes
        Of the same.
    depth
        Of functions that call one another.
    """

    nodes: int = 2**20
    mebibytes: int = 1024
    depth: int = 100


@dataclass(frozen=True)
class _Size:
    nodes: int = 0
    bytes: int = 0

    def __add__(self, other: "_Size") -> "_Size":
        return _Size(self.nodes + other.nodes, self.bytes + other.bytes)


def with_functions_inlined(
    model: ModelProto, limits: InliningLimits = InliningLimits()
) -> ModelProto:
    """Return a model with all functions inlined, after its size is counted.

    A file of two kilobytes can hold functions that double at each of a hundred levels.

    Raises
    ------
    InvalidInputError
        If a function calls itself, or the model would be larger than the limits allow.
    """
    if not model.functions:
        return model
    expansion = _Expansion({_key_of(one): one for one in model.functions}, limits)
    for key in expansion.functions:
        expansion.size_of(key, ())
    expansion.check("the model", expansion.size(model.graph.node, ()))
    try:
        return onnx.inliner.inline_local_functions(model)
    except (onnx.checker.ValidationError, RuntimeError, ValueError) as error:
        reason = " ".join(str(error).split())
        raise InvalidInputError(f"expected functions that can be inlined, found {reason}") from (
            error
        )


@dataclass
class _Expansion:
    """Counts what functions become, each once.

    Attributes
    ----------
    known
        Sizes of the functions counted so far.
    """

    functions: Mapping[_Key, FunctionProto]
    limits: InliningLimits
    known: dict[_Key, _Size] = field(default_factory=dict)

    def size_of(self, key: _Key, callers: tuple[_Key, ...]) -> _Size:
        """Return the size of a function once inlined, given its callers from the outermost on."""
        if key in self.known:
            return self.known[key]
        if key in callers:
            circle = " -> ".join(map(_shown, (*callers[callers.index(key) :], key)))
            raise InvalidInputError(
                f"function {_shown(key)} calls itself ({circle}); expected functions that do not."
            )
        if len(callers) >= self.limits.depth:
            raise InvalidInputError(
                f"function {_shown(callers[0])} leads to calls nested more than "
                f"{self.limits.depth} deep."
            )
        found = self.size(self.functions[key].node, (*callers, key))
        self.check(f"function {_shown(key)}", found)
        self.known[key] = found
        return found

    def size(self, nodes: Iterable[NodeProto], callers: tuple[_Key, ...]) -> _Size:
        """Return the size of nodes once inlined, with those of their bodies."""
        total = _Size()
        for node in nodes:
            key = (domain_of(node.domain), node.op_type, node.overload)
            inside = bodies(node)
            total += _Size(1, node.ByteSize())
            for body in inside:
                total += self.size(body.node, callers)
            if key in self.functions:
                total += self.size_of(key, callers)
        return total

    def check(self, what: str, size: _Size) -> None:
        """Raise `InvalidInputError` if something is larger than the limits allow."""
        if size.nodes > self.limits.nodes:
            raise InvalidInputError(
                f"{what} has {size.nodes:,} nodes once functions are inlined; expected at most "
                f"{self.limits.nodes:,}."
            )
        if size.bytes > self.limits.mebibytes << 20:
            raise InvalidInputError(
                f"{what} has {size.bytes >> 20:,} MiB once functions are inlined; expected at most "
                f"{self.limits.mebibytes:,}."
            )


def _key_of(function: FunctionProto) -> _Key:
    return domain_of(function.domain), function.name, function.overload


def _shown(key: _Key) -> str:
    return repr(".".join(filter(None, key)))
