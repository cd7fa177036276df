"""Commands on results folders and runs: verify, merge, compare and baseline."""

import gc
import json
import sys
from pathlib import Path

import click

from boundmark.benchmarks.cli.options import FILE, FOLDER, PATH, PERCENT
from boundmark.benchmarks.cli.verification import check_progress


@click.command()
@click.argument(
    "paths", nargs=-1, required=True, metavar="DIR|FILE...",
    type=click.Path(path_type=Path, exists=True),
)  # fmt: skip
@click.option(
    "--sources", is_flag=True,
    help="Also make every instance again from the data set, device and parameters that its rows "
    "name, and compare.",
)  # fmt: skip
@click.option(
    "--manifest", metavar="FILE", type=FILE,
    help="Also compare the files of one results folder with this manifest, which `boundmark run "
    "--manifest` wrote and you have from elsewhere than from whoever gave you the folder.",
)  # fmt: skip
@click.option("--quiet", is_flag=True, help="Print only what was rejected.")
def verify(paths: tuple[Path, ...], sources: bool, manifest: Path | None, quiet: bool) -> None:
    """Check the documents and rows of results, or single files.

    The exit code is 0 only if all are accepted. In a results folder, every cost and bound that a
    row states must follow from the folder's instances, solutions and certificates, and so must
    every line of the library. A file of the library's pages (.jsonl.gz) has all that belongs to an
    instance. With another single file, name its instance too, unless that lies where a results
    folder keeps it.

    Names of data sets, devices and methods are not checked; --sources checks those of instances.
    Whether rows are gone or were exchanged, only a manifest tells.
    Accepted documents of a folder are not checked again by `report` and `compare`.
    """
    from boundmark.benchmarks.cli.terminal import echo
    from boundmark.benchmarks.library.folder import FACTS, Library
    from boundmark.benchmarks.library.verifying import check_library, sources_of
    from boundmark.benchmarks.running.folder_verification import (
        Verdict,
        verify_files,
        verify_folder,
        verify_sources,
        verify_stated_sources,
    )
    from boundmark.reports.stored.accepted import Accepted
    from boundmark.reports.stored.manifest import differences, read_manifest

    if manifest is not None and (len(paths) != 1 or not paths[0].is_dir()):
        raise click.UsageError("--manifest is about one results folder; expected one DIR.")
    listed = None if manifest is None else read_manifest(manifest)
    accepted = Accepted()
    verdicts: list[Verdict] = []
    for path in paths:
        if (path / FACTS).exists():
            verdicts.extend(check_library(path, accepted))
            if sources:
                rows = sources_of(Library.open(path).entries())
                verdicts.extend(verify_stated_sources(str(path), rows))
        elif path.is_dir():
            verdicts.extend(verify_folder(path, accepted))
            if sources:
                verdicts.extend(verify_sources(path))
            if listed is not None:
                found = differences(path, listed)
                verdicts += [Verdict(str(path / name), reason) for name, reason in found]
    accepted.save()
    # Pipes and devices too: they are rejected, not passed over.
    files = [path for path in paths if not path.is_dir()]
    verdicts.extend(verify_files(files))
    rejected = [verdict for verdict in verdicts if verdict.reason is not None]
    for verdict in rejected:
        echo(f"rejected: {verdict.subject}: {verdict.reason}")
    if not quiet:
        for verdict in verdicts:
            if verdict.proved:
                echo(f"accepted: {verdict.subject}: {verdict.proved}")
    if not quiet or rejected:
        click.echo(f"{len(verdicts) - len(rejected)} accepted, {len(rejected)} rejected")
    if rejected:
        sys.exit(1)


@click.command()
@click.argument("folders", nargs=-1, required=True, metavar="DIR DIR...", type=PATH)
@click.option(
    "--out", required=True, metavar="DIR", type=PATH,
    help="New folder; it must be empty or not there yet.",
)  # fmt: skip
def merge(folders: tuple[Path, ...], out: Path) -> None:
    """Merge results folders, e.g. of several hosts, into a new one.

    The folders are not changed. Where several have a task, the new folder gets the latest row of
    those whose documents are there and whose status is ok. Rows that contradict it are printed.
    """
    from boundmark.benchmarks.cli.terminal import echo
    from boundmark.reports.merging import merge_folders
    from boundmark.reports.text import count

    merged = merge_folders(folders, out)
    echo(
        f"{out}: {count(merged.tasks, 'task')} of {count(len(folders), 'folder')}, "
        f"{count(merged.duplicates, 'duplicate')}, {count(len(merged.conflicts), 'conflict')}"
    )
    for conflict in merged.conflicts:
        echo(f"conflict: {conflict.sentence}")
    for name, reason in merged.left_files.items():
        echo(f"not copied, because {reason}: {name}")
    for row in merged.unsupported.to_dict("records"):
        echo(f"without support: {row['column']} of task {row['task_id']}: {row['reason']}")


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
    help="Also write comparison.md, comparison.json, and summary.md, which has the verdict and the "
    "worst findings for a comment on a change, into this folder.",
)  # fmt: skip
@click.option(
    "--slower", metavar="PERCENT", type=PERCENT,
    help="Also count a method as worse that takes longer by more than this, in the mean over "
    "instances.",
)  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of Markdown.")
def compare(
    base: Path,
    new: Path,
    thresholds: Path | None,
    out: Path | None,
    slower: float | None,
    as_json: bool,
) -> None:
    """Say whether the run NEW is better or worse than the run BASE.

    Both are results folders, or files that `boundmark baseline` wrote. Verified costs, certified
    bounds, failures and solved counts decide; times only with --slower. The exit code is 0 if NEW
    is the same or better, 1 if it is worse, and 3 if nothing could be compared. As in reports, the
    checker sees the best documents of each instance of a folder.

    A task that differs in parameters only, as where a default was changed, is compared and named;
    one that NEW lacks counts as worse.
    """
    from boundmark.reports.comparison import check_run, compare_runs, read_run, read_thresholds
    from boundmark.reports.comparison.compare import render_comparison, render_summary
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
        found = compare_runs(base_run, new_run, limits, slower)
    finally:
        gc.enable()
    texts = {
        "comparison.md": render_comparison(found),
        "summary.md": render_summary(found),
        "comparison.json": json.dumps(found.to_json(), indent=2, sort_keys=True) + "\n",
    }
    if out is not None:
        make_folder(out)
        for name, text in texts.items():
            write_durably(out / name, text.encode())
    click.echo(texts["comparison.json" if as_json else "comparison.md"], nl=False)
    sys.exit(found.exit_code)


@click.command()
@click.argument("directories", metavar="DIR...", nargs=-1, required=True, type=PATH)
@click.argument("file", type=FILE)
def baseline(directories: tuple[Path, ...], file: Path) -> None:
    """Store what `boundmark compare` needs of a run in one file.

    DIR is the run's results folder, FILE the Parquet file to write. Several folders are repeats of
    one run: where their results differ, NEW is worse only if it differs more. Of methods that have
    changed since the run began, only the newest version counts. As in reports, the checker sees the
    best documents of each instance; if it rejects one, nothing is written.
    """
    from boundmark.benchmarks.cli.terminal import echo
    from boundmark.reports.comparison import read_run
    from boundmark.reports.comparison.recorded_run import keep_as_baseline

    runs = []
    for directory in directories:
        with check_progress() as on_check:
            runs.append(read_run(directory, on_check))
    keep_as_baseline(runs, file)
    kept = read_run(file)
    size = file.stat().st_size
    echo(
        f"{file}: {len(kept.tasks):,} tasks of {kept.label.short}, {len(kept.repeats):,} results, "
        f"{size:,} bytes"
    )
