"""Compares two runs: gates on facts decide; times and clock-bound results are advice."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import pandas as pd

from boundmark.reports.comparison.advice import (
    Machine,
    PairedRatio,
    advice,
    clock_ratios,
    time_ratios,
    version_gate,
)
from boundmark.reports.comparison.gates import (
    Finding,
    bound_gate,
    consistency_gate,
    failure_gate,
    missing_gate,
    objective_gate,
    optimal_gate,
    solved_gate,
    verification_gate,
)
from boundmark.reports.comparison.pairs import Pairs, pair_tasks
from boundmark.reports.comparison.recorded_run import RecordedRun
from boundmark.reports.comparison.thresholds import Thresholds, default_thresholds
from boundmark.reports.stored.run_label import RunLabel
from boundmark.reports.text import count

SAME, WORSE, NOTHING = 0, 1, 3

# Methods in the sentence on what is worse.
MOST_NAMED = 5

OUTCOMES = {SAME: "same or better", WORSE: "worse", NOTHING: "nothing compared"}


@dataclass(frozen=True)
class Comparison:
    """The findings of a comparison of two runs.

    Attributes
    ----------
    compared
        Tasks of which at least one run knows anything, and both have it.
    repeatable
        Those of them whose results did not depend on the clock.
    only_base, only_new
        Tasks that only one run has.
    findings
        Those that make NEW worse first, the largest changes before others, then those of methods
        that were changed on purpose, then advice, then what is better.
    ratios
        By method, of times and of results that depend on the clock.
    notes
        What a reader has to know, as sentences.
    """

    base: RunLabel
    new: RunLabel
    base_path: str
    new_path: str
    compared: int
    repeatable: int
    only_base: int
    only_new: int
    findings: tuple[Finding, ...]
    ratios: tuple[PairedRatio, ...]
    notes: tuple[str, ...]

    @property
    def exit_code(self) -> int:
        """Exit code: 0 if NEW is not worse, 1 if it is, 3 if nothing was compared."""
        if self.of("worse"):
            return WORSE
        return SAME if self.compared else NOTHING

    @property
    def outcome(self) -> str:
        """The outcome as a word."""
        return OUTCOMES[self.exit_code]

    def of(self, verdict: str) -> tuple[Finding, ...]:
        """Return the findings with a verdict."""
        return tuple(finding for finding in self.findings if finding.verdict == verdict)

    @property
    def sentence(self) -> str:
        """The outcome and why, in one line: which methods are worse, how often, by which gate."""
        counts = Counter((one.method or "all", one.gate) for one in self.of("worse"))
        if not counts:
            none = f"none of {self.compared:,} compared tasks is worse"
            return f"NEW is {self.outcome}: {none}." if self.compared else "Nothing compared."
        by_method: dict[str, list[str]] = {}
        for (method, gate), number in counts.most_common():
            by_method.setdefault(method, []).append(f"{gate} {number}")
        named = [f"{method} ({', '.join(gates)})" for method, gates in by_method.items()]
        more = len(named) - MOST_NAMED
        told = [*named[:MOST_NAMED], *([count(more, "more method")] if more > 0 else [])]
        return f"NEW is worse: {'; '.join(told)}."

    def to_json(self) -> dict[str, Any]:
        """Return the comparison as JSON values."""
        return {
            **vars(self),
            "sentence": self.sentence,
            "base": self.base.to_json(),
            "new": self.new.to_json(),
            "findings": [finding.to_json() for finding in self.findings],
            "ratios": [ratio.to_json() for ratio in self.ratios],
            "outcome": self.outcome,
            "exit_code": self.exit_code,
        }


def compare_runs(
    base: RecordedRun, new: RecordedRun, thresholds: Thresholds | None = None
) -> Comparison:
    """Compare two runs, task by task.

    Parameters
    ----------
    thresholds
        Beyond which NEW counts as worse; those of `compare.toml` if left out.
    """
    thresholds = thresholds or default_thresholds()
    pairs, machine = pair_tasks(base, new, thresholds), Machine.of(base, new)
    times, clock = time_ratios(pairs, machine, thresholds), clock_ratios(pairs)
    findings = [
        *verification_gate(new),
        *consistency_gate(base, new),
        *failure_gate(pairs, thresholds),
        *version_gate(pairs, thresholds),
        *objective_gate(pairs, thresholds),
        *bound_gate(pairs, thresholds),
        *solved_gate(pairs, thresholds),
        *optimal_gate(pairs, thresholds),
        *missing_gate(pairs, thresholds),
        *advice(clock, thresholds.clock_tolerance, thresholds.least_pairs, "clock"),
        *advice(times, thresholds.time_tolerance, thresholds.least_pairs, "time"),
    ]
    known = _known(pairs.both)
    return Comparison(
        base=base.label,
        new=new.label,
        base_path=str(base.path),
        new_path=str(new.path),
        compared=int(known.sum()),
        repeatable=int((known & pairs.both["repeatable"]).sum()),
        only_base=len(pairs.only_base),
        only_new=len(pairs.only_new),
        findings=tuple(_ordered(findings)),
        ratios=(*times, *clock),
        notes=tuple(_notes(base, new, pairs, machine)),
    )


def _known(both: pd.DataFrame) -> "pd.Series[bool]":
    """Return which tasks left more than a failure in at least one of the runs."""
    columns = ("objective", "bound_certified", "bound_claimed")
    values = both[[f"{name}_{side}" for name in columns for side in ("base", "new")]].notna()
    ok = (both[["status_base", "status_new"]] == "ok").any(axis=1)
    known: pd.Series[bool] = values.any(axis=1) | ok
    return known


def _ordered(findings: Iterable[Finding]) -> list[Finding]:
    order = {"worse": 0, "changed": 1, "advice": 2, "better": 3}
    return sorted(
        findings,
        key=lambda one: (order[one.verdict], -one.change if one.verdict == "worse" else 0.0),
    )


def _notes(base: RecordedRun, new: RecordedRun, pairs: Pairs, machine: Machine) -> Iterable[str]:
    for name, run in (("BASE", base), ("NEW", new)):
        if run.tasks.empty:
            yield f"{name} ({run.path}) holds no results."
        elif not run.environments:
            yield f"{name} ({run.path}) does not say which commit and versions it was run with."
    if len(base.unsupported):
        yield (
            f"{len(base.unsupported)} costs or bounds of BASE have no document that supports them "
            "and count as missing; `boundmark verify` says which."
        )
    for name, one in (("BASE", pairs.only_base), ("NEW", pairs.only_new)):
        if len(one):
            reasons = one["why"].value_counts().sort_index()
            told = ", ".join(f"{reason}: {number}" for reason, number in reasons.items())
            yield (
                f"Tasks that only {name} has: {len(one)} ({told}). They were not compared; if the "
                "suite was changed on purpose, refresh the baseline."
            )
    yield str(machine)
