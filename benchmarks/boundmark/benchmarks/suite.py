"""Suites: which methods treat which instances under which limits, read from TOML."""

import itertools
import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

from boundmark.benchmarks.settings import GIB, RunSettings
from boundmark.datasets.resolve import load_member
from boundmark.problems.catalog import PROBLEMS, datasets, find, methods
from boundmark.problems.errors import InvalidInputError, MissingFileError
from boundmark.problems.method import Method, ParameterValue
from boundmark.problems.problem import Instance, Problem

SUITE_FIELDS = (
    "description",
    "problem",
    "time_limit_seconds",
    "memory_limit_gib",
    "threads",
    "seeds",
    "instances",
    "methods",
)

INSTANCES_FIELDS = ("dataset", "members", "methods", "optional")


@dataclass(frozen=True)
class MethodChoice:
    """A method and all its parameters."""

    method: Method
    params: Mapping[str, ParameterValue]

    @classmethod
    def of(cls, name: str, overrides: Mapping[str, ParameterValue] | None = None) -> "MethodChoice":
        """Return a registered method with some of its parameters changed.

        Raises
        ------
        UnknownNameError
            If there is no such method or parameter.
        InvalidInputError
            If a parameter's type is not its default's.
        """
        method = find("method", name, methods())
        params = dict(method.params)
        for key, value in (overrides or {}).items():
            default = find(f"parameter of {name}", key, method.params)
            if type(value) is not type(default):
                raise InvalidInputError(
                    f"parameter {key} of method {name!r} is {value!r}; "
                    f"expected {type(default).__name__}."
                )
            params[key] = value
        return cls(method, params)


@dataclass(frozen=True)
class InstanceGroup:
    """Members of a data set, each once for every combination of parameters.

    Attributes
    ----------
    parameters
        The values of each of the problem's parameters.
    methods
        Those for these instances only, beyond the suite's.
    optional
        Whether the suite does without the group if its files are not there.
    """

    dataset: str
    members: tuple[str, ...]
    parameters: Mapping[str, tuple[int, ...]]
    methods: tuple[MethodChoice, ...] = ()
    optional: bool = False


@dataclass(frozen=True)
class NamedInstance:
    """An instance and where it comes from.

    Attributes
    ----------
    methods
        Those for this instance beyond the suite's.
    """

    dataset: str
    member: str
    instance: Instance
    methods: tuple[MethodChoice, ...] = ()

    @property
    def label(self) -> str:
        """Name for people, e.g. ``"onnx-light/resnet50 k=8"``."""
        parameters = (f"{key}={value}" for key, value in self.instance.parameters.items())
        return " ".join([f"{self.dataset}/{self.member}", *parameters])


@dataclass(frozen=True)
class Suite:
    """What `boundmark run` runs.

    Attributes
    ----------
    methods
        For all instances.
    """

    name: str
    description: str
    problem: str
    settings: RunSettings
    instances: tuple[InstanceGroup, ...]
    methods: tuple[MethodChoice, ...]

    def load_instances(
        self, on_missing: Callable[[str], None] = lambda reason: None
    ) -> Iterator[NamedInstance]:
        """Yield the instances in the suite's order; each graph is loaded once.

        Parameters
        ----------
        on_missing
            Called with the reason when the files of an optional group are not there.

        Raises
        ------
        InvalidInputError
            If a data set is not about the suite's problem, or its files are not there.
        """
        problem = PROBLEMS[self.problem]
        for group in self.instances:
            for member in group.members:
                name = f"{group.dataset}/{member}"
                try:
                    source = load_member(name)
                except MissingFileError as error:
                    if not group.optional:
                        raise
                    on_missing(str(error))
                    break
                if not isinstance(source, problem.sources):
                    raise InvalidInputError(
                        f"suite {self.name}: {name} is a {type(source).__name__}; "
                        f"expected what problem {problem.name!r} is about."
                    )
                adapted = problem.adapt(source)
                for values in itertools.product(*group.parameters.values()):
                    chosen = dict(zip(group.parameters, values, strict=True))
                    instance = problem.instance(adapted, **chosen)
                    if not instance.is_redundant:
                        yield NamedInstance(group.dataset, member, instance, group.methods)


def suite_names() -> tuple[str, ...]:
    """Return the names of the suites that come with the package."""
    return tuple(
        sorted(path.name[:-5] for path in _shipped().iterdir() if path.name[-5:] == ".toml")
    )


def load_suite(name: str) -> Suite:
    """Return a suite by name, or from a file whose name ends in ``.toml``.

    Raises
    ------
    UnknownNameError
        If there is no such suite, method, data set or member.
    InvalidInputError
        If the file is not TOML, or a field is missing, unknown or of the wrong type.
    """
    if name.endswith(".toml"):
        return read_suite(Path(name))
    find("suite", name, {known: known for known in suite_names()})
    return parse_suite(name, (_shipped() / f"{name}.toml").read_text())


def read_suite(path: Path) -> Suite:
    """Read a suite file; the suite is named after it."""
    try:
        text = path.read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInputError(f"{path}: cannot be read as a suite: {error}") from error
    return parse_suite(path.stem, text, where=str(path))


def parse_suite(name: str, text: str, where: str | None = None) -> Suite:
    """Read a suite from TOML text; `where` names the file in errors."""
    where = where or f"suite {name}"
    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InvalidInputError(f"{where}: not a TOML file: {error}") from error
    for key in table:
        find(f"field (in {where})", key, dict.fromkeys(SUITE_FIELDS))
    read = _Reader(where, table)
    problem = find(f"problem (in {where})", read.of_type("problem", str), PROBLEMS)
    choices = _method_choices(read, problem)
    return Suite(
        name=name,
        description=read.of_type("description", str),
        problem=problem.name,
        settings=RunSettings(
            time_limit_seconds=read.positive("time_limit_seconds"),
            memory_limit_bytes=int(read.positive("memory_limit_gib") * GIB),
            threads=int(read.positive("threads", default=1)),
            seeds=tuple(read.integers("seeds", default=[1])),
        ),
        instances=tuple(
            _instance_group(where, problem, entry) for entry in read.non_empty("instances")
        ),
        methods=choices,
    )


@dataclass(frozen=True)
class _Reader:
    """Typed access to a TOML table, with errors that name the file and the field."""

    where: str
    table: Mapping[str, Any]

    def of_type(self, key: str, kind: type) -> Any:
        value = self.table.get(key)
        if not isinstance(value, kind):
            raise InvalidInputError(
                f"{self.where}: {key} is {value!r}; expected a {kind.__name__}."
            )
        return value

    def non_empty(self, key: str) -> list[Any]:
        value: list[Any] = self.of_type(key, list)
        if not value:
            raise InvalidInputError(f"{self.where}: {key} is empty; expected at least one entry.")
        return value

    def positive(self, key: str, default: float | None = None) -> float:
        value = self.table.get(key, default)
        if isinstance(value, bool) or not isinstance(value, int | float) or value <= 0:
            raise InvalidInputError(
                f"{self.where}: {key} is {value!r}; expected a positive number."
            )
        return value

    def integers(self, key: str, default: list[int] | None = None) -> list[int]:
        value = self.table.get(key, default)
        if not isinstance(value, list) or not value or any(type(item) is not int for item in value):
            raise InvalidInputError(
                f"{self.where}: {key} is {value!r}; expected a list of integers."
            )
        return value


def _instance_group(where: str, problem: Problem, entry: Any) -> InstanceGroup:
    if not isinstance(entry, dict):
        raise InvalidInputError(f"{where}: instances has {entry!r}; expected a table.")
    names = [parameter.name for parameter in problem.parameters]
    for key in entry:
        find(f"field of instances (in {where})", key, dict.fromkeys((*INSTANCES_FIELDS, *names)))
    read = _Reader(where, entry)
    dataset = find("data set", read.of_type("dataset", str), datasets())
    parameters = {}
    for parameter in problem.parameters:
        default = None if parameter.default is None else [parameter.default]
        values = read.integers(parameter.name, default)
        if min(values) < parameter.least:
            raise InvalidInputError(
                f"{where}: {parameter.name} has {min(values)}; "
                f"expected integers of at least {parameter.least}."
            )
        parameters[parameter.name] = tuple(values)
    members = read.non_empty("members") if "members" in entry else dataset.members()
    choices = _method_choices(read, problem) if "methods" in entry else ()
    optional = "optional" in entry and read.of_type("optional", bool)
    return InstanceGroup(dataset.name, tuple(members), parameters, choices, optional)


def _method_choices(read: _Reader, problem: Problem) -> tuple[MethodChoice, ...]:
    choices = tuple(_method_choice(read.where, entry) for entry in read.non_empty("methods"))
    for choice in choices:
        if choice.method.problem != problem.name:
            raise InvalidInputError(
                f"{read.where}: methods has {choice.method.name!r}, which treats "
                f"{choice.method.problem!r}; expected methods for {problem.name!r}."
            )
    return choices


def _method_choice(where: str, entry: Any) -> MethodChoice:
    if isinstance(entry, str):
        return MethodChoice.of(entry)
    if isinstance(entry, dict) and set(entry) == {"name", "params"}:
        return MethodChoice.of(entry["name"], entry["params"])
    raise InvalidInputError(
        f"{where}: methods has {entry!r}; expected a name or {{ name = ..., params = {{ ... }} }}."
    )


def _shipped() -> Any:
    return files("boundmark.benchmarks") / "suites"
