"""Instances and schedules that a results folder holds."""

from collections.abc import Mapping
from typing import Any

import pandas as pd

from boundmark.problems.errors import BoundmarkError, StoreError
from boundmark.problems.microbatch import MicrobatchInstance, Schedule
from boundmark.reports.stored.documents import read_document
from boundmark.reports.stored.store import ResultStore
from boundmark.reports.tables.rows import rows

Pair = tuple[MicrobatchInstance, Schedule]


def stored_instance(store: ResultStore, sha256: str) -> MicrobatchInstance | None:
    """Return an instance of the folder, None if it is not there.

    Raises
    ------
    StoreError
        If it is damaged.
    """
    document = read_document(store.instances, sha256)
    try:
        return None if document is None else MicrobatchInstance.from_json(document)
    except BoundmarkError as error:
        raise StoreError(f"instance {sha256}: {error}") from error


def stored_schedule(store: ResultStore, sha256: Any) -> Schedule | None:
    """Return a solution of the folder, None if there is none or it is not there.

    Raises
    ------
    StoreError
        If it is damaged.
    """
    document = None if pd.isna(sha256) else read_document(store.solutions, sha256)
    try:
        return None if document is None else Schedule.from_json(document)
    except BoundmarkError as error:
        raise StoreError(f"solution {sha256}: {error}") from error


def stored_pairs(chosen: pd.DataFrame, store: ResultStore) -> Mapping[str, Pair]:
    """Return instance and schedule of each row, by instance hash, where both are there."""
    found = {}
    for row in rows(chosen):
        instance = stored_instance(store, row.instance_sha256)
        schedule = stored_schedule(store, row.solution_sha256)
        if instance is not None and schedule is not None:
            found[row.instance_sha256] = (instance, schedule)
    return found
