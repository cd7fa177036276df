"""Damaged documents."""

from collections.abc import Iterator
from typing import Any

from hypothesis import strategies as st


def mutants(value: Any) -> Iterator[Any]:
    """Yield the value with one thing changed, everywhere and in many ways."""
    if isinstance(value, dict):
        yield {**value, "more": 1}
        for key in value:
            yield {other: value[other] for other in value if other != key}
            for mutant in mutants(value[key]):
                yield {**value, key: mutant}
    elif isinstance(value, list):
        for i in range(len(value)):
            yield value[:i] + value[i + 1 :]
            yield [*value[:i], value[i], *value[i:]]
            yield [*value[:i], *value[i + 1 : i + 2], value[i], *value[i + 2 :]]
            for mutant in mutants(value[i]):
                yield [*value[:i], mutant, *value[i + 1 :]]
    elif isinstance(value, int):
        yield from {value - 1, value + 1, -value, 0, 10 * value, value // 10, value + 2**60} - {
            value
        }
        yield from (float(value), str(value), True, None, [value])
    elif isinstance(value, str):
        yield from (value + "1", value[:-1], value.upper(), 1, None)


# Whatever a JSON reader can return, with some names that documents use.
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda children: (
        st.lists(children, max_size=4)
        | st.dictionaries(
            st.sampled_from(
                [
                    "node",
                    "io_weight",
                    "edges",
                    "amounts",
                    "flows",
                    "threshold",
                    "ignored",
                    "device",
                    "blocks",
                    "pairs",
                ]
            ),
            children,
            max_size=4,
        )
    ),
    max_leaves=20,
)
