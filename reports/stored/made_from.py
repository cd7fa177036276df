"""Records the rows that a report was computed from, and the files it wrote.

It tells tables that were changed by hand, and tables older than the rows, from those that hold. It
is no signature: who changes a table on purpose can change the note too.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from boundmark.problems.files import read_regular
from boundmark.reports.stored.supported import SupportedResults

# Below the results folder.
NAME = "tables/made_from.json"


@dataclass(frozen=True)
class MadeFrom:
    """Record of what a report was made from: a digest of rows, and the files written.

    Attributes
    ----------
    rows
        Digest of the rows and traces, from `rows_digest`.
    tables
        SHA-256 of each table's file by its path below the results folder.
    """

    rows: str
    tables: Mapping[str, str]


def rows_digest(supported: SupportedResults) -> str:
    """Return a digest of rows and traces that does not depend on their order.

    As far as documents support them: a certificate that goes missing makes another digest.
    """
    found = hashlib.sha256()
    for frame in (supported.results, supported.traces):
        hashes = pd.util.hash_pandas_object(frame, index=False).to_numpy(np.uint64)
        found.update(np.sort(hashes).tobytes())
    return found.hexdigest()


def note_of(rows: str, files: Mapping[str, Any]) -> bytes:
    """Return the note on the tables among some files, by path below the results folder."""
    tables = {
        name: hashlib.sha256(content).hexdigest()
        for name, content in files.items()
        if name.startswith("tables/")
    }
    note = {"rows": rows, "tables": tables}
    return (json.dumps(note, indent=1, sort_keys=True) + "\n").encode()


def read_note(directory: Path) -> MadeFrom | None:
    """Return the note of a results folder; None if it is missing or damaged."""
    try:
        note = json.loads(read_regular(directory / NAME).decode())
        return MadeFrom(str(note["rows"]), {str(x): str(y) for x, y in note["tables"].items()})
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None
