"""`boundmark merge`: one results folder of several."""

from pathlib import Path

import click

from boundmark.benchmarks.cli.options import PATH


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
    from boundmark.benchmarks.terminal import echo
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
