"""The section on lower bounds: how strong each is."""

from typing import Any

import pandas as pd

from boundmark.reports.pages.page import Section, Table
from boundmark.reports.problem_report import ProblemResults, Tables
from boundmark.reports.sections.page_tables import COMMON, Shown, methods_by_parameter
from boundmark.reports.tables.by_parameter import BEST
from boundmark.reports.text import decimal

UPPER = (
    "Cells: geometric mean of LB/UB, where UB is the best verified solution of the instance by "
    "any method; 1 is best. n: instances with a UB."
)
CHARGED = (
    "Failures: results that a task reported before it failed count. If a method delivered no "
    "bound, the instance is left out of its mean, and the cell says on how many of n it "
    "delivered; a bound of 0 counts as none. Not ok: tasks by status."
)
CLAIMS = (
    "A claim is a bound that a solver reports in floating point, without a certificate. Claims "
    "above a verified solution are listed among the failed tasks and left out of the means."
)


def bound_section(results: ProblemResults, tables: Tables) -> Section | None:
    """Return the tables of certified and of claimed bounds; None without bound methods."""
    frame = tables[results.grouping.named("bounds")]
    found = [
        table
        for name, word in (("certified", "Certified"), ("claimed", "Claimed"))
        for table in _tables(results, frame, name, word)
    ]
    return Section("Lower bounds", tuple(found)) if found else None


def _tables(results: ProblemResults, frame: pd.DataFrame, name: str, word: str) -> list[Table]:
    delivered = f"{name}_delivered"
    having = frame[frame.groupby("method")[delivered].transform("sum") > 0]
    if len(having) == 0:
        return []
    several = having["method"].nunique() > 2
    if not several:
        having = having[having["method"] != BEST]
    shown = Shown(f"{name}_mean", _ratio, delivered=delivered, smaller_is_better=False, last=BEST)
    title = f"{word} lower bounds relative to the best solution"
    notes = [UPPER, CHARGED, *([CLAIMS] if name == "claimed" else [])]
    tables = [methods_by_parameter(having, results.grouping, title, shown, notes)]
    is_partial = (having[delivered] < having["instances"]).any()
    if several and is_partial and (having[f"{name}_common"] > 0).any():
        shown = Shown(
            f"{name}_common_mean", _ratio, instances=f"{name}_common",
            smaller_is_better=False, last=BEST, with_statuses=False,
        )  # fmt: skip
        title = f"{word} lower bounds on the instances that all methods share"
        tables.append(methods_by_parameter(having, results.grouping, title, shown, [COMMON]))
    return tables


def _ratio(value: Any) -> str:
    return decimal(value, 4)
