"""Remember in the user's cache folder which documents the checker accepted.

They are remembered by the hash of an instance's and a document's hash, in one file for each version
of the checker. No results folder can bring its own entries, and all may be deleted at any time.
"""

import hashlib
import os
import sys
from collections.abc import Iterable
from pathlib import Path

from boundmark.bounds import checker
from boundmark.problems.errors import StoreError
from boundmark.reports.stored.durable import write_durably

# Bytes of an entry.
LENGTH = hashlib.sha256().digest_size

# Versions of the checker whose entries are kept, those that were used last.
MOST_VERSIONS = 3


class Accepted:
    """The pairs of instance and document that this version of the checker is known to accept.

    Parameters
    ----------
    most_entries
        Entries that are kept, those that were added last: 500,000 take 16 MB.
    """

    def __init__(self, most_entries: int = 500_000) -> None:
        self._most_entries = most_entries
        self._path = cache_folder("accepted") / checker_version()
        self._known = _read_entries(self._path)
        self._added: dict[bytes, None] = {}

    def has(self, instance: str, document: str) -> bool:
        """Return whether a document was accepted for an instance, both named by their hash."""
        return _entry(instance, document) in self._known

    def add(self, instance: str, document: str) -> None:
        """Add a document that the checker has accepted."""
        self._added[_entry(instance, document)] = None

    def save(self) -> None:
        """Write the added entries; those that cannot be written are checked again next time."""
        if not self._added:
            return
        # Another process may have added to them meanwhile.
        entries = [*(_read_entries(self._path) | self._added)][-self._most_entries :]
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            write_durably(self._path, b"".join(entries))
            others = sorted(self._path.parent.iterdir(), key=lambda one: one.stat().st_mtime)
            for old in others[:-MOST_VERSIONS]:
                old.unlink(missing_ok=True)
        except (OSError, StoreError):
            return


def checker_version() -> str:
    """Return a hash of the checker's sources and of Python's version, on which verdicts depend."""
    root = Path(checker.__file__).parent
    found = hashlib.sha256(sys.version.encode())
    for path in sorted(root.rglob("*.py")):
        content = hashlib.sha256(path.read_bytes()).hexdigest()
        found.update(f"\n{path.relative_to(root).as_posix()} {content}".encode())
    return found.hexdigest()


def _entry(instance: str, document: str) -> bytes:
    return hashlib.sha256(f"{instance} {document}".encode()).digest()


def _read_entries(path: Path) -> dict[bytes, None]:
    """Return the entries of a file in order; none if it is missing or damaged."""
    try:
        content = path.read_bytes()
    except OSError:
        return {}
    if len(content) % LENGTH:
        return {}
    starts: Iterable[int] = range(0, len(content), LENGTH)
    return {content[start : start + LENGTH]: None for start in starts}


def cache_folder(name: str) -> Path:
    """Return a folder of this package below the user's cache folder; it need not exist.

    Nobody can send what lies there along with results. A relative ``XDG_CACHE_HOME`` is passed
    over, as its specification demands: in a results folder, it could lead into that folder.
    """
    chosen = os.environ.get("XDG_CACHE_HOME", "")
    cache = chosen if os.path.isabs(chosen) else os.path.expanduser("~/.cache")
    return Path(cache, "boundmark", name)
