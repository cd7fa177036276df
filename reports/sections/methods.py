"""Section on what each method achieved, over all instances of a problem."""

from typing import Any

from boundmark.reports.pages.page import Cell, Section
from boundmark.reports.problem_report import ProblemResults, Tables
from boundmark.reports.sections.page_tables import PageColumn, page_table
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
    claimed = PageColumn("claimed/UB", lambda row: _mean(row, "claimed", "claiming"))
    cpu = PageColumn("CPU seconds", lambda row: seconds(row.mean_cpu_seconds))
    columns = (
        PageColumn("method", lambda row: str(row.name), is_text=True),
        PageColumn("kind", lambda row: row.method_kind, is_text=True),
        PageColumn("n", lambda row: integer(row.instances)),
        PageColumn("UB/LB", lambda row: _mean(row, "upper", "solved")),
        PageColumn("UB/LB, shared", lambda row: _mean(row, "shared_upper", "shared", "shared")),
        PageColumn("LB/UB", lambda row: _mean(row, "lower", "bounded")),
        *([claimed] if with_claims else []),
        PageColumn(
            "seconds",
            lambda row: Cell(seconds(row.mean_seconds), f"n = {row.timed}" if row.timed else ""),
        ),
        *([cpu] if with_cpu else []),
        PageColumn("tasks not ok", lambda row: integer(row.failed)),
    )
    notes = (*NOTES, CPU_NOTE) if with_cpu else NOTES
    table = page_table("Methods over all instances", columns, [((), lines, "")], notes)
    return Section("Methods", (table,))


def _mean(row: Any, mean: str, instances: str, of: str = "instances") -> Cell:
    """Return a mean with the number of instances behind it; nothing where it is not asked for."""
    is_of_solutions = mean in ("upper", "shared_upper")
    if row.method_kind == ("bound" if is_of_solutions else "heuristic"):
        return Cell("")
    if not row[instances]:
        return Cell(MISSING)
    over = f"{row[instances]}"
    return Cell(decimal(row[mean], 4), over if over == f"{row[of]}" else f"{over}/{row[of]}")
