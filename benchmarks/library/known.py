"""Find the checked solution and bound that the library has of an instance, for `solve`."""

from dataclasses import dataclass
from typing import Any

from boundmark.benchmarks.library.folder import Entry, Library
from boundmark.benchmarks.running.planning import NamedInstance
from boundmark.benchmarks.solving.answer import LIBRARY, Answer, warnings_about
from boundmark.bounds import checker
from boundmark.problems.errors import BoundmarkError
from boundmark.problems.problem import Instance

# Largest part of a search's time limit that checking a certificate of the library may take.
CHECK_PART = 0.25

# Factor by which this machine may be slower than the one that the library's times are of.
SLOWER = 2.0


@dataclass(frozen=True)
class KnownResults:
    """A solution and a certificate from the library that the checker has accepted; None if missing.

    Attributes
    ----------
    objective, bound
        Their values in ticks.
    words
        What they are and who found them, as a sentence without its full stop; or why the library
        is of no use here.
    """

    objective: int | None
    solution: dict[str, Any] | None
    bound: int | None
    certificate: dict[str, Any] | None
    words: str

    def settles(self, source: NamedInstance, seconds: float) -> Answer | None:
        """Return the answer if the bound proves the solution optimal, None if it does not."""
        if self.objective is None or self.objective != self.bound:
            return None
        return Answer(
            source=source,
            objective=self.objective,
            certified_bound=self.bound,
            solution=self.solution,
            certificate=self.certificate,
            method=LIBRARY,
            bound_method=LIBRARY,
            seconds=seconds,
            warnings=warnings_about(source),
            start=self.words,
        )


def known_results(
    library: Library,
    instance: Instance,
    seconds: float,
) -> KnownResults | None:
    """Return a library's checked results of an instance; None if it has no entry.

    A library that is damaged does no harm: what the checker rejects is left out, and said.
    """
    try:
        entry = library.find(instance.sha256)
        if entry is None:
            return None
        return _checked(library, entry, instance, seconds * CHECK_PART / SLOWER)
    except (BoundmarkError, checker.Rejected) as error:
        return KnownResults(None, None, None, None, f"nothing, because of an error: {error}")


def _checked(
    library: Library, entry: Entry, instance: Instance, most_seconds: float
) -> KnownResults | None:
    # Imports pandas, which most searches can do without.
    from boundmark.reports.stored.accepted import Accepted

    accepted = Accepted()

    def document_of(name: str, field: str) -> dict[str, Any]:
        """Return a document that the checker accepts or is known to accept."""
        document = checker.read_document(library.directory / name)
        if document.get(field) != getattr(entry, field):
            raise checker.Rejected("a document states another value than the library's entry")
        if not accepted.has(instance.sha256, name):
            is_solution = field == "objective"
            check = checker.check_solution if is_solution else checker.check_certificate
            check(instance.to_json(), document)
            accepted.add(instance.sha256, name)
        return document

    solution = certificate = None
    words = []
    if entry.objective is not None:
        solution = document_of(f"solutions/{entry.solution_sha256}.json", "objective")
        words.append(f"a solution of {entry.solution_words}")
    if entry.bound is not None:
        name = f"certificates/{entry.certificate_sha256}.json"
        if entry.check_seconds > most_seconds and not accepted.has(instance.sha256, name):
            words.append(f"not its bound of {entry.bound:,}, which takes long to check")
        else:
            certificate = document_of(name, "bound")
            words.append(f"a bound of {entry.bound_words}")
    accepted.save()
    return KnownResults(
        entry.objective,
        solution,
        entry.bound if certificate else None,
        certificate,
        ", ".join(words),
    )
