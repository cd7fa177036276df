"""The Python API about one model: `solve` and `evaluate`, and the list of methods."""

import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pandas as pd

from boundmark.benchmarks.grading import bound_plan, graded
from boundmark.benchmarks.grading.given_solution import given_solution
from boundmark.benchmarks.grading.solution_file import (
    read_solution_file,
    written_solution,
)
from boundmark.benchmarks.library import KnownResults, known_results, usual_library
from boundmark.benchmarks.method_rounds import MethodPlan, SolvingOptions
from boundmark.benchmarks.model import Choice, choose, load
from boundmark.benchmarks.model_answer import ModelAnswer
from boundmark.benchmarks.settings import (
    LARGEST_SEED,
    LONGEST_SECONDS,
    MOST_WORKERS,
    RunSettings,
    bounded_integer,
    positive_number,
)
from boundmark.benchmarks.solve import solve as solve_instance
from boundmark.benchmarks.suite import NamedInstance
from boundmark.benchmarks.wall_clock import WallClock
from boundmark.problems.arrays import plain_value
from boundmark.problems.catalog import methods_in_order
from boundmark.problems.errors import InvalidInputError
from boundmark.problems.files import naming

# What Python callers may give beside parameters of the problem, but to `load`.
OF_LOAD = ("dims", "device", "example_inputs", "cache")

MEMORY_GIB = 4.0


def solve(
    model: Any,
    problem: str | None = None,
    *,
    seconds: float = 20.0,
    methods: str | Sequence[str] = (),
    seed: int = 1,
    workers: int | None = None,
    library: str | Path | bool = True,
    out: str | Path | None = None,
    quiet: bool = False,
    **parameters: Any,
) -> ModelAnswer:
    """Find a good solution of one instance, and a certified bound that says how good it is.

    A few methods run in the calling process. Unless they prove the optimum within a second, others
    run in processes of their own, under limits, until it is proven or the time is up. Progress is
    shown on terminals and in notebooks. Ctrl-C ends the search; the best until then is returned.

    Parameters
    ----------
    model
        What `load` returns or takes.
    problem
        Name of the problem. None for the first of `boundmark problems` that suits the model and has
        all parameters that are given: for a model and ``k=8``, the cutting into stages.
    seconds
        Wall time; it begins when the processes of the methods are ready.
    methods
        Names of methods to run instead of the problem's default ones; `methods()` lists them.
    seed
        For methods that use randomness.
    workers
        Methods at a time; one per CPU by default.
    library
        Folder of the library of best-known results to begin with; True for the usual one, False for
        none. The usual one is not used if methods are named.
    out
        Results folder to keep; what it has from an earlier call is not computed again.
    quiet
        Whether to show no progress.
    parameters
        Those of the problem, such as ``k``, the number of stages.

    Raises
    ------
    Error
        If something is not understood, with what was expected.

    Examples
    --------
    >>> import boundmark
    >>> answer = boundmark.solve("onnx-light/squeezenet", k=4, quiet=True)
    >>> answer.is_optimal, answer.cost == answer.bound == answer.certificate.check()
    (True, True)
    >>> answer.solution.head(2)
      operator  stage
    0       n0      0
    1       n1      0
    """
    clock, settings = _limits(seconds, seed)
    chosen = _chosen(model, problem, parameters)
    source = chosen.named(chosen.make(chosen.given))
    names, count = _names(methods), _workers(workers)
    known = _known(library, source, settings, methods)
    if known is not None and out is None and not names:
        settled = known.settles(source, clock.spent())
        if settled is not None:
            return ModelAnswer(settled, None)
    options = SolvingOptions(MethodPlan.of(chosen.problem, names), settings, clock, count)
    with _folder(out) as folder:
        answer = solve_instance(
            source,
            options,
            folder,
            known=known,
            quiet=quiet,
            is_kept=out is not None,
        )
    return ModelAnswer(answer, None if out is None else folder)


def evaluate(
    model: Any,
    solution: Any,
    problem: str | None = None,
    *,
    seconds: float = 20.0,
    methods: str | Sequence[str] = (),
    seed: int = 1,
    workers: int | None = None,
    library: str | Path | bool = True,
    out: str | Path | None = None,
    quiet: bool = False,
    **parameters: Any,
) -> ModelAnswer:
    """Grade a solution of your own: its cost, and a bound on how far that is above the optimum.

    Parameters
    ----------
    model, problem, seconds, seed, workers, library, out, quiet
        As for `solve`.
    solution
        A `pandas.DataFrame` with the columns that `ModelAnswer.solution` has; a dict with a stage
        or device for each operator's name; a list of them in the order of the operators; or the
        path of a file, CSV or JSON.
    methods
        Names of methods that prove bounds, instead of the problem's default ones.
    parameters
        As for `solve`; those that are not given are what the solution uses.

    Raises
    ------
    Error
        If it is no solution of the model, or something else is not understood.

    Examples
    --------
    >>> import boundmark
    >>> import pandas as pd
    >>> nodes = pd.DataFrame({"name": ["a", "b", "c"], "work": [4, 2, 3], "transfer": [1, 1, 1]})
    >>> edges = pd.DataFrame({"source": ["a", "b"], "target": ["b", "c"]})
    >>> mine = boundmark.evaluate((nodes, edges), {"a": 0, "b": 0, "c": 1}, quiet=True)
    >>> mine.cost, mine.bound
    (7, 6)
    """
    clock, settings = _limits(seconds, seed)
    chosen = _chosen(model, problem, parameters)
    table = chosen.problem.table
    if isinstance(solution, str | Path):
        found = read_solution_file(Path(solution), table)
        place = str(solution)
    else:
        found, place = written_solution(solution, table), "the solution"
    with naming(place):
        given = given_solution(chosen, found)
    plan = bound_plan(chosen.problem.name, _names(methods))
    options = SolvingOptions(plan, settings, clock, _workers(workers))
    known = _known(library, given.source, settings, methods)
    with _folder(out) as folder:
        answer = solve_instance(
            given.source,
            options,
            folder,
            given=given,
            known=known,
            quiet=quiet,
            is_kept=out is not None,
        )
    return ModelAnswer(graded(answer, given), None if out is None else folder)


def methods(problem: str | None = None) -> pd.DataFrame:
    """Return the registered methods, of one problem or of all.

    Returns
    -------
    pandas.DataFrame
        Columns `method`, `problem`, `kind` ("heuristic", "bound" or "exact"), `parameters` with
        their defaults, and `summary`.

    Raises
    ------
    Error
        If there is no such problem.

    Examples
    --------
    >>> import boundmark
    >>> found = boundmark.methods()
    >>> found[found["method"] == "node-cut"]["kind"].tolist()
    ['bound']
    """
    columns = ["method", "problem", "kind", "parameters", "summary"]
    rows = [
        (one.name, one.problem, one.kind, dict(one.params), one.summary)
        for one in methods_in_order(problem)
    ]
    return pd.DataFrame(rows, columns=columns)


def _limits(seconds: object, seed: object) -> tuple[WallClock, RunSettings]:
    """Return the clock, which begins now, and the limits of a method."""
    checked = positive_number("seconds", plain_value(seconds), LONGEST_SECONDS)
    settings = RunSettings.checked(
        time_limit_seconds=checked,
        memory_limit_gib=MEMORY_GIB,
        seeds=(bounded_integer("seed", plain_value(seed), 0, LARGEST_SEED),),
    )
    return WallClock(checked), settings


def _workers(given: object) -> int:
    if given is None:
        return len(os.sched_getaffinity(0))
    return bounded_integer("workers", plain_value(given), 1, MOST_WORKERS)


def _names(given: str | Sequence[str]) -> tuple[str, ...]:
    return (given,) if isinstance(given, str) else tuple(given)


def _chosen(model: Any, problem: str | None, parameters: Mapping[str, Any]) -> Choice:
    for name in OF_LOAD:
        if name in parameters:
            raise InvalidInputError(
                f"{name} is given beside a model; expected it to be given to boundmark.load, "
                "which makes the model."
            )
    return choose(load(model), parameter_texts(parameters), problem)


def parameter_texts(parameters: Mapping[str, Any]) -> dict[str, str]:
    """Return parameters as the command line gives them."""
    return {name: str(plain_value(value)) for name, value in parameters.items()}


def _known(
    library: str | Path | bool,
    source: NamedInstance,
    settings: RunSettings,
    methods: str | Sequence[str],
) -> KnownResults | None:
    """Return what the library that is asked for knows of an instance."""
    if library is False or (library is True and methods):
        return None
    found = usual_library(None if library is True else library)
    return known_results(found, source.instance, settings.time_limit_seconds) if found else None


@contextmanager
def _folder(out: str | Path | None) -> Iterator[Path]:
    """Yield a results folder: the one that is asked for, or one that is deleted at the end."""
    if out is not None:
        yield Path(out)
        return
    with tempfile.TemporaryDirectory(prefix="boundmark-") as folder:
        yield Path(folder)
