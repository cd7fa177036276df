"""`boundmark nightly` and `gate`: a suite against its baseline or another installation."""

import datetime as dt
import json
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NoReturn

import click

from boundmark.benchmarks.cli.options import FILE, FOLDER, INTERRUPTED

# How often BASE runs a suite: what depends on the clock is worse if it differs more than these do.
REPEATS = 3

THRESHOLDS = "thresholds.toml"


@click.command()
@click.argument("suite", default="nightly")
@click.option(
    "--baselines", metavar="DIR", type=FOLDER, default=Path("baselines"), show_default=True,
    help=f"Folder with SUITE.parquet, the baseline, and perhaps {THRESHOLDS}.",
)  # fmt: skip
@click.option(
    "--nights", metavar="DIR", type=FOLDER, default=Path("results/nights"), show_default=True,
    help="Folder for a results folder of each night, and for the history of all.",
)  # fmt: skip
@click.option(
    "--keep", metavar="N", type=click.IntRange(min=1), default=30, show_default=True,
    help="Number of nights of the suite that are kept; older ones are removed.",
)  # fmt: skip
@click.option("--library", metavar="DIR", type=FOLDER, help="Also check this library.")
@click.option(
    "--refresh", is_flag=True,
    help=f"Run the suite {REPEATS} times, make the baseline of these runs, and print what changed.",
)  # fmt: skip
def nightly(
    suite: str, baselines: Path, nights: Path, keep: int, library: Path | None, refresh: bool
) -> None:
    """Run a suite, check it, and compare it with its baseline.

    SUITE runs into a new folder, and gets a report that begins with the comparison. The exit code
    is 1 if anything is worse than the baseline, if a task crashed or raised an error, if something
    was rejected, or if there was nothing to compare with; the last line says why.
    """
    from boundmark.benchmarks.running.suite_file import load_collection

    load_collection(suite)
    name = Path(suite).stem if suite.endswith(".toml") else suite.replace("/", "-")
    base = baselines / f"{name}.parquet"
    started = dt.datetime.now(dt.UTC).strftime("%Y-%m-%dT%H%M%SZ")
    if refresh:
        _refresh(suite, base, nights / "baselines" / f"{started}-{name}")
        return
    night = nights / "runs" / f"{started}-{name}"
    wrong = _run_afresh(suite, night)
    if library is not None and not _succeeds("verify", "--quiet", library):
        wrong.append("verification of the library")
    if base.exists():
        thresholds = baselines / THRESHOLDS
        compared = _compare(base, night, night, thresholds if thresholds.exists() else None)
    else:
        compared = f"comparison: {base} is not there; the same command with --refresh makes it"
    wrong += [compared] if compared else []
    verdict = night / "comparison.json"
    shown = ["--comparison", verdict] if verdict.exists() else []
    history = nights / f"{name}-history.parquet"
    if not _succeeds("report", night, "--history", history, *shown):
        wrong.append("report")
    same = [path for path in night.parent.glob("*Z-*") if path.name.partition("Z-")[2] == name]
    for old in sorted(same)[:-keep]:
        click.echo(f"removing {old}, since {keep} nights are kept")
        shutil.rmtree(old)
        _manifest(old).unlink(missing_ok=True)
    click.echo(f"report: {night}/report.html, comparison: {night}/comparison.md")
    if wrong:
        _fail(", ".join(wrong))


@click.command()
@click.argument("python", type=click.Path(path_type=Path, exists=True, dir_okay=False))
@click.argument("suites", nargs=-1, required=True, metavar="SUITE...")
@click.option(
    "--out", metavar="DIR", type=FOLDER, default=Path("results/gate"), show_default=True,
    help="New folder for all runs and the comparison; it must be empty or not there yet.",
)  # fmt: skip
@click.option(
    "--thresholds", metavar="FILE", type=FILE,
    help="TOML file with thresholds, as for `boundmark compare`.",
)  # fmt: skip
def gate(python: Path, suites: tuple[str, ...], out: Path, thresholds: Path | None) -> None:
    """Fail if suites do worse here than with another installation.

    PYTHON is the interpreter of an environment with the boundmark or the methods to compare with.
    It runs the suites several times, this installation once; DIR gets comparison.md,
    comparison.json, and summary.md for a comment on a change.
    """
    if out.is_dir() and any(out.iterdir()):
        raise click.UsageError(f"{out} is in use; expected a folder that is empty or not there.")
    bases = [out / f"base-{number}" for number in range(1, REPEATS + 1)]
    for suite in suites:
        for base in bases:
            click.echo(f"{python} -m boundmark run {suite} --out {base}", err=True)
            # -P: in a checkout, the names of folders hide other packages'.
            command = [str(python), "-P", "-m", "boundmark", "run", suite, "--out", str(base)]
            if subprocess.run(command).returncode:
                _fail(f"{suite} with {python}")
        if not _succeeds("run", suite, "--out", out / "head"):
            _fail(suite)
    base = out / "base.parquet"
    if not _succeeds("baseline", *bases, base):
        _fail(f"baseline of {python}")
    wrong = _compare(base, out / "head", out, thresholds)
    if wrong:
        _fail(wrong)


def _refresh(suite: str, base: Path, runs: Path) -> None:
    """Run a suite several times, print how it differs from its baseline, and store a new one."""
    repeats = [runs / str(number) for number in range(1, REPEATS + 1)]
    for out in repeats:
        wrong = _run_afresh(suite, out)
        if wrong:
            _fail(f"{', '.join(wrong)}; the baseline is as it was")
    if base.exists():
        _succeeds("compare", base, repeats[-1])
    if not _succeeds("baseline", *repeats, base):
        _fail("baseline")


def _run_afresh(suite: str, out: Path) -> list[str]:
    """Run a suite into a new folder, verify it, and return what went wrong."""
    wrong = []
    manifest = ("--manifest", _manifest(out))
    if not _succeeds("run", suite, "--out", out, "--fail-on", "crashed,error", *manifest):
        wrong.append(suite)
    if not _succeeds("verify", "--quiet", out, *manifest):
        wrong.append("verification")
    return wrong


def _manifest(folder: Path) -> Path:
    """Return the file with the hashes of a folder's files; the log has its own hash."""
    return folder.with_name(f"{folder.name}.sha256")


def _compare(base: Path, new: Path, out: Path, thresholds: Path | None) -> str:
    """Compare two runs, write the comparison into a folder, and return what is worse in words."""
    limits = () if thresholds is None else ("--thresholds", thresholds)
    if _succeeds("compare", base, new, "--out", out, *limits):
        return ""
    file = out / "comparison.json"
    if not file.exists():
        return f"comparison with {base}"
    return str(json.loads(file.read_text())["sentence"]).rstrip(".")


def _succeeds(*words: object) -> bool:
    """Run a boundmark command, and say whether it succeeded; what ended it is on stderr."""
    command = [str(word) for word in words]
    click.echo(f"boundmark {shlex.join(command)}", err=True)
    group = click.get_current_context().find_root().command
    try:
        group.main(command, prog_name="boundmark")
    except SystemExit as ended:
        if ended.code == INTERRUPTED:
            raise
        return not ended.code
    return True


def _fail(why: str) -> NoReturn:
    click.echo(f"failed: {why}", err=True)
    sys.exit(1)
