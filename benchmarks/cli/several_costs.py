"""One solution for several costs on the command line: `--costs` or `--device` given repeatedly."""

import json
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from boundmark.benchmarks.cli.solving import (
    INTERRUPTED,
    NOTHING_FOUND,
    SolvingRequest,
    search,
)

if TYPE_CHECKING:
    from boundmark.benchmarks.answer import Answer
    from boundmark.benchmarks.several_costs import CommonAnswer
    from boundmark.benchmarks.suite import NamedInstance


def solve_for_all(model: str, request: SolvingRequest) -> None:
    """Find and print one solution for all costs of a request; leave with an exit code if needed."""
    from boundmark.benchmarks.grading.solution_file import write_named_solution
    from boundmark.benchmarks.model import choose, load
    from boundmark.benchmarks.several_costs import check_takes_several, search_of, solve_for_all
    from boundmark.benchmarks.wall_clock import WallClock

    loaded = load(model, dims=request.dims)
    sources: dict[str, NamedInstance] = {}
    for name, one in request.for_each_costs().items():
        chosen = choose(load(loaded, device=one.device), one.parameters, one.problem)
        check_takes_several(chosen, one.parameters)
        search_of(chosen.problem.name)
        sources[name] = chosen.named(chosen.make(chosen.given))

    stored: dict[str, Path] = {}

    def solve_one(source: "NamedInstance", seconds: float) -> "Answer":
        answer, files = search(source, request, WallClock(seconds))
        if "results" in files:
            stored["results"] = files["results"]
        return answer

    common = solve_for_all(
        sources, solve_one, request.time_limit, request.seed, quiet=request.quiet or request.as_json
    )
    folder = stored.get("results")
    if common.interrupted and folder is None:
        folder = Path(tempfile.mkdtemp(prefix="boundmark-"))
    if folder is not None:
        table = write_named_solution(common.by_costs[common.worst], folder, "common")
        stored |= {} if table is None else {"by_name": table}
    files = {common.worst: stored}
    print_common(common, files, request)
    leave(common)


def print_common(
    common: "CommonAnswer",
    files: Mapping[str, Mapping[str, Path]],
    request: SolvingRequest,
    more: Mapping[str, Any] | None = None,
) -> None:
    """Print the solution, and what it costs in each costs; `more` is added to the JSON object."""
    from boundmark.benchmarks.cli.listing import print_rows
    from boundmark.benchmarks.presentation import LABEL_WIDTH, presentation_of
    from boundmark.benchmarks.terminal import echo, wide_tables

    if request.as_json:
        click.echo(json.dumps({**common.to_json(files), **(more or {})}))
        return
    worst = common.by_costs[common.worst]
    source, instance = worst.source, worst.source.instance
    presentation = presentation_of(instance.problem)
    parameters = "".join(f" {name}={value}" for name, value in instance.parameters.items())
    echo(
        f"{source.dataset}/{source.member}{parameters}: {instance.nodes} nodes, "
        f"{instance.edges} edges; with the costs {common.worst}:"
    )
    with wide_tables(request.wide):
        presentation.print_solution(worst)
    objective = f"{presentation.objective_name(worst)}{presentation.unit(worst)}"
    rows = [
        {
            "costs": row["costs"],
            objective: _number(row["cost"]),
            "bound": _number(row["bound"]),
            "gap": "unknown" if row["gap"] is None else f"{row['gap']:.2%}" if row["gap"] else "0",
            "source": row["source"],
            "such": presentation.cost_accuracy(common.by_costs[row["costs"]]),
        }
        for row in common.rows()
    ]
    print_rows(rows, False, request.wide, below={"source": "{}", "such": "such costs: {}"})
    ratio = common.largest_ratio
    words = (
        "unknown, because a bound is missing" if ratio is None else f"{ratio:.4f} ({common.worst})"
    )
    echo(f"{'largest ratio':{LABEL_WIDTH}}{words}")
    echo(f"{'seconds':{LABEL_WIDTH}}{common.seconds:.1f}")
    answers = common.by_costs
    _print_notes("warning", {name: answer.warnings for name, answer in answers.items()})
    _print_notes("note", {name: answer.failures for name, answer in answers.items()})
    for path in dict.fromkeys(path for one in files.values() for path in one.values()):
        echo(f"{'file':{LABEL_WIDTH}}{path}")


def _print_notes(label: str, by_costs: Mapping[str, Sequence[str]]) -> None:
    """Print a line for each note, which names the costs unless it is about all."""
    from boundmark.benchmarks.presentation import LABEL_WIDTH
    from boundmark.benchmarks.terminal import echo

    for note in dict.fromkeys(text for texts in by_costs.values() for text in texts):
        about = [name for name, texts in by_costs.items() if note in texts]
        named = "" if len(about) == len(by_costs) else f"{' and '.join(about)}: "
        echo(f"{label:{LABEL_WIDTH}}{named}{note}")


def _number(ticks: int | None) -> str:
    return "none" if ticks is None else f"{ticks:,}"


def leave(common: "CommonAnswer") -> None:
    """Leave with the exit code of an interrupted search, or of one without a bound."""
    if common.interrupted:
        sys.exit(INTERRUPTED)
    if common.largest_ratio is None:
        click.echo("A solution or a certified bound is missing; the notes say why.", err=True)
        sys.exit(NOTHING_FOUND)
