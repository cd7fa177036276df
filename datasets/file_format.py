"""The contract of a file format, and what readers of models share.

A format is recognised by suffix and, if several share it, by content.

A package adds a format with an entry point in the group ``boundmark.formats`` that names a
`FileFormat` or a tuple of them.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

from boundmark.problems.computation_graph import LEFT_OUT, Operator, Tensor, arithmetic_dtype
from boundmark.problems.entry_points import registered
from boundmark.problems.errors import InvalidInputError


class UnknownDimensionError(InvalidInputError):
    """Raised if a size is given for a dimension that a model does not leave open.

    Attributes
    ----------
    known
        The names of those that it does.
    """

    def __init__(self, message: str, known: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.known = known


# Sizes of open dimensions, none of which are given.
NO_DIMS: Mapping[str, int] = MappingProxyType({})


@dataclass(frozen=True)
class FileFormat:
    """A file format, and how to read files of it.

    Attributes
    ----------
    suffixes
        With the dot, in lower case.
    load
        Returns what a file holds: one of `Problem.sources`. Raises `InvalidInputError` if the file
        is not what its suffix says.
    recognises
        Tells by a file's content whether it is of this format, for formats that share a suffix.
        Files that no such format recognises are for the first one without it.
    load_with_dims
        Like `load`, with the sizes of dimensions that a file leaves open, by name; None if files
        of this format leave none open.
    families
        Families of models that are known, each with other names of the same; none if a file says
        all of a model itself.
    """

    name: str
    suffixes: tuple[str, ...]
    load: Callable[[Path], Any]
    recognises: Callable[[bytes], bool] | None = None
    load_with_dims: Callable[[Path, Mapping[str, int]], Any] | None = None
    families: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


@cache
def formats() -> Mapping[str, FileFormat]:
    """Return every registered format by name; ours come first."""
    return registered("boundmark.formats", FileFormat)


# Examples in a note; more would fill the screen.
MOST_NAMED = 3


class Notes:
    """Collects notes about operators; equal ones are counted."""

    def __init__(self) -> None:
        self._found: dict[tuple[str, str], list[str]] = {}

    def add(self, op_type: str, what: str, name: str) -> None:
        """Add a note about an operator.

        Parameters
        ----------
        what
            A clause that follows "operators of type ..."; equal clauses are told once.
        """
        self._found.setdefault((op_type, what), []).append(name)

    def sentences(self) -> Iterable[str]:
        """Yield one sentence for each kind of note."""
        for (op_type, what), names in self._found.items():
            shown = ", ".join(map(repr, names[:MOST_NAMED]))
            more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
            plural = "operator" if len(names) == 1 else "operators"
            yield f"{len(names)} {plural} of type {op_type}, {what}: {shown}{more}"


# This stands for operators that say no more than their first input does.
_NOTHING_KNOWN: Mapping[str, Mapping[str, int]] = MappingProxyType({})


def main_dtype(
    operators: Sequence[Operator],
    tensors: Sequence[Tensor],
    known: Mapping[str, Mapping[str, int]] = _NOTHING_KNOWN,
) -> str:
    """Return the type in which most arithmetic is done, judged by each operator's first input.

    ``"float32"`` if there is none.

    Parameters
    ----------
    known
        Of operators by name, the operations by type, where the first input does not say it: it may
        be the condition of those that run others, or a quantised constant.
    """
    arithmetic: Counter[str] = Counter()
    for operator in operators:
        if operator.name in known:
            arithmetic.update(known[operator.name])
            continue
        given = [number for number in operator.reads if number != LEFT_OUT]
        if operator.flops and given:
            arithmetic[arithmetic_dtype(tensors[given[0]].dtype)] += operator.flops
    return max(arithmetic, key=arithmetic.__getitem__, default="float32")


# A product or convolution has data, weights and bias.
_MOST_INPUTS = 3


def with_scales(reads: Sequence[int], scales: Iterable[int]) -> tuple[int, ...]:
    """Return what an operator reads, with the scales of its quantised weights behind all inputs.

    So none of them is taken for a bias. Each stands there once; zero points count as scales.
    """
    several = dict.fromkeys(scales)
    left_out = (LEFT_OUT,) * (_MOST_INPUTS - len(reads)) if several else ()
    return (*reads, *left_out, *several)
