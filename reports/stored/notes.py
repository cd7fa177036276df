"""Read and write `notes.json` of a results folder: assumptions, files left out, sources.

Files of a suite that could not be read, what was taken for granted of models, and from which
sources each method ran since when.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from boundmark.problems.errors import InvalidInputError, StoreError
from boundmark.problems.files import naming, read_bytes
from boundmark.problems.json_documents import json_object
from boundmark.reports.stored.durable import write_durably
from boundmark.reports.stored.store import ResultStore

FORMAT = "boundmark-notes/1"

_FIELDS = ("left_out", "assumptions", "method_sources")


@dataclass(frozen=True)
class Notes:
    """Notes of all runs into a folder.

    Attributes
    ----------
    left_out
        Why a file of a suite has no tasks, by the file's name.
    assumptions
        What was taken for granted of a model, sentences by the model's name.
    method_sources
        Of each method, pairs of a time (UTC, ISO 8601) and the hash of its source files from then
        on, in this order.
    """

    left_out: Mapping[str, str] = field(default_factory=dict)
    assumptions: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    method_sources: Mapping[str, tuple[tuple[str, str], ...]] = field(default_factory=dict)

    def with_run(
        self, left_out: Mapping[str, str], assumptions: Mapping[str, tuple[str, ...]]
    ) -> "Notes":
        """Return the notes with those of another run; of a file, the newest count.

        Parameters
        ----------
        assumptions
            Of each model that was read, also where there are none.
        """
        kept = {name: why for name, why in self.left_out.items() if name not in assumptions}
        return replace(
            self,
            left_out={**kept, **left_out},
            assumptions={
                name: texts for name, texts in {**self.assumptions, **assumptions}.items() if texts
            },
        )

    def with_sources(self, method: str, since: str, sources: str) -> "Notes":
        """Return the notes with a method's sources from now on."""
        known = self.method_sources.get(method, ())
        if known and known[-1][1] == sources:
            return self
        return replace(
            self, method_sources={**self.method_sources, method: (*known, (since, sources))}
        )

    def sources_at(self, method: str, time: str) -> str | None:
        """Return the hash of the sources that a method had at a time; None if nobody noted it."""
        earlier = [
            sources for since, sources in self.method_sources.get(method, ()) if since <= time
        ]
        return earlier[-1] if earlier else None


def read_notes(store: ResultStore) -> Notes:
    """Return the notes in a folder; none if there is no file.

    Raises
    ------
    StoreError
        If the file is not what it should be.
    """
    path = store.directory / "notes.json"
    if not path.exists():
        return Notes()
    try:
        content = read_bytes(path, "notes")
        with naming(path):
            return _notes(json_object(content))
    except InvalidInputError as error:
        raise StoreError(str(error)) from error


def write_notes(store: ResultStore, notes: Notes) -> None:
    """Store notes; raises `StoreError` if they cannot be written."""
    document = {
        "format": FORMAT,
        "left_out": dict(notes.left_out),
        "assumptions": {name: list(texts) for name, texts in notes.assumptions.items()},
        "method_sources": {
            name: [list(pair) for pair in pairs] for name, pairs in notes.method_sources.items()
        },
    }
    content = json.dumps(document, indent=1, sort_keys=True, ensure_ascii=True)
    write_durably(store.directory / "notes.json", content.encode())


def _notes(value: Mapping[str, Any]) -> Notes:
    if value.get("format") != FORMAT:
        raise InvalidInputError(f"format is not {FORMAT!r}; expected notes of a run.")
    tables = [value.get(name) for name in _FIELDS]
    left_out, assumptions, sources = tables
    is_right = (
        isinstance(left_out, dict)
        and isinstance(assumptions, dict)
        and isinstance(sources, dict)
        and all(isinstance(why, str) for why in left_out.values())
        and all(_are_texts(texts) for texts in assumptions.values())
        and all(
            isinstance(pairs, list) and all(_are_texts(pair) and len(pair) == 2 for pair in pairs)
            for pairs in sources.values()
        )
    )
    if not is_right:
        raise InvalidInputError(
            f"a field is missing or has the wrong type; expected {', '.join(_FIELDS)}."
        )
    assert isinstance(left_out, dict)
    assert isinstance(assumptions, dict)
    assert isinstance(sources, dict)
    return Notes(
        left_out,
        {name: tuple(texts) for name, texts in assumptions.items()},
        {name: tuple((a, b) for a, b in pairs) for name, pairs in sources.items()},
    )


def _are_texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(one, str) for one in value)
