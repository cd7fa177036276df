"""Read suites from TOML files, shipped or written by users."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

from boundmark.benchmarks.running.planning import MethodChoice
from boundmark.benchmarks.running.settings import RunSettings
from boundmark.benchmarks.running.suite import Collection, Files, InstanceGroup, Members, Suite
from boundmark.benchmarks.solving.own_method import method_choice
from boundmark.problems.catalog import datasets, problems
from boundmark.problems.devices import Cluster, Device, find_device, is_device_file
from boundmark.problems.errors import InvalidInputError, find, quoted
from boundmark.problems.files import naming, read_bytes
from boundmark.problems.json_documents import LARGEST_TOML, toml_table
from boundmark.problems.parameter import Parameter
from boundmark.problems.problem import FUSION, Problem

SUITE_FIELDS = (
    "description",
    "problem",
    "device",
    "time_limit_seconds",
    "memory_limit_gib",
    "threads",
    "seeds",
    "instances",
    "methods",
)

COLLECTION_FIELDS = ("description", "suites", "small")

INSTANCES_FIELDS = ("dataset", "members", "file", "dim", "device", "methods", "optional")


def suite_names() -> tuple[str, ...]:
    """Return the names of the suites that come with the package."""
    return _names_in(_shipped())


def part_names() -> tuple[str, ...]:
    """Return the names of the parts of these suites, e.g. ``nightly/proofs``."""
    folders = sorted((path for path in _shipped().iterdir() if path.is_dir()), key=str)
    return tuple(f"{folder.name}/{name}" for folder in folders for name in _names_in(folder))


def _names_in(folder: Any) -> tuple[str, ...]:
    return tuple(sorted(path.name[:-5] for path in folder.iterdir() if path.name[-5:] == ".toml"))


def load_collection(name: str, *, small: bool = False) -> Collection:
    """Return the suites of a collection, or a suite alone, by name or from a ``.toml`` file.

    Examples
    --------
    >>> [suite.name for suite in load_collection("paper-mtpp", small=True).suites]
    ['paper-mtpp/small', 'paper-mtpp/models-small', 'paper-mtpp/solvers']
    """
    read = _read(name)
    if small and "small" not in read.table:
        forms = [one for one in suite_names() if "small" in _read(one).table]
        raise InvalidInputError(f"{read.where} has no small form; {', '.join(forms)} have one.")
    if "suites" not in read.table:
        suite = _suite(read)
        return Collection(suite.name, suite.description, (suite,))
    read.allow(COLLECTION_FIELDS)
    description = read.of_type("description", str)
    parts = read.non_empty("small" if small else "suites")
    for part in parts:
        if not isinstance(part, str):
            raise InvalidInputError(
                f"{read.where}: suites has {quoted(part)}; expected names of suites, or files."
            )
        if not part.endswith(".toml"):
            find(f"suite in {read.where}", part, dict.fromkeys((*suite_names(), *part_names())))
    with naming(read.where):
        suites = tuple(_suite(_read(part, read.folder)) for part in parts)
    return Collection(read.name, description, suites)


def load_suite(name: str) -> Suite:
    """Return a suite by name, or from a file whose name ends in ``.toml``.

    The name and errors are those of `load_collection`, which a suite must not be here.
    """
    return _suite(_read(name))


def parse_suite(
    name: str,
    text: str,
    path: Path | None = None,
) -> Suite:
    """Read a suite from TOML text, which is that of a file if a path is given."""
    return _suite(_parsed(name, text.encode(), path))


SUITE = "a suite as a TOML file, or a name from `boundmark suites`"


def _read(name: str, folder: Path | None = None) -> "_Reader":
    """Return the table of a shipped suite, or of a file, relative to a folder if one is given."""
    if not name.endswith(".toml"):
        known = dict.fromkeys((*suite_names(), *part_names()))
        if name not in known and os.path.exists(name):
            raise InvalidInputError(
                f"{name} is no suite file; expected a TOML file whose name ends in .toml, or a "
                "name from `boundmark suites`."
            )
        find("suite", name, known)
        return _parsed(name, (_shipped() / f"{name}.toml").read_bytes())
    path = folder / name if folder else Path(name)
    return _parsed(path.stem, read_bytes(path, SUITE, LARGEST_TOML), path)


def _parsed(name: str, content: bytes, path: Path | None = None) -> "_Reader":
    where = str(path or f"suite {name}")
    with naming(where):
        table = toml_table(content)
    return _Reader(where, table, name, path and path.parent)


def _suite(read: "_Reader") -> Suite:
    if "suites" in read.table:
        raise InvalidInputError(f"{read.where}: holds other suites; expected a suite by itself.")
    read.allow(SUITE_FIELDS)
    problem = find(f"problem in {read.where}", read.of_type("problem", str), problems())
    choices = _method_choices(read, problem)
    return Suite(
        name=read.name,
        description=read.of_type("description", str),
        problem=problem.name,
        settings=_settings(read),
        instances=tuple(
            _instance_group(read.where, problem, entry, read.folder)
            for entry in read.non_empty("instances")
        ),
        methods=choices,
        device=_device(read, problem, read.folder),
    )


_IN_WORDS: dict[type, str] = {str: "a text", bool: "true or false", list: "a list"}


@dataclass(frozen=True)
class _Reader:
    """Typed access to a TOML table, with errors that name the file and the field."""

    where: str
    table: Mapping[str, Any]
    name: str = ""
    folder: Path | None = None

    def allow(self, fields: tuple[str, ...]) -> None:
        for key in self.table:
            find(f"field in {self.where}", key, dict.fromkeys(fields))

    def of_type(self, key: str, kind: type) -> Any:
        value = self.table.get(key)
        if not isinstance(value, kind):
            found = f"is {quoted(value)}" if key in self.table else "is missing"
            raise InvalidInputError(f"{self.where}: {key} {found}; expected {_IN_WORDS[kind]}.")
        return value

    def non_empty(self, key: str) -> list[Any]:
        value: list[Any] = self.of_type(key, list)
        if not value:
            raise InvalidInputError(f"{self.where}: {key} is empty; expected at least one entry.")
        return value

    def values_of(self, parameter: Parameter) -> tuple[int | str, ...]:
        values = self.table.get(parameter.name)
        if not isinstance(values, list) or not values:
            raise InvalidInputError(
                f"{self.where}: {parameter.name} is {values!r}; expected a list of values."
            )
        with naming(self.where):
            return tuple(parameter.check(value) for value in values)


def _settings(read: _Reader) -> RunSettings:
    with naming(read.where):
        return RunSettings.checked(
            time_limit_seconds=read.table.get("time_limit_seconds"),
            memory_limit_gib=read.table.get("memory_limit_gib"),
            threads=read.table.get("threads", 1),
            seeds=read.non_empty("seeds") if "seeds" in read.table else (1,),
        )


def _instance_group(where: str, problem: Problem, entry: Any, folder: Path | None) -> InstanceGroup:
    if not isinstance(entry, dict):
        raise InvalidInputError(f"{where}: instances has {quoted(entry)}; expected a table.")
    names = [parameter.name for parameter in problem.options]
    for key in entry:
        find(f"field of instances in {where}", key, dict.fromkeys((*INSTANCES_FIELDS, *names)))
    read = _Reader(where, entry)
    sources = _files(read, folder) if "file" in entry else _members(read, problem)
    parameters = {}
    for parameter in problem.parameters:
        # Files may hold instances, which have all parameters.
        is_needed = parameter.default is None and isinstance(sources, Members)
        if parameter.name in entry or is_needed:
            parameters[parameter.name] = read.values_of(parameter)
    choices = _method_choices(read, problem) if "methods" in entry else ()
    optional = "optional" in entry and read.of_type("optional", bool)
    device = _device(read, problem, folder)
    fuses = _fuses(read) if FUSION in problem.options else False
    return InstanceGroup(sources, parameters, choices, optional, device, fuses)


def _fuses(read: _Reader) -> bool:
    """Whether a table asks for a device that fuses."""
    if FUSION.name not in read.table:
        return False
    with naming(read.where):
        return FUSION.check(read.table[FUSION.name]) != FUSION.default


def _dims(read: _Reader) -> dict[str, int]:
    """Return sizes of open dimensions: a table of integers by name."""
    given: Any = read.table.get("dim", {})
    sizes = given.values() if isinstance(given, dict) else [None]
    if not all(type(size) is int and size > 0 for size in sizes):
        raise InvalidInputError(
            f"{read.where}: dim is {quoted(given)}; expected a table of sizes, such as "
            "{ batch = 8 }."
        )
    return dict(given)


def _device(read: _Reader, problem: Problem, folder: Path | None) -> Device | Cluster | None:
    """Return the device or cluster that a table names, if it does."""
    if "device" not in read.table:
        return None
    name = read.of_type("device", str)
    with naming(read.where):
        if problem.cost_model is None:
            raise InvalidInputError(
                f"device is {name!r}, but problem {problem.name!r} needs none; expected no device."
            )
        if not is_device_file(name):
            return find_device(name)
        if folder is None:
            raise InvalidInputError(
                f"device is {name!r}; expected the name of one that comes with boundmark, because "
                "only suites in files of their own have a folder to look in."
            )
        return find_device(name, folder)


def _members(read: _Reader, problem: Problem) -> Members:
    if "dim" in read.table:
        raise InvalidInputError(
            f"{read.where}: dim is given for a data set, whose sizes are fixed; expected it with "
            "file."
        )
    dataset = find("data set", read.of_type("dataset", str), datasets())
    if not issubclass(dataset.source, problem.sources):
        raise InvalidInputError(
            f"{read.where}: dataset is {dataset.name!r}, which holds a {dataset.source.__name__}; "
            f"problem {problem.name!r} is about {problem.source_names}."
        )
    members = read.non_empty("members") if "members" in read.table else dataset.members()
    return Members(dataset.name, tuple(members))


def _files(read: _Reader, folder: Path | None) -> Files:
    for key in ("dataset", "members"):
        if key in read.table:
            raise InvalidInputError(
                f"{read.where}: instances has both file and {key}; "
                "expected a file or members of a data set."
            )
    pattern = read.of_type("file", str)
    dims = _dims(read)
    if folder is None:
        raise InvalidInputError(
            f"{read.where}: file is {pattern!r}; expected a data set, because only suites in "
            "files of their own have a folder to look in."
        )
    return Files(pattern, folder, dims)


def _method_choices(read: _Reader, problem: Problem) -> tuple[MethodChoice, ...]:
    entries = read.non_empty("methods")
    with naming(f"{read.where}: methods"):
        return tuple(_method_choice(entry, problem) for entry in entries)


def _method_choice(entry: Any, problem: Problem) -> MethodChoice:
    match entry:
        case str():
            return method_choice(entry, problem=problem.name)
        case {"name": str(name), "params": dict(params), **others} if not others:
            return method_choice(name, params, problem=problem.name)
    raise InvalidInputError(
        f"expected a name or {{ name = ..., params = {{ ... }} }}, found {quoted(entry)}."
    )


def _shipped() -> Any:
    return files("boundmark.benchmarks") / "suites"
