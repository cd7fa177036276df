"""`boundmark verify`: the solver-free checker over folders and files."""

import sys
from pathlib import Path

import click

from boundmark.benchmarks.cli.options import FILE


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
    """Check all documents and rows of results folders, or files.

    The exit code is 0 only if all are accepted. In a results folder, every cost and bound that a
    row states must follow from the folder's instances, solutions and certificates. With a single
    file, name its instance too, unless that lies where a results folder keeps it.

    Names of data sets, devices and methods are not checked; --sources checks those of instances.
    Whether rows are gone or were exchanged, only a manifest tells.
    Accepted documents of a folder are not checked again by `report` and `compare`.
    """
    from boundmark.benchmarks.folder_check import (
        Verdict,
        check_files,
        check_folder,
        check_sources,
    )
    from boundmark.benchmarks.terminal import echo
    from boundmark.reports.stored.file_cache import Accepted
    from boundmark.reports.stored.manifest import differences, read_manifest

    if manifest is not None and (len(paths) != 1 or not paths[0].is_dir()):
        raise click.UsageError("--manifest is about one results folder; expected one DIR.")
    listed = None if manifest is None else read_manifest(manifest)
    accepted = Accepted()
    verdicts: list[Verdict] = []
    for path in paths:
        if path.is_dir():
            verdicts.extend(check_folder(path, accepted))
            if sources:
                verdicts.extend(check_sources(path))
            if listed is not None:
                found = differences(path, listed)
                verdicts += [Verdict(str(path / name), reason) for name, reason in found]
    accepted.save()
    # Pipes and devices too: they are rejected, not passed over.
    files = [path for path in paths if not path.is_dir()]
    verdicts.extend(check_files(files))
    rejected = [verdict for verdict in verdicts if verdict.reason is not None]
    for verdict in rejected:
        echo(f"rejected: {verdict.subject}: {verdict.reason}")
    if not quiet or rejected:
        click.echo(f"{len(verdicts) - len(rejected)} accepted, {len(rejected)} rejected")
    if rejected:
        sys.exit(1)
