"""`boundmark run`: a suite into a results folder."""

from pathlib import Path

import click

from boundmark.benchmarks.cli.checks import check_progress, print_left_out
from boundmark.benchmarks.cli.options import fail_on_option, fail_over, statuses
from boundmark.reports.stored.statuses import FAILURES, unsupported_by_reason


@click.command()
@click.argument("suite")
@click.option("--small", is_flag=True, help="The suite's small form, for suites of papers.")
@click.option(
    "--out", required=True, metavar="DIR", type=click.Path(path_type=Path, file_okay=False),
    help="Results folder; tasks that it already holds are not run again.",
)  # fmt: skip
@click.option(
    "--workers", type=click.IntRange(min=1), show_default="one per CPU",
    help="Tasks at a time on this machine.",
)  # fmt: skip
@click.option(
    "--engine", "engine_name", type=click.Choice(("local", "dask")), default="local",
    show_default=True, help="What executes the tasks: this process, or workers of Dask.",
)  # fmt: skip
@click.option(
    "--scheduler", metavar="ADDRESS",
    help="Dask scheduler, e.g. tcp://host:8786; without one, --engine dask starts its own here.",
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
    "--retry", default="", metavar="STATUS,...", callback=statuses,
    help=f"Run stored tasks with these statuses again ({', '.join(FAILURES)}).",
)  # fmt: skip
@click.option(
    "--filter", "pattern", metavar="GLOB",
    help="Only tasks whose label, e.g. 'onnx-light/resnet50 k=8 share', matches or contains this.",
)  # fmt: skip
@click.option(
    "--update-best", metavar="FILE", type=click.Path(path_type=Path, dir_okay=False),
    help="Record the best costs and bounds of all instances in this Parquet file.",
)  # fmt: skip
@fail_on_option
@click.option("--quiet", is_flag=True, help="No progress bar.")
def run(
    suite: str,
    small: bool,
    out: Path,
    workers: int | None,
    engine_name: str,
    scheduler: str | None,
    time_limit: float | None,
    memory_limit: float | None,
    retry: tuple[str, ...],
    pattern: str | None,
    update_best: Path | None,
    fail_on: tuple[str, ...],
    quiet: bool,
) -> None:
    """Run SUITE and store a verified row for every task.

    SUITE is the name of a suite, of a part of one such as nightly/proofs, or a TOML file.
    """
    from boundmark.benchmarks.engines import make_engine
    from boundmark.benchmarks.progress import progress_console
    from boundmark.benchmarks.runner import Wanted
    from boundmark.benchmarks.stored_results import run_collection
    from boundmark.benchmarks.suite_file import load_collection
    from boundmark.bounds.checker import printable
    from boundmark.reports.best_known import read_records

    if update_best is not None:
        # A file that cannot be updated is better known now than after hours.
        read_records(update_best)
    chosen = load_collection(suite, small=small)
    summary = run_collection(
        chosen,
        out,
        make_engine(engine_name, workers, scheduler),
        Wanted(retry, pattern),
        seconds=time_limit,
        memory_gib=memory_limit,
        console=progress_console(quiet),
    )
    counts = ", ".join(f"{count} {status}" for status, count in sorted(summary.statuses.items()))
    text = f"{chosen.name}: {summary.planned} tasks, {summary.reused} already stored, "
    text += f"{summary.done} run" + (f" ({counts})" if counts else "") + f"; results in {out}"
    click.echo(printable(text))
    for reason in unsupported_by_reason(summary.unsupported):
        click.echo(printable(reason.sentence))
    for line in _records(out, update_best, quiet):
        click.echo(printable(line))
    fail_over(fail_on, summary.stored)


def _records(directory: Path, path: Path | None, quiet: bool) -> list[str]:
    """Return what there is to say about best known results, and update a file of them if asked.

    Only what the checker accepts is recorded, whatever the folder held before this run.
    """
    from boundmark.reports.best_known import (
        improvements,
        merged,
        of_results,
        read_records,
        shipped,
        write_records,
    )
    from boundmark.reports.stored.checked_results import checked_results
    from boundmark.reports.stored.store import ResultStore

    with check_progress(quiet) as on_check:
        store = ResultStore.open(directory)
        checked = checked_results(store, with_traces=False, on_check=on_check)
    print_left_out(checked.unsupported)
    results = checked.results
    if results.empty:
        return []
    found = of_results(results)
    lines = [improvements(shipped(), found).sentence]
    if path is not None:
        known = read_records(path)
        change = improvements(known, found)
        write_records(path, merged(known, found))
        lines.append(
            f"{path}: {change.added} instances added, {len(change.solutions)} costs and "
            f"{len(change.bounds)} bounds improved of {change.known} known"
        )
    return [line for line in lines if line]
