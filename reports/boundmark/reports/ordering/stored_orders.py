"""Instances and orders that a results folder holds."""

from typing import Any

import pandas as pd

from boundmark.problems.errors import BoundmarkError, StoreError
from boundmark.problems.ordering import ExecutionOrder, OrderingInstance
from boundmark.reports.stored.documents import read_document
from boundmark.reports.stored.store import ResultStore


def stored_instance(store: ResultStore, sha256: str) -> OrderingInstance | None:
    """Return an instance of the folder, None if it is not there.

    Raises
    ------
    StoreError
        If it is damaged.
    """
    document = read_document(store.instances, sha256)
    try:
        return None if document is None else OrderingInstance.from_json(document)
    except BoundmarkError as error:
        raise StoreError(f"instance {sha256}: {error}") from error


def stored_order(store: ResultStore, sha256: Any) -> ExecutionOrder | None:
    """Return a solution of the folder, None if there is none or it is not there.

    Raises
    ------
    StoreError
        If it is damaged.
    """
    document = None if pd.isna(sha256) else read_document(store.solutions, sha256)
    try:
        return None if document is None else ExecutionOrder.from_json(document)
    except BoundmarkError as error:
        raise StoreError(f"solution {sha256}: {error}") from error
