"""Prints what `solve` and `evaluate` know: a line for each round as it goes on, then the answer."""

import json
import textwrap
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click
from rich.console import Console, Group
from rich.live import Live
from rich.text import Text

from boundmark.benchmarks.answer import Answer
from boundmark.benchmarks.grading.solution_file import named_solution
from boundmark.benchmarks.method_rounds import MethodRounds
from boundmark.benchmarks.presentation import presentation_of
from boundmark.benchmarks.terminal import USUAL_WIDTH
from boundmark.bounds.checker import printable

REFRESHES_A_SECOND = 4


class _Lines:
    """Drawn anew whenever the terminal asks for it; rounds that are over keep their line."""

    def __init__(self, rounds: MethodRounds) -> None:
        self._rounds = rounds
        self._lines: dict[int, Text] = {}

    def __rich__(self) -> Group:
        number = self._rounds.round
        if number:
            self._lines[number] = Text(line_of(self._rounds), no_wrap=True, overflow="ellipsis")
        return Group(*self._lines.values())


def line_of(rounds: MethodRounds) -> str:
    """Return what is known in a round: incumbent, bound, gap, time left, methods that run."""
    upper, lower = rounds.objective, rounds.bound
    parts = [
        f"round {rounds.round}/{rounds.rounds}",
        f"best {'-' if upper is None else f'{upper:,}'}",
        f"bound {'-' if lower is None else f'{lower:,}'}",
        f"gap {f'{upper / lower - 1:.2%}' if upper is not None and lower else '-'}",
        f"{rounds.clock.remaining():.0f} s left",
        printable(", ".join(rounds.running)) or "checking",
    ]
    return "  ".join(parts)


@contextmanager
def live_lines(console: Console, rounds: MethodRounds) -> Iterator[None]:
    """Show a live line per round on a terminal; nothing elsewhere."""
    if not console.is_terminal or console.quiet:
        yield
        return
    lines = _Lines(rounds)
    with Live(lines, console=console,
              refresh_per_second=REFRESHES_A_SECOND):  # fmt: skip
        yield


LABEL_WIDTH = 17


def print_json(
    answer: Answer, files: Mapping[str, Path], more: Mapping[str, Any] | None = None
) -> None:
    """Print one object: what all problems have in common, and what one adds."""
    presentation = presentation_of(answer.source.instance.problem)
    click.echo(
        json.dumps(
            {
                **answer.to_json(),
                "named_solution": named_solution(answer),
                "losses": [vars(loss) for loss in presentation.losses(answer)],
                "files": {name: str(path) for name, path in files.items()},
                **presentation.facts(answer),
                **(more or {}),
            }
        )
    )


def print_answer(answer: Answer, files: Mapping[str, Path]) -> None:
    """Print the solution, the best bound, what is between them, and where all that is stored."""
    instance = answer.source.instance
    presentation = presentation_of(instance.problem)
    click.echo(printable(f"{answer.source.label}: {instance.nodes} nodes, {instance.edges} edges"))
    presentation.print_solution(answer)
    unit, name = presentation.unit(answer), presentation.objective_name(answer)
    if answer.objective is None:
        _print(name, "none found")
    else:
        _print(name, f"{answer.objective:,}{unit} (by {answer.method}, verified)")
    if answer.certified_bound is None:
        _print("certified bound", "none found")
    else:
        _print(
            "certified bound",
            f"{answer.certified_bound:,}{unit} (by {answer.bound_method}, checked)",
        )
    if answer.claimed_bound is not None:
        _print("claimed bound", f"{answer.claimed_bound:,.3f}{unit} (not certified)")
    if answer.optimal:
        _print("gap", "0 (optimal, certified)")
    elif answer.gap is not None:
        _print("gap", f"at most {answer.gap:.2%} above the optimum")
    _print("seconds", f"{answer.seconds:.1f}")
    device = f", device {answer.source.device}" if answer.source.device else ""
    _print("instance", f"{instance.sha256[:12]}{device}")
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
