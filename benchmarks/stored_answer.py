"""The best answer about an instance that a results folder has."""

from collections.abc import Collection
from pathlib import Path

import pandas as pd

from boundmark.benchmarks.answer import UNSUITABLE, Answer, warnings_about
from boundmark.benchmarks.interruption import PROVEN, ended_because
from boundmark.benchmarks.suite import NamedInstance
from boundmark.bounds import checker
from boundmark.reports.stored.store import ResultStore, read_document
from boundmark.reports.tables.rows import best_rows


def stored_answer(
    source: NamedInstance,
    directory: Path,
    tried: Collection[str],
    immediate: Collection[str],
    seconds: float,
) -> Answer:
    """Return the best that a folder has of some methods.

    Parameters
    ----------
    tried
        Names of the methods.
    immediate
        Names of those that were run on trial: that they do not suit the instance is no failure.
    seconds
        What the search took.
    """
    rows = ResultStore.open(directory).results()
    rows = rows[(rows["instance_sha256"] == source.instance.sha256) & rows["method"].isin(tried)]
    solved = best_rows(rows, "objective")
    bounded = best_rows(rows, "bound_certified", highest=True)
    upper = None if solved.empty else solved.iloc[0]
    lower = None if bounded.empty else bounded.iloc[0]
    claims = rows["bound_claimed"].dropna()
    solution = certificate = None
    if upper is not None:
        solution = read_document(directory / "solutions", str(upper["solution_sha256"]))
    if lower is not None:
        certificate = checker.read_document(
            directory / "certificates" / f"{lower['certificate_sha256']}.json"
        )
    return Answer(
        source=source,
        objective=None if upper is None else int(upper["objective"]),
        certified_bound=None if lower is None else int(lower["bound_certified"]),
        claimed_bound=None if claims.empty else float(claims.max()),
        solution=solution,
        certificate=certificate,
        method=None if upper is None else str(upper["method"]),
        bound_method=None if lower is None else str(lower["method"]),
        seconds=seconds,
        failures=_failures(rows, immediate),
        warnings=warnings_about(source),
    )


def _failures(rows: pd.DataFrame, immediate: Collection[str]) -> tuple[str, ...]:
    """Return a sentence for each method whose latest attempt did not end well."""
    latest = rows.sort_values("started_at").drop_duplicates("method", keep="last")
    is_unsuitable = latest["status"].isin(UNSUITABLE)
    latest = latest[~(latest["method"].isin(immediate) & is_unsuitable)]
    is_failed = (latest["status"] != "ok") & (latest["status_detail"] != ended_because(PROVEN))
    failed = latest[is_failed]
    return tuple(
        f"{row['method']}: {row['status']}: {row['status_detail']}" for _, row in failed.iterrows()
    )
