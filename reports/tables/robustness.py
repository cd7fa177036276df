"""Leads of solutions over a baseline when times are drawn around their values."""

from collections.abc import Sequence
from typing import Any

import pandas as pd

from boundmark.problems.catalog import problems
from boundmark.problems.noise import lead_over
from boundmark.problems.problem import Problem
from boundmark.reports.dictionary import columns_of
from boundmark.reports.problem_report import ProblemResults
from boundmark.reports.stored.documents import read_parsed
from boundmark.reports.tables.rows import best_rows, rows

TABLE = "*/robustness"


def robustness_table(results: ProblemResults, baselines: Sequence[str]) -> pd.DataFrame:
    """Return one row per instance, method and noise, of the best stored solutions.

    No rows without noise, or if costs of the problem are not times that can be drawn.

    Parameters
    ----------
    baselines
        Names of methods: the first one of them with a stored solution is an instance's baseline.

    Raises
    ------
    StoreError
        If a stored instance or solution is damaged.
    """
    problem = problems().get(results.problem)
    tasks = results.tasks
    solved = tasks[tasks["objective"].notna() & tasks["solution_sha256"].notna()]
    found: list[dict[str, Any]] = []
    if results.noises and problem is not None and problem.noisy_costs is not None:
        best = best_rows(solved, "objective", of=("instance_sha256", "method"))
        for _, own in best.groupby("instance_sha256", sort=False):
            found += _of_instance(results, problem, own, baselines)
    table = pd.DataFrame(found, columns=columns_of(TABLE))
    return table.sort_values(
        ["dataset", "instance", "parameters", "method", "noise"], kind="stable"
    )


def _of_instance(
    results: ProblemResults, problem: Problem, own: pd.DataFrame, baselines: Sequence[str]
) -> list[dict[str, Any]]:
    """Return the rows of an instance; none without a solution of a baseline."""
    by_method = {str(row.method): row for row in rows(own)}
    baseline = next((name for name in baselines if name in by_method), None)
    if baseline is None or len(by_method) < 2:
        return []
    assert problem.noisy_costs is not None
    store, head = results.store, by_method[baseline]
    instance = read_parsed(store.instances, head.instance_sha256, problem.instance_from_json)
    solutions = {
        name: read_parsed(store.solutions, row.solution_sha256, problem.solution_from_json)
        for name, row in by_method.items()
    }
    if instance is None or solutions[baseline] is None:
        return []
    found = []
    for noise in results.noises:
        reference = problem.noisy_costs(instance, solutions[baseline], noise)
        for name, solution in solutions.items():
            if name == baseline or solution is None:
                continue
            row = by_method[name]
            costs = problem.noisy_costs(instance, solution, noise)
            lead = lead_over(costs, reference, int(row.objective))
            planned = 1 - row.objective / head.objective if head.objective else float("nan")
            found.append(
                {
                    "dataset": row.dataset, "instance": row.instance, "parameters": row.parameters,
                    "instance_sha256": row.instance_sha256, "method": name, "baseline": baseline,
                    "noise": noise.deviation, "draws": noise.draws, "planned": planned,
                    "cost": lead.cost, "lead": lead.lead, "low": lead.low, "high": lead.high,
                    "ahead": lead.ahead,
                }
            )  # fmt: skip
    return found
