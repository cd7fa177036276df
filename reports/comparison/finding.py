"""Findings of a comparison: one difference each, its evidence, and whether it counts."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import pandas as pd

# "worse" makes the comparison fail; "advice" and "better" are only told.
Verdict: TypeAlias = Literal["worse", "better", "advice"]


@dataclass(frozen=True)
class Evidence:
    """The task behind one side of a difference.

    Attributes
    ----------
    value
        Cost or bound in ticks; None if there is none.
    solution, certificate
        Hashes of the documents, which are `solutions/<hash>.json` and `certificates/<hash>.json`.
    """

    task_id: str
    status: str
    value: int | None
    solution: str | None
    certificate: str | None

    def to_json(self) -> dict[str, Any]:
        """Return the evidence as JSON values."""
        return dict(vars(self))


@dataclass(frozen=True)
class Finding:
    """One difference.

    Attributes
    ----------
    gate
        Which comparison found it, e.g. ``"objective"``.
    subject
        What differs, in words: a task, or a method and a problem.
    sentence
        How.
    base, new
        The tasks, if the difference is about one.
    """

    gate: str
    verdict: Verdict
    problem: str
    method: str
    subject: str
    sentence: str
    base: Evidence | None = None
    new: Evidence | None = None

    def to_json(self) -> dict[str, Any]:
        """Return the finding as JSON values."""
        return {
            **vars(self),
            "base": self.base and self.base.to_json(),
            "new": self.new and self.new.to_json(),
        }


def evidence(row: Mapping[Any, Any], column: str, side: str = "") -> Evidence:
    """Return the evidence that a row gives for a column.

    Parameters
    ----------
    side
        ``"_base"`` or ``"_new"`` for rows of pairs.
    """
    value = row[f"{column}{side}"]
    return Evidence(
        task_id=str(row[f"task_id{side}"]),
        status=str(row[f"status{side}"]),
        value=None if pd.isna(value) else int(value),
        solution=_text(row[f"solution_sha256{side}"]),
        certificate=_text(row[f"certificate_sha256{side}"]),
    )


def _text(value: Any) -> str | None:
    return None if pd.isna(value) else str(value)
