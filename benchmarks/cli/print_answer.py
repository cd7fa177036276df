"""Prints the answer of `solve` and `evaluate`."""

import json
import textwrap
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from boundmark.benchmarks.answer import Answer
from boundmark.benchmarks.grading.solution_file import named_solution
from boundmark.benchmarks.presentation import presentation_of
from boundmark.benchmarks.terminal import USUAL_WIDTH
from boundmark.bounds.checker import printable

LABEL_WIDTH = 17


def print_json(
    answer: Answer, files: Mapping[str, Path], more: Mapping[str, Any] | None = None
) -> None:
    """Print one object: what all problems have in common, and what one adds."""
    click.echo(json.dumps({**json_of(answer, files), **(more or {})}))


def json_of(answer: Answer, files: Mapping[str, Path]) -> dict[str, Any]:
    """Return the object of an answer."""
    presentation = presentation_of(answer.source.instance.problem)
    return {
        **answer.to_json(),
        "named_solution": named_solution(answer),
        "losses": [vars(loss) for loss in presentation.losses(answer)],
        "files": {name: str(path) for name, path in files.items()},
        **presentation.facts(answer),
    }


def print_answer(answer: Answer, files: Mapping[str, Path]) -> None:
    """Print the solution, the best bound, the gap, and the files with all of it."""
    instance = answer.source.instance
    presentation = presentation_of(instance.problem)
    click.echo(printable(f"{answer.source.label}: {instance.nodes} nodes, {instance.edges} edges"))
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
            f"{answer.certified_bound:,}{unit} (by {answer.bound_method}, checked)",
        )
    if answer.claimed_bound is not None:
        _print("claimed bound", f"{answer.claimed_bound:,.3f}{unit} (not certified)")
    costs = f", on {answer.source.costs}" if answer.source.costs else ""
    if answer.optimal:
        _print_sentence("gap", f"0 (optimal, certified){costs}")
    elif answer.gap is not None:
        _print_sentence("gap", f"at most {answer.gap:.2%} above the optimum{costs}")
    _print("seconds", f"{answer.seconds:.1f}")
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


def print_losses(answer: Answer) -> None:
    """Print what the cost of a solution is made of."""
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
        click.echo(
            printable(
                f"  {loss.name:{width}}  {loss.ticks:>{digits},}{unit}  {loss.ticks / total:6.1%}"
            )
        )


def _print(label: str, text: str) -> None:
    click.echo(printable(f"{label:{LABEL_WIDTH}}{text}"))


def _print_sentence(label: str, text: str) -> None:
    """Print a text in as many lines as it needs."""
    lines = textwrap.wrap(
        printable(text), USUAL_WIDTH - LABEL_WIDTH, break_long_words=False, break_on_hyphens=False
    )
    for number, line in enumerate(lines):
        click.echo(f"{label if number == 0 else '':{LABEL_WIDTH}}{line}")
