"""An entry of the library: the best-known results of one instance, and who found them."""

import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from typing import Any, Literal, TypeAlias, get_args

from boundmark.problems.errors import InvalidInputError, quoted

ENTRY_FORMAT = "boundmark-library-entry/1"

What: TypeAlias = Literal["solution", "bound", "beyond"]

DIGEST = re.compile("[0-9a-f]{64}")

# Of an instance's hash, in the names of files.
DIGITS = 12


@dataclass(frozen=True)
class Find:
    """A best-known solution or bound: its value, and how it was found.

    Attributes
    ----------
    value
        Cost or bound in ticks.
    sha256
        Hash of the solution or certificate, as results folders store it.
    payload_sha256
        Hash of the certificate's payload where that is a document of its own; else empty.
    method, method_version, params, seed
        What found it.
    time_limit_seconds, memory_limit_bytes, threads
        The limits of the task that found it.
    check_seconds
        What the checker took for it then, with the time of reading the instance.
    boundmark, commit
        Version of the package and of its source; the latter ends in ``+`` if it was changed, and
        is empty if it is unknown.
    date
        Day on which the task began, e.g. ``"2026-11-23"``.
    by
        Who added it: one of the library's contributors.
    """

    value: int
    sha256: str
    payload_sha256: str
    method: str
    method_version: int
    params: Mapping[str, Any]
    seed: int
    time_limit_seconds: float
    memory_limit_bytes: int
    threads: int
    check_seconds: float
    boundmark: str
    commit: str
    date: str
    by: str

    @property
    def is_of_committed_code(self) -> bool:
        """Whether the commit that is recorded is all of the code that found it."""
        return not self.commit.endswith("+")

    @property
    def words(self) -> str:
        """The value, the method and the day, as text."""
        return f"{self.value:,} by {self.method} {self.method_version} ({self.date})"

    @property
    def documents(self) -> tuple[str, ...]:
        """Hashes of its documents."""
        return tuple(filter(None, (self.sha256, self.payload_sha256)))


@dataclass(frozen=True)
class Past:
    """A solution or bound that was the best known, until a better one was added."""

    what: What
    value: int
    method: str
    method_version: int
    date: str
    by: str

    @classmethod
    def of(cls, what: What, find: Find) -> "Past":
        """Return the note kept of a solution or bound that was replaced."""
        return cls(what, find.value, find.method, find.method_version, find.date, find.by)


@dataclass(frozen=True)
class Entry:
    """The library's entry of an instance: its best-known results and their history.

    Attributes
    ----------
    problem, dataset, instance, device, parameters
        Where the instance comes from, and what people call it.
    instance_sha256
        Its identity.
    labels_sha256
        Hash of the names of its nodes; empty if there are none.
    nodes, edges
        Its size.
    solution, bound
        The best whose documents the library has; None if there is none.
    beyond
        A bound that is better, with a certificate that is too large to be kept; `recipe` says how
        it is made again. Until that is done, it is a statement and no proof. None if there is none.
    history
        What was best before, oldest first.
    """

    problem: str
    dataset: str
    instance: str
    device: str
    parameters: Mapping[str, Any]
    instance_sha256: str
    labels_sha256: str
    nodes: int
    edges: int
    solution: Find | None
    bound: Find | None
    beyond: Find | None = None
    history: tuple[Past, ...] = ()

    @property
    def status(self) -> str:
        """``"optimal"`` if the bound proves that no solution costs less, else ``"open"``."""
        is_proven = self.solution and self.bound and self.solution.value == self.bound.value
        return "optimal" if is_proven else "open"

    @property
    def gap(self) -> float | None:
        """Optimality gap, UB/LB - 1; None if either bound is missing."""
        if self.solution is None or self.bound is None or not self.bound.value:
            return None
        return self.solution.value / self.bound.value - 1

    @property
    def label(self) -> str:
        """The instance's name for people, e.g. ``"onnx-light/resnet50 k=8"``."""
        parameters = (f"{name}={value}" for name, value in self.parameters.items())
        return " ".join([f"{self.dataset}/{self.instance}", *parameters])

    @property
    def full_label(self) -> str:
        """The label, with the device where there is one."""
        return f"{self.label} on {self.device}" if self.device else self.label

    @property
    def name(self) -> str:
        """Folder and name of the entry's two files, without their suffixes."""
        parts = [self.dataset, self.instance, *map(str, self.parameters.values())]
        readable = re.sub("[^A-Za-z0-9]+", "-", "-".join(parts))
        return f"{self.problem}/{readable}-{self.instance_sha256[:DIGITS]}"

    @property
    def documents(self) -> tuple[str, ...]:
        """Hashes of the documents in the entry's file, in order."""
        finds = (one for one in (self.solution, self.bound) if one is not None)
        found = [self.instance_sha256, self.labels_sha256]
        return tuple(filter(None, [*found, *(one for find in finds for one in find.documents)]))

    def improved(self, what: What, find: Find) -> "Entry":
        """Return the entry with a better solution or bound; the former one becomes history.

        A bound whose certificate is kept takes the place of one beyond it that is no better.
        """
        former: Find | None = getattr(self, what)
        past = () if former is None else (Past.of(what, former),)
        better = replace(self, history=(*self.history, *past))
        match what:
            case "solution":
                return replace(better, solution=find)
            case "beyond":
                return replace(better, beyond=find)
            case "bound":
                is_beyond = self.beyond is not None and self.beyond.value > find.value
                return replace(better, bound=find, beyond=self.beyond if is_beyond else None)

    def renewed(self, what: What, find: Find) -> "Entry":
        """Return the entry with an equally good solution or bound in the place of the known one."""
        if what == "bound":
            return replace(self, bound=find)
        return replace(self, solution=find)

    def check_order(self) -> None:
        """Raise `InvalidInputError` if a cost is below a bound."""
        for bound in (self.bound, self.beyond):
            if self.solution and bound and self.solution.value < bound.value:
                raise InvalidInputError(
                    f"instance {self.label}: a cost of {self.solution.words} is below a bound of "
                    f"{bound.words}; one of them is wrong."
                )

    def to_text(self) -> str:
        """Return the entry as JSON with one line per field, so that changes show in few lines."""
        record = {"format": ENTRY_FORMAT, "status": self.status, **asdict(self)}
        return json.dumps(record, indent=1, sort_keys=True, ensure_ascii=False) + "\n"

    @classmethod
    def from_json(cls, value: Any) -> "Entry":
        """Read an entry.

        Raises
        ------
        InvalidInputError
            If a field is missing, unknown, of another type or contradicts the others.
        """
        head = {"format", "status"}
        record = _fields(value, "an entry", head | {field.name for field in fields(cls)})
        if record["format"] != ENTRY_FORMAT:
            raise InvalidInputError(
                f"format is {quoted(record['format'])}; expected {ENTRY_FORMAT!r}."
            )
        past = record["history"]
        if not isinstance(past, list):
            raise InvalidInputError(f"history is {quoted(past)}; expected a list.")
        entry: Entry = _made(
            cls,
            {
                **{name: record[name] for name in record.keys() - head},
                "solution": _find(record["solution"], "solution"),
                "bound": _find(record["bound"], "bound"),
                "beyond": _find(record["beyond"], "beyond"),
                "history": tuple(_made(Past, _past(one)) for one in past),
            },
        )
        if not re.fullmatch("[a-z0-9-]+", entry.problem):
            raise InvalidInputError(f"problem is {quoted(entry.problem)}; expected a name.")
        if not DIGEST.fullmatch(entry.instance_sha256):
            raise InvalidInputError("instance_sha256 is no hash of 64 hexadecimal digits.")
        entry.check_order()
        if record["status"] != entry.status:
            raise InvalidInputError(
                f"status is {quoted(record['status'])}; by the values, it is {entry.status!r}."
            )
        return entry


def _past(value: Any) -> Mapping[str, Any]:
    record = _fields(value, "an entry of history", {field.name for field in fields(Past)})
    if record["what"] not in get_args(What):
        words = " or ".join(get_args(What))
        raise InvalidInputError(f"what is {quoted(record['what'])}; expected {words}.")
    return record


def _find(value: Any, what: str) -> Find | None:
    if value is None:
        return None
    found: Find = _made(Find, _fields(value, what, {field.name for field in fields(Find)}))
    for name in ("sha256", "payload_sha256"):
        digest = getattr(found, name)
        if not DIGEST.fullmatch(digest) and (name == "sha256" or digest):
            raise InvalidInputError(f"{name} of {what} is no hash of 64 hexadecimal digits.")
    if found.value < 0:
        raise InvalidInputError(f"value of {what} is {found.value}; expected at least 0.")
    return found


def _fields(value: Any, what: str, names: set[str]) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise InvalidInputError(f"{what} is {quoted(value)}; expected an object.")
    odd = sorted(names ^ value.keys())
    if odd:
        raise InvalidInputError(f"field {quoted(odd[0])} of {what} is missing or unknown.")
    return value


# What a field that is declared so may be in JSON; numbers are no truth values.
_TYPES: Mapping[Any, tuple[type, ...]] = {
    int: (int,),
    float: (int, float),
    str: (str,),
    bool: (bool,),
    Mapping[str, Any]: (dict,),
}


def _made(kind: Any, record: Mapping[str, Any]) -> Any:
    """Make a dataclass of values, and check their types against its declaration."""
    for field in fields(kind):
        value, expected = record[field.name], _TYPES.get(field.type)
        is_odd_bool = isinstance(value, bool) and field.type is not bool
        if expected and (is_odd_bool or not isinstance(value, expected)):
            names = " or ".join(one.__name__ for one in expected)
            raise InvalidInputError(f"{field.name} is {quoted(value)}; expected {names}.")
    return kind(**record)


# Methods that have another name today than documents say which they made.
RENAMED = {
    "reach": "prefix-bound",
    "share": "fractional-load",
    "tower-dp": "two-branch-dp",
}


def recipe(entry: Entry, find: Find) -> str:
    """Return a suite of one task as TOML text: instance, method, parameters, seed and limits.

    Methods that watch the clock may find something else than they did; most end by themselves.
    """
    method = RENAMED.get(find.method, find.method)
    params = ", ".join(f"{name} = {_toml(value)}" for name, value in find.params.items())
    lines = [
        f"# Makes again: {entry.name}, {find.words}.",
        f"# Document {find.sha256}, with boundmark {find.boundmark} at commit "
        f"{find.commit or 'unknown'}.",
        f"description = {_toml(f'Makes {entry.label} of the library again.')}",
        f"problem = {_toml(entry.problem)}",
        f"time_limit_seconds = {find.time_limit_seconds:g}",
        f"memory_limit_gib = {find.memory_limit_bytes / 2**30:g}",
        f"threads = {find.threads}",
        f"seeds = [{find.seed}]",
        f"methods = [{{ name = {_toml(method)}, params = {{ {params} }} }}]",
        "",
        "[[instances]]",
        f"dataset = {_toml(entry.dataset)}",
        f"members = [{_toml(entry.instance)}]",
        *([f"device = {_toml(entry.device)}"] if entry.device else []),
        *(f"{name} = [{_toml(value)}]" for name, value in entry.parameters.items()),
    ]
    return "\n".join(lines) + "\n"


def _toml(value: object) -> str:
    """Return a text, number or truth value as TOML, which writes these as JSON does."""
    return json.dumps(value)
