"""The library as a folder: documents as results folders keep them, and a line for each instance.

`instances/`, `labels/`, `solutions/` and `certificates/` are those of a results folder, and a line
of `entries.jsonl` names the best solution and bound of an instance. Documents are written before
the lines that name them and removed after these, so that a writer may be killed at any moment.
"""

import gzip
import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from boundmark.bounds import checker
from boundmark.problems.errors import InvalidInputError, StoreError, quoted
from boundmark.problems.files import naming, read_regular
from boundmark.problems.json_documents import json_object, toml_table
from boundmark.reports.stored.durable import write_durably
from boundmark.reports.text import file_name, natural_order

# Where the library is if it is not beside the code; empty for none.
VARIABLE = "BOUNDMARK_LIBRARY"

FACTS = "library.toml"
ENTRIES = "entries.jsonl"
FOLDERS = ("instances", "labels", "solutions", "certificates")


@dataclass(frozen=True)
class Entry:
    """A line of the library: an instance with its best known solution and bound.

    All but days and `check_seconds` follows from the documents. Hashes, methods and days are empty
    where there is no such document.

    Attributes
    ----------
    dataset, instance, device
        Where the instance comes from, as its labels say.
    objective, bound
        Cost and bound in ticks.
    payload_sha256
        Hash of the certificate's payload where that is a file of its own; else empty.
    objective_method, bound_method
        What found it, with its version, e.g. ``"memetic 3"``.
    objective_date, bound_date
        When it was found or added, e.g. ``"2026-11-23"``.
    check_seconds
        What the checker took for the certificate then.
    """

    problem: str
    dataset: str
    instance: str
    device: str
    parameters: dict[str, Any]
    instance_sha256: str
    nodes: int
    edges: int
    objective: int | None = None
    solution_sha256: str = ""
    objective_method: str = ""
    objective_date: str = ""
    bound: int | None = None
    certificate_sha256: str = ""
    payload_sha256: str = ""
    bound_method: str = ""
    bound_date: str = ""
    check_seconds: float = 0.0

    @property
    def is_optimal(self) -> bool:
        """Whether the bound proves that no solution costs less."""
        return self.objective is not None and self.objective == self.bound

    @property
    def gap(self) -> float | None:
        """Optimality gap, UB/LB - 1; None if either bound is missing."""
        if self.objective is None or not self.bound:
            return None
        return self.objective / self.bound - 1

    @property
    def label(self) -> str:
        """The instance's name for people, e.g. ``"onnx-light/resnet50 k=8 on nvidia-t4"``."""
        parameters = (f"{name}={value}" for name, value in self.parameters.items())
        words = " ".join([f"{self.dataset}/{self.instance}", *parameters])
        return f"{words} on {self.device}" if self.device else words

    @property
    def solution_words(self) -> str:
        """The cost, the method and the day, as text."""
        return f"{self.objective:,} by {self.objective_method} ({self.objective_date})"

    @property
    def bound_words(self) -> str:
        """The bound, the method and the day, as text."""
        return f"{self.bound:,} by {self.bound_method} ({self.bound_date})"

    @property
    def files(self) -> tuple[str, ...]:
        """Paths of its documents below the library's folder, the instance's first."""
        named = {
            f"instances/{self.instance_sha256}.json": True,
            f"labels/{self.instance_sha256}.json": True,
            f"solutions/{self.solution_sha256}.json": self.solution_sha256,
            f"certificates/{self.certificate_sha256}.json": self.certificate_sha256,
            f"certificates/{self.payload_sha256}.json.gz": self.payload_sha256,
        }
        return tuple(name for name, is_there in named.items() if is_there)

    @property
    def bundle_name(self) -> str:
        """The name of a file with all its documents."""
        return f"{self.problem}-{file_name(self.instance)}-{self.instance_sha256[:8]}.jsonl.gz"

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> "Entry":
        """Read an entry; raises `InvalidInputError` if a field is missing, unknown or mistyped."""
        kinds: dict[str, Any] = {field.name: field.type for field in fields(cls)}
        for name in sorted(kinds.keys() ^ value.keys()):
            raise InvalidInputError(f"field {quoted(name)} of an entry is missing or unknown.")
        for name, kind in (kinds | {"parameters": dict}).items():
            if not isinstance(value[name], kind):
                expected = getattr(kind, "__name__", kind)
                raise InvalidInputError(f"{name} is {quoted(value[name])}; expected {expected}.")
        return cls(**value)


class Library:
    """A library of best-known results, in a folder.

    Parameters
    ----------
    directory
        The folder; see `open`.
    most_certificate_bytes
        Size of the largest certificate that is kept, with its payload.
    datasets
        Whose instances may be in the library, and why, by name.
    """

    def __init__(
        self, directory: Path, most_certificate_bytes: int, datasets: Mapping[str, str]
    ) -> None:
        self.directory, self.datasets = directory, datasets
        self.most_certificate_bytes = most_certificate_bytes

    @classmethod
    def open(cls, directory: Path) -> "Library":
        """Return the library in a folder."""
        path = directory / FACTS
        try:
            content = read_regular(path)
        except FileNotFoundError as error:
            raise StoreError(
                f"{directory} is no library; expected a folder that holds {FACTS}, such as "
                "library/ of boundmark's repository."
            ) from error
        except OSError as error:
            raise StoreError(f"{path} cannot be read: {error.strerror}.") from error
        with naming(path):
            table = toml_table(content)
            most, datasets = table.get("most_certificate_bytes"), table.get("datasets")
            if not isinstance(most, int) or not isinstance(datasets, dict):
                raise InvalidInputError(
                    "expected an integer most_certificate_bytes and a table datasets."
                )
            return cls(directory, most, datasets)

    def entries(self) -> list[Entry]:
        """Return all entries by problem and name; none if there is no file of them."""
        path = self.directory / ENTRIES
        entries = []
        try:
            lines = read_regular(path).splitlines()
        except FileNotFoundError:
            return []
        except OSError as error:
            raise InvalidInputError(f"{path} cannot be read: {error.strerror}.") from error
        for number, line in enumerate(lines, 1):
            with naming(f"{path}, line {number}"):
                entries.append(Entry.from_json(json_object(line)))
        return entries

    def bundle(self, entry: Entry) -> bytes:
        """Return an entry's instance, solution and certificate, a line each, compressed by gzip."""
        lines = [
            json.dumps(checker.read_document(self.directory / name), separators=(",", ":"))
            for name in entry.files
            if name.endswith(".json") and not name.startswith("labels/")
        ]
        return gzip.compress("".join(f"{line}\n" for line in lines).encode(), mtime=0)

    def find(self, sha256: str) -> Entry | None:
        """Return the entry of an instance; None if there is none."""
        return next((one for one in self.entries() if one.instance_sha256 == sha256), None)

    def named(self, name: str) -> list[Entry]:
        """Return the entries whose label, e.g. ``zoo/bert-base``, or instance's hash begins so."""
        found = [
            one
            for one in self.entries()
            if one.label.startswith(name) or one.instance_sha256.startswith(name)
        ]
        if not found:
            raise InvalidInputError(
                f"no instance in {self.directory} has a name or a hash that begins with "
                f"{quoted(name)}; `boundmark library show` lists all."
            )
        return found

    def write_entries(self, entries: Iterable[Entry]) -> None:
        """Replace all entries, whose documents are there; raises `StoreError` if it fails."""
        found = list(entries)
        places = {label: at for at, label in enumerate(natural_order(one.label for one in found))}
        ordered = sorted(
            found, key=lambda one: (one.problem, places[one.label], one.instance_sha256)
        )
        lines = (json.dumps(asdict(one), ensure_ascii=False) + "\n" for one in ordered)
        write_durably(self.directory / ENTRIES, "".join(lines).encode())

    def unnamed(self, entries: Iterable[Entry]) -> list[Path]:
        """Return the files in the folders of documents that none of the entries names."""
        named = {self.directory / name for one in entries for name in one.files}
        found = (path for name in FOLDERS for path in (self.directory / name).glob("*"))
        return sorted(path for path in found if path not in named)


def usual_library(wanted: str | Path | None = None) -> Library | None:
    """Return the library that is asked for, or else the usual one; None if there is none.

    The usual one is the folder that the environment variable ``BOUNDMARK_LIBRARY`` names, or
    `library/` beside the code in a checkout; an installed package has none.
    """
    named = os.environ.get(VARIABLE) if wanted is None else wanted
    if named is not None:
        return Library.open(Path(named)) if str(named) else None
    # In a checkout, the code lies in folders at the root, and the library is another one.
    beside = Path(__file__).resolve().parents[2] / "library"
    return Library.open(beside) if (beside / FACTS).is_file() else None
