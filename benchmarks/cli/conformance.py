"""`boundmark conformance`: test an installed method against the contract of methods."""

import json
import sys

import click

from boundmark.benchmarks.cli.listing import as_json
from boundmark.benchmarks.cli.options import SECONDS


@click.command()
@click.argument("method")
@click.option(
    "--seconds", type=SECONDS, default=5.0, show_default=True,
    help="Wall-clock limit of each task, in seconds.",
)  # fmt: skip
@click.option("--workers", type=click.IntRange(min=1), show_default="one per CPU",
              help="Number of tasks that run at a time.")  # fmt: skip
@as_json
def conformance(method: str, seconds: float, workers: int | None, as_json: bool) -> None:
    """Test METHOD on tiny instances whose optimum is known.

    docs/extending.md lists what is tested. The exit code is 1 if METHOD fails a test.
    """
    from boundmark.benchmarks.conformance import MOST_TOLD, verdicts
    from boundmark.benchmarks.terminal import echo

    found = verdicts(method, seconds=seconds, workers=workers)
    if as_json:
        listed = [{"asked": one.asked, "failures": list(one.failures)} for one in found]
        click.echo(json.dumps({"method": method, "verdicts": listed}, indent=2))
    else:
        for one in found:
            echo(f"{'fails' if one.failures else 'ok':6} {one.asked}")
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
