"""Read the JSON of torch.export's schema: unions with one field, sizes, named tensors, regions.

Code under `torch.no_grad` or `torch.autocast` is recorded as a call of a graph of its own, a
region. Its operators are taken into the graph that calls it. Whatever is not what the schema says
is an `InvalidInputError`.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from boundmark.problems.errors import InvalidInputError, quoted

SEVERAL = frozenset({"as_tensors", "as_optional_tensors"})
TENSORS = SEVERAL | {"as_tensor", "as_optional_tensor"}


def names_of(kind: str, value: Any) -> tuple[str | None, ...]:
    """Return the names of the tensors of an argument; None where one is left out."""
    if kind == "as_tensor":
        return (text_in(an_object(value), "name"),)
    if kind == "as_optional_tensor":
        inner, content = only_field(value, "a tensor")
        return names_of(inner, content) if inner == "as_tensor" else (None,)
    if kind == "as_tensors" and isinstance(value, list):
        return tuple(text_in(an_object(one), "name") for one in value)
    if kind == "as_optional_tensors" and isinstance(value, list):
        return tuple(names_of("as_optional_tensor", one)[0] for one in value)
    if kind in TENSORS:
        raise InvalidInputError(f"{kind} is {quoted(value)}; expected a list.")
    return ()


def named_argument(argument: Any) -> tuple[str, str, Any]:
    """Return an argument's name, kind and value."""
    table = an_object(argument)
    return (text_in(table, "name"), *only_field(table.get("arg"), "an argument"))


def only_field(union: Any, what: str) -> tuple[str, Any]:
    """Return the name and the value of the one field of a union."""
    if not isinstance(union, dict) or len(union) != 1:
        raise InvalidInputError(f"{what} is {quoted(union)}; expected an object with one field.")
    return next(iter(union.items()))


def a_size(value: Any) -> int:
    """Return a size, or that of the example from which the program was recorded."""
    kind, size = only_field(value, "a size")
    if kind == "as_int":
        return an_integer(size)
    hint = an_object(size).get("hint")
    if hint is None:
        raise InvalidInputError(
            f"the size {quoted(size.get('expr_str'))} depends on the data; expected fixed sizes."
        )
    return an_integer(an_object(hint).get("as_int"))


def an_integer(value: Any) -> int:
    """Return an integer of 64 bits."""
    if not _is_integer(value):
        raise InvalidInputError(f"a size is {quoted(value)}; expected an integer of 64 bits.")
    return int(value)


def _is_integer(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and -(2**63) <= value < 2**63


def _all(check: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, list) and all(map(check, value))


def _is_number(value: Any) -> bool:
    # Infinity and the like are texts.
    return isinstance(value, int | float | str)


# Kinds of arguments that are handed on, and what their values are.
PLAIN: Mapping[str, Callable[[Any], bool]] = MappingProxyType(
    {
        "as_int": _is_integer,
        "as_ints": _all(_is_integer),
        "as_float": _is_number,
        "as_floats": _all(_is_number),
        "as_bool": lambda value: isinstance(value, bool),
        "as_bools": _all(lambda value: isinstance(value, bool)),
        "as_string": lambda value: isinstance(value, str),
    }
)


def module_stack(call: Mapping[str, Any]) -> Mapping[str, tuple[str, str]]:
    """Return the modules around a call, the innermost last: by key, path and type."""
    metadata = object_in(call, "metadata")
    stack = metadata.get("nn_module_stack")
    if not stack:
        return {}
    if not isinstance(stack, str):
        raise InvalidInputError(f"nn_module_stack is {quoted(stack)}; expected a text.")
    found = {}
    for entry in stack.split(";"):
        parts = list(_split(entry))
        if len(parts) != 3:
            raise InvalidInputError(
                f"nn_module_stack has {quoted(entry)}; expected a key, a path and a type."
            )
        found[parts[0]] = (parts[1], parts[2])
    return found


def _split(text: str) -> Iterable[str]:
    """Yield what commas outside brackets separate."""
    start, depth = 0, 0
    for at, letter in enumerate(text):
        depth += (letter in "[(") - (letter in ")]")
        if letter == "," and not depth:
            yield text[start:at]
            start = at + 1
    yield text[start:]


def an_object(value: Any) -> Mapping[str, Any]:
    """Return an object."""
    if not isinstance(value, dict):
        raise InvalidInputError(f"found {quoted(value)}; expected an object.")
    return value


def object_in(table: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """Return the object in a field."""
    value = table.get(name)
    if not isinstance(value, dict):
        raise InvalidInputError(f"{quoted(name)} is {quoted(value)}; expected an object.")
    return value


def list_in(table: Mapping[str, Any], name: str) -> list[Any]:
    """Return the list in a field."""
    value = table.get(name)
    if not isinstance(value, list):
        raise InvalidInputError(f"{quoted(name)} is {quoted(value)}; expected a list.")
    return value


def text_in(table: Mapping[str, Any], name: str) -> str:
    """Return the text in a field."""
    value = table.get(name)
    if not isinstance(value, str):
        raise InvalidInputError(f"{quoted(name)} is {quoted(value)}; expected a text.")
    return value


# Calls of a region, as files name them.
REGIONS = frozenset(
    {
        "torch.ops.higher_order.wrap_with_autocast",
        "torch.ops.higher_order.wrap_with_set_grad_enabled",
    }
)

# Real programs have regions in regions only where modules are nested so.
DEEPEST = 20


def without_regions(graph: Mapping[str, Any], depth: int = DEEPEST) -> Mapping[str, Any]:
    """Return a graph with the operators of its regions, in the form that files have."""
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
        nodes += [_renamed(one, names) for one in list_in(inner, "nodes")]
        for name, kind in object_in(inner, "tensor_values").items():
            types.setdefault(names.get(name, name), kind)
        sizes = {**object_in(inner, "sym_int_values"), **sizes}
    return {**graph, "nodes": nodes, "tensor_values": types, "sym_int_values": sizes}


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
