"""Instances and solutions of a results folder as objects of their problem."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import pandas as pd

from boundmark.problems.errors import BoundmarkError, StoreError
from boundmark.reports.stored.documents import read_document
from boundmark.reports.stored.store import ResultStore

T = TypeVar("T")
U = TypeVar("U")


def read_parsed(folder: Path, digest: Any, parse: Callable[[Any], T]) -> T | None:
    """Return a stored document as what it describes, None if there is none or it is not there.

    Parameters
    ----------
    folder
        Where the store keeps documents of this sort, e.g. `store.instances`.
    digest
        Hash of the document; missing where a task left none.
    parse
        Makes an object of the document, e.g. `Schedule.from_json`.

    Raises
    ------
    StoreError
        If the document is damaged.
    """
    document = None if pd.isna(digest) else read_document(folder, digest)
    try:
        return None if document is None else parse(document)
    except BoundmarkError as error:
        raise StoreError(f"{folder / f'{digest}.json'}: {error}") from error


def parsed_pair(
    store: ResultStore,
    row: Any,
    parse_instance: Callable[[Any], T],
    parse_solution: Callable[[Any], U],
) -> tuple[T, U] | None:
    """Return a row's instance and solution as objects, None if one of them is not stored.

    Parameters
    ----------
    row
        With `instance_sha256` and `solution_sha256`.

    Raises
    ------
    StoreError
        If one of them is damaged.
    """
    instance = read_parsed(store.instances, row.instance_sha256, parse_instance)
    solution = read_parsed(store.solutions, row.solution_sha256, parse_solution)
    return None if instance is None or solution is None else (instance, solution)
