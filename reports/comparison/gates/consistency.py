"""A verified cost below a certified bound of the same instance: one of the two is wrong."""

from collections.abc import Iterator

import pandas as pd

from boundmark.reports.comparison.finding import Finding, evidence
from boundmark.reports.comparison.recorded_run import RecordedRun
from boundmark.reports.text.number_text import integer

RUN_NAMES = ("BASE", "NEW")

# Of tasks; to put rows together takes long where there are forty columns.
NEEDED = [
    "task_id",
    "problem",
    "dataset",
    "instance",
    "instance_params",
    "instance_sha256",
    "method",
    "status",
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
    upper, lower = _best(tasks, "objective", True), _best(tasks, "bound_certified", False)
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


def _best(tasks: pd.DataFrame, column: str, ascending: bool) -> pd.DataFrame:
    # What decides is sorted alone: rows have many more columns.
    decisive = [column, "run", "method", "task_id"]
    names = tasks.loc[tasks[column].notna(), ["instance_sha256", *decisive]]
    names = names.sort_values(decisive, ascending=[ascending, True, True, True])
    best = tasks.loc[names.drop_duplicates("instance_sha256").index]
    return best.set_index("instance_sha256").sort_index()
