"""Everything that a report says, computed once from a results folder."""

import json
from dataclasses import dataclass
from typing import Any

import pandas as pd

from boundmark.problems.errors import StoreError
from boundmark.reports.store import ResultStore
from boundmark.reports.tables.anytime_by_k import anytime_by_k
from boundmark.reports.tables.bounds_by_k import bounds_by_k, contradicted_claims
from boundmark.reports.tables.certified import certified_table
from boundmark.reports.tables.failures import failures
from boundmark.reports.tables.gap_by_k import gap_by_k
from boundmark.reports.tables.heuristics_by_k import heuristics_by_k, reference_bounds
from boundmark.reports.tables.runtime_by_k import runtime_by_k
from boundmark.reports.tables.tasks import with_k_and_names


@dataclass(frozen=True)
class Analysis:
    """The tables by name, the tasks behind them, and the record of machine and software.

    Attributes
    ----------
    environment
        None if the folder has no `environment.json`.
    """

    tasks: pd.DataFrame
    certified: pd.DataFrame
    bounds_by_k: pd.DataFrame
    gap_by_k: pd.DataFrame
    heuristics_by_k: pd.DataFrame
    reference_bounds: pd.DataFrame
    runtime_by_k: pd.DataFrame
    anytime_by_k: pd.DataFrame
    failures: pd.DataFrame
    contradicted_claims: pd.DataFrame
    environment: dict[str, Any] | None

    def tables(self) -> dict[str, pd.DataFrame]:
        """Return what is stored as `tables/*.parquet`."""
        return {
            "certified": self.certified,
            "bounds_by_k": self.bounds_by_k,
            "gap_by_k": self.gap_by_k,
            "heuristics_by_k": self.heuristics_by_k,
            "runtime_by_k": self.runtime_by_k,
            "anytime_by_k": self.anytime_by_k,
            "failures": self.failures,
            "contradicted_claims": self.contradicted_claims,
        }


def analyse(store: ResultStore) -> Analysis:
    """Compute all tables.

    Raises
    ------
    StoreError
        If there are no results, they contradict each other, or a file cannot be read.
    """
    results = store.results()
    if len(results) == 0:
        raise StoreError(
            f"{store.directory} holds no results; expected at least one finished task."
        )
    certified = certified_table(results)
    tasks = with_k_and_names(results)
    return Analysis(
        tasks=tasks,
        certified=certified,
        bounds_by_k=bounds_by_k(tasks, certified),
        gap_by_k=gap_by_k(certified),
        heuristics_by_k=heuristics_by_k(tasks, certified),
        reference_bounds=reference_bounds(tasks, certified),
        runtime_by_k=runtime_by_k(tasks),
        anytime_by_k=anytime_by_k(tasks, store.traces(), certified),
        failures=failures(tasks),
        contradicted_claims=contradicted_claims(tasks, certified),
        environment=_environment(store),
    )


def _environment(store: ResultStore) -> dict[str, Any] | None:
    path = store.environment
    if not path.exists():
        return None
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise StoreError(f"{path} cannot be read as JSON: {error}.") from error
    if not isinstance(value, dict):
        raise StoreError(f"{path} holds a {type(value).__name__}; expected a JSON object.")
    return value
