"""Registry of exporters: certificates written in formats that third-party programs check.

A package adds a format with an entry point in the group ``boundmark.exporters`` that names an
`Exporter`.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from boundmark.problems.catalog import registered


def one_file(instance: dict[str, Any]) -> int:
    """Return 1, the number of files of a certificate with a single statement."""
    return 1


@dataclass(frozen=True)
class Exporter:
    """How certificates of one kind are written, each as one file or several.

    Attributes
    ----------
    kind
        Kind of certificate, with its version.
    format
        Name of the format.
    write
        Writes what a certificate proves of an instance, both in their stored form and accepted by
        the checker; returns how much was written, in words. Raises `InvalidInputError` if the
        format cannot say it. Where there are several files, it gets the number of one, from 0 up,
        as fourth argument.
    files
        Returns how many files there are for a certificate of an instance, in its stored form.
    """

    problem: str
    kind: str
    format: str
    write: Callable[..., str]
    files: Callable[[dict[str, Any]], int] = one_file

    @property
    def name(self) -> str:
        """The key in the registry: kinds of different problems may be called the same."""
        return f"{self.problem} {self.kind}"


@cache
def exporters() -> Mapping[str, Exporter]:
    """Return every registered exporter by problem and kind."""
    return registered("boundmark.exporters", Exporter)
