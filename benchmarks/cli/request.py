"""Options that `solve` and `evaluate` share, and their search with its results folder."""

import functools
import itertools
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from boundmark.benchmarks.cli.options import (
    FOLDER,
    GIBIBYTES,
    SECONDS,
    dim_option,
)

if TYPE_CHECKING:
    from boundmark.benchmarks.library import Library
    from boundmark.benchmarks.running.planning import NamedInstance
    from boundmark.benchmarks.running.settings import RunSettings
    from boundmark.benchmarks.solving.answer import Answer
    from boundmark.benchmarks.solving.grading import GivenSolution
    from boundmark.benchmarks.solving.rounds import MethodPlan
    from boundmark.benchmarks.solving.wall_clock import WallClock
    from boundmark.problems.problem import Problem

# What a shell says of a command that Ctrl-C has ended.
INTERRUPTED = 130

# No solution and no bound, or no bound to grade a solution with.
NOTHING_FOUND = 3


def registered_problems() -> "Iterable[Problem]":
    """Return all problems, whose parameters are options."""
    from boundmark.problems.catalog import problems

    return problems().values()


@dataclass(frozen=True)
class SolvingRequest:
    """The options that `solve` and `evaluate` share, as given on the command line.

    Attributes
    ----------
    parameters
        Texts of the problem's parameters that were given, by name.
    problem, device, dims
        Which instance, see `model.named_instance`.
    time_limit
        Seconds.
    memory_limit
        GiB for each method.
    methods
        Names; empty for the problem's default methods.
    workers
        Methods at a time.
    library
        Folder of the library to begin with, empty for none; None for the usual one.
    out
        Results folder to keep; None for one that is deleted at the end.
    as_json, quiet, wide
        How the answer is printed.
    """

    parameters: "Mapping[str, str]"
    problem: str | None
    device: str | None
    dims: "dict[str, int]"
    time_limit: float
    memory_limit: float
    methods: tuple[str, ...]
    seed: int
    workers: int
    library: str | None
    out: Path | None
    as_json: bool
    quiet: bool
    wide: bool

    def several(self) -> "list[Mapping[str, str]]":
        """Return the parameters for each instance: one, or more where several values are given.

        A value that is given twice counts once.
        """
        from boundmark.problems.catalog import problems

        separators = {
            parameter.name: parameter.separator
            for name, problem in problems().items()
            if self.problem in (None, name)
            for parameter in problem.options
        }
        values = [
            list(dict.fromkeys(text.split(separators.get(name, ","))))
            for name, text in self.parameters.items()
        ]
        return [
            dict(zip(self.parameters, chosen, strict=True)) for chosen in itertools.product(*values)
        ]

    def settings(self) -> "RunSettings":
        """Return the checked limits of a method.

        Raises
        ------
        InvalidInputError
            If one is out of its range.
        """
        from boundmark.benchmarks.running.settings import LARGEST_SEED, RunSettings, bounded_integer

        return RunSettings.checked(
            time_limit_seconds=self.time_limit,
            memory_limit_gib=self.memory_limit,
            seeds=(bounded_integer("seed", self.seed, 0, LARGEST_SEED),),
        )

    def known_library(self) -> "Library | None":
        """Return the library to begin with, None for none.

        Methods that are asked for by name are to show what they can do, so that there is none then
        unless it is asked for, too.

        Raises
        ------
        BoundmarkError
            If the folder asked for is no library.
        """
        if self.library in ("", "none") or (self.methods and self.library is None):
            return None
        from boundmark.benchmarks.library import usual_library

        return usual_library(self.library)


def solving_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options about the instance, the limits and the methods.

    The command gets them as one argument, ``request``, beside those that it declares itself.
    """
    import os

    options = (
        click.option(
            "--problem", metavar="NAME",
            help="Problem to solve, one of `boundmark problems`; by default, the first that suits "
            "MODEL.",
        ),
        click.option(
            "--device", metavar="NAME|FILE",
            help="Device or cluster that the costs of a model are computed for, one of `boundmark "
            "devices` or a .toml file; by default, the problem's usual one.",
        ),
        dim_option,
        click.option(
            "--time-limit", type=SECONDS, default=60.0,
            show_default=True, metavar="SECONDS",
            help="Wall-clock limit of the search, checks included; reading the model and importing "
            "methods come before.",
        ),
        click.option(
            "--memory-limit", type=GIBIBYTES, default=4.0,
            show_default=True, metavar="GIB", help="Memory limit of each method.",
        ),
        click.option(
            "--method", "methods", multiple=True, metavar="NAME|FILE",
            help="Run only this method, one of `boundmark methods`, a Python file with a function "
            "`run`, or a command such as './solver --seed {seed}'; may be repeated. By default, "
            "the problem's usual methods run.",
        ),
        click.option(
            "--seed", type=int, default=1, show_default=True, help="Seed of random choices.",
        ),
        click.option(
            "--workers", type=click.IntRange(min=1), default=len(os.sched_getaffinity(0)),
            show_default="one per CPU", help="Number of methods that run at a time.",
        ),
        click.option(
            "--library", metavar="DIR|none", show_default="library/ of the checkout, if any",
            help="Begin with what the library in this folder has of the instance; with --method, "
            "only if you name it.",
        ),
        click.option(
            "--out", metavar="DIR", type=FOLDER,
            help="Keep instance, solutions and certificates in this results folder; by default, "
            "nothing is kept.",
        ),
        click.option("--json", "as_json", is_flag=True, help="Print one JSON object."),
        click.option("--quiet", is_flag=True, help="Show no progress."),
        click.option(
            "--wide", is_flag=True,
            help="Print tables as wide as they are, whatever the terminal's width.",
        ),
    )  # fmt: skip
    shared = [field.name for field in fields(SolvingRequest)]

    @functools.wraps(command)
    def with_request(**given: Any) -> None:
        request = SolvingRequest(**{name: given.pop(name) for name in shared})
        command(request=request, **given)

    decorated: Callable[..., None] = with_request
    for option in reversed(options):
        decorated = option(decorated)
    return decorated


def search(
    source: "NamedInstance",
    request: SolvingRequest,
    clock: "WallClock",
    plan: "MethodPlan | None" = None,
    given: "GivenSolution | None" = None,
) -> "tuple[Answer, Path | None]":
    """Run methods with a live line for each round; return the answer and the results folder.

    There is no folder but one that was asked for, unless Ctrl-C ended the search.

    Parameters
    ----------
    plan
        The methods; None for those asked for, or else the problem's default ones.
    given
        A solution that the user has.
    """
    from boundmark.benchmarks.solving.rounds import SolvingOptions
    from boundmark.benchmarks.solving.search import solve

    options = SolvingOptions(
        plan,
        request.settings(),
        clock,
        request.workers,
        request.methods,
        request.known_library(),
        request.out,
        quiet=request.quiet or request.as_json,
        keeps_interrupted=True,
    )
    return solve(source, options, given)


def stored_files(answer: "Answer", folder: Path | None, what: str) -> dict[str, Path]:
    """Store an answer's solution under a readable name; return the files of the answer's parts.

    Parameters
    ----------
    folder
        The results folder; None for no files.
    what
        Which solution it is: ``"graded"``, or ``"best"`` for that of the folder if that is better.

    Raises
    ------
    StoreError
        If it cannot be stored.
    """
    if folder is None:
        return {}
    from boundmark.reports.stored.store import ResultStore, read_document, write_document
    from boundmark.reports.tables.rows import best_rows

    store = ResultStore.open(folder)
    if what == "best":
        rows = store.results()
        rows = rows[rows["instance_sha256"] == answer.source.instance.sha256]
        for _, row in best_rows(rows, "objective").iterrows():
            if answer.objective is None or int(row["objective"]) < answer.objective:
                solution = read_document(store.solutions, str(row["solution_sha256"]))
                answer = replace(
                    answer, objective=int(row["objective"]), solution=solution, method=row["method"]
                )
    files = {"results": folder}
    if answer.solution is not None:
        digest = write_document(store.solutions, answer.solution)
        files[f"{what}_solution"] = store.solutions / f"{digest}.json"
        by_name = write_named_solution(answer, folder, what)
        if by_name is not None:
            files["by_name"] = by_name
    if answer.certificate is not None:
        digest = write_document(store.certificates, answer.certificate)
        files["certificate"] = store.certificates / f"{digest}.json"
    return files


def write_named_solution(answer: "Answer", directory: Path, what: str) -> Path | None:
    """Write the solution as a CSV file into a results folder, and return its path.

    The file is called after what the solution is, and the instance. None if the problem has no
    table, or nothing was found.

    Raises
    ------
    StoreError
        If the file cannot be written.
    """
    import csv
    import io

    from boundmark.benchmarks.solving.presentation import named_rows
    from boundmark.problems.catalog import problems
    from boundmark.reports.stored.durable import write_durably
    from boundmark.reports.text import file_name

    rows = named_rows(answer)
    table = problems()[answer.source.instance.problem].table
    if rows is None or table is None:
        return None
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(table.columns)
    writer.writerows(rows)
    path = directory / f"{what}-{file_name(answer.source.label)}.csv"
    write_durably(path, text.getvalue().encode())
    return path
