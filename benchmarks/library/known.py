"""Find the checked solution and bound that the library has of an instance, for `solve`."""

import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from boundmark.benchmarks.answer import LIBRARY, Answer, warnings_about
from boundmark.benchmarks.library.entry import Entry, Find
from boundmark.benchmarks.library.folder import Library, unpack_find
from boundmark.benchmarks.suite import NamedInstance
from boundmark.bounds import checker
from boundmark.problems.errors import BoundmarkError
from boundmark.problems.problem import Instance

if TYPE_CHECKING:
    from boundmark.reports.stored.accepted import Accepted

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
        """Return the answer if the bound proves the solution optimal, None if it does not.

        Parameters
        ----------
        seconds
            Wall time of the command so far.
        """
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

    Parameters
    ----------
    seconds
        Time limit of the search that begins with it. Certificates whose check took a large part of
        that, where they were found, are left out.
    """
    try:
        entry = library.find(instance.problem, instance.sha256)
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

    documents = library.documents(entry)
    accepted = Accepted()
    solution = certificate = None
    words = []
    if entry.solution is not None:
        solution = _document(documents, entry.solution)
        _check(accepted, instance, entry.solution, "solutions", solution)
        words.append(f"a solution of {entry.solution.words}")
    bound = entry.bound
    if bound is not None:
        if bound.check_seconds > most_seconds and not accepted.has(
            instance.sha256, f"certificates/{bound.sha256}.json"
        ):
            words.append(f"not its bound of {bound.value:,}, which takes long to check")
            bound = None
        else:
            certificate = _document(documents, bound)
            _check(accepted, instance, bound, "certificates", certificate)
            words.append(f"a bound of {bound.words}")
    accepted.save()
    return KnownResults(
        entry.solution.value if entry.solution else None,
        solution,
        bound.value if bound else None,
        certificate,
        ", ".join(words),
    )


def _document(documents: dict[str, bytes], find: Find) -> dict[str, Any]:
    """Return a document as the checker reads it: as strictly as any file, payload included."""
    with tempfile.TemporaryDirectory(prefix="boundmark-") as folder:
        return checker.read_document(unpack_find(find, documents, Path(folder)))


def _check(
    accepted: "Accepted", instance: Instance, find: Find, sort: str, document: dict[str, Any]
) -> None:
    """Let the checker see a document, unless it is known to accept it.

    Raises
    ------
    Rejected
        If it is rejected, or states another value than the library.
    """
    is_solution = sort == "solutions"
    if document.get("objective" if is_solution else "bound") != find.value:
        raise checker.Rejected("a document states another value than the library's entry")
    name = f"{sort}/{find.sha256}.json"
    if accepted.has(instance.sha256, name):
        return
    check = checker.check_solution if is_solution else checker.check_certificate
    check(instance.to_json(), document)
    accepted.add(instance.sha256, name)
