"""Which types of operators an inference backend runs as one, in which order."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import TypeAlias

from boundmark.problems.errors import InvalidInputError

# Types in the order in which they feed each other, e.g. ("Conv", "Relu").
Types: TypeAlias = tuple[str, ...]


@dataclass(frozen=True)
class FusionRules:
    """A set of rules, each a sequence of at least two types."""

    rules: tuple[Types, ...]

    def __post_init__(self) -> None:
        for rule in self.rules:
            if len(rule) < 2 or not all(isinstance(one, str) and one for one in rule):
                raise InvalidInputError(
                    f"a fusion rule is {rule!r}; expected at least two types of operators."
                )

    @cached_property
    def _whole(self) -> frozenset[Types]:
        return frozenset(self.rules)

    @cached_property
    def _parts(self) -> frozenset[Types]:
        return frozenset(
            rule[first:last]
            for rule in self.rules
            for first in range(len(rule))
            for last in range(first + 2, len(rule) + 1)
            if last - first < len(rule)
        )

    def is_rule(self, types: Types) -> bool:
        """Whether the types are a whole rule."""
        return types in self._whole

    def is_part(self, types: Types) -> bool:
        """Whether the types are some, but not all, next to each other in a rule."""
        return types in self._parts


def _with_sums(rules: Iterable[Types]) -> tuple[Types, ...]:
    """Return the rules, and those with Add also with Sum, which some exporters write instead."""
    both = ((rule, tuple("Sum" if one == "Add" else one for one in rule)) for rule in rules)
    return tuple(dict.fromkeys(rule for pair in both for rule in pair))


# Table I of the paper, in ONNX's words.
_TABLE_I: tuple[Types, ...] = (
    ("Conv", "BatchNormalization"),
    ("Conv", "BatchNormalization", "Relu"),
    ("Conv", "BatchNormalization", "Add", "Relu"),
)

# What common backends fuse beyond that: activations with what they follow, a normalisation that is
# written as three operators, and products with their bias.
_MORE: tuple[Types, ...] = (
    ("Conv", "Relu"),
    ("Conv", "Add"),
    ("Conv", "Add", "Relu"),
    ("Conv", "BatchNormalization", "Mul", "Add"),
    ("Conv", "BatchNormalization", "Mul", "Add", "Relu"),
    ("BatchNormalization", "Relu"),
    ("BatchNormalization", "Mul", "Add"),
    ("BatchNormalization", "Mul", "Add", "Relu"),
    ("Gemm", "Relu"),
    ("MatMul", "Add"),
    ("MatMul", "Add", "Relu"),
    ("MatMul", "Add", "Gelu"),
    ("Add", "LayerNormalization"),
)

RULE_SETS: Mapping[str, FusionRules] = MappingProxyType(
    {
        "moirai": FusionRules(_with_sums(_TABLE_I)),
        "backends": FusionRules(_with_sums((*_TABLE_I, *_MORE))),
    }
)
