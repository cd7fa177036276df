"""Sections before and after those of the problems: summary, settings, limitations, definitions."""

from collections.abc import Sequence
from typing import Any

import pandas as pd

from boundmark.reports.folder_results import FolderResults
from boundmark.reports.pages.page import Section
from boundmark.reports.stored.run_records import read_notes
from boundmark.reports.tables.parameters import (
    parameter_column,
    parameter_names,
    values_in_order,
)
from boundmark.reports.text import count, integer, natural_order, plain, size
from boundmark.reports.true_costs import (
    CALIBRATED,
    MEASURED,
    ROOFLINE,
    Hardware,
    accuracy,
    source_of,
)


def title(folder: FolderResults) -> str:
    """Return the page's title; several parts of one suite have the suite's name."""
    parts = sorted(set(folder.tasks["suite"].dropna()))
    whole = {part.partition("/")[0] for part in parts}
    suites = sorted(whole) if len(whole) < len(parts) else parts
    return "boundmark: " + ", ".join(suites) if suites else "boundmark"


def summary(folder: FolderResults, headlines: Sequence[str]) -> str:
    """Return the main results as sentences: over all, of each problem, and failed tasks."""
    statuses = folder.tasks["status"]
    unsupported = int((statuses == "unsupported").sum())
    failed = int((statuses != "ok").sum()) - unsupported
    ended = f"{count(failed, 'task')} did not end ok." if failed else "Every task ended ok."
    if unsupported:
        ended = f"{count(failed, 'task') if failed else 'No task'} failed; the methods of "
        ended += f"{count(unsupported, 'task')} do not support the instance, or cannot run here."
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


# Keys of environment.json whose values are bytes.
BYTES_SUFFIX = "_bytes"

Pairs = tuple[tuple[str, str], ...]


def settings(folder: FolderResults) -> Pairs:
    """Return the settings of the run, as pairs of name and value."""
    tasks, certified = folder.tasks, folder.certified
    sizes = certified.groupby("dataset").size()
    versions = tasks.groupby("method")["method_version"].max()
    methods = (
        f"{name} (version {integer(versions[name])})" for name in natural_order(versions.index)
    )
    solvers = ", ".join(f"{name} {text}" for name, text in folder.label.solvers.items())
    limits = (f"{plain(x)} s" for x in _distinct(tasks["time_limit_seconds"]))
    return (
        ("run", f"{folder.label.short}; {solvers or 'versions of solvers unknown'}"),
        ("problems", ", ".join(folder.problems)),
        ("data sets", ", ".join(f"{name} ({number})" for name, number in sizes.items())),
        *_devices(certified),
        *(
            (name, _values(certified[parameter_column(name)]))
            for name in parameter_names(certified)
        ),
        ("nodes", _range(tasks["nodes"])),
        ("methods", ", ".join(methods)),
        ("seeds", _listed(tasks["seed"])),
        ("time limit", ", ".join(limits)),
        ("memory limit", ", ".join(size(x) for x in _distinct(tasks["memory_limit_bytes"]))),
        ("threads per task", _listed(tasks["threads"])),
        ("hosts", ", ".join(sorted(set(tasks["host"].dropna())))),
    )


def environment(folder: FolderResults) -> Pairs:
    """Return the record of machine and software, whatever it contains."""
    record = folder.environment or {}
    return tuple((_label(key), _value(key, record[key])) for key in record)


def _devices(certified: Any) -> Pairs:
    """Return the devices with their numbers of instances; nothing if no cost depends on one."""
    sizes = certified.groupby(certified["device"].fillna("")).size().drop("", errors="ignore")
    named = ", ".join(f"{name} ({number})" for name, number in sizes.items())
    return (("devices", named),) if named else ()


def _values(column: Any) -> str:
    values = values_in_order(column)
    return ", ".join(value if isinstance(value, str) else integer(value) for value in values)


def _distinct(values: Any) -> list[Any]:
    return sorted(set(values.dropna()))


def _listed(values: Any) -> str:
    return ", ".join(integer(value) for value in _distinct(values))


def _range(values: Any) -> str:
    distinct = _distinct(values)
    return f"{integer(distinct[0])} to {integer(distinct[-1])}" if distinct else ""


def _label(key: str) -> str:
    return key.removesuffix(BYTES_SUFFIX).replace("_", " ")


def _value(key: str, value: Any) -> str:
    if value is None:
        return "unknown"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, dict):
        pairs = (f"{name} {_value(name, part)}" for name, part in sorted(value.items()))
        return ", ".join(pairs) or "none"
    if isinstance(value, list):
        return ", ".join(_value(key, part) for part in value)
    if isinstance(value, float):
        return f"{value:.2f}"
    if isinstance(value, int) and key.endswith(BYTES_SUFFIX):
        return size(value)
    return str(value)


# Names in a sentence.
MOST_NAMED = 5


def _left_out(folder: FolderResults) -> list[str]:
    """Return the notes of runs on files that they left out, and on their assumptions."""
    notes = read_notes(folder.store)
    found = []
    if notes.left_out:
        reasons = [f"{name} ({why.rstrip('.')})" for name, why in notes.left_out.items()]
        found.append(
            f"{count(len(reasons), 'file')} of the suite could not be read or treated: "
            f"{_some(reasons)}."
        )
    if notes.assumptions:
        texts = [f"{name}: {'; '.join(texts)}" for name, texts in notes.assumptions.items()]
        found.append(f"Assumed about models: {_some(texts)}.")
    return found


def _some(texts: Sequence[str]) -> str:
    more = f"; and {len(texts) - MOST_NAMED} more" if len(texts) > MOST_NAMED else ""
    return "; ".join(texts[:MOST_NAMED]) + more


def limitations(folder: FolderResults, contradicted_claims: pd.DataFrame) -> tuple[str, ...]:
    """Return the known limitations of all problems."""
    certified, record = folder.certified, folder.environment
    found = [
        *_left_out(folder),
        "A gap is an upper limit of the distance from the optimum: the solution may be closer to "
        "it.",
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
        found.append("environment.json is missing: machine and software are unknown.")
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
            found.append(
                f"{count(missing, 'instance')} without {what}, left out of means that need it."
            )
    if certified["claimed"].notna().any():
        found.append(
            "Claimed bounds are reported by solvers without a certificate; they enter no gap."
        )
    wrong = len(contradicted_claims)
    if wrong:
        found.append(f"{count(wrong, 'claim')} contradicted by a verified solution.")
    return (*found, *_cost_accuracies(certified))


def _cost_accuracies(certified: Any) -> list[str]:
    """Return what the costs of devices have been off by, a sentence for each source of costs."""
    alike: dict[tuple[str, str], list[str]] = {}
    for device in sorted(set(certified["device"].dropna()) - {""}):
        source = source_of(device)
        said = accuracy(source, hardware=Hardware.of([device]))
        alike.setdefault((source, said), []).append(device)
    return [
        f"Costs for {_some(devices).replace('; ', ', ')} are {_SOURCES[source]}: {said}."
        for (source, said), devices in alike.items()
    ]


_SOURCES = {
    ROOFLINE: "of the roofline",
    CALIBRATED: "calibrated on measured times of other models",
    MEASURED: "measured",
}


def _seen(folder: FolderResults) -> str:
    if folder.checks is None:
        return "Documents were checked when they were stored, and not again;"
    return (
        "The checker has seen the documents with the best cost and the best bound of each "
        "instance; others, with worse ones, were checked when they were stored, and not again;"
    )


def definitions() -> Section:
    """Return the definitions of the words that all tables use."""
    return Section(
        "Definitions",
        paragraphs=(
            "UB: cost of a solution that an independent checker evaluated. LB: lower bound whose "
            "certificate the checker accepted in exact integer arithmetic. Claimed bound: a bound "
            "that a solver reports in floating point without a certificate, never mixed with "
            "certified ones. Costs are in ticks, the integer time unit of the instance.",
            "Gap: UB/LB - 1. Means of ratios are geometric: GM(UB/LB) - 1 is the mean gap. Times "
            "are averaged geometrically with a shift of 1 s. Seeds are averaged within an "
            "instance before anything else.",
            "Performance profile (Dolan and Moré, 2002): the fraction of instances on which a "
            "method's solution is within a factor of the best one found; failures are within no "
            "factor.",
            "The best value of a column is marked where all methods delivered on all n instances. "
            "The report refuses to publish if a verified UB is below a certified LB.",
        ),
    )
