"""The records of machine and software in a results folder, by the hash that rows name."""

import json
from typing import Any

from boundmark.problems.errors import StoreError
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
        try:
            record = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError, RecursionError) as error:
            raise StoreError(f"{path} cannot be read as JSON: {error}.") from error
        if not isinstance(record, dict):
            raise StoreError(f"{path} holds a {type(record).__name__}; expected a JSON object.")
        found[path.stem] = record
    return found
