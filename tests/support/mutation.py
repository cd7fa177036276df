"""Damaged documents."""

import random
from collections.abc import Iterator, Sequence
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


def mutated(value: Any, dice: random.Random, donors: Sequence[Any] = (0, [], {}, None)) -> Any:
    """Return the value with one thing changed at a random place; the value itself stays.

    Parameters
    ----------
    donors
        What a part may be replaced by as a whole.
    """
    if dice.random() < 0.02:
        return dice.choice(donors)
    if type(value) is dict and value:
        key = dice.choice(list(value))
        if dice.random() < 0.05:
            return _changed_fields(value, key, dice)
        return {**value, key: mutated(value[key], dice, donors)}
    if type(value) is list and value:
        if dice.random() < 0.25:
            return _changed_list(value, dice)
        i = dice.randrange(len(value))
        return [*value[:i], mutated(value[i], dice, donors), *value[i + 1 :]]
    if type(value) is int:
        return _changed_integer(value, dice)
    if type(value) is str:
        return dice.choice([value + "1", value[:-1], value.upper(), 1])
    return dice.choice(donors)


def _changed_fields(value: dict[str, Any], key: str, dice: random.Random) -> dict[str, Any]:
    others = {name: value[name] for name in value if name != key}
    return dice.choice([others, {**others, key + "_": value[key]}, {**value, "more": 1}])


def _changed_list(value: list[Any], dice: random.Random) -> list[Any]:
    i, j = dice.randrange(len(value)), dice.randrange(len(value))
    swapped = list(value)
    swapped[i], swapped[j] = value[j], value[i]
    return dice.choice(
        [
            value[:i] + value[i + 1 :],
            [*value[:i], value[j], *value[i:]],
            [*value[:i], dice.randrange(9), *value[i:]],
            [*value, value[j]],
            swapped,
            dice.sample(value, len(value)),
            value[:i],
            [],
        ]
    )


def _changed_integer(value: int, dice: random.Random) -> Any:
    return dice.choice(
        [
            value + 1,
            value - 1,
            value + dice.randrange(-9, 10),
            dice.randrange(12),
            dice.randrange(-2, 100),
            -value,
            2 * value,
            value // 2,
            0,
            value + dice.choice([2**31, 2**53, 2**60, 2**80]),
            str(value),
            dice.choice([True, None, [value], float(value)]),
        ]
    )


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
