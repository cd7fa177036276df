"""Compares two runs: results decide, one by one or in the mean, and times if that is asked for."""

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from boundmark.problems.errors import StoreError
from boundmark.reports.comparison.gates import (
    Evidence,
    Finding,
    bound_gate,
    consistency_gate,
    failure_gate,
    missing_gate,
    objective_gate,
    optimal_gate,
    parameter_gate,
    solved_gate,
    verification_gate,
)
from boundmark.reports.comparison.means import (
    PairedRatio,
    clock_gate,
    machine_change,
    slower_gate,
    version_gate,
)
from boundmark.reports.comparison.pairs import Pairs, Thresholds, default_thresholds, pair_tasks
from boundmark.reports.comparison.recorded_run import RecordedRun
from boundmark.reports.pages.formats import markdown_escaped
from boundmark.reports.stored.run_records import RunLabel
from boundmark.reports.stored.store import read_json
from boundmark.reports.text import MISSING, count, percent

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
        Those of them whose results in BASE did not depend on the clock.
    only_base, only_new
        Tasks that only one run has.
    findings
        Those that make NEW worse first, the largest changes before others, then those of methods
        that were changed on purpose, then advice, then what is better.
    ratios
        What is compared of each method whose results depend on the clock, by its name.
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
    base: RecordedRun,
    new: RecordedRun,
    thresholds: Thresholds | None = None,
    slower: float | None = None,
) -> Comparison:
    """Compare two runs, task by task and in the mean."""
    thresholds = thresholds or default_thresholds()
    pairs, machine = pair_tasks(base, new, thresholds), machine_change(base, new)
    clock = clock_gate(pairs, thresholds)
    findings = [
        *verification_gate(new),
        *consistency_gate(base, new),
        *failure_gate(pairs),
        *version_gate(pairs, thresholds),
        *objective_gate(pairs, thresholds),
        *bound_gate(pairs, thresholds),
        *solved_gate(pairs, thresholds),
        *optimal_gate(pairs, thresholds),
        *missing_gate(pairs, thresholds),
        *parameter_gate(pairs),
        *(finding for _, finding in clock if finding is not None),
        *(() if slower is None else slower_gate(pairs, machine or 1.0, slower / 100)),
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
        ratios=tuple(ratio for ratio, _ in clock),
        notes=(*_notes(base, new, pairs), *([] if slower is None else [_machine(machine)])),
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


def _notes(base: RecordedRun, new: RecordedRun, pairs: Pairs) -> Iterable[str]:
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


def _machine(change: float | None) -> str:
    if change is None:
        return (
            "The speed of the machine is not known, because one of the runs did not take the "
            "reference task: times compare on equal machines only."
        )
    return (
        f"The reference task, which never changes, took {change:.3g} times as long in NEW as in "
        "BASE (medians of CPU seconds); ratios of times are divided by that."
    )


# Findings shown for each verdict; JSON has all of them.
MOST_SHOWN = 50

# Hexadecimal digits that tell documents apart.
SHORT = 12

HEADINGS = {
    "worse": "Worse",
    "changed": "Changed on purpose: methods whose version differs",
    "advice": "Advice",
    "better": "Better",
}


def render_comparison(comparison: Comparison) -> str:
    """Return the comparison as GitHub-flavoured Markdown."""
    lines = _verdict("#", comparison)
    for verdict, heading in HEADINGS.items():
        lines += _findings(f"## {heading}", comparison.of(verdict), MOST_SHOWN)
    lines += _ratios(comparison.ratios)
    lines += ["## The two runs", ""]
    lines += _runs(comparison.base, comparison.new, comparison.base_path, comparison.new_path)
    lines += ["## Notes", "", *(f"- {markdown_escaped(note)}" for note in comparison.notes), ""]
    return "\n".join([*lines, markdown_escaped(comparison.sentence), ""])


def render_summary(comparison: Comparison) -> str:
    """Return the verdict and the worst findings as Markdown, for a comment on a change."""
    lines = _verdict("##", comparison)
    for verdict in ("worse", "changed"):
        found = comparison.of(verdict)
        lines += _findings(f"### {HEADINGS[verdict]}", found, MOST_WORSE)
    told = [one for one in comparison.of("advice") if one.gate in ("parameters", "missing")]
    lines += _findings("### Other tasks in NEW", told, MOST_WORSE)
    commits = f"BASE is {comparison.base.commit_text}, NEW is {comparison.new.commit_text}"
    return "\n".join([*lines, f"{markdown_escaped(commits)}; `comparison.md` has the rest.", ""])


def _verdict(level: str, comparison: Comparison) -> list[str]:
    title = (
        "Nothing compared" if comparison.exit_code == NOTHING else f"NEW is {comparison.outcome}"
    )
    texts = (f"{level} {title}", markdown_escaped(comparison.sentence), _summary(comparison))
    return [line for text in texts for line in (text, "")]


def _summary(comparison: Comparison) -> str:
    worse, better = comparison.of("worse"), comparison.of("better")
    methods = sorted({finding.method for finding in worse if finding.method})
    named = f" (methods: {', '.join(methods)})" if methods else ""
    text = (
        f"{count(comparison.compared, 'task')} compared, {comparison.repeatable} of which did not "
        f"depend on the clock in BASE: {count(len(worse), 'finding')} worse{named}, "
        f"{len(better)} better."
    )
    return markdown_escaped(text)


def _runs(base: RunLabel, new: RunLabel, base_path: str, new_path: str) -> Iterable[str]:
    rows = [
        ("path", base_path, new_path),
        ("started", base.started, new.started),
        ("commit", base.commit_text, new.commit_text),
        ("suites", ", ".join(base.suites), ", ".join(new.suites)),
        ("host", ", ".join(base.hosts), ", ".join(new.hosts)),
        ("CPU", ", ".join(base.cpus), ", ".join(new.cpus)),
    ]
    names = sorted({*base.libraries, *new.libraries})
    versions = [(name, base.libraries.get(name, ""), new.libraries.get(name, "")) for name in names]
    solvers = {*base.solvers, *new.solvers}
    rows += [row for row in versions if row[0] in solvers or row[1] != row[2]]
    return _table(("", "BASE", "NEW"), rows)


def _findings(heading: str, findings: Sequence[Finding], most: int) -> Iterable[str]:
    if not findings:
        return []
    lines = [heading, "", *map(_markdown_line, findings[:most])]
    if len(findings) > most:
        lines.append(f"- and {len(findings) - most} more")
    return [*lines, ""]


def _markdown_line(finding: Finding) -> str:
    text = f"{finding.subject}: {finding.sentence}{_documents(finding)}"
    return f"- **{markdown_escaped(finding.gate)}**: {markdown_escaped(text)}"


def _documents(finding: Finding) -> str:
    sides = [
        f"{name} {text}"
        for name, side in (("BASE", finding.base), ("NEW", finding.new))
        if side and (text := _document(side))
    ]
    return f" ({'; '.join(sides)})" if sides else ""


def _document(side: Evidence) -> str:
    parts = [f"task {side.task_id[:SHORT]}"]
    if side.solution:
        parts.append(f"solution {side.solution[:SHORT]}")
    if side.certificate:
        parts.append(f"certificate {side.certificate[:SHORT]}")
    return ", ".join(parts)


def _ratios(ratios: Sequence[PairedRatio]) -> Iterable[str]:
    if not ratios:
        return []
    rows = [
        (
            one.problem,
            one.method,
            one.what,
            str(one.instances),
            f"{percent(one.spread - 1)} %",
            f"{one.ratio:.3f}",
            f"{one.low:.3f} to {one.high:.3f}" if one.low == one.low else MISSING,
        )
        for one in ratios
    ]
    head = ("problem", "method", "NEW / BASE of", "n", "BASE varies by", "mean", "95 % interval")
    return ["## Results that depend on the clock", "", *_table(head, rows)]


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    lines = [head, ["---"] * len(head), *([markdown_escaped(cell) for cell in row] for row in rows)]
    return [*("| " + " | ".join(line) + " |" for line in lines), ""]


# Findings shown of those that make a run worse.
MOST_WORSE = 5

# What a history tells of a gate: the column that becomes larger.
COLUMNS = {"objective": "mean_gap", "bound": "mean_bound_gap", "failure": "failed"}

# Nights whose mean gaps differ by less are as bad as each other.
TOLERANCE = 1e-3


def read_verdict(path: Path, run: RunLabel, history: pd.DataFrame | None) -> tuple[str, ...]:
    """Return the verdict on a run, and a line for each of the worst findings."""
    try:
        found = read_json(path)
    except FileNotFoundError as error:
        raise StoreError(f"{path} does not exist; expected comparison.json.") from error
    try:
        is_of_this_run = found["new"] == json.loads(json.dumps(run.to_json()))
        commits = f"{_commit(found['base'])}..{_commit(found['new'])}"
        worse = [one for one in found["findings"] if one["verdict"] == "worse"]
        lines = [_verdict_line(one, history) for one in worse[:MOST_WORSE]]
        sentence = str(found["sentence"])
    except (TypeError, KeyError, IndexError) as error:
        raise StoreError(
            f"{path} is no comparison; expected comparison.json from `boundmark compare --out`."
        ) from error
    if not is_of_this_run:
        raise StoreError(f"{path} compares another run; expected one whose NEW is this folder.")
    if not worse:
        return (sentence,)
    more = [f"and {len(worse) - MOST_WORSE} more in {path.name}"] if worse[MOST_WORSE:] else []
    return (f"{sentence} Commits: {commits}.", *lines, *more)


def _commit(label: dict[str, Any]) -> str:
    commits = label["commits"]
    return str(commits[-1])[:SHORT] if commits else "unknown"


def _verdict_line(finding: dict[str, Any], history: pd.DataFrame | None) -> str:
    documents = [
        f"{name} {kind} {side[kind][:SHORT]}"
        for name, side in (("BASE", finding["base"]), ("NEW", finding["new"]))
        if side
        for kind in ("solution", "certificate")
        if side[kind]
    ]
    told = f" ({', '.join(documents)})" if documents else ""
    return f"{finding['subject']}: {finding['sentence']}{told}{_since(finding, history)}"


def _since(finding: dict[str, Any], history: pd.DataFrame | None) -> str:
    """Return since which run of the history the method is as bad as now; empty if unknown."""
    column = COLUMNS.get(finding["gate"])
    if history is None or column is None:
        return ""
    own = history[
        (history["problem"] == finding["problem"]) & (history["method"] == finding["method"])
    ]
    values = own[column].astype("float64").tolist()
    if len(values) < 2 or values[-1] != values[-1]:
        return ""
    first = len(values) - 1
    while first and values[first - 1] >= values[-1] - TOLERANCE:
        first -= 1
    row = own.iloc[first]
    when = f"{row['started_at']:%Y-%m-%d %H:%M}, commit {str(row['commit'])[:SHORT]}"
    now = f"{values[-1]:.0f} failed" if column == "failed" else f"{percent(values[-1])} %"
    what = "its tasks" if column == "failed" else "its mean gap"
    if first == 0:
        return f"; {what} ({now}) has not been better since the history begins, {when}"
    return f"; {what} is {now} since {when}"
