"""Leads of solutions over a baseline when times are drawn around their values."""

from collections.abc import Callable, Sequence
from typing import Any

import pandas as pd

from boundmark.problems.catalog import problems
from boundmark.problems.noise import lead_over
from boundmark.problems.problem import Problem
from boundmark.reports.dictionary import columns_of
from boundmark.reports.pages.page import Cell, Section
from boundmark.reports.problem_report import ProblemResults
from boundmark.reports.sections.page_tables import PageColumn, page_table
from boundmark.reports.statistics import geometric_mean
from boundmark.reports.stored.store import read_parsed
from boundmark.reports.tables.rows import best_rows, rows
from boundmark.reports.text import MISSING, integer, natural_order, percent

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


def _mean(leads: "pd.Series[Any]") -> float:
    """Return 1 - the geometric mean of costs over the baseline's."""
    return 1 - geometric_mean(1 - leads.dropna().astype("float64"))


def robustness_section(table: pd.DataFrame) -> Section | None:
    """Return the section on leads under noise, one row per method; None without any.

    Parameters
    ----------
    table
        From `robustness_table`.
    """
    if table.empty:
        return None
    means = (
        table.groupby(["method", "noise"], sort=True)
        .agg(
            instances=("instance_sha256", "nunique"),
            planned=("planned", _mean),
            lead=("lead", _mean),
            low=("low", "min"),
            ahead=("ahead", "mean"),
        )
        .reset_index()
    )
    lines = [
        {float(row.noise): row for row in rows(means[means["method"] == method])}
        for method in natural_order(means["method"].unique())
    ]
    noises = sorted(means["noise"].unique())
    columns = (
        PageColumn("method", lambda line: next(iter(line.values())).method, is_text=True),
        PageColumn("n", lambda line: integer(next(iter(line.values())).instances)),
        PageColumn("lead %", lambda line: percent(next(iter(line.values())).planned)),
        *(column for noise in noises for column in _columns(float(noise))),
    )
    baselines = ", ".join(natural_order(table["baseline"].unique()))
    notes = (
        f"Lead: 1 - cost / the baseline's cost ({baselines}), in the geometric mean over the n "
        f"instances: without noise, and with each time drawn {integer(table['draws'].iloc[0])} "
        "times from a log-normal distribution around its value. The noise is its standard "
        "deviation, relative to that value. Both solutions see the same times; their decisions "
        "are kept, and start times follow from these. Ahead: the share of draws in which the "
        "solution costs less than the baseline's. Below the lead: the 5 % quantile over draws, on "
        "the worst instance.",
    )
    return Section("Robustness of solutions", (page_table("", columns, [("", lines, "")], notes),))


def _columns(noise: float) -> tuple[PageColumn, ...]:
    def shown(cell: Callable[[Any], Cell | str]) -> Callable[[Any], Cell | str]:
        return lambda line: cell(line[noise]) if noise in line else MISSING

    return (
        PageColumn(
            f"noise {noise:g}: lead %",
            shown(lambda row: Cell(percent(row.lead), percent(row.low))),
        ),
        PageColumn("ahead %", shown(lambda row: percent(row.ahead))),
    )
