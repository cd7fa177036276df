"""The contract of a data set: named graphs or other sources of instances that load on demand."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from boundmark.problems.errors import InvalidInputError


@dataclass(frozen=True)
class Dataset:
    """A named collection of graphs or of whatever else problems make instances of.

    Attributes
    ----------
    name
        First part of an instance's name, e.g. ``"onnx-light"`` of ``"onnx-light/resnet50"``.
    source
        Type of its members: problems whose `Problem.sources` has it can use them. A
        `ComputationGraph` if a device has to be chosen first, or what a problem declares.
    summary
        One sentence for `boundmark datasets`, with the source.
    members
        Returns the second parts, in the order in which tables list them.
    load
        Returns one member. Raises `UnknownNameError` for a name that no member has.
    about
        Returns what is known of a member's origin, by name, as JSON values; raises likewise.
    """

    name: str
    source: type
    summary: str
    members: Callable[[], tuple[str, ...]]
    load: Callable[[str], Any]
    about: Callable[[str], Mapping[str, Any]] = lambda member: {}

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name or "/" in self.name:
            raise InvalidInputError(
                f"a data set is called {self.name!r}; expected a text without a slash."
            )
        if not isinstance(self.source, type):
            raise InvalidInputError(
                f"data set {self.name!r} declares the source {self.source!r}; expected a type."
            )
        for name in ("members", "load", "about"):
            if not callable(getattr(self, name)):
                raise InvalidInputError(
                    f"data set {self.name!r} has {getattr(self, name)!r} for {name}; "
                    "expected a function."
                )
