"""The answer about one instance: the best solution and certified bound, and who found them."""

import csv
import io
import json
import textwrap
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from boundmark.benchmarks.arguments import path_of
from boundmark.benchmarks.cli.terminal import USUAL_WIDTH, echo
from boundmark.benchmarks.running.suite import NamedInstance
from boundmark.benchmarks.solving.presentation import Presentation, presentation_of
from boundmark.problems.catalog import problems
from boundmark.problems.errors import BoundmarkError, InvalidInputError, printable, quoted
from boundmark.problems.json_documents import canonical_json
from boundmark.problems.labels import names_of
from boundmark.problems.problem import Instance
from boundmark.reports.stored.durable import write_durably

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

# Who has found a solution that the user brings.
GIVEN = "given"

# Who has found what `solve` takes from the library; its start says who that was.
LIBRARY = "library"

# How a method ends on an instance that it does not suit; no failure of one that nobody asked for.
UNSUITABLE = ("unsupported", "timeout")

# Of the lines that are printed.
LABEL_WIDTH = 17


@dataclass(frozen=True)
class Answer:
    """The answer of `solve` about an instance.

    Attributes
    ----------
    objective, certified_bound
        Ticks, checked; None where no method found anything.
    claimed_bound
        Ticks, on a solver's word.
    solution, certificate
        The stored documents behind objective and certified bound.
    method, bound_method
        Who found them; ``"given"`` if the user has brought the solution, ``"library"`` if the
        library had it.
    seconds
        Wall time of the command so far.
    failures
        A sentence for each method that did not finish, or that found nothing where that matters.
    warnings
        What was taken for granted, as sentences.
    interrupted
        Whether Ctrl-C, or SIGTERM to a command, ended the methods.
    start
        What the library had to begin with, in words; empty if nothing.
    """

    source: NamedInstance
    objective: int | None = None
    certified_bound: int | None = None
    claimed_bound: float | None = None
    solution: dict[str, Any] | None = None
    certificate: dict[str, Any] | None = None
    method: str | None = None
    bound_method: str | None = None
    seconds: float = 0.0
    failures: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    interrupted: bool = False
    start: str = ""

    def __post_init__(self) -> None:
        upper, lower = self.objective, self.certified_bound
        if upper is not None and lower is not None and upper < lower:
            raise BoundmarkError(
                f"a verified cost, {upper}, is below a certified bound, {lower}, of instance "
                f"{self.source.instance.sha256}; one of them is wrong, please report it."
            )

    @property
    def is_empty(self) -> bool:
        """Whether there is neither a solution nor a bound of any sort."""
        found = self.objective, self.certified_bound, self.claimed_bound
        return all(one is None for one in found)

    @property
    def gap(self) -> float | None:
        """Optimality gap, UB/LB - 1; None if either bound is missing."""
        if self.objective is None or not self.certified_bound:
            return None
        return self.objective / self.certified_bound - 1

    @property
    def optimal(self) -> bool:
        """Whether the certified bound proves the solution optimal."""
        return self.objective is not None and self.objective == self.certified_bound

    def to_json(self) -> dict[str, Any]:
        """Return the object that `boundmark solve --json` prints."""
        return {
            "instance": self.source.label,
            "instance_sha256": self.source.instance.sha256,
            "problem": self.source.instance.problem,
            "device": self.source.device,
            "costs": self.source.costs,
            "objective": self.objective,
            "certified_bound": self.certified_bound,
            "claimed_bound": self.claimed_bound,
            "gap": self.gap,
            "optimal": self.optimal,
            "method": self.method,
            "bound_method": self.bound_method,
            "solution": self.solution,
            "certificate": self.certificate,
            "seconds": round(self.seconds, 3),
            "failures": list(self.failures),
            "warnings": list(self.warnings),
            "interrupted": self.interrupted,
            "library": self.start,
        }


def warnings_about(source: NamedInstance) -> tuple[str, ...]:
    """Return warnings about a source: assumptions when it was read, and doubtful parameters."""
    instance = source.instance
    notes = tuple(dict.fromkeys((*source.notes, *getattr(instance, "notes", ()))))
    if not instance.is_redundant:
        return notes
    parameters = " ".join(f"{name}={value}" for name, value in instance.parameters.items())
    redundant = f"{parameters}: with less, the instance of {instance.nodes} nodes would be the same"
    return (*notes, redundant)


def named_rows(answer: Answer) -> list[tuple[str | int, ...]] | None:
    """Return the rows of the solution's table by name; None if there is no such table."""
    instance = answer.source.instance
    problem = problems()[instance.problem]
    if answer.solution is None or problem.table is None:
        return None
    names = names_of(problem.naming, instance)
    solution = presentation_of(problem.name).shown(answer)
    if not problem.table.says_all(solution):
        return None
    value_names = problem.table.value_names(instance)
    known = [value_names.get(column) for column in problem.table.columns[1:]]
    return [
        (
            names[row[0]],
            *(called[x] if called else x for called, x in zip(known, row[1:], strict=True)),
        )
        for row in problem.table.rows(solution)
    ]


def named_solution(answer: Answer) -> dict[str, Any] | list[dict[str, Any]] | None:
    """Return a solution as `evaluate` reads it: an integer for each name, or a list of objects."""
    rows = named_rows(answer)
    table = problems()[answer.source.instance.problem].table
    if rows is None or table is None:
        return None
    if len(table.columns) == 2:
        return {str(name): value for name, value in rows}
    return [dict(zip(table.columns, row, strict=True)) for row in rows]


def write_named_solution(answer: Answer, directory: Path, what: str) -> Path | None:
    """Write the solution as a CSV file into a results folder, and return its path.

    The file is called after what the solution is, and the instance. None if the problem has no
    table, or nothing was found.

    Raises
    ------
    StoreError
        If the file cannot be written.
    """
    # Imports pandas.
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


def print_json(
    answer: Answer, files: Mapping[str, Path], more: Mapping[str, Any] | None = None
) -> None:
    """Print one JSON object: the fields of all problems, and those that one adds."""
    click.echo(json.dumps({**json_of(answer, files), **(more or {})}))


def json_of(answer: Answer, files: Mapping[str, Path]) -> dict[str, Any]:
    """Return an answer as a JSON object."""
    presentation = presentation_of(answer.source.instance.problem)
    return {
        **answer.to_json(),
        "cost_accuracy": presentation.cost_accuracy(answer),
        "named_solution": named_solution(answer),
        "losses": [vars(loss) for loss in presentation.losses(answer)],
        "files": {name: str(path) for name, path in files.items()},
        **presentation.facts(answer),
    }


def print_answer(answer: Answer, files: Mapping[str, Path]) -> None:
    """Print the solution, the best bound, the gap, and the files with all of it."""
    instance = answer.source.instance
    presentation = presentation_of(instance.problem)
    echo(f"{answer.source.label}: {instance.nodes} nodes, {instance.edges} edges")
    presentation.print_solution(answer)
    unit, name = presentation.unit(answer), presentation.objective_name(answer)
    if answer.objective is None:
        _print(name, "none found")
    else:
        _print(name, f"{answer.objective:,}{unit} (by {answer.method}, verified)")
        for label, text in presentation.remarks(answer):
            _print_sentence(label, text)
    if answer.certified_bound is None:
        _print("certified bound", "none found")
    else:
        _print(
            "certified bound",
            f"{answer.certified_bound:,}{unit} (by {answer.bound_method}, checked)",
        )
    if answer.claimed_bound is not None:
        _print("claimed bound", f"{answer.claimed_bound:,.3f}{unit} (not certified)")
    costs = f", on {answer.source.costs}" if answer.source.costs else ""
    if answer.optimal:
        _print_sentence("gap", f"0 (optimal, certified){costs}")
    elif answer.gap is not None:
        _print_sentence("gap", f"at most {answer.gap:.2%} above the optimum{costs}")
    if answer.gap is not None and (sentence := presentation.cost_accuracy(answer)):
        _print_sentence("such costs", sentence)
    _print("seconds", f"{answer.seconds:.1f}")
    device = f", device {answer.source.device}" if answer.source.device else ""
    _print("instance", f"{instance.sha256[:12]}{device}")
    if answer.start:
        _print_sentence("library", answer.start)
    for warning in answer.warnings:
        _print_sentence("warning", warning)
    for failure in answer.failures:
        _print_sentence("note", failure)
    for what, path in files.items():
        _print(what.replace("_", " "), str(path))


def print_losses(answer: Answer) -> None:
    """Print the parts of a solution's cost."""
    presentation = presentation_of(answer.source.instance.problem)
    losses = presentation.losses(answer)
    if not losses:
        return
    unit = presentation.unit(answer)
    total = max(1, sum(loss.ticks for loss in losses))
    width = max(len(loss.name) for loss in losses)
    digits = max(14, *(len(f"{loss.ticks:,}") for loss in losses))
    _print("where it is lost", losses[0].where)
    for loss in losses:
        echo(f"  {loss.name:{width}}  {loss.ticks:>{digits},}{unit}  {loss.ticks / total:6.1%}")


def _print(label: str, text: str) -> None:
    echo(f"{label:{LABEL_WIDTH}}{text}")


def _print_sentence(label: str, text: str) -> None:
    """Print a text in as many lines as it needs."""
    lines = textwrap.wrap(
        printable(text), USUAL_WIDTH - LABEL_WIDTH, break_long_words=False, break_on_hyphens=False
    )
    for number, line in enumerate(lines):
        click.echo(f"{label if number == 0 else '':{LABEL_WIDTH}}{line}")


@dataclass(frozen=True, repr=False)
class BoundCertificate:
    """The proof of a bound: a document from which the checker concludes it.

    Attributes
    ----------
    document
        As it is stored; see `docs/certificates.md`.
    instance
        The instance that it is about.
    """

    document: Mapping[str, Any]
    instance: Instance

    def __post_init__(self) -> None:
        of_type = {"kind": str, "bound": int}
        if not isinstance(self.document, Mapping) or not all(
            type(self.document.get(name)) is kind for name, kind in of_type.items()
        ):
            raise InvalidInputError(
                f"document is {quoted(self.document)}; expected a dict with kind and bound."
            )
        if not isinstance(self.instance, Instance):
            raise InvalidInputError(
                f"instance is {quoted(self.instance)}; expected one such as ModelAnswer.instance."
            )

    @property
    def kind(self) -> str:
        """Kind of the proof, e.g. ``"ideal-dp/1"``."""
        return str(self.document["kind"])

    @property
    def bound(self) -> int:
        """The lower bound that it states, in ticks."""
        return int(self.document["bound"])

    def check(self) -> int:
        """Check the certificate with the solver-free checker; return the bound that it proves.

        Raises
        ------
        Error
            If the checker rejects the certificate.
        """
        from boundmark.bounds import checker

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
        write_durably(path_of("path", path, "file"), canonical_json(self.document).encode())
        if instance is not None:
            where = path_of("instance", instance, "file")
            write_durably(where, canonical_json(self.instance.to_json()).encode())

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
    folder: Path | None = None

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
        """The optimality gap, ``cost / bound - 1``; None unless both are known."""
        return 0.0 if self.is_optimal else self.record.gap

    @property
    def is_optimal(self) -> bool:
        """Whether the bound proves that no solution costs less."""
        return self.record.optimal

    @property
    def unit(self) -> str:
        """The unit of costs, e.g. ``"ns"``; empty if they are no times."""
        return self._presentation.unit(self.record).strip()

    @property
    def costs(self) -> str:
        """Source of the costs, e.g. ``"the roofline model of nvidia-t4, 12 GB/s links"``.

        A bound proves nothing about costs that are not measured. Empty for a stored instance, which
        does not say.
        """
        return self.record.source.costs

    @property
    def cost_accuracy(self) -> str:
        """What costs such as these have been off by, measured on other models; a sentence.

        Empty if the costs came with the model, or there is but one stage.
        """
        return self._presentation.cost_accuracy(self.record)

    @property
    def method(self) -> str | None:
        """Name of the method that found the solution.

        ``"given"`` for one of your own, ``"library"`` for one that the library has.
        """
        return self.record.method

    @property
    def seconds(self) -> float:
        """Wall time of the search, in seconds."""
        return self.record.seconds

    @property
    def instance(self) -> Instance:
        """The instance that was solved."""
        return self.record.source.instance

    @property
    def notes(self) -> tuple[str, ...]:
        """The library's results, assumptions about the model, and methods that did not finish."""
        interrupted = ("Ctrl-C ended the search",) if self.record.interrupted else ()
        library = (f"from the library: {self.record.start}",) if self.record.start else ()
        return (*library, *self.record.warnings, *interrupted, *self.record.failures)

    @cached_property
    def solution(self) -> "pd.DataFrame":
        """The solution: a row per operator, by name, such as `operator` and `stage`.

        Without rows if there is no solution. `evaluate` takes it as it is.
        """
        import pandas as pd

        table = problems()[self.instance.problem].table
        rows, solution = named_rows(self.record), self.record.solution
        if table is not None and (rows is not None or solution is None):
            return pd.DataFrame(rows or [], columns=list(table.columns))
        return pd.DataFrame(list((solution or {}).items()), columns=["field", "value"])

    @cached_property
    def losses(self) -> "pd.DataFrame":
        """The parts of the cost: columns `part`, `ticks`, `share` of the cost, and `where`."""
        import pandas as pd

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
        from boundmark.reports.text import percent

        unit = f" {self.unit}" if self.unit else ""
        record, name = self.record, self._presentation.objective_name(self.record)
        found: dict[str, str | tuple[str, ...]] = {"instance": record.source.label}
        if record.source.device:
            found["device"] = record.source.device
        found[name] = "none" if self.cost is None else f"{self.cost:,}{unit} by {record.method}"
        found.update({} if self.cost is None else dict(self._presentation.remarks(record)))
        if self.bound is None:
            found["certified bound"] = "none"
        else:
            found["certified bound"] = f"{self.bound:,}{unit} by {record.bound_method}"
        costs = f" on {self.costs}" if self.costs else ""
        if self.is_optimal:
            found["gap"] = f"0, proven optimal{costs}"
        elif self.gap is not None:
            found["gap"] = f"at most {percent(self.gap)} %{costs}"
        if self.gap is not None and self.cost_accuracy:
            found["such costs"] = self.cost_accuracy
        found["seconds"] = f"{self.seconds:.1f}"
        return found

    def __repr__(self) -> str:
        facts = self.facts()
        label = facts.pop("instance")
        return f"<{label}: {', '.join(f'{key} {value}' for key, value in facts.items())}>"

    def _repr_html_(self) -> str:
        from boundmark.benchmarks.solving.model import html_table

        table = html_table({**self.facts(), **({"note": self.notes} if self.notes else {})})
        losses = self.losses
        if losses.empty:
            return table
        formats = {"ticks": "{:,}".format, "share": "{:.1%}".format}
        return table + str(losses.to_html(index=False, formatters=formats))

    @property
    def _presentation(self) -> Presentation:
        return presentation_of(self.instance.problem)
