"""How strong each lower bound is."""

from typing import Any

from boundmark.reports.analysis import Analysis
from boundmark.reports.number_text import decimal
from boundmark.reports.page import Section
from boundmark.reports.sections.by_k import methods_by_k
from boundmark.reports.tables.bounds_by_k import BEST

UPPER = (
    "Cells: geometric mean of LB/UB, UB being the best verified solution of the instance over all "
    "methods; 1 is best. n: instances with a UB."
)
CHARGED = (
    "Failures: what a task reported before it failed counts. Where a method delivered no bound, "
    "the instance is left out of its mean, and the cell says on how many of n it delivered; a "
    "bound of 0 counts as none. Not ok: tasks by status."
)
COMMON = (
    "The same over the n instances on which every method that delivered at all for this k did so: "
    "only these numbers compare methods on equal terms."
)


def _ratio(value: Any) -> str:
    return decimal(value, 4)


def bound_section(analysis: Analysis) -> Section | None:
    """Return the tables of certified and of claimed bounds; None without bound methods."""
    tables = []
    frame = analysis.bounds_by_k
    for name, word in (("certified", "Certified"), ("claimed", "Claimed")):
        delivered = f"{name}_delivered"
        having = frame[frame.groupby("method")[delivered].transform("sum") > 0]
        if len(having) == 0:
            continue
        several = having["method"].nunique() > 2
        if not several:
            having = having[having["method"] != BEST]
        notes = [UPPER, CHARGED]
        if name == "claimed":
            notes.append(
                "A claim is a solver's floating-point word. Claims above a verified solution are "
                "listed among the failed tasks and left out of the means."
            )
        table = methods_by_k(
            having,
            f"{word} lower bounds relative to the best solution",
            f"{name}_mean",
            _ratio,
            notes,
            delivered=delivered,
            smaller_is_better=False,
            last=BEST,
        )
        tables.append(table)
        if several and (having[delivered] < having["instances"]).any():
            tables.append(
                methods_by_k(
                    having,
                    f"{word} lower bounds on the instances that all methods share",
                    f"{name}_common_mean",
                    _ratio,
                    [COMMON],
                    instances=f"{name}_common",
                    smaller_is_better=False,
                    last=BEST,
                    with_statuses=False,
                )
            )
    return Section("Lower bounds", tuple(tables)) if tables else None
