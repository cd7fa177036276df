"""Read a results folder, for all problems together and for each."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pandas as pd

from boundmark.problems.errors import StoreError
from boundmark.problems.files import read_regular
from boundmark.reports.best_known import shipped, with_best_known
from boundmark.reports.problem_report import ALL_INSTANCES, Grouping, ProblemResults
from boundmark.reports.stored.run_records import RunLabel, read_environments, run_label
from boundmark.reports.stored.store import ResultStore, read_json
from boundmark.reports.stored.verified_results import (
    Checks,
    ignore,
    supported_results,
    verified_results,
)
from boundmark.reports.tables.parameters import (
    parameter_column,
    parameter_names,
    with_parameter_columns,
)
from boundmark.reports.tables.rows import is_among, values_of
from boundmark.reports.tables.tasks import certified_of_tasks, with_names


@dataclass(frozen=True)
class FolderResults:
    """The contents of a results folder.

    Attributes
    ----------
    tasks, certified, traces
        As in `ProblemResults`, of all problems; the tasks have no columns of parameters. Costs and
        bounds without documents are missing.
    unsupported
        One row per cost or bound that is missing for this reason, or since the checker rejects it.
    checks
        How many documents were checked; None if none was, on request.
    environment
        The record of machine and software; None if the folder has no `environment.json`.
    label
        What tells the run from others.
    history, highlight, baseline
        As in `ProblemResults`.
    """

    store: ResultStore
    tasks: pd.DataFrame
    certified: pd.DataFrame
    traces: pd.DataFrame
    unsupported: pd.DataFrame
    checks: Checks | None
    environment: dict[str, Any] | None
    label: RunLabel
    history: pd.DataFrame | None = None
    highlight: tuple[str, ...] = ()
    baseline: str | None = None

    @property
    def problems(self) -> list[str]:
        """The problems that there are results of, those with the most instances first."""
        sizes = self.certified.groupby("problem").size()
        return sorted(map(str, sizes.index), key=lambda name: (-int(sizes[name]), name))

    def of_problem(self, problem: str, grouping: Grouping | None) -> ProblemResults:
        """Return the results of one problem."""
        tasks, certified = (
            with_parameter_columns(_of_problem(table, problem).reset_index(drop=True))
            for table in (self.tasks, self.certified)
        )
        grouping = grouping or _most_divided(certified)
        if grouping.column not in certified:
            group = ALL_INSTANCES if grouping.parameter is None else None
            tasks, certified = (
                table.assign(**{grouping.column: group}) for table in (tasks, certified)
            )
        traces = self.traces[is_among(self.traces["task_id"], values_of(tasks["task_id"]))]
        return ProblemResults(
            problem, tasks, certified, traces, self.store, grouping, self.history, self.highlight,
            self.baseline,
        )  # fmt: skip


def read_folder(
    store: ResultStore,
    *,
    unchecked: bool = False,
    on_check: Callable[[Checks], None] = ignore,
) -> FolderResults:
    """Read the results of a folder."""
    checks = None
    if unchecked:
        supported = supported_results(store)
    else:
        supported = checked = verified_results(store, on_check=on_check)
        checks = checked.checks
    results = supported.results
    if len(results) == 0:
        raise StoreError(
            f"{store.directory} holds no results; expected at least one finished task."
        )
    tasks = with_names(results)
    names = tasks.drop_duplicates("instance_sha256").set_index("instance_sha256")["instance"]
    unsupported = supported.unsupported
    return FolderResults(
        store,
        tasks,
        with_best_known(with_ticks(certified_of_tasks(tasks), store), shipped()),
        supported.traces,
        unsupported.assign(instance=unsupported["instance_sha256"].map(names)),
        checks,
        _environment(store),
        run_label(results, read_environments(store)),
    )


def _of_problem(table: pd.DataFrame, problem: str) -> pd.DataFrame:
    """Return the rows of a problem, which are all of them in most folders."""
    are_chosen = table["problem"] == problem
    return table if are_chosen.all() else table[are_chosen]


def _most_divided(certified: pd.DataFrame) -> Grouping:
    sizes = {
        name: certified[parameter_column(name)].nunique() for name in parameter_names(certified)
    }
    return Grouping(max(sorted(sizes), key=lambda name: sizes[name]) if sizes else None)


def _environment(store: ResultStore) -> dict[str, Any] | None:
    path = store.environment
    try:
        value = read_json(path)
    except FileNotFoundError:
        return None
    if not isinstance(value, dict):
        raise StoreError(f"{path} holds a {type(value).__name__}; expected a JSON object.")
    return value


def with_ticks(certified: pd.DataFrame, store: ResultStore) -> pd.DataFrame:
    """Return the instances with a column `tick`, the length of one of their ticks.

    Labels are words for people, on which no cost depends: where they are missing or damaged, it is
    an empty text.
    """
    ticks = [_tick(store, sha256) for sha256 in certified["instance_sha256"]]
    table = certified.copy()
    table.insert(list(table.columns).index("device") + 1, "tick", pd.Series(ticks, dtype="object"))
    return table


def _tick(store: ResultStore, sha256: str) -> str:
    try:
        labels = json.loads(read_regular(store.labels / f"{sha256}.json").decode())
    except (OSError, ValueError, RecursionError):
        return ""
    tick = labels.get("tick") if isinstance(labels, dict) else None
    return tick if isinstance(tick, str) else ""
