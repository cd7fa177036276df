"""The Python API about one model: `solve` and `evaluate`, and the list of methods."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from boundmark.benchmarks.arguments import check_flags, check_parameter_names, names_in, path_of
from boundmark.benchmarks.library import Library, usual_library
from boundmark.benchmarks.model_answer import ModelAnswer
from boundmark.benchmarks.running.execution.engine import worker_count
from boundmark.benchmarks.running.settings import RunSettings
from boundmark.benchmarks.solving.grading import bound_plan, given_solution, graded, solution_in
from boundmark.benchmarks.solving.model import choose, load
from boundmark.benchmarks.solving.rounds import SolvingOptions
from boundmark.benchmarks.solving.search import solve as solve_instance
from boundmark.benchmarks.solving.solution_file import (
    written_solution,
)
from boundmark.problems.catalog import methods_in_order
from boundmark.problems.errors import InvalidInputError, quoted
from boundmark.problems.files import naming


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
    check_parameter_names(solve, parameters)
    options = _options(seconds, methods, seed, workers, library, out, quiet)
    chosen = choose(load(model), parameters, problem, are_texts=False)
    source = chosen.named(chosen.make(chosen.given))
    return ModelAnswer(solve_instance(source, options)[0], options.out)


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
        path of a file, CSV or JSON; of `layers`, also a split as tools write it, such as
        ``"-ts 3,1"``.
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
    check_parameter_names(evaluate, parameters)
    options = _options(seconds, methods, seed, workers, library, out, quiet)
    chosen = choose(load(model), parameters, problem, are_texts=False)
    if isinstance(solution, str | Path):
        given = solution_in(path_of("solution", solution, "file"), chosen)
    else:
        with naming("the solution"):
            given = given_solution(chosen, written_solution(solution, chosen.problem.table))
    plan = bound_plan(chosen.problem.name, options.methods)
    answer = graded(solve_instance(given.source, options, plan, given)[0], given)
    return ModelAnswer(answer, options.out)


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


def _options(
    seconds: object,
    methods: str | Sequence[str],
    seed: object,
    workers: int | None,
    library: object,
    out: object,
    quiet: bool,
) -> SolvingOptions:
    """Return the checked options of a search."""
    settings = RunSettings.of_search(seconds, seed)
    names = names_in("methods", methods)
    count, folder = worker_count(workers), None if out is None else path_of("out", out)
    check_flags(quiet=quiet)
    known = _wanted_library(library, names)
    return SolvingOptions(settings, count, names, known, folder, quiet)


def _wanted_library(library: object, names: tuple[str, ...]) -> Library | None:
    """Return the library that is asked for; None if there is none, or none for named methods."""
    if isinstance(library, bool):
        return usual_library() if library and not names else None
    if not isinstance(library, str | Path):
        raise InvalidInputError(
            f"library is {quoted(library)}; expected the path of a folder, True or False."
        )
    return usual_library(path_of("library", library))
