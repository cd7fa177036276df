"""What `boundmark solve` prints."""

import json

import click

from boundmark.benchmarks.presentation import presentation_of
from boundmark.benchmarks.solve import Answer


def print_json(answer: Answer) -> None:
    """Print one object: what all problems have in common, and what one adds."""
    facts = presentation_of(answer.source.instance.problem).facts(answer)
    click.echo(json.dumps({**answer.to_json(), **facts}))


def print_answer(answer: Answer) -> None:
    """Print the solution, the best bound, and what is between them."""
    instance = answer.source.instance
    presentation = presentation_of(instance.problem)
    device = f", device {answer.source.device}" if answer.source.device else ""
    click.echo(
        f"{answer.source.label}: {instance.nodes} nodes, {instance.edges} edges{device}, "
        f"instance {instance.sha256[:12]}"
    )
    presentation.print_solution(answer)
    unit, name = presentation.unit(answer), presentation.objective_name(answer)
    if answer.objective is None:
        click.echo(f"{name:16} none found")
    else:
        click.echo(f"{name:16} {answer.objective:,}{unit} (by {answer.method}, verified)")
    if answer.certified_bound is None:
        click.echo("certified bound  none found")
    else:
        click.echo(
            f"certified bound  {answer.certified_bound:,}{unit} (by {answer.bound_method}, checked)"
        )
    if answer.claimed_bound is not None:
        click.echo(f"claimed bound    {answer.claimed_bound:,.3f}{unit} (not certified)")
    if answer.optimal:
        click.echo("gap              0 (optimal, certified)")
    elif answer.gap is not None:
        click.echo(f"gap              {answer.gap:.2%} at most above the optimum")
    click.echo(f"seconds          {answer.seconds:.1f}")
    for failure in answer.failures:
        click.echo(f"note             {failure}")
