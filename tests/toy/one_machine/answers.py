"""How `boundmark solve` shows an order."""

from typing import Any

import click

from boundmark.benchmarks.solving.answer import Answer
from boundmark.benchmarks.solving.presentation import Presentation


def goal(answer: Answer) -> str:
    """Return what counts."""
    return str(answer.source.instance.parameters["goal"])


def facts(answer: Answer) -> dict[str, Any]:
    """Return the first job."""
    return {"first_job": answer.solution["order"][0] if answer.solution else None}


def print_order(answer: Answer) -> None:
    """Print the jobs in a line."""
    if answer.solution:
        click.echo(f"order            {' '.join(map(str, answer.solution['order']))}")


PRESENTATION = Presentation("one-machine", goal, facts=facts, print_solution=print_order)
