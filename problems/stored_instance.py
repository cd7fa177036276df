"""The common part of our instances: identity by hash, and the head of the canonical JSON."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, ClassVar

from boundmark.problems.dag import Dag
from boundmark.problems.json_documents import (
    canonical_json,
    check_fields,
    check_format,
    check_lists,
    refuse_other_fields,
    sha256_hex,
)
from boundmark.problems.problem import INSTANCE_FORMAT


class StoredInstance(ABC):
    """An instance about a graph, identified by the hash of its canonical JSON.

    Attributes
    ----------
    problem
        Name of the problem, as `Problem.name`.
    """

    problem: ClassVar[str]

    @property
    @abstractmethod
    def dag(self) -> Dag:
        """The nodes of the instance, and which of them wait for which."""

    @abstractmethod
    def fields(self) -> dict[str, Any]:
        """Return all that the optimum depends on, as integers and texts."""

    @property
    def nodes(self) -> int:
        """Number of nodes, n."""
        return self.dag.nodes

    @property
    def edges(self) -> int:
        """Number of pairs of a producer and a consumer, m."""
        return self.dag.edges

    @property
    def is_redundant(self) -> bool:
        """Whether other parameters give the same problem; False unless a problem says otherwise."""
        return False

    @cached_property
    def sha256(self) -> str:
        """Hash of the canonical JSON."""
        return sha256_hex(canonical_json(self.to_json()))

    def to_json(self) -> dict[str, Any]:
        """Return the canonical form: the names of format and problem, then the fields."""
        return {"format": INSTANCE_FORMAT, "problem": self.problem, **self.fields()}

    @staticmethod
    def check_head(
        value: Mapping[str, Any],
        fields: Sequence[str],
        lists: Sequence[str],
        optional: Sequence[str] = (),
    ) -> None:
        """Refuse a document of another format, with other fields, or with no list in one.

        The checker refuses what is refused here, and the other way round.
        """
        check_format(value, INSTANCE_FORMAT)
        check_fields(value, fields)
        refuse_other_fields(value, ("format", "problem", *fields, *optional))
        check_lists(value, lists)


def numbers_as_names(count: int) -> tuple[str, ...]:
    """Return ``("0", "1", ...)``: names of nodes that a stored instance knows by number only."""
    return tuple(map(str, range(count)))
