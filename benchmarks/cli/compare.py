"""`boundmark compare` and `boundmark baseline`: what got better or worse between two runs."""

import gc
import json
import sys
from pathlib import Path

import click

from boundmark.benchmarks.cli.checks import check_progress
from boundmark.benchmarks.cli.options import FILE, FOLDER, PATH


@click.command()
@click.argument("base", type=PATH)
@click.argument("new", type=PATH)
@click.option(
    "--thresholds", metavar="FILE", type=FILE,
    help="TOML file with the differences beyond which NEW counts as worse; docs/nightly.md "
    "lists the defaults.",
)  # fmt: skip
@click.option(
    "--out", metavar="DIR", type=FOLDER,
    help="Also write comparison.md and comparison.json into this folder.",
)  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of Markdown.")
def compare(
    base: Path, new: Path, thresholds: Path | None, out: Path | None, as_json: bool
) -> None:
    """Say whether the run NEW is better or worse than the run BASE.

    Both are results folders, or files that `boundmark baseline` wrote. Verified costs, certified
    bounds, failures and solved counts decide; times are only reported. The exit code is 0 if NEW is
    the same or better, 1 if it is worse, and 3 if nothing could be compared. As in reports, the
    checker sees the best documents of each instance of a folder.
    """
    from boundmark.reports.comparison import check_run, compare_runs, read_run, read_thresholds
    from boundmark.reports.comparison.compare import render_comparison
    from boundmark.reports.stored.durable import make_folder, write_durably

    limits = None if thresholds is None else read_thresholds(thresholds)
    # What is not there is better known now than after the checks of the other.
    for path in (base, new):
        check_run(path)
    # To look for cycles among millions of objects, which all stay until the end, takes long.
    gc.disable()
    try:
        with check_progress() as on_check:
            base_run = read_run(base, on_check)
        with check_progress() as on_check:
            new_run = read_run(new, on_check)
        found = compare_runs(base_run, new_run, limits)
    finally:
        gc.enable()
    texts = {
        "comparison.md": render_comparison(found),
        "comparison.json": json.dumps(found.to_json(), indent=2, sort_keys=True) + "\n",
    }
    if out is not None:
        make_folder(out)
        for name, text in texts.items():
            write_durably(out / name, text.encode())
    click.echo(texts["comparison.json" if as_json else "comparison.md"], nl=False)
    sys.exit(found.exit_code)


@click.command()
@click.argument("directory", metavar="DIR", type=PATH)
@click.argument("file", type=FILE)
def baseline(directory: Path, file: Path) -> None:
    """Store what `boundmark compare` needs of a run in one file.

    DIR is the run's results folder, FILE the Parquet file to write. Of methods that have changed
    since the run began, only the newest version counts. As in reports, the checker sees the best
    documents of each instance; if it rejects one, nothing is written.
    """
    from boundmark.benchmarks.terminal import echo
    from boundmark.reports.comparison import read_run
    from boundmark.reports.comparison.recorded_run import keep_as_baseline

    with check_progress() as on_check:
        run = read_run(directory, on_check)
    keep_as_baseline(run, file)
    kept = read_run(file)
    size = file.stat().st_size
    echo(f"{file}: {len(kept.tasks):,} tasks of {kept.label.short}, {size:,} bytes")
