"""What stands in front: the summary, the settings, the machine, and what to beware of."""

from typing import Any

from boundmark.reports.analysis import PIPELINE, Analysis
from boundmark.reports.natural_order import natural_order
from boundmark.reports.number_text import count, integer, percent, plain, size
from boundmark.reports.page import Section
from boundmark.reports.sections.microbatch.bubble_rates import missing_instances
from boundmark.reports.statistics.geometric_mean import geometric_mean
from boundmark.reports.tables.tasks import PARAMETERS

# Keys of environment.json whose values are bytes.
BYTES_SUFFIX = "_bytes"


def title(analysis: Analysis) -> str:
    """Return the page's title."""
    suites = sorted(set(analysis.tasks["suite"].dropna()))
    return "boundmark: " + ", ".join(suites) if suites else "boundmark"


def summary(analysis: Analysis) -> str:
    """Return what was found, in two or three sentences."""
    certified = analysis.certified
    n = len(certified)
    solved, bounded = (int(certified[column].notna().sum()) for column in ("objective", "bound"))
    known = f"{_of(solved, n)} a verified solution, {_of(bounded, n)} a certified lower bound"
    if solved == bounded == n:
        known = f"{_of(n, n)} a verified solution and a certified lower bound"
    optimal = int(certified["optimal"].sum())
    text = (
        f"{count(len(analysis.tasks), 'task')} on {count(n, 'instance')} of "
        f"{count(certified['dataset'].nunique(), 'data set')}: {known}, and "
        f"{optimal or 'none'} {'are' if optimal > 1 else 'is'} proven optimal."
    )
    several = certified["problem"].nunique() > 1
    for problem, part in certified.groupby("problem"):
        gaps = part["gap"].dropna()
        if len(gaps):
            mean = percent(geometric_mean(1 + gaps) - 1)
            over = count(len(gaps), "instance") + (f" of {problem}" if several else "")
            text += f" The mean gap, GM(UB/LB) - 1, is {mean}\N{NO-BREAK SPACE}% over {over}."
    failed = int((analysis.tasks["status"] != "ok").sum())
    text += f" {count(failed, 'task')} did not end ok." if failed else " Every task ended ok."
    return text


def _of(number: int, total: int) -> str:
    if number == total:
        return "every instance has" if total > 1 else "the instance has"
    return f"{number:,} of {total:,} have"


def settings(analysis: Analysis) -> tuple[tuple[str, str], ...]:
    """Return how the tasks were run, as far as the results say."""
    tasks, certified = analysis.tasks, analysis.certified
    sizes = certified.groupby("dataset").size()
    versions = tasks.groupby("method")["method_version"].max()
    return (
        ("problems", ", ".join(sorted(set(tasks["problem"])))),
        ("data sets", ", ".join(f"{name} ({number})" for name, number in sizes.items())),
        *((name, _listed(tasks[name])) for name in PARAMETERS if tasks[name].notna().any()),
        ("nodes", _range(tasks["nodes"])),
        (
            "methods",
            ", ".join(
                f"{name} (version {integer(versions[name])})"
                for name in natural_order(versions.index)
            ),
        ),
        ("seeds", _listed(tasks["seed"])),
        ("time limit", ", ".join(f"{plain(x)} s" for x in _distinct(tasks["time_limit_seconds"]))),
        ("memory limit", ", ".join(size(x) for x in _distinct(tasks["memory_limit_bytes"]))),
        ("threads a task", _listed(tasks["threads"])),
        ("hosts", ", ".join(sorted(set(tasks["host"].dropna())))),
    )


def environment(analysis: Analysis) -> tuple[tuple[str, str], ...]:
    """Return the record of machine and software, whatever it contains."""
    record = analysis.environment or {}
    return tuple((_label(key), _value(key, record[key])) for key in record)


def limitations(analysis: Analysis) -> tuple[str, ...]:
    """Return what a reader of this report has to beware of."""
    certified, record = analysis.certified, analysis.environment
    found = [
        "A gap bounds the distance from the optimum: the solution may be better, or the bound "
        "weaker, than it suggests."
    ]
    if record is None:
        found.append("environment.json is missing: nothing is known of machine and software.")
    elif record.get("dirty"):
        found.append("The code had changes that are in no commit, so the run cannot be repeated.")
    records = analysis.tasks["environment_sha256"].nunique()
    if records > 1:
        found.append(
            f"The tasks come from {records} runs; the environment described is that of the newest, "
            "and times of different runs may not be comparable."
        )
    without_k = int((certified["k"].isna() & (certified["problem"] == PIPELINE)).sum())
    if without_k:
        found.append(f"{count(without_k, 'instance')} without k, in no table by k.")
    for column, what in (("objective", "verified solution"), ("bound", "certified bound")):
        missing = int(certified[column].isna().sum())
        if missing:
            found.append(f"{count(missing, 'instance')} without {what}, in no mean that needs it.")
    if certified["claimed"].notna().any():
        found.append("Claimed bounds are solvers' words; they enter no gap.")
    unknown = missing_instances(analysis.schedules)
    if unknown:
        found.append(unknown)
    wrong = len(analysis.contradicted_claims)
    if wrong:
        found.append(f"{count(wrong, 'claim')} contradicted by a verified solution.")
    return tuple(found)


def definitions() -> Section:
    """Return the words that all tables use."""
    return Section(
        "Definitions",
        paragraphs=(
            "UB: cost of a solution that an independent checker evaluated. LB: lower bound whose "
            "certificate the checker accepted in exact integer arithmetic. Claimed bound: a "
            "solver's floating-point word, never mixed with certified ones. Costs are in ticks, "
            "the integer time unit of the instance.",
            "Gap: UB/LB - 1. Means of ratios are geometric: GM(UB/LB) - 1 is the mean gap. Times "
            "are averaged geometrically with a shift of 1 s. Seeds are averaged within an "
            "instance before anything else.",
            "Performance profile (Dolan and Moré, 2002): the fraction of instances on which a "
            "method's solution is within a factor of the best one found; a failure is within none.",
            "The best value of a column is marked where all methods delivered on all n instances. "
            "The report refuses to publish if a verified UB is below a certified LB.",
        ),
    )


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
