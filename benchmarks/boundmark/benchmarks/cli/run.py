"""`boundmark run`: a suite into a results folder."""

import dataclasses
import os
from pathlib import Path

import click

STATUSES = ("timeout", "oom", "crashed", "error", "unsupported")


def _statuses(context: click.Context, parameter: click.Parameter, value: str) -> tuple[str, ...]:
    chosen = tuple(part.strip() for part in value.split(",") if part.strip())
    for status in chosen:
        if status not in STATUSES:
            raise click.BadParameter(f"{status!r} is not one of {', '.join(STATUSES)}.")
    return chosen


@click.command()
@click.argument("suite")
@click.option(
    "--out", required=True, metavar="DIR", type=click.Path(path_type=Path, file_okay=False),
    help="Results folder; tasks that it already holds are not run again.",
)  # fmt: skip
@click.option(
    "--workers", type=click.IntRange(min=1), default=len(os.sched_getaffinity(0)),
    show_default="one a CPU", help="Tasks at a time.",
)  # fmt: skip
@click.option(
    "--time-limit", type=click.FloatRange(min=0, min_open=True), metavar="SECONDS",
    help="Wall-clock limit of each task, instead of the suite's.",
)  # fmt: skip
@click.option(
    "--memory-limit", type=click.FloatRange(min=0, min_open=True), metavar="GIB",
    help="Memory limit of each task, instead of the suite's.",
)  # fmt: skip
@click.option(
    "--retry", default="", metavar="STATUS,...", callback=_statuses,
    help=f"Run stored tasks with these statuses again ({', '.join(STATUSES)}).",
)  # fmt: skip
@click.option(
    "--filter", "pattern", metavar="GLOB",
    help="Only tasks whose label, e.g. 'onnx-light/resnet50 k=8 share', matches or contains this.",
)  # fmt: skip
@click.option("--quiet", is_flag=True, help="No progress bar.")
def run(
    suite: str,
    out: Path,
    workers: int,
    time_limit: float | None,
    memory_limit: float | None,
    retry: tuple[str, ...],
    pattern: str | None,
    quiet: bool,
) -> None:
    """Run SUITE, a suite's name or a TOML file, and store a verified row for every task."""
    from rich.console import Console

    from boundmark.benchmarks.cli.progress import task_progress
    from boundmark.benchmarks.runner import run_suite
    from boundmark.benchmarks.suite_file import load_suite

    chosen = load_suite(suite)
    if time_limit is not None:
        chosen = dataclasses.replace(chosen, time_limit_seconds=time_limit)
    if memory_limit is not None:
        chosen = dataclasses.replace(chosen, memory_limit_gib=memory_limit)
    console = Console(stderr=True, quiet=quiet)
    with task_progress(console, chosen.name) as (on_start, on_finish):
        summary = run_suite(
            chosen,
            chosen.load_instances(lambda reason: console.print(f"left out: {reason}")),
            out,
            workers=workers,
            retry=retry,
            pattern=pattern,
            on_start=on_start,
            on_finish=on_finish,
        )
    done = sum(summary.statuses.values())
    counts = ", ".join(f"{count} {status}" for status, count in sorted(summary.statuses.items()))
    click.echo(
        f"{chosen.name}: {summary.planned} tasks, {summary.reused} already stored, {done} run"
        + (f" ({counts})" if counts else "")
        + f"; results in {out}"
    )
