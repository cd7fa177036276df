"""Limitations that the reader of any report has to know."""

import pandas as pd

from boundmark.reports.folder_results import FolderResults
from boundmark.reports.text.number_text import count


def limitations(folder: FolderResults, contradicted_claims: pd.DataFrame) -> tuple[str, ...]:
    """Return what does not depend on the problem.

    Parameters
    ----------
    contradicted_claims
        The table of this name.
    """
    certified, record = folder.certified, folder.environment
    found = [
        "A gap bounds the distance from the optimum: the solution may be better, or the bound "
        "weaker, than it suggests.",
        "Costs and bounds count if their documents are in the folder, unchanged, about the same "
        f"instance and with the same value. {_seen(folder)} boundmark verify checks all documents "
        "and rows. Times and memory are as measured.",
    ]
    unsupported = folder.unsupported
    if len(unsupported):
        first = unsupported.iloc[0]
        found.append(
            f"{count(len(unsupported), 'stored value')} left out, because no document supports "
            f"them or the checker rejects it: see tables/unsupported.parquet. The first is the "
            f"{first['column']} of task {first['task_id']} ({first['method']}): {first['reason']}."
        )
    if record is None:
        found.append("environment.json is missing: nothing is known of machine and software.")
    elif record.get("dirty"):
        found.append("The code had changes that are in no commit, so the run cannot be repeated.")
    records = folder.tasks["environment_sha256"].nunique()
    if records > 1:
        found.append(
            f"The tasks come from {records} runs; the environment described is that of the newest, "
            "and times of different runs may not be comparable."
        )
    for column, what in (("objective", "verified solution"), ("bound", "certified bound")):
        missing = int(certified[column].isna().sum())
        if missing:
            found.append(f"{count(missing, 'instance')} without {what}, in no mean that needs it.")
    if certified["claimed"].notna().any():
        found.append(
            "Claimed bounds are what solvers report without a certificate; they enter no gap."
        )
    wrong = len(contradicted_claims)
    if wrong:
        found.append(f"{count(wrong, 'claim')} contradicted by a verified solution.")
    return tuple(found)


def _seen(folder: FolderResults) -> str:
    if folder.checks is None:
        return "What the documents prove was checked when they were stored, and not again;"
    return (
        "The checker has seen the documents with the best cost and the best bound of each "
        "instance; others, with worse ones, were checked when they were stored, and not again;"
    )
