"""The answer of the Python API about one model, and the proof of its bound."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from boundmark.benchmarks.arguments import path_of
from boundmark.benchmarks.solving.answer import Answer
from boundmark.benchmarks.solving.model import html_table
from boundmark.benchmarks.solving.presentation import Presentation, named_rows, presentation_of
from boundmark.problems.catalog import problems
from boundmark.problems.errors import InvalidInputError, quoted
from boundmark.problems.json_documents import canonical_json
from boundmark.problems.problem import Instance
from boundmark.reports.stored.durable import write_durably

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


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
        """A sentence that says by how much such costs were wrong on models that were measured.

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
        from boundmark.reports.text import gap_percent

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
            found["certified bound"] = f"{self.bound:,}{unit} by {record.prover}"
        costs = f" on {self.costs}" if self.costs else ""
        if self.is_optimal:
            found["gap"] = f"0, proven optimal{costs}"
        elif self.gap is not None:
            found["gap"] = f"at most {gap_percent(self.gap, ' %')}{costs}"
        if self.gap is not None and self.cost_accuracy:
            found["such costs"] = self.cost_accuracy
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
