"""The Python API about one model: `solve` and `evaluate`, and the list of methods."""

import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from boundmark.benchmarks.answer import Answer
from boundmark.benchmarks.grading import bound_plan, graded
from boundmark.benchmarks.grading.given_solution import given_solution
from boundmark.benchmarks.grading.solution_file import (
    named_rows,
    read_solution_file,
    written_solution,
)
from boundmark.benchmarks.instance_choice import Choice, choose
from boundmark.benchmarks.method_rounds import MethodPlan, SolvingOptions
from boundmark.benchmarks.model import Model, html_table, load
from boundmark.benchmarks.presentation import Presentation, presentation_of
from boundmark.benchmarks.progress import progress_console
from boundmark.benchmarks.settings import (
    LARGEST_SEED,
    LONGEST_SECONDS,
    MOST_WORKERS,
    RunSettings,
    bounded_integer,
    positive_number,
)
from boundmark.benchmarks.solve import solve as solve_instance
from boundmark.benchmarks.wall_clock import WallClock
from boundmark.bounds import checker
from boundmark.problems.arrays import plain_value
from boundmark.problems.canonical import canonical_json
from boundmark.problems.catalog import methods_in_order, problems
from boundmark.problems.errors import InvalidInputError
from boundmark.problems.problem import Instance
from boundmark.problems.source_file import naming
from boundmark.reports.stored.durable import write_durably
from boundmark.reports.text import percent

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# What Python callers may give beside parameters of the problem, but to `load`.
OF_LOAD = ("dims", "device", "example_inputs", "cache")

MEMORY_GIB = 4.0


@dataclass(frozen=True, repr=False)
class BoundCertificate:
    """A document from which the checker concludes that no solution costs less than a bound.

    Attributes
    ----------
    document
        As it is stored; see `docs/certificates.md`.
    instance
        The instance that it is about.
    """

    document: Mapping[str, Any]
    instance: Instance

    @property
    def kind(self) -> str:
        """How it proves the bound, e.g. ``"ideal-dp/1"``."""
        return str(self.document["kind"])

    @property
    def bound(self) -> int:
        """The lower bound that it states, in ticks."""
        return int(self.document["bound"])

    def check(self) -> int:
        """Let the checker, which has no solver, draw its own conclusion; return the bound.

        Raises
        ------
        Error
            If the checker rejects the certificate.
        """
        try:
            return checker.check_certificate(self.instance.to_json(), dict(self.document))
        except checker.Rejected as error:
            raise InvalidInputError(f"the checker rejects the certificate: {error}.") from error

    def save(self, path: str | Path, instance: str | Path | None = None) -> None:
        """Write the certificate as JSON, and the instance if a path is given for it.

        ``python -m boundmark.bounds.checker INSTANCE CERTIFICATE`` checks the two files.

        Raises
        ------
        Error
            If a file cannot be written.
        """
        write_durably(Path(path), canonical_json(self.document).encode())
        if instance is not None:
            write_durably(Path(instance), canonical_json(self.instance.to_json()).encode())

    def __repr__(self) -> str:
        return f"<certificate {self.kind}: no solution costs less than {self.bound:,}>"


@dataclass(frozen=True, repr=False, eq=False)
class ModelAnswer:
    """The answer of `solve` or `evaluate`: a solution, a certified bound, and the gap between them.

    Costs and bounds are integers in ticks, nanoseconds for models whose costs boundmark computes.
    They were checked before they came here.

    Attributes
    ----------
    record
        All there is to know, as the command line prints it.
    folder
        Results folder with all that was found; None if none was asked for.
    """

    record: Answer
    folder: Path | None = field(default=None)

    @property
    def cost(self) -> int | None:
        """Cost of the solution; None if there is none."""
        return self.record.objective

    @property
    def bound(self) -> int | None:
        """Certified lower bound of the cost of any solution; None if there is none."""
        return self.record.certified_bound

    @property
    def gap(self) -> float | None:
        """How far the cost is above the bound at most, ``cost / bound - 1``; None without both."""
        return 0.0 if self.is_optimal else self.record.gap

    @property
    def is_optimal(self) -> bool:
        """Whether the bound proves that no solution costs less."""
        return self.record.optimal

    @property
    def unit(self) -> str:
        """What costs are counted in, e.g. ``"ns"``; empty if they are no times."""
        return self._presentation.unit(self.record).strip()

    @property
    def method(self) -> str | None:
        """Name of the method that found the solution; ``"given"`` for one of your own."""
        return self.record.method

    @property
    def seconds(self) -> float:
        """Wall time that it took."""
        return self.record.seconds

    @property
    def instance(self) -> Instance:
        """The instance that was solved."""
        return self.record.source.instance

    @property
    def notes(self) -> tuple[str, ...]:
        """What was taken for granted, and which methods did not finish, as sentences."""
        interrupted = ("Ctrl-C ended the search",) if self.record.interrupted else ()
        return (*self.record.warnings, *interrupted, *self.record.failures)

    @cached_property
    def solution(self) -> pd.DataFrame:
        """The solution: a row per operator, by name, such as `operator` and `stage`.

        Without rows if there is no solution. `evaluate` takes it as it is.
        """
        table = problems()[self.instance.problem].table
        columns = table.columns if table else ("field", "value")
        rows = named_rows(self.record)
        if rows is None:
            rows = list((self.record.solution or {}).items()) if table is None else []
        return pd.DataFrame(rows, columns=list(columns))

    @cached_property
    def losses(self) -> pd.DataFrame:
        """What the cost is made of: columns `part`, `ticks`, `share` of the cost, and `where`."""
        losses = self._presentation.losses(self.record)
        total = max(1, sum(loss.ticks for loss in losses))
        rows = [(loss.name, loss.ticks, loss.ticks / total, loss.where) for loss in losses]
        return pd.DataFrame(rows, columns=["part", "ticks", "share", "where"])

    @property
    def certificate(self) -> BoundCertificate | None:
        """The proof of the bound; None if there is no bound."""
        document = self.record.certificate
        return None if document is None else BoundCertificate(document, self.instance)

    def plot(self, ax: "Axes | None" = None) -> "Axes":
        """Draw the solution, as reports do, and return the axes.

        Parameters
        ----------
        ax
            Where to draw; new axes of matplotlib.pyplot by default.

        Raises
        ------
        Error
            If there is no solution, or its problem has no drawing.
        """
        from boundmark.reports.frame_plots import drawn

        if self.record.solution is None:
            raise InvalidInputError("there is no solution to draw.")
        if self._presentation.plot is None:
            raise InvalidInputError(f"solutions of {self.instance.problem!r} have no drawing.")
        return drawn(self._presentation.plot(self.record), ax)

    def facts(self) -> dict[str, str | tuple[str, ...]]:
        """Return cost, bound and gap in words."""
        unit = f" {self.unit}" if self.unit else ""
        record, name = self.record, self._presentation.objective_name(self.record)
        found: dict[str, str | tuple[str, ...]] = {"instance": record.source.label}
        if record.source.device:
            found["device"] = record.source.device
        found[name] = "none" if self.cost is None else f"{self.cost:,}{unit} by {record.method}"
        if self.bound is None:
            found["certified bound"] = "none"
        else:
            found["certified bound"] = f"{self.bound:,}{unit} by {record.bound_method}"
        if self.is_optimal:
            found["gap"] = "0, proven optimal"
        elif self.gap is not None:
            found["gap"] = f"at most {percent(self.gap)} %"
        found["seconds"] = f"{self.seconds:.1f}"
        return found

    def __repr__(self) -> str:
        facts = self.facts()
        label = facts.pop("instance")
        return f"<{label}: {', '.join(f'{key} {value}' for key, value in facts.items())}>"

    def _repr_html_(self) -> str:
        table = html_table({**self.facts(), **({"note": self.notes} if self.notes else {})})
        losses = self.losses
        if losses.empty:
            return table
        formats = {"ticks": "{:,}".format, "share": "{:.1%}".format}
        return table + str(losses.to_html(index=False, formatters=formats))

    @property
    def _presentation(self) -> Presentation:
        return presentation_of(self.instance.problem)


def solve(
    model: Any,
    problem: str | None = None,
    *,
    seconds: float = 20.0,
    methods: str | Sequence[str] = (),
    seed: int = 1,
    workers: int | None = None,
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
        all parameters that are given: `pipeline` for a model and ``k=8``.
    seconds
        Wall time; it begins when the processes of the methods are ready.
    methods
        Names of methods to run instead of the problem's default ones; `methods()` lists them.
    seed
        For methods that use randomness.
    workers
        Methods at a time; one per CPU by default.
    out
        Results folder to keep; what it has from an earlier call is not computed again.
    quiet
        Whether to show no progress.
    parameters
        Those of the problem: ``k``, the number of stages, for `pipeline`.

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
    0  node_50      0
    1  node_51      0
    """
    clock, settings = _limits(seconds, seed)
    chosen = _chosen(model, problem, parameters)
    source = chosen.named(chosen.make(chosen.given))
    plan = MethodPlan.of(chosen.problem, _names(methods))
    options = SolvingOptions(plan, settings, clock, _workers(workers))
    with _folder(out) as folder:
        answer = solve_instance(source, options, folder, console=progress_console(quiet))
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
    out: str | Path | None = None,
    quiet: bool = False,
    **parameters: Any,
) -> ModelAnswer:
    """Grade a solution of your own: what it costs, and how far above the optimum at most.

    Parameters
    ----------
    model, problem, seconds, seed, workers, out, quiet
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
    with _folder(out) as folder:
        answer = solve_instance(
            given.source, options, folder, given=given, console=progress_console(quiet)
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
    >>> found = boundmark.methods("pipeline")
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


@contextmanager
def _folder(out: str | Path | None) -> Iterator[Path]:
    """Yield a results folder: the one that is asked for, or one that is deleted at the end."""
    if out is not None:
        yield Path(out)
        return
    with tempfile.TemporaryDirectory(prefix="boundmark-") as folder:
        yield Path(folder)


__all__ = ["BoundCertificate", "Model", "ModelAnswer", "evaluate", "load", "methods", "solve"]
