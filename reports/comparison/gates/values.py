"""Verified costs and certified bounds of tasks whose results do not depend on the clock."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd

from boundmark.reports.comparison.finding import Finding, Verdict, evidence
from boundmark.reports.comparison.pairs import Pairs
from boundmark.reports.comparison.thresholds import Thresholds
from boundmark.reports.text.number_text import integer


@dataclass(frozen=True)
class Value:
    """A column of values, and which way is worse.

    Attributes
    ----------
    gate, noun
        As in "the cost is 12 % higher".
    worse_up
        Whether a larger value is worse.
    """

    column: str
    gate: str
    noun: str
    worse_up: bool


OBJECTIVE = Value("objective", "objective", "verified cost", worse_up=True)
BOUND = Value("bound_certified", "bound", "certified bound", worse_up=False)


def objective_gate(pairs: Pairs, thresholds: Thresholds) -> Iterator[Finding]:
    """Yield the repeatable tasks whose verified cost differs."""
    return _changes(pairs.repeatable, OBJECTIVE, thresholds.objective_tolerance)


def bound_gate(pairs: Pairs, thresholds: Thresholds) -> Iterator[Finding]:
    """Yield the repeatable tasks whose certified bound differs."""
    return _changes(pairs.repeatable, BOUND, thresholds.bound_tolerance)


def _changes(tasks: pd.DataFrame, value: Value, tolerance: float) -> Iterator[Finding]:
    base, new = tasks[f"{value.column}_base"], tasks[f"{value.column}_new"]
    differs = (base != new).fillna(base.isna() != new.isna()).astype(bool)
    for row in tasks[differs].to_dict("records"):
        yield _change({str(name): x for name, x in row.items()}, value, tolerance)


def _change(row: Mapping[str, Any], value: Value, tolerance: float) -> Finding:
    before, after = row[f"{value.column}_base"], row[f"{value.column}_new"]
    if pd.isna(after):
        verdict, how = _worse(True), f"had {integer(before)}, now there is none"
    elif pd.isna(before):
        verdict, how = _worse(False), f"there was none, now {integer(after)}"
    else:
        rise = int(after) - int(before)
        is_worse = (rise > 0) == value.worse_up
        share = abs(rise) / abs(int(before)) if before else float("inf")
        # Within the tolerance, it is told and does not count.
        verdict = "advice" if is_worse and share <= tolerance else _worse(is_worse)
        how = f"{integer(before)} before, {integer(after)} now ({100 * share:.3g} % "
        how += "higher)" if rise > 0 else "lower)"
    return Finding(
        value.gate,
        verdict,
        str(row["problem"]),
        str(row["method"]),
        str(row["label"]),
        f"{value.noun}: {how}",
        evidence(row, value.column, "_base"),
        evidence(row, value.column, "_new"),
    )


def _worse(is_worse: bool) -> Verdict:
    return "worse" if is_worse else "better"
