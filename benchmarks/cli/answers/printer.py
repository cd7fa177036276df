"""Print answers: one in full, several as a table, and either as JSON; store them by name."""

import csv
import io
import json
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias

import click

from boundmark.benchmarks.cli.terminal import USUAL_WIDTH, echo, wide_tables
from boundmark.benchmarks.solving.answer import Answer
from boundmark.benchmarks.solving.presentation import named_rows, presentation_of
from boundmark.problems.catalog import problems
from boundmark.problems.errors import printable
from boundmark.reports.stored.durable import write_durably
from boundmark.reports.text import gap_percent

# An answer and its files by what they hold.
Found: TypeAlias = tuple[Answer, Mapping[str, Path]]

LABEL_WIDTH = 17


def print_answers(
    found: Sequence[Found],
    *,
    as_json: bool,
    is_wide: bool,
    is_table: bool = False,
    more: Mapping[str, Any] | None = None,
) -> None:
    """Print an answer in full, or several that differ in parameters as a table; or JSON."""
    if as_json:
        documents = [{**json_of(answer, files), **(more or {})} for answer, files in found]
        click.echo(json.dumps(documents if is_table else documents[0]))
    elif is_table:
        _print_table(found, is_wide)
    else:
        with wide_tables(is_wide):
            _print_answer(*found[0])


def named_solution(answer: Answer) -> dict[str, Any] | list[dict[str, Any]] | None:
    """Return a solution as `evaluate` reads it: an integer for each name, or a list of objects."""
    rows = named_rows(answer)
    table = problems()[answer.source.instance.problem].table
    if rows is None or table is None:
        return None
    if len(table.columns) == 2:
        return {str(name): value for name, value in rows}
    return [dict(zip(table.columns, row, strict=True)) for row in rows]


def json_of(answer: Answer, files: Mapping[str, Path]) -> dict[str, Any]:
    """Return an answer as a JSON object."""
    presentation = presentation_of(answer.source.instance.problem)
    return {
        **answer.to_json(),
        "cost_accuracy": presentation.cost_accuracy(answer),
        "named_solution": named_solution(answer),
        "losses": [vars(loss) for loss in presentation.losses(answer)],
        "files": {name: str(path) for name, path in files.items()},
        **presentation.facts(answer),
    }


def _print_answer(answer: Answer, files: Mapping[str, Path]) -> None:
    """Print the solution, the best bound, the gap, and the files with all of it."""
    instance = answer.source.instance
    presentation = presentation_of(instance.problem)
    echo(f"{answer.source.label}: {instance.nodes} nodes, {instance.edges} edges")
    presentation.print_solution(answer)
    unit, name = presentation.unit(answer), presentation.objective_name(answer)
    if answer.objective is None:
        _print(name, "none found")
    else:
        _print(name, f"{answer.objective:,}{unit} (by {answer.method}, verified)")
        for label, text in presentation.remarks(answer):
            _print_sentence(label, text)
    if answer.certified_bound is None:
        _print("certified bound", "none found")
    else:
        _print(
            "certified bound",
            f"{answer.certified_bound:,}{unit} (by {answer.prover}, checked)",
        )
    if answer.claimed_bound is not None:
        _print("claimed bound", f"{answer.claimed_bound:,.3f}{unit} (not certified)")
    costs = f", on {answer.source.costs}" if answer.source.costs else ""
    if answer.optimal:
        _print_sentence("gap", f"0 (optimal, certified){costs}")
    elif answer.gap is not None:
        gap = gap_percent(answer.gap, "%", 2)
        _print_sentence("gap", f"at most {gap} above the optimum{costs}")
    if answer.gap is not None and (sentence := presentation.cost_accuracy(answer)):
        _print_sentence("such costs", sentence)
    _print("seconds", f"{answer.seconds:.1f}")
    if answer.compile_seconds:
        _print("compiling", f"{answer.compile_seconds:.1f} s before the search")
    device = f", device {answer.source.device}" if answer.source.device else ""
    _print("instance", f"{instance.sha256[:12]}{device}")
    if answer.start:
        _print_sentence("library", answer.start)
    for warning in answer.warnings:
        _print_sentence("warning", warning)
    for failure in answer.failures:
        _print_sentence("note", failure)
    for what, path in files.items():
        _print(what.replace("_", " "), str(path))


def _print_table(found: Sequence[Found], is_wide: bool) -> None:
    """Print a line for each answer, and above them what they have in common."""
    from boundmark.benchmarks.cli.listing import print_rows

    answers = [answer for answer, _ in found]
    given = [answer.source.instance.parameters for answer in answers]
    names = dict.fromkeys(name for values in given for name in values)
    differing = [name for name in names if len({values.get(name) for values in given}) > 1]
    first = answers[0].source
    costs = {answer.source.costs for answer in answers}
    shared = "".join(f" {k}={v}" for k, v in given[0].items() if k not in differing)
    on = f", on {first.costs}" if first.costs and len(costs) == 1 else ""
    echo(f"{first.dataset}/{first.member}{shared}{on}")
    shown = [(presentation_of(one.source.instance.problem), one) for one in answers]
    called = {one.objective_name(answer) for one, answer in shown}
    units = {one.unit(answer) for one, answer in shown}
    cost = called.pop() if len(called) == 1 else "cost"
    cost += units.pop() if len(units) == 1 else ""
    rows: list[dict[str, Any]] = []
    for answer, values in zip(answers, given, strict=True):
        rows.append(
            {
                **{name: values.get(name, "") for name in differing},
                cost: "" if answer.objective is None else f"{answer.objective:,}",
                "bound": f"{answer.certified_bound:,}" if answer.certified_bound else "",
                "gap": "" if answer.gap is None else gap_percent(answer.gap, "%", 2),
                "by": answer.method or "",
                "bound by": answer.bound_method or "",
                "s": f"{answer.seconds:.1f}",
                **({} if len(costs) == 1 else {"costs": answer.source.costs}),
            }
        )
    print_rows(rows, False, is_wide)
    said = (one.cost_accuracy(answer) for one, answer in shown)
    for sentence in filter(None, dict.fromkeys(said)):
        echo(f"such costs: {sentence}")
    if compiling := sum(one.compile_seconds for one in answers):
        echo(f"compiling: {compiling:.1f} s before the search")
    for note in dict.fromkeys(text for one in answers for text in one.warnings):
        echo(f"warning: {note}")
    for folder in dict.fromkeys(files["results"] for _, files in found if files):
        echo(f"results: {folder}")


def print_losses(answer: Answer) -> None:
    """Print the parts of a solution's cost."""
    presentation = presentation_of(answer.source.instance.problem)
    losses = presentation.losses(answer)
    if not losses:
        return
    unit = presentation.unit(answer)
    total = max(1, sum(loss.ticks for loss in losses))
    width = max(len(loss.name) for loss in losses)
    digits = max(14, *(len(f"{loss.ticks:,}") for loss in losses))
    _print("where it is lost", losses[0].where)
    for loss in losses:
        echo(f"  {loss.name:{width}}  {loss.ticks:>{digits},}{unit}  {loss.ticks / total:6.1%}")


def _print(label: str, text: str) -> None:
    echo(f"{label:{LABEL_WIDTH}}{text}")


def _print_sentence(label: str, text: str) -> None:
    """Print a text in as many lines as it needs."""
    lines = textwrap.wrap(
        printable(text), USUAL_WIDTH - LABEL_WIDTH, break_long_words=False, break_on_hyphens=False
    )
    for number, line in enumerate(lines):
        click.echo(f"{label if number == 0 else '':{LABEL_WIDTH}}{line}")


def stored_files(answer: Answer, folder: Path | None, what: str) -> dict[str, Path]:
    """Store an answer's solution under a readable name; return the files of the answer's parts."""
    if folder is None:
        return {}
    from boundmark.reports.stored.store import ResultStore, read_document, write_document
    from boundmark.reports.tables.rows import best_rows

    store = ResultStore.open(folder)
    if what == "best":
        rows = store.results()
        rows = rows[rows["instance_sha256"] == answer.source.instance.sha256]
        for _, row in best_rows(rows, "objective").iterrows():
            if answer.objective is None or int(row["objective"]) < answer.objective:
                solution = read_document(store.solutions, str(row["solution_sha256"]))
                answer = replace(
                    answer, objective=int(row["objective"]), solution=solution, method=row["method"]
                )
    files = {"results": folder}
    if answer.solution is not None:
        digest = write_document(store.solutions, answer.solution)
        files[f"{what}_solution"] = store.solutions / f"{digest}.json"
        by_name = write_named_solution(answer, folder, what)
        if by_name is not None:
            files["by_name"] = by_name
    if answer.certificate is not None:
        digest = write_document(store.certificates, answer.certificate)
        files["certificate"] = store.certificates / f"{digest}.json"
    return files


def write_named_solution(answer: Answer, directory: Path, what: str) -> Path | None:
    """Write the solution as a CSV file into a results folder, and return its path.

    The file is called after what the solution is, and the instance. None if the problem has no
    table, or nothing was found.
    """
    # Imports pandas.
    from boundmark.reports.text import file_name

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
