"""The reports of problems, from entry points; a broken one is left out and told in one line.

A package adds the report of a problem with an entry point in the group ``boundmark.reports`` that
has the problem's name and names a `ProblemReport`. Only those of problems that a results folder
holds are ever loaded.
"""

from importlib.metadata import EntryPoint

from boundmark.problems.errors import BoundmarkError
from boundmark.problems.plugins import described, entry_points_of, leave_out, loaded
from boundmark.reports.default import DEFAULT
from boundmark.reports.problem_report import ProblemReport

GROUP = "boundmark.reports"


def report_of(problem: str) -> tuple[ProblemReport, list[str]]:
    """Return the report of a problem, or the default one, and a line for each that was left out.

    Of several, ours comes first, and then the first in the order of `entry_points_of`.
    """
    serving: ProblemReport | None = None
    complaints: list[str] = []
    for point in entry_points_of(GROUP):
        if point.name != problem:
            continue
        try:
            if serving is not None:
                raise BoundmarkError(f"{problem!r} is taken; expected one report per problem.")
            serving = _report(point)
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            # Whatever somebody else's code raises, even SystemExit, is no reason to stop.
            complaints.append(leave_out(described(point), error))
    return serving or DEFAULT, complaints


def _report(point: EntryPoint) -> ProblemReport:
    value = loaded(point)
    if not isinstance(value, ProblemReport):
        raise BoundmarkError(f"it holds a {type(value).__name__}; expected a ProblemReport.")
    return value
