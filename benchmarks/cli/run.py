"""`boundmark run` and `conformance`: a suite, and what is asked of a method."""

import json
import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import click

from boundmark.benchmarks.cli.options import (
    FILE,
    FOLDER,
    GIBIBYTES,
    INTERRUPTED,
    SECONDS,
    fail_on_option,
    fail_over,
    statuses,
)
from boundmark.benchmarks.cli.verification import check_progress, print_left_out
from boundmark.reports.stored.statuses import FAILURES, unsupported_by_reason

if TYPE_CHECKING:
    from boundmark.benchmarks.running.runner import Planning, Wanted


@click.command()
@click.argument("suite")
@click.option("--small", is_flag=True, help="Run the small form of a paper's suite.")
@click.option(
    "--out", required=True, metavar="DIR", type=FOLDER,
    help="Results folder to write or to continue; tasks that it holds already are not run again.",
)  # fmt: skip
@click.option(
    "--workers", type=click.IntRange(min=1), show_default="one per CPU",
    help="Number of tasks that run at a time on this machine.",
)  # fmt: skip
@click.option(
    "--engine", "engine_name", type=click.Choice(("local", "dask")),
    show_default="dask with --scheduler, else local",
    help="Run the tasks on this machine (local), or on workers of Dask.",
)  # fmt: skip
@click.option(
    "--scheduler", metavar="ADDRESS",
    help="Run the tasks on the workers of this Dask scheduler, e.g. tcp://host:8786. "
    "--engine dask alone starts a scheduler and workers on this machine.",
)  # fmt: skip
@click.option(
    "--time-limit", type=SECONDS, metavar="SECONDS",
    help="Wall-clock limit of each task, in seconds; by default, the suite's.",
)  # fmt: skip
@click.option(
    "--memory-limit", type=GIBIBYTES, metavar="GIB",
    help="Memory limit of each task, in GiB; by default, the suite's.",
)  # fmt: skip
@click.option(
    "--retry", default="", metavar="STATUS,...", callback=statuses,
    help=f"Run stored tasks with these statuses again ({', '.join(FAILURES)}).",
)  # fmt: skip
@click.option(
    "--rerun", multiple=True, metavar="METHOD",
    help="Run stored tasks of this method again; may be repeated.",
)  # fmt: skip
@click.option(
    "--dry-run", is_flag=True,
    help="Run nothing; print how many tasks there are to run, on which instances, and how long "
    "they may take.",
)  # fmt: skip
@click.option(
    "--filter", "patterns", multiple=True, metavar="GLOB",
    help="Run only tasks whose label matches this shell pattern, or a part of it does; a label is "
    "for example 'onnx-light/resnet50 k=8 share'. May be repeated: one of them has to match.",
)  # fmt: skip
@click.option(
    "--manifest", metavar="FILE", type=FILE,
    help="At the end, write the SHA-256 of each file of the folder to FILE, which `boundmark "
    "verify --manifest` checks; print the hash of FILE, to be published.",
)  # fmt: skip
@fail_on_option
@click.option("--quiet", is_flag=True, help="Show no progress.")
def run(
    suite: str,
    small: bool,
    out: Path,
    workers: int | None,
    engine_name: str | None,
    scheduler: str | None,
    time_limit: float | None,
    memory_limit: float | None,
    retry: tuple[str, ...],
    rerun: tuple[str, ...],
    dry_run: bool,
    patterns: tuple[str, ...],
    manifest: Path | None,
    fail_on: tuple[str, ...],
    quiet: bool,
) -> None:
    """Run a suite and store a verified row for every task.

    SUITE is the name of a suite, see `boundmark suites`, or of a part of one such as
    nightly/proofs, or a TOML file. A task is a method on an instance with a seed. What it finds is
    checked before it is stored. Ctrl-C and SIGTERM end the run; what is stored by then is kept.
    """
    from boundmark.benchmarks.cli.terminal import echo
    from boundmark.benchmarks.running.execution.engine import make_engine
    from boundmark.benchmarks.running.progress import progress_console
    from boundmark.benchmarks.running.runner import Planning, Wanted, run_collection
    from boundmark.benchmarks.running.suite_file import load_collection
    from boundmark.reports.stored.manifest import write_manifest

    wanted = Wanted(retry, patterns, rerun)
    try:
        chosen = load_collection(suite, small=small)
        if dry_run:
            console = progress_console(quiet)
            planning = Planning(chosen, time_limit, memory_limit, console, patterns)
            _print_plan(planning, out, wanted, workers or len(os.sched_getaffinity(0)))
            return
        summary = run_collection(
            chosen,
            out,
            make_engine(engine_name, workers, scheduler),
            wanted,
            seconds=time_limit,
            memory_gib=memory_limit,
            console=progress_console(quiet),
        )
        lines = [*_wrong_claims(out), *_records(out, quiet)]
        if manifest is not None:
            lines.append(f"manifest: {manifest}, sha256 {write_manifest(out, manifest)}")
    except KeyboardInterrupt:
        _print_how_to_resume(out, rerun)
        sys.exit(INTERRUPTED)
    counts = ", ".join(f"{count} {status}" for status, count in sorted(summary.statuses.items()))
    text = f"{chosen.name}: {summary.planned} tasks, {summary.reused} already stored, "
    text += f"{summary.done} run" + (f" ({counts})" if counts else "") + f"; results in {out}"
    echo(text)
    for reason in unsupported_by_reason(summary.unsupported):
        echo(reason.sentence)
    for line in lines:
        echo(line)
    fail_over(fail_on, summary.stored)


def _print_plan(planning: "Planning", out: Path, wanted: "Wanted", workers: int) -> None:
    """Print what a run would do, from longest to shortest by method."""
    from boundmark.benchmarks.cli.listing import print_rows
    from boundmark.benchmarks.running.runner import missing_tasks
    from boundmark.problems.errors import find
    from boundmark.reports.stored.store import ResultStore

    by_id = {item.task.task_id: item for item in planning.tasks()}
    if not by_id:
        raise wanted.no_match()
    for name in wanted.rerun:
        find("method in the suite", name, planning.methods)
    is_there = (out / "results").is_dir()
    to_do = (
        missing_tasks(ResultStore.open(out), by_id, wanted) if is_there else list(by_id.values())
    )
    rows = []
    for method in dict.fromkeys(item.task.method for item in to_do):
        own = [item for item in to_do if item.task.method == method]
        rows.append(
            {
                "method": method,
                "tasks": len(own),
                "instances": len({item.task.instance_sha256 for item in own}),
                "at most [min]": round(sum(x.task.time_limit_seconds for x in own) / 60, 1),
            }
        )
    if rows:
        print_rows(
            sorted(rows, key=lambda row: (-float(str(row["at most [min]"])), row["method"])), False
        )
    instances = len({item.task.instance_sha256 for item in to_do})
    seconds = sum(item.task.time_limit_seconds for item in to_do) / workers
    click.echo(
        f"{len(by_id)} tasks, {len(by_id) - len(to_do)} already stored, {len(to_do)} to run on "
        f"{instances} instances; at most {_duration(seconds)} with {workers} at a time, if each "
        "takes all of its time"
    )
    if planning.left_out:
        click.echo(f"{len(planning.left_out)} files left out")


def _duration(seconds: float) -> str:
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"


def _print_how_to_resume(out: Path, rerun: tuple[str, ...]) -> None:
    """Print how many tasks are stored, and that the same command resumes the run."""
    from boundmark.problems.errors import BoundmarkError
    from boundmark.reports.stored.store import ResultStore

    stored = ""
    with suppress(BoundmarkError):
        stored = f"{len(ResultStore.open(out).finished())} tasks are stored in {out}; "
    less = ", without --rerun for what has run again," if rerun else ""
    click.echo(f"interrupted: {stored}the same command{less} goes on with the others", err=True)


def _wrong_claims(directory: Path) -> list[str]:
    """Return a sentence for each method with claims that verified costs of the folder refute."""
    from boundmark.reports.stored.store import ResultStore
    from boundmark.reports.tables.tasks import contradicted_claims, with_names

    wrong = contradicted_claims(with_names(ResultStore.open(directory).results()))
    lines = []
    for method, rows in wrong.groupby("method"):
        first = rows.iloc[0]
        lines.append(
            f"wrong: {len(rows)} claimed by {method} above verified costs; the first: "
            f"{first['bound_claimed']:,.3f} on {first['dataset']}/{first['instance']}, which has "
            f"a solution of {int(first['best_objective']):,}"
        )
    return lines


def _records(directory: Path, quiet: bool) -> list[str]:
    """Return a sentence about results better than the best known, if there are any.

    Only what the checker accepts is told of, whatever the folder held before this run.
    """
    from boundmark.reports.best_known import improvements, of_results, shipped
    from boundmark.reports.stored.store import ResultStore
    from boundmark.reports.stored.verified_results import supported_results, verified_results

    store = ResultStore.open(directory)
    # A folder's checks take minutes; nothing depends on them where nothing claims a record.
    supported = supported_results(store, with_traces=False)
    stated = supported.results
    if stated.empty or not improvements(shipped(), of_results(stated)).sentence:
        print_left_out(supported.unsupported)
        return []
    with check_progress(quiet) as on_check:
        checked = verified_results(store, with_traces=False, on_check=on_check)
    print_left_out(checked.unsupported)
    if checked.results.empty:
        return []
    sentence = improvements(shipped(), of_results(checked.results)).sentence
    return [sentence] if sentence else []


@click.command()
@click.argument("method")
@click.option(
    "--seconds", type=SECONDS, default=5.0, show_default=True,
    help="Wall-clock limit of each task, in seconds.",
)  # fmt: skip
@click.option("--workers", type=click.IntRange(min=1), show_default="one per CPU",
              help="Number of tasks that run at a time.")  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of a table.")
def conformance(method: str, seconds: float, workers: int | None, as_json: bool) -> None:
    """Test METHOD on tiny instances whose optimum is known.

    docs/extending.md lists what is tested. The exit code is 1 if METHOD fails a test.
    """
    from boundmark.benchmarks.cli.terminal import echo
    from boundmark.benchmarks.running.conformance import MOST_TOLD, verdicts

    found = verdicts(method, seconds=seconds, workers=workers)
    if as_json:
        listed = [{**vars(one), "failures": list(one.failures)} for one in found]
        click.echo(json.dumps({"method": method, "verdicts": listed}, indent=2))
    else:
        for one in found:
            counted = f" ({one.counted})" if one.counted else ""
            echo(f"{'fails' if one.failures else 'ok':6} {one.asked}{counted}")
            for failure in one.failures[:MOST_TOLD]:
                echo(f"         {failure}")
            if len(one.failures) > MOST_TOLD:
                echo(f"         and {len(one.failures) - MOST_TOLD} more")
    failed = sum(bool(one.failures) for one in found)
    if not as_json:
        how = f"does not conform: {failed} of {len(found)}" if failed else "conforms"
        echo(f"{method} {how}")
    if failed:
        sys.exit(1)
