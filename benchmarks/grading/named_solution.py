"""A solution by the names of nodes, which people and other programs can read."""

import csv
import io
from pathlib import Path
from typing import TYPE_CHECKING, Any

from boundmark.problems.catalog import problems
from boundmark.problems.labels import names_of
from boundmark.reports.stored.durable import write_durably
from boundmark.reports.text import file_name

if TYPE_CHECKING:
    from boundmark.benchmarks.answer import Answer


def named_rows(answer: "Answer") -> list[tuple[str | int, ...]] | None:
    """Return the rows of the solution's table by name; None if there is no solution or table."""
    instance = answer.source.instance
    problem = problems()[instance.problem]
    if answer.solution is None or problem.table is None:
        return None
    names = names_of(problem.naming, instance)
    solution = problem.solution_from_json(answer.solution)
    value_names = problem.table.value_names(instance)
    known = [value_names.get(column) for column in problem.table.columns[1:]]
    return [
        (
            names[row[0]],
            *(called[x] if called else x for called, x in zip(known, row[1:], strict=True)),
        )
        for row in problem.table.rows(solution)
    ]


def named_solution(answer: "Answer") -> dict[str, Any] | list[dict[str, Any]] | None:
    """Return what `evaluate` reads: an integer for each name, or a list of objects."""
    rows = named_rows(answer)
    table = problems()[answer.source.instance.problem].table
    if rows is None or table is None:
        return None
    if len(table.columns) == 2:
        return {str(name): value for name, value in rows}
    return [dict(zip(table.columns, row, strict=True)) for row in rows]


def write_named_solution(answer: "Answer", directory: Path, what: str) -> Path | None:
    """Write the solution as a CSV file into a results folder, and return its path.

    The file is called after what the solution is, and the instance. None if the problem has no
    table, or nothing was found.

    Raises
    ------
    StoreError
        If the file cannot be written.
    """
    rows = named_rows(answer)
    table = problems()[answer.source.instance.problem].table
    if rows is None or table is None:
        return None
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(table.columns)
    writer.writerows(rows)
    path = directory / f"{what}-{file_name(answer.source.label)}.csv"
    write_durably(path, text.getvalue().encode())
    return path
