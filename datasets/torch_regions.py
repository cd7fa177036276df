"""Replace regions of programs of torch.export, such as code without gradients, by operators.

Code under `torch.no_grad` or `torch.autocast` is recorded as a call of a graph of its own. Its
operators are taken into the graph that calls it.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from boundmark.datasets.torch_schema import (
    TENSORS,
    list_in,
    named_argument,
    names_of,
    object_in,
    only_field,
)
from boundmark.problems.errors import InvalidInputError

_AUTOCAST = "torch.ops.higher_order.wrap_with_autocast"

# Calls of a region, as files name them.
REGIONS = frozenset({_AUTOCAST, "torch.ops.higher_order.wrap_with_set_grad_enabled"})

# Key of a call below `torch.autocast`: kind of device, type of elements by number, whether it is
# enabled, and whether casts are kept.
AUTOCAST = "autocast"

# Real programs have regions in regions only where modules are nested so.
DEEPEST = 20


def without_regions(graph: Mapping[str, Any], depth: int = DEEPEST) -> Mapping[str, Any]:
    """Return a graph with the operators of its regions, in the form that files have.

    Calls below `torch.autocast` have the settings of the innermost one under `AUTOCAST`.

    Raises
    ------
    InvalidInputError
        If a region is not what the schema says, or they are nested too deep.
    """
    calls = list_in(graph, "nodes")
    if not any(_is_region(call) for call in calls):
        return graph
    if not depth:
        raise InvalidInputError(f"regions are nested more than {DEEPEST} deep.")
    nodes: list[Any] = []
    types = dict(object_in(graph, "tensor_values"))
    sizes = dict(object_in(graph, "sym_int_values"))
    for call in calls:
        if not _is_region(call):
            nodes.append(call)
            continue
        inner, names = _region(call, types, depth)
        settings = _settings(call)
        nodes += [{**settings, **_renamed(one, names)} for one in list_in(inner, "nodes")]
        for name, kind in object_in(inner, "tensor_values").items():
            types.setdefault(names.get(name, name), kind)
        sizes = {**object_in(inner, "sym_int_values"), **sizes}
    return {**graph, "nodes": nodes, "tensor_values": types, "sym_int_values": sizes}


def _settings(call: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return what is noted at each call of a region."""
    if call["target"] != _AUTOCAST:
        return {}
    return {AUTOCAST: [named_argument(one)[2] for one in list_in(call, "inputs")[:4]]}


def _is_region(call: Any) -> bool:
    return isinstance(call, dict) and call.get("target") in REGIONS


def _region(
    call: Mapping[str, Any], taken: Mapping[str, Any], depth: int
) -> tuple[Mapping[str, Any], Mapping[str, str]]:
    """Return the graph that a call names, and what its tensors are called outside."""
    arguments = [named_argument(one) for one in list_in(call, "inputs")]
    at = next((at for at, (_, kind, _) in enumerate(arguments) if kind == "as_graph"), None)
    if at is None:
        raise InvalidInputError(f"{call['target']} names no graph; expected one.")
    inner = without_regions(object_in(arguments[at][2], "graph"), depth - 1)
    given = [name for _, kind, value in arguments[at + 1 :] for name in names_of(kind, value)]
    read = _names(list_in(inner, "inputs"))
    made = _names(list_in(inner, "outputs"))
    results = _names(list_in(call, "outputs"))
    if len(read) != len(given) or len(made) != len(results) or set(read) & set(made):
        raise InvalidInputError(
            f"{call['target']} gives {len(given)} tensors for {len(read)} and takes {len(results)} "
            f"of {len(made)}; expected as many, none of them handed through."
        )
    names = {
        name: f"{name}/{call.get('name')}" if name in taken else name
        for name in object_in(inner, "tensor_values")
    }
    pairs = [*zip(read, given, strict=True), *zip(made, results, strict=True)]
    return inner, {**names, **{name: other for name, other in pairs if name and other}}


def _names(arguments: Sequence[Any]) -> list[str | None]:
    return [name for one in arguments for name in names_of(*only_field(one, "an argument"))]


def _renamed(value: Any, names: Mapping[str, str], *, is_tensor: bool = False) -> Any:
    """Return JSON with other names of tensors, those below a field that holds tensors."""
    if isinstance(value, list):
        return [_renamed(one, names, is_tensor=is_tensor) for one in value]
    if not isinstance(value, dict):
        return value
    found = {
        key: _renamed(one, names, is_tensor=is_tensor or key in TENSORS)
        for key, one in value.items()
    }
    own = value.get("name")
    if is_tensor and isinstance(own, str):
        found["name"] = names.get(own, own)
    return found
