"""The records of machine and software in a results folder, by the hash that rows name."""

from typing import Any

from boundmark.problems.errors import StoreError
from boundmark.reports.stored.documents import read_json
from boundmark.reports.stored.store import ResultStore


def read_environments(store: ResultStore) -> dict[str, dict[str, Any]]:
    """Return every record by its hash; none of a folder without records.

    Raises
    ------
    StoreError
        If a file cannot be read as a JSON object.
    """
    found = {}
    for path in sorted(store.environments.glob("*.json")):
        record = read_json(path)
        if not isinstance(record, dict):
            raise StoreError(f"{path} holds a {type(record).__name__}; expected a JSON object.")
        found[path.stem] = record
    return found
