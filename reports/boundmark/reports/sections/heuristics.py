"""How good each method's solutions are."""

from collections.abc import Sequence
from typing import Any

from boundmark.reports.analysis import Analysis
from boundmark.reports.number_text import decimal
from boundmark.reports.page import Plot, Section
from boundmark.reports.sections.bounds import COMMON
from boundmark.reports.sections.by_k import methods_by_k


def _ratio(value: Any) -> str:
    return decimal(value, 3)


def heuristic_section(analysis: Analysis, plots: Sequence[Plot]) -> Section | None:
    """Return the tables of solutions and their plot; None without solutions."""
    frame = analysis.heuristics_by_k
    if len(frame) == 0:
        return None
    frame = frame.fillna({"instances": 0, "delivered": 0, "common": 0, "wins": 0, "ties": 0})
    notes = [
        "Cells: geometric mean of UB/L, UB being the method's verified solution (seeds averaged "
        "within an instance) and L the simple lower bound max(max work, mean work) of Archer et "
        "al. (ICML 2024), Lemma 3.3; lower is better. n: instances with an L. "
        + _fallback(analysis),
        "Failures: what a task reported before it failed counts. Where a method found no "
        "solution, the instance is left out of its mean, and the cell says on how many of n it "
        "delivered. Not ok: tasks by status.",
        "Wins: instances on which the method's solution is better than all others', over all k. "
        "Ties: instances on which it shares the best. A failure wins nothing.",
    ]
    tables = [
        methods_by_k(
            frame,
            "Solutions relative to the simple lower bound",
            "mean",
            _ratio,
            notes,
            delivered="delivered",
            smaller_is_better=True,
            totals=("wins", "ties"),
        )
    ]
    if frame["method"].nunique() > 1 and (frame["delivered"] < frame["instances"]).any():
        tables.append(
            methods_by_k(
                frame,
                "Solutions on the instances that all methods share",
                "common_mean",
                _ratio,
                [COMMON],
                instances="common",
                smaller_is_better=True,
                with_statuses=False,
            )
        )
    return Section("Solutions", tuple(tables), tuple(plots))


def _fallback(analysis: Analysis) -> str:
    references = analysis.reference_bounds
    other = int((~references["is_simple"]).sum())
    if other == 0:
        return "Every one of these instances has both parts of L certified."
    return (
        f"On {other} of {len(references)} instances a part of L is not certified, and L is the "
        "best certified bound."
    )
