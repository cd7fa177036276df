"""Methods that are not registered: a Python function, a Python file, an executable.

Where `solve`, suites and `conformance` take the name of a method, they take a file, too:
``my.py``, which has a function `run` that is one of those `benchmark` takes, or a command whose
first word has a slash, ``"./solver --seed {seed}"``, for `Method.command`. Paths are relative to
the folder in which the command runs. Such a method is called as it was written, so that its name
is never a registered one's, and its version follows from the file's content.

The command's own process only reads a Python file. It is run where methods run, in a process with
limits, so that whatever it does there is told in the task's row.
"""

import ast
import hashlib
import importlib.util
import inspect
import os
import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, cast, get_args

from boundmark.benchmarks.running.planning import MethodChoice
from boundmark.benchmarks.solving.solution_file import is_frame, solution_of_rows, written_solution
from boundmark.problems.catalog import methods, problems
from boundmark.problems.certificate import Certificate, Claim
from boundmark.problems.errors import InvalidInputError, find, quoted
from boundmark.problems.files import read_bytes
from boundmark.problems.method import Budget, Kind, Method, Progress
from boundmark.problems.problem import Instance, ParameterValue

# Arguments of a function that streams: instance, budget, seed, progress.
STREAMING = 4

EXPECTED = "run(instance), or run(instance, budget, seed, progress)"


def is_file(name: str) -> bool:
    """Whether a method's name means a Python file or a command."""
    return name.endswith(".py") or "/" in name.split(" ")[0]


def find_method(name: str, known: Mapping[str, Method], problem: str = "") -> Method:
    """Return a method by its name, or that of a Python file or a command."""
    if not is_file(name):
        return find("method", name, known)
    if not problem:
        problem = min(problems().values(), key=lambda one: (one.precedence, one.name)).name
    if name.endswith(".py"):
        return _of_python_file(name, problem)
    argv = _words(name)
    version = _version(read_bytes(argv[0], "an executable"))
    if not os.access(argv[0], os.X_OK):
        raise InvalidInputError(f"{argv[0]} is not executable; expected an executable.")
    return Method.command(argv, name=name, problem=problem, kind="heuristic", version=version)


def method_choice(
    name: str, overrides: Mapping[str, ParameterValue] | None = None, *, problem: str = ""
) -> MethodChoice:
    """Return a method with some of its parameters changed; see `find_method` for names.

    Examples
    --------
    >>> dict(method_choice("random-100", {"samples": 7}).params)
    {'samples': 7}
    """
    known = methods(problem or None)
    if name not in known and not is_file(name) and name in methods():
        # Saying that it treats another problem helps more than saying that it is unknown.
        known = methods()
    method = find_method(name, known, problem)
    if problem and method.problem != problem:
        raise InvalidInputError(
            f"method {name!r} treats {method.problem!r}; expected methods for {problem!r}."
        )
    params = dict(method.params)
    for key, value in (overrides or {}).items():
        default = find(f"parameter of {name}", key, method.params)
        if type(value) is not type(default):
            raise InvalidInputError(
                f"parameter {key} of method {name!r} is {value!r}; "
                f"expected {type(default).__name__}."
            )
        params[key] = value
    return MethodChoice(method, params)


def _words(command: str) -> list[str]:
    try:
        return shlex.split(command)
    except ValueError as error:
        raise InvalidInputError(
            f"command {quoted(command)} cannot be split into words: {error}."
        ) from error


def _version(content: bytes) -> int:
    """Return a version that another content has not."""
    return int(hashlib.sha256(content).hexdigest()[:7], 16)


def _of_python_file(path: str, problem: str) -> Method:
    """Return the method of a Python file, which is not run yet.

    Constants `KIND` and `PROBLEM` in the file say what it is; by default, a heuristic for
    `problem`.
    """
    content = read_bytes(path, "a Python file with a function `run`")
    try:
        tree = ast.parse(content, path)
    except (SyntaxError, ValueError) as error:
        line = getattr(error, "lineno", None)
        where = f"{path}, line {line}" if line else path
        raise InvalidInputError(
            f"{where}: {getattr(error, 'msg', error)}; expected Python with a function `run`."
        ) from error
    found: ast.stmt | None = None
    said: dict[str, object] = {"KIND": "heuristic", "PROBLEM": problem}
    for statement in tree.body:
        if "run" in _bound_by(statement):
            found = statement
        match statement:
            case ast.Assign([ast.Name(name)], ast.Constant(value)) if name in said:
                said[name] = value
    if found is None:
        raise InvalidInputError(f"{path} has no function `run`; expected {EXPECTED}.")
    if said["KIND"] not in get_args(Kind):
        raise InvalidInputError(
            f"{path}: KIND is {quoted(said['KIND'])}; expected {' or '.join(get_args(Kind))}."
        )
    with_seed = True
    if isinstance(found, ast.FunctionDef):
        arguments = found.args
        needed = len(arguments.posonlyargs) + len(arguments.args) - len(arguments.defaults)
        _check_arguments(f"{path}: run", needed)
        with_seed = needed == STREAMING
    return Method(
        name=path,
        problem=find(f"problem in {path}", str(said["PROBLEM"]), problems()).name,
        kind=cast(Kind, said["KIND"]),
        summary=f"The function run of {path}.",
        run=_FileRun(path),
        version=_version(content),
        seeded=with_seed,
    )


def _bound_by(statement: ast.stmt) -> set[str]:
    """Return the names that a statement of a module defines."""
    match statement:
        case ast.FunctionDef(name) | ast.ClassDef(name):
            return {name}
        case ast.Import(names) | ast.ImportFrom(names=names):
            return {one.asname or one.name for one in names}
    return {
        node.id
        for node in ast.walk(statement)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    }


@dataclass(frozen=True)
class _FileRun:
    """The function `run` of a Python file, which is imported when it is called."""

    path: str

    def __call__(self, instance: Instance, budget: Budget, seed: int, progress: Progress) -> None:
        """Import the file and call its function."""
        # No registered module has that name, and no other file is looked up by it.
        spec = importlib.util.spec_from_file_location("boundmark_method_file", self.path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        function = getattr(module, "run", None)
        if not callable(function):
            raise InvalidInputError(
                f"run in {self.path} is {quoted(function)}; expected a function, {EXPECTED}."
            )
        method = own_method(function, instance.problem)
        method.run(instance, budget, seed, progress)


def own_method(function: Callable[..., Any] | Method, problem: str) -> Method:
    """Return a function as a method of a problem; see `benchmark`."""
    if isinstance(function, Method):
        if function.problem != problem:
            raise InvalidInputError(
                f"method {function.name!r} treats {function.problem!r}; expected one for "
                f"{problem!r}."
            )
        return function
    name = getattr(function, "__name__", type(function).__name__)
    if not callable(function):
        registered = "; names of registered methods go to `against`" * isinstance(function, str)
        raise InvalidInputError(
            f"function is {quoted(function)}; expected a function or a Method{registered}."
        )
    takes = _arguments(function)
    _check_arguments(name, takes)

    def run(instance: Instance, budget: Budget, seed: int, progress: Progress) -> None:
        if takes == STREAMING:
            found = function(instance, budget, seed, _Reading(instance, progress))
            if found is not None:
                raise InvalidInputError(
                    f"{name} takes progress and returns {quoted(found, 40)}; expected "
                    "progress.solution(...) for each solution, and nothing returned."
                )
        else:
            progress.solution(_as_solution(instance, function(instance)))

    return Method(name, problem, "exact", "A function of the caller's.", run, seeded=False)


def _check_arguments(name: str, takes: int) -> None:
    if takes not in (1, STREAMING):
        called = name.rpartition(" ")[2]
        raise InvalidInputError(
            f"{name} takes {takes} arguments; expected {called}(instance), or "
            f"{called}(instance, budget, seed, progress)."
        )


def _arguments(function: Callable[..., Any]) -> int:
    """Return the number of arguments that a function needs; 1 for compiled ones, which say none."""
    try:
        declared = inspect.signature(function).parameters.values()
    except ValueError:
        return 1
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return sum(one.default is one.empty and one.kind in kinds for one in declared)


@dataclass(frozen=True)
class _Reading:
    """Progress that takes solutions in any form."""

    instance: Instance
    progress: Progress

    def solution(self, solution: Any) -> None:
        """Report a solution."""
        self.progress.solution(_as_solution(self.instance, solution))

    def bound(self, bound: Certificate | Claim) -> None:
        """Report a lower bound."""
        self.progress.bound(bound)


def _as_solution(instance: Instance, found: Any) -> Any:
    """Return a solution that was given in any form."""
    if found is None:
        raise InvalidInputError("nothing was returned; expected a solution, or the data of one.")
    if hasattr(found, "to_json") and not is_frame(found):
        return found
    problem = problems()[instance.problem]
    written = written_solution(found, problem.table)
    if isinstance(written, dict):
        return problem.solution_from_json(written)
    return solution_of_rows(instance, written)
