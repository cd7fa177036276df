"""Store a run's label, how fast its machine was, and notes, beside the rows of its folder.

A run takes the time of a reference task that never changes now and then, and keeps it in
`machine/` of its folder, one file per process that ran tasks, named after the hash of its content.
A machine that got slower is thus not mistaken for methods that did. Notes in `notes.json` are on
files of a suite that could not be read, what was taken for granted of models, and from which
sources each method ran since when.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from boundmark.problems.errors import InvalidInputError, StoreError
from boundmark.problems.files import naming, read_bytes
from boundmark.problems.json_documents import canonical_json, json_object, sha256_hex
from boundmark.reports.stored.durable import write_durably

if TYPE_CHECKING:
    import pandas as pd

    from boundmark.reports.stored.store import ResultStore

# Packages whose versions decide what methods find: solvers, and what compiles our own code.
SOLVERS = (
    "brkga-mp-ipr", "gurobipy", "highspy", "numba", "numpy", "ortools", "pyscipopt", "scipy",
    "z3-solver",
)  # fmt: skip

SHORT = 10


@dataclass(frozen=True)
class RunLabel:
    """The known parts of a label that tells a run from others.

    Attributes
    ----------
    started
        When the first task began, in UTC, ISO 8601.
    commits
        Those that the tasks ran with, a changed checkout's with a plus sign at the end.
    solvers, libraries
        Versions by package, e.g. ``"1.15.1"``; of a run with several, ``"1.14.0 and 1.15.1"``.
    """

    started: str
    suites: tuple[str, ...]
    commits: tuple[str, ...]
    hosts: tuple[str, ...]
    cpus: tuple[str, ...]
    libraries: Mapping[str, str] = field(default_factory=dict)

    @property
    def solvers(self) -> Mapping[str, str]:
        """Versions of the solvers by package."""
        return {name: self.libraries[name] for name in SOLVERS if name in self.libraries}

    @property
    def short(self) -> str:
        """The label in a few words, e.g. ``"2026-11-22 02:10, 1f0c2a7b3d"``."""
        return f"{self.started[:16].replace('T', ' ')}, {self.commit_text}"

    @property
    def commit_text(self) -> str:
        """The commits, abbreviated."""
        short = [f"{name[:SHORT]}{'+' if name.endswith('+') else ''}" for name in self.commits]
        return " and ".join(short) or "unknown commit"

    def to_json(self) -> dict[str, Any]:
        """Return the label as JSON values."""
        return {**asdict(self), "solvers": dict(self.solvers)}


def run_label(tasks: "pd.DataFrame", environments: Mapping[str, Mapping[str, Any]]) -> RunLabel:
    """Return the label of a run."""
    named = [environments[x] for x in _distinct(tasks["environment_sha256"]) if x in environments]
    libraries: dict[str, set[str]] = {}
    for record in named:
        versions = record.get("libraries")
        for name, version in versions.items() if isinstance(versions, Mapping) else ():
            libraries.setdefault(str(name), set()).add(str(version))
    return RunLabel(
        started="" if tasks.empty else tasks["started_at"].min().isoformat(timespec="seconds"),
        suites=_distinct(tasks["suite"]),
        commits=tuple(sorted({_commit(record) for record in named} - {""})),
        hosts=_distinct(tasks["host"]),
        cpus=tuple(sorted({str(record["cpu"]) for record in named if record.get("cpu")})),
        libraries={name: " and ".join(sorted(libraries[name])) for name in sorted(libraries)},
    )


def _commit(record: Mapping[str, Any]) -> str:
    commit = record.get("commit")
    return f"{commit}{'+' if record.get('dirty') else ''}" if isinstance(commit, str) else ""


def _distinct(values: "pd.Series[Any]") -> tuple[str, ...]:
    return tuple(sorted(map(str, values.dropna().unique())))


def read_environments(store: "ResultStore") -> dict[str, dict[str, Any]]:
    """Return the records of machine and software by hash."""
    from boundmark.reports.stored.store import read_json

    found = {}
    for path in sorted(store.environments.glob("*.json")):
        record = read_json(path)
        if not isinstance(record, dict):
            raise StoreError(f"{path} holds a {type(record).__name__}; expected a JSON object.")
        found[path.stem] = record
    return found


def write_reference_seconds(
    store: "ResultStore", seconds: list[float], replaced: Path | None = None
) -> Path:
    """Store the CPU seconds of a process's reference tasks, and return the file."""
    try:
        store.machine.mkdir(exist_ok=True)
    except OSError as error:
        raise StoreError(f"{store.machine} cannot be written: {error.strerror}.") from error
    path = store.machine / f"{seconds_sha256(seconds)}.json"
    write_durably(path, canonical_json(seconds).encode())
    if replaced is not None and replaced != path:
        replaced.unlink(missing_ok=True)
    return path


def reference_seconds(store: "ResultStore") -> tuple[float, ...]:
    """Return the CPU seconds of all reference tasks of a folder."""
    from boundmark.reports.stored.store import read_json

    found: list[float] = []
    for path in sorted(store.machine.glob("*.json")):
        found += read_json(path)
    return tuple(found)


def seconds_sha256(seconds: list[float]) -> str:
    """Return the hash that names the file with these CPU seconds."""
    return sha256_hex(canonical_json(seconds))


FORMAT = "boundmark-notes/1"


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
        For each method, pairs of a time (UTC, ISO 8601) and the hash of its source files from then
        on, in this order.
    """

    left_out: Mapping[str, str] = field(default_factory=dict)
    assumptions: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    method_sources: Mapping[str, tuple[tuple[str, str], ...]] = field(default_factory=dict)

    def with_run(
        self, left_out: Mapping[str, str], assumptions: Mapping[str, tuple[str, ...]]
    ) -> "Notes":
        """Return the notes with those of another run; of a file, the newest count."""
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


def read_notes(store: "ResultStore") -> Notes:
    """Return the notes in a folder; none if there is no file."""
    path = store.directory / "notes.json"
    if not path.exists():
        return Notes()
    try:
        content = read_bytes(path, "notes")
        with naming(path):
            return _notes(json_object(content))
    except InvalidInputError as error:
        raise StoreError(str(error)) from error


def write_notes(store: "ResultStore", notes: Notes) -> None:
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
    return Notes(
        value["left_out"],
        {name: tuple(texts) for name, texts in value["assumptions"].items()},
        {name: tuple((a, b) for a, b in pairs) for name, pairs in value["method_sources"].items()},
    )
