"""Names of the instances of a results folder, as far as tables show them."""

import json

import pandas as pd

from boundmark.problems.regular_file import read_regular
from boundmark.reports.stored.store import ResultStore


def with_ticks(certified: pd.DataFrame, store: ResultStore) -> pd.DataFrame:
    """Return the instances with a column `tick` behind `device`: what one of their ticks is.

    Labels are words for people, on which no cost depends: where they are missing or damaged, it is
    an empty text.
    """
    ticks = [_tick(store, sha256) for sha256 in certified["instance_sha256"]]
    table = certified.copy()
    table.insert(list(table.columns).index("device") + 1, "tick", pd.Series(ticks, dtype="object"))
    return table


def _tick(store: ResultStore, sha256: str) -> str:
    try:
        labels = json.loads(read_regular(store.labels / f"{sha256}.json").decode())
    except (OSError, ValueError, RecursionError):
        return ""
    tick = labels.get("tick") if isinstance(labels, dict) else None
    return tick if isinstance(tick, str) else ""
