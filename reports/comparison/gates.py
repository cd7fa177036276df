"""The gates of a comparison: each yields the differences that it finds, with their evidence."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

import pandas as pd

from boundmark.reports.comparison.pairs import Pairs, Thresholds
from boundmark.reports.comparison.recorded_run import RecordedRun
from boundmark.reports.tables.rows import best_rows, values_of
from boundmark.reports.text import count, integer

# "worse" makes the comparison fail; the others are only reported. "changed" is a difference of one
# task of a method whose version changed: results were expected to change.
Verdict: TypeAlias = Literal["worse", "better", "advice", "changed"]


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

    @property
    def change(self) -> float:
        """The factor by which the value changed, at least 1; infinite without both values.

        So a failure, or a result that is gone, counts as more than any change of a number.
        """
        if self.base is None or self.new is None or not self.base.value or not self.new.value:
            return math.inf
        ratio = self.new.value / self.base.value
        return max(ratio, 1 / ratio)

    def to_json(self) -> dict[str, Any]:
        """Return the finding as JSON values."""
        return {
            **vars(self),
            "base": self.base and self.base.to_json(),
            "new": self.new and self.new.to_json(),
        }


def evidence(row: Mapping[Any, Any], column: str, side: str = "") -> Evidence:
    """Return the evidence that a row gives for a column."""
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


RUN_NAMES = ("BASE", "NEW")

# Columns of tasks; to put rows together takes long where there are forty.
NEEDED = [
    "task_id",
    "problem",
    "dataset",
    "instance",
    "instance_params",
    "instance_sha256",
    "method",
    "status",
    "wall_seconds",
    "objective",
    "bound_certified",
    "solution_sha256",
    "certificate_sha256",
]


def consistency_gate(base: RecordedRun, new: RecordedRun) -> Iterator[Finding]:
    """Yield the instances on which the runs contradict themselves or each other.

    Both tasks are named: that with the smallest verified cost, and that with the largest certified
    bound.
    """
    tasks = pd.concat(
        [
            run.tasks[NEEDED].assign(run=name)
            for run, name in zip((base, new), RUN_NAMES, strict=True)
        ],
        ignore_index=True,
    )
    upper, lower = (
        best_rows(tasks, column, highest=highest).set_index("instance_sha256").sort_index()
        for column, highest in (("objective", False), ("bound_certified", True))
    )
    shared = upper.index.intersection(lower.index)
    below = upper.loc[shared, "objective"] < lower.loc[shared, "bound_certified"]
    for sha256 in shared[below.astype(bool)]:
        cost, bound = upper.loc[sha256], lower.loc[sha256]
        yield Finding(
            "consistency",
            "worse",
            str(cost["problem"]),
            str(cost["method"]),
            f"{cost['dataset']}/{cost['instance']} {cost['instance_params']}",
            f"{cost['method']} in {cost['run']} has a verified cost of "
            f"{integer(cost['objective'])} (task {cost['task_id']}), below the certified bound of "
            f"{integer(bound['bound_certified'])} that {bound['method']} has in {bound['run']} "
            f"(task {bound['task_id']}); one of the two is wrong",
            evidence(bound, "bound_certified"),
            evidence(cost, "objective"),
        )


# Prefix of the status detail of a task whose solution or certificate the checker rejected.
REJECTED = "rejected: "


# From no failure to failure; a step up is a new failure.
RANKS = {"ok": 0, "unsupported": 1}


FAILED = 2


def failure_gate(pairs: Pairs) -> Iterator[Finding]:
    """Yield the tasks that fail in one run only.

    A task that used much of its time before may have run out of it by chance: that is advice.
    """
    both = pairs.both[pairs.both["status_base"] != pairs.both["status_new"]]
    for row in both.to_dict("records"):
        before, after = row["status_base"], row["status_new"]
        step = RANKS.get(after, FAILED) - RANKS.get(before, FAILED)
        if step == 0:
            continue
        verdict: Verdict = "worse" if step > 0 else "better"
        if step > 0 and after == "timeout" and not row["is_sure"]:
            verdict = "advice"
        detail = row["status_detail_new"]
        said = f" ({detail})" if step > 0 and isinstance(detail, str) and detail else ""
        yield Finding(
            "failure",
            verdict,
            row["problem"],
            row["method"],
            row["label"],
            f"status: {before} before, {after} now{said}",
            evidence(row, "objective", "_base"),
            evidence(row, "objective", "_new"),
        )


def verification_gate(new: RecordedRun) -> Iterator[Finding]:
    """Yield the new run's values without an accepted document, and rejected reports."""

    def finding(row: Mapping[Any, Any], sentence: str, task: Evidence | None = None) -> Finding:
        subject = f"{row['dataset']}/{row['instance']}, {row['method']}, task {row['task_id']}"
        problem, method = row["problem"], row["method"]
        return Finding("verification", "worse", problem, method, subject, sentence, None, task)

    for row in new.unsupported.to_dict("records"):
        why = f"{row['column']} {row['value']} does not count: {row['reason']}"
        yield finding(row, why)
    details = new.tasks["status_detail"].fillna("")
    rejected = new.tasks[
        (new.tasks["status"] == "error") & details.str.startswith(REJECTED).astype(bool)
    ]
    for row in rejected.to_dict("records"):
        yield finding(row, str(row["status_detail"]), evidence(row, "objective"))


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
        finding = _change({str(name): x for name, x in row.items()}, value, tolerance)
        yield replace(finding, verdict="changed") if row["changed"] else finding


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
        # A difference within the tolerance is reported and does not count.
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


DELIVERED = (("objective", "a verified solution"), ("bound_certified", "a certified bound"))


def solved_gate(pairs: Pairs, thresholds: Thresholds) -> Iterator[Finding]:
    """Yield the methods that have a solution, or a bound, on more or fewer instances.

    If all that is lost came from tasks that used much of their time before, they may have run out
    of it by chance: that is advice.
    """
    for (problem, method), tasks in pairs.both.groupby(["problem", "method"]):
        for column, what in DELIVERED:
            before, after = (_delivered(tasks, f"{column}_{side}") for side in ("base", "new"))
            found = _counted(before, after, thresholds.solved_lost, f"instances with {what}")
            if found:
                verdict, sentence = found
                in_time = _delivered(tasks[tasks["is_sure"]], f"{column}_base")
                if verdict == "worse" and not (before - after) & in_time:
                    verdict = "advice"
                yield Finding(
                    "solved", verdict, str(problem), str(method), f"{method} ({problem})", sentence
                )


def optimal_gate(pairs: Pairs, thresholds: Thresholds) -> Iterator[Finding]:
    """Yield the problems where repeatable tasks prove more, or fewer, solutions optimal.

    Proofs that only a method whose version changed has lost do not count as worse.
    """
    what = "instances proven optimal by repeatable tasks"
    for problem, tasks in pairs.repeatable.groupby("problem"):
        found = _optimal_change(tasks, thresholds, what)
        if found:
            verdict, sentence = found
            if verdict == "worse":
                unchanged = _optimal_change(tasks[~tasks["changed"]], thresholds, what)
                if unchanged is None or unchanged[0] != "worse":
                    verdict = "changed"
            yield Finding("optimal", verdict, str(problem), "", str(problem), sentence)


def _optimal_change(
    tasks: pd.DataFrame, thresholds: Thresholds, what: str
) -> tuple[Verdict, str] | None:
    before, after = (_optimal(tasks, side) for side in ("base", "new"))
    return _counted(before, after, thresholds.optimal_lost, what)


def missing_gate(pairs: Pairs, thresholds: Thresholds) -> Iterator[Finding]:
    """Yield the methods with tasks that the old run had and the new one lacks.

    Where the runs have nothing in common, that says nothing of the new one: nothing is compared.
    """
    counts = thresholds.missing_tasks == "worse" and len(pairs.both) > 0
    verdict: Verdict = "worse" if counts else "advice"
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


def parameter_gate(pairs: Pairs) -> Iterator[Finding]:
    """Yield the methods whose tasks were compared although their parameters differ."""
    differing = pairs.both[pairs.both["differs"] != ""]
    for (problem, method), tasks in differing.groupby(["problem", "method"]):
        told = tasks["differs"].value_counts().sort_index()
        how = "; ".join(f"{change}: {number}" for change, number in told.items())
        sentence = f"{count(len(tasks), 'task')} compared with other parameters ({how})"
        subject = f"{method} ({problem})"
        yield Finding("parameters", "advice", str(problem), str(method), subject, sentence)


def _delivered(tasks: pd.DataFrame, column: str) -> set[str]:
    return set(values_of(tasks.loc[tasks[column].notna(), "instance_sha256"]))


def _optimal(tasks: pd.DataFrame, side: str) -> set[str]:
    groups = tasks.groupby("instance_sha256")
    costs, bounds = groups[f"objective_{side}"].min(), groups[f"bound_certified_{side}"].max()
    return set(costs.index[(costs == bounds).fillna(False).astype(bool)])


def _counted(
    before: set[str], after: set[str], allowed: int, what: str
) -> tuple[Verdict, str] | None:
    """Return the finding for two numbers of instances; None if they are equal."""
    if len(before) == len(after):
        return None
    lost = len(before) - len(after)
    verdict: Verdict = "better" if lost < 0 else "worse" if lost > allowed else "advice"
    return verdict, f"{what}: {len(before)} before, {len(after)} now"
