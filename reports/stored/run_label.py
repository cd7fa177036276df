"""A run's label: its commit, solvers, machine and time, from the records of its tasks."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import pandas as pd

from boundmark.problems.errors import StoreError
from boundmark.reports.stored.documents import read_json
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


def run_label(tasks: pd.DataFrame, environments: Mapping[str, Mapping[str, Any]]) -> RunLabel:
    """Return the label of a run.

    Parameters
    ----------
    tasks
        Its rows.
    environments
        Records of machine and software by hash; those that no row names do not count.
    """
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


def read_environments(store: ResultStore) -> dict[str, dict[str, Any]]:
    """Return the records of machine and software by hash.

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
