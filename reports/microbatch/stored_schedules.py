"""Instances with their best schedules, as a results folder holds them."""

from collections.abc import Mapping

import pandas as pd

from boundmark.problems.microbatch import MicrobatchInstance, Schedule
from boundmark.reports.stored.parsed import read_parsed
from boundmark.reports.stored.store import ResultStore
from boundmark.reports.tables.rows import rows

Pair = tuple[MicrobatchInstance, Schedule]


def stored_pairs(chosen: pd.DataFrame, store: ResultStore) -> Mapping[str, Pair]:
    """Return instance and schedule of each row, by instance hash, where both are there.

    Raises
    ------
    StoreError
        If a stored instance or schedule is damaged.
    """
    found = {}
    for row in rows(chosen):
        instance = read_parsed(store.instances, row.instance_sha256, MicrobatchInstance.from_json)
        schedule = read_parsed(store.solutions, row.solution_sha256, Schedule.from_json)
        if instance is not None and schedule is not None:
            found[row.instance_sha256] = (instance, schedule)
    return found
