"""Read the JSON of torch.export's schema: unions with one field, sizes, and named tensors.

Whatever is not what the schema says is an `InvalidInputError`.
"""

from collections.abc import Callable, Iterable, Mapping
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
