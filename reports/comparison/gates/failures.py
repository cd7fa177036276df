"""Tasks that fail and did not before, and values that no document supports."""

from collections.abc import Iterator

from boundmark.reports.comparison.finding import Finding, Verdict, evidence
from boundmark.reports.comparison.pairs import Pairs, ended_early
from boundmark.reports.comparison.recorded_run import RecordedRun
from boundmark.reports.comparison.thresholds import Thresholds

# How the runner begins what it says of a solution or certificate that the checker rejected.
REJECTED = "rejected: "

# From no failure to failure; a step up is a new failure.
RANKS = {"ok": 0, "unsupported": 1}
FAILED = 2


def failure_gate(pairs: Pairs, thresholds: Thresholds) -> Iterator[Finding]:
    """Yield the tasks that fail and did not, and those that did and no longer fail.

    A task that used much of its time before may have run out of it by chance: that is advice.
    """
    both = pairs.both[pairs.both["status_base"] != pairs.both["status_new"]]
    early = ended_early(both, "base", thresholds.repeatable_share)
    for row, was_early in zip(both.to_dict("records"), early, strict=True):
        before, after = row["status_base"], row["status_new"]
        step = RANKS.get(after, FAILED) - RANKS.get(before, FAILED)
        if step == 0:
            continue
        verdict: Verdict = "worse" if step > 0 else "better"
        if step > 0 and after == "timeout" and not was_early:
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
    """Yield what the new run states and cannot show: values without documents, rejected reports."""
    for row in new.unsupported.to_dict("records"):
        yield Finding(
            "verification",
            "worse",
            row["problem"],
            row["method"],
            f"{row['dataset']}/{row['instance']}, {row['method']}, task {row['task_id']}",
            f"{row['column']} {row['value']} does not count: {row['reason']}",
        )
    details = new.tasks["status_detail"].fillna("")
    rejected = new.tasks[
        (new.tasks["status"] == "error") & details.str.startswith(REJECTED).astype(bool)
    ]
    for row in rejected.to_dict("records"):
        yield Finding(
            "verification",
            "worse",
            row["problem"],
            row["method"],
            f"{row['dataset']}/{row['instance']}, {row['method']}, task {row['task_id']}",
            str(row["status_detail"]),
            None,
            evidence(row, "objective"),
        )
