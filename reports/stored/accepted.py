"""Remembers which documents the checker accepted, by content and by the checker's own content.

An entry is the hash of an instance's and a document's hash; the files' content was hashed before
anybody asks. Entries lie in the user's cache folder, one file for each version of the checker, so
that no results folder can bring its own. Only what was accepted is remembered: what was rejected is
rare, and may have been rejected for want of memory. All of it may be deleted at any time.
"""

import hashlib
import sys
from collections.abc import Iterable
from pathlib import Path

from boundmark.bounds import checker
from boundmark.problems.errors import StoreError
from boundmark.reports.stored.cache_folder import cache_folder
from boundmark.reports.stored.durable import write_durably

# Bytes of an entry.
LENGTH = hashlib.sha256().digest_size

# Of so many entries, those that were added last: 16 MB.
MOST_ENTRIES = 500_000

# Of so many versions of the checker, those that were used last.
MOST_VERSIONS = 3


class Accepted:
    """The pairs of instance and document that this version of the checker is known to accept."""

    def __init__(self) -> None:
        self._path = cache_folder("accepted") / checker_version()
        self._known = _read(self._path)
        self._added: dict[bytes, None] = {}

    def has(self, instance: str, document: str) -> bool:
        """Return whether a document was accepted for an instance, both named by their hash."""
        return _entry(instance, document) in self._known

    def add(self, instance: str, document: str) -> None:
        """Note that the checker has accepted a document."""
        self._added[_entry(instance, document)] = None

    def save(self) -> None:
        """Write what was added, if anything; where that cannot be written, it is checked again."""
        if not self._added:
            return
        # Another process may have added to them meanwhile.
        entries = [*(_read(self._path) | self._added)][-MOST_ENTRIES:]
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            write_durably(self._path, b"".join(entries))
            others = sorted(self._path.parent.iterdir(), key=lambda one: one.stat().st_mtime)
            for old in others[:-MOST_VERSIONS]:
                old.unlink(missing_ok=True)
        except (OSError, StoreError):
            return


def checker_version() -> str:
    """Return a hash of all that verdicts depend on besides files: the checker's sources, Python."""
    root = Path(checker.__file__).parent
    found = hashlib.sha256(sys.version.encode())
    for path in sorted(root.rglob("*.py")):
        content = hashlib.sha256(path.read_bytes()).hexdigest()
        found.update(f"\n{path.relative_to(root).as_posix()} {content}".encode())
    return found.hexdigest()


def _entry(instance: str, document: str) -> bytes:
    return hashlib.sha256(f"{instance} {document}".encode()).digest()


def _read(path: Path) -> dict[bytes, None]:
    """Return the entries of a file in order; none of a file that is not there or damaged."""
    try:
        content = path.read_bytes()
    except OSError:
        return {}
    if len(content) % LENGTH:
        return {}
    starts: Iterable[int] = range(0, len(content), LENGTH)
    return {content[start : start + LENGTH]: None for start in starts}
