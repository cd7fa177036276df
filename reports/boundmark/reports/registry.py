"""The reports of problems, from entry points; a broken one is left out and told in one line.

A package adds the report of a problem with an entry point in the group ``boundmark.reports`` that
has the problem's name and names a `ProblemReport`. Only those of problems that a results folder
holds are ever loaded.
"""

import logging
from collections.abc import Iterable
from importlib.metadata import EntryPoint, entry_points

from boundmark.problems.errors import BoundmarkError
from boundmark.reports.default import DEFAULT
from boundmark.reports.problem_report import ProblemReport

GROUP = "boundmark.reports"

LONGEST_REASON = 300


def report_of(problem: str) -> tuple[ProblemReport, list[str]]:
    """Return the report of a problem, or the default one, and a line for each that was left out.

    Ours come first, then those of other packages by name; the first that can be loaded serves.
    """
    complaints: list[str] = []
    serving: ProblemReport | None = None
    for point in _points(problem):
        if serving is not None:
            reason = "another one serves already; expected one per problem"
            complaints.append(complaint(point.name, reason, point))
            continue
        try:
            serving = _loaded(point)
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            # Whatever somebody else's code raises, even SystemExit, is no reason to stop.
            complaints.append(complaint(point.name, reason_of(error), point))
    return serving or DEFAULT, complaints


def complaint(problem: str, reason: str, point: EntryPoint | None = None) -> str:
    """Return the line about a report that is left out, and write it to standard error."""
    package = f" of package {point.dist.name}" if point and point.dist else ""
    line = f"The report of {problem}{package} is left out: {reason}."
    logging.getLogger("boundmark").warning("warning: %s", line)
    return line


def reason_of(error: BaseException) -> str:
    """Return an error in one line."""
    text = str(error) if isinstance(error, BoundmarkError) else f"{type(error).__name__}: {error}"
    return " ".join(text.split()).rstrip(".:")[:LONGEST_REASON]


def _points(problem: str) -> Iterable[EntryPoint]:
    return sorted(
        entry_points(group=GROUP, name=problem),
        key=lambda point: (not point.value.startswith("boundmark."), _package(point), point.value),
    )


def _package(point: EntryPoint) -> str:
    return point.dist.name if point.dist else ""


def _loaded(point: EntryPoint) -> ProblemReport:
    value = point.load()
    if not isinstance(value, ProblemReport):
        raise BoundmarkError(
            f"{point.value} holds a {type(value).__name__}; expected a ProblemReport."
        )
    return value
