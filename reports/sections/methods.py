"""Section on what each method achieved, over all instances of a problem."""

from typing import Any

from boundmark.reports.pages.page import Cell, Group, Section, Table
from boundmark.reports.problem_report import ProblemResults, Tables
from boundmark.reports.text import MISSING, decimal, integer, natural_order, seconds

NOTES = (
    "n: instances that the method was run on. UB/LB: geometric mean of its verified objective "
    "over the best certified bound of the instance; shared: the same, of methods that were run "
    "on every instance, over the instances that all of these solved, which compares them on "
    "equal terms. LB/UB: geometric mean of its certified bound over the best verified "
    "objective; claimed: of its bounds on a solver's word, unless above a solution. 1 is best "
    "in all. The small number: instances behind a mean.",
    "Seconds: geometric mean of wall-clock time, shifted by 1 s; a task that did not end ok "
    "counts with its time limit, or with the time it took if that is longer.",
    "Failures: where a method delivered nothing, the instance is left out of its mean. What a "
    "task reported before it failed counts.",
)

CPU_NOTE = (
    "CPU seconds: the same mean of the processor time that tasks took, of all their threads and "
    "processes, whatever became of them. On a busy machine it says more than seconds, which are "
    "wall-clock time, here and elsewhere on this page."
)


def method_section(results: ProblemResults, tables: Tables) -> Section | None:
    """Return the table with one row per method; None without any."""
    methods = tables["methods"]
    if len(methods) == 0:
        return None
    by_name = methods.set_index("method")
    lines: list[Any] = [by_name.loc[name] for name in natural_order(by_name.index)]
    with_claims = bool((methods["claiming"] > 0).any())
    with_cpu = bool(methods["mean_cpu_seconds"].notna().any())
    columns = (
        "method", "kind", "n", "UB/LB", "UB/LB, shared", "LB/UB",
        *(["claimed/UB"] if with_claims else []), "seconds",
        *(["CPU seconds"] if with_cpu else []), "tasks not ok",
    )  # fmt: skip
    group = Group((), tuple(_cells(row, with_claims, with_cpu) for row in lines))
    notes = (*NOTES, CPU_NOTE) if with_cpu else NOTES
    table = Table("Methods over all instances", columns, (group,), notes, text_columns=2)
    return Section("Methods", (table,))


def _cells(row: Any, with_claims: bool, with_cpu: bool) -> tuple[Cell, ...]:
    solves, bounds = row.method_kind != "bound", row.method_kind != "heuristic"
    return (
        Cell(str(row.name)),
        Cell(row.method_kind),
        Cell(integer(row.instances)),
        _mean(row.upper, row.solved, row.instances, solves),
        _mean(row.shared_upper, row.shared, row.shared, solves),
        _mean(row.lower, row.bounded, row.instances, bounds),
        *([_mean(row.claimed, row.claiming, row.instances, bounds)] if with_claims else []),
        Cell(seconds(row.mean_seconds), f"n = {row.timed}" if row.timed else ""),
        *([Cell(seconds(row.mean_cpu_seconds))] if with_cpu else []),
        Cell(integer(row.failed)),
    )


def _mean(value: float, over: int, of: int, is_asked: bool) -> Cell:
    if not is_asked or not over:
        return Cell(MISSING if is_asked else "")
    return Cell(decimal(value, 4), f"{over}" if over == of else f"{over}/{of}")
