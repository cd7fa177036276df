"""The page's title, and its summary in a few sentences."""

from collections.abc import Sequence

from boundmark.reports.folder_results import FolderResults
from boundmark.reports.text.number_text import count


def title(folder: FolderResults) -> str:
    """Return the page's title."""
    suites = sorted(set(folder.tasks["suite"].dropna()))
    return "boundmark: " + ", ".join(suites) if suites else "boundmark"


def summary(folder: FolderResults, headlines: Sequence[str]) -> str:
    """Return what was found: over all, of each problem, and how many tasks failed."""
    failed = int((folder.tasks["status"] != "ok").sum())
    ended = f"{count(failed, 'task')} did not end ok." if failed else "Every task ended ok."
    return " ".join(text for text in (_known(folder), *headlines, ended) if text)


def _known(folder: FolderResults) -> str:
    certified = folder.certified
    n = len(certified)
    solved, bounded = (int(certified[column].notna().sum()) for column in ("objective", "bound"))
    known = f"{_of(solved, n)} a verified solution, {_of(bounded, n)} a certified lower bound"
    if solved == bounded == n:
        known = f"{_of(n, n)} a verified solution and a certified lower bound"
    optimal = int(certified["optimal"].sum())
    return (
        f"{count(len(folder.tasks), 'task')} on {count(n, 'instance')} of "
        f"{count(certified['dataset'].nunique(), 'data set')}: {known}, and "
        f"{optimal or 'none'} {'are' if optimal > 1 else 'is'} proven optimal."
    )


def _of(number: int, total: int) -> str:
    if number == total:
        return "every instance has" if total > 1 else "the instance has"
    return f"{number:,} of {total:,} have"
