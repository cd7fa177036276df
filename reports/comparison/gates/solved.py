"""On how many instances methods deliver, how many optima are proven, and which tasks are gone."""

from collections.abc import Iterator

import pandas as pd

from boundmark.reports.comparison.finding import Finding, Verdict
from boundmark.reports.comparison.pairs import Pairs
from boundmark.reports.comparison.thresholds import Thresholds
from boundmark.reports.tables.rows import values_of
from boundmark.reports.text.number_text import count

DELIVERED = (("objective", "a verified solution"), ("bound_certified", "a certified bound"))


def solved_gate(pairs: Pairs, thresholds: Thresholds) -> Iterator[Finding]:
    """Yield the methods that have a solution, or a bound, on more or fewer instances."""
    values = [f"{column}_{side}" for column, _ in DELIVERED for side in ("base", "new")]
    both = pairs.both[["problem", "method", "instance_sha256", *values]]
    for (problem, method), tasks in both.groupby(["problem", "method"]):
        for column, what in DELIVERED:
            before, after = (_delivered(tasks, f"{column}_{side}") for side in ("base", "new"))
            found = _counted(before, after, thresholds.solved_lost, f"instances with {what}")
            if found:
                verdict, sentence = found
                yield Finding(
                    "solved", verdict, str(problem), str(method), f"{method} ({problem})", sentence
                )


def optimal_gate(pairs: Pairs, thresholds: Thresholds) -> Iterator[Finding]:
    """Yield the problems of which repeatable tasks prove more or fewer solutions optimal."""
    for problem, tasks in pairs.repeatable.groupby("problem"):
        before, after = (_optimal(tasks, side) for side in ("base", "new"))
        what = "instances proven optimal by repeatable tasks"
        found = _counted(before, after, thresholds.optimal_lost, what)
        if found:
            verdict, sentence = found
            yield Finding("optimal", verdict, str(problem), "", str(problem), sentence)


def missing_gate(pairs: Pairs, thresholds: Thresholds) -> Iterator[Finding]:
    """Yield the methods of which the new run lacks tasks that the old one had."""
    verdict: Verdict = "worse" if thresholds.missing_tasks == "worse" else "advice"
    for (problem, method), tasks in pairs.only_base.groupby(["problem", "method"]):
        reasons = tasks["why"].value_counts().sort_index()
        told = ", ".join(f"{reason}: {number}" for reason, number in reasons.items())
        first = tasks["label"].iloc[0]
        yield Finding(
            "missing",
            verdict,
            str(problem),
            str(method),
            f"{method} ({problem})",
            f"{count(len(tasks), 'task')} of BASE not in NEW ({told}), the first is {first}",
        )


def _delivered(tasks: pd.DataFrame, column: str) -> set[str]:
    return set(values_of(tasks.loc[tasks[column].notna(), "instance_sha256"]))


def _optimal(tasks: pd.DataFrame, side: str) -> set[str]:
    groups = tasks.groupby("instance_sha256")
    costs, bounds = groups[f"objective_{side}"].min(), groups[f"bound_certified_{side}"].max()
    return set(costs.index[(costs == bounds).fillna(False).astype(bool)])


def _counted(
    before: set[str], after: set[str], allowed: int, what: str
) -> tuple[Verdict, str] | None:
    """Return what to say of two numbers of instances; None if they are equal."""
    if len(before) == len(after):
        return None
    lost = len(before) - len(after)
    verdict: Verdict = "better" if lost < 0 else "worse" if lost > allowed else "advice"
    return verdict, f"{what}: {len(before)} before, {len(after)} now"
