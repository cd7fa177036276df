"""The contract of a file format, recognised by suffix and, if several share it, by content.

A package adds a format with an entry point in the group ``boundmark.formats`` that names a
`FileFormat` or a tuple of them.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

from boundmark.problems.catalog import registered
from boundmark.problems.errors import InvalidInputError


class UnknownDimensionError(InvalidInputError):
    """A size is given for a dimension that a model does not leave open.

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
    """

    name: str
    suffixes: tuple[str, ...]
    load: Callable[[Path], Any]
    recognises: Callable[[bytes], bool] | None = None
    load_with_dims: Callable[[Path, Mapping[str, int]], Any] | None = None


@cache
def formats() -> Mapping[str, FileFormat]:
    """Return every registered format by name; ours come first."""
    return registered("boundmark.formats", FileFormat)
