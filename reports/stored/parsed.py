"""Instances and solutions of a results folder as objects of their problem."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import pandas as pd

from boundmark.problems.errors import BoundmarkError, StoreError
from boundmark.reports.stored.documents import read_document

T = TypeVar("T")


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
