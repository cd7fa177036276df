"""The job of a task's process: load the instance, run the method, stream its reports."""

import contextlib
import hashlib
import importlib
import importlib.util
import json
import logging
import math
import operator
import sys
import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from boundmark.benchmarks.running.execution.child_process import Channel
from boundmark.benchmarks.running.execution.task import Task
from boundmark.benchmarks.solving.own_method import find_method
from boundmark.problems import catalog
from boundmark.problems.certificate import Certificate, Claim
from boundmark.problems.errors import InvalidInputError, UnsupportedError, extra_with, find
from boundmark.problems.json_documents import canonical_json
from boundmark.problems.method import Budget, Method
from boundmark.problems.problem import Instance, Solution, solution_document

NOT_KEPT = (
    "kernels are compiled anew each time, because neither the installation nor ~/.cache can be "
    "written to; set NUMBA_CACHE_DIR to a folder that can."
)


@dataclass(frozen=True)
class MethodJob:
    """Runs tasks in children of a warm process, which imports methods before their tasks.

    So every child starts with compiled kernels and imported solvers, and no process waits for
    methods that nobody runs.
    """

    known: Mapping[str, Method]

    def warm_up(self, names: Sequence[str]) -> tuple[float, str]:
        """Import methods and what they name; return the seconds of compiling, and a warning."""
        before = _compile_seconds()
        for method in (self.known[name] for name in names if name in self.known):
            # What cannot be imported fails in the children that run it, with the reason.
            with contextlib.suppress(Exception):
                for module in filter(_is_installed, method.warm):
                    importlib.import_module(module)
                method.load()
        compiling = sys.modules.get("boundmark.problems.compiling")
        is_kept = compiling is None or compiling.are_kernels_kept()
        return _compile_seconds() - before, "" if is_kept else NOT_KEPT

    def __call__(self, request: Mapping[str, Any], channel: Channel) -> None:
        """Run a task; in a child."""
        run(Task.from_json(request), self.known, channel)


def prepare(argument: str) -> MethodJob:
    """Import the modules that all methods of a problem need."""
    asked = json.loads(argument)
    # `numpy.unique` imports this at its first call: 13 ms, in every child anew.
    importlib.import_module("numpy.ma")
    # The command has already warned of broken packages.
    logging.getLogger("boundmark").setLevel(logging.ERROR)
    path = asked["methods"]
    catalog.problems()
    return MethodJob(_methods_at(path) if path else catalog.methods(asked["problem"]))


def _compile_seconds() -> float:
    """Return what `compiling` counts, 0 if no method has imported that."""
    compiling = sys.modules.get("boundmark.problems.compiling")
    return compiling.compile_seconds() if compiling else 0.0


def run(task: Task, methods: Mapping[str, Method], channel: Channel) -> None:
    """Run one task in this process.

    Raises
    ------
    BoundmarkError
        If the method or the instance is not what the task says.
    UnsupportedError
        If the method needs a module that is not installed.
    """
    method = find_method(task.method, methods, task.problem)
    check_method(task, method)
    instance = _load(task, channel.documents())
    progress = StreamedProgress(instance, channel)
    budget = Budget(task.time_limit_seconds, task.memory_limit_bytes, task.threads, channel.start())
    method.run(instance, budget, task.seed, progress, **task.params)


class ReportChannel(Protocol):
    """Takes reports, see `child_process.Channel`."""

    def report(self, header: dict[str, Any], body: bytes = b"") -> None:
        """Take a report."""


class StreamedProgress:
    """Sends every improvement; threads may share it.

    A solution as good as the best one is sent, too: methods may improve what the objective does not
    count.
    """

    def __init__(self, instance: Instance, channel: ReportChannel) -> None:
        self._instance = instance
        self._channel = channel
        self._lock = threading.Lock()
        self._objective: int | None = None
        self._certified: int | None = None
        self._claimed = float("-inf")

    def solution(self, solution: Solution) -> None:
        """Send a solution if none has been better so far."""
        objective = self._instance.objective(solution)
        with self._lock:
            if self._objective is not None and objective > self._objective:
                return
            self._objective = objective
            document = solution_document(self._instance, solution, objective)
            self._send("solution", objective, document)

    def bound(self, bound: Certificate | Claim) -> None:
        """Send a bound if it is the best so far of its sort."""
        with self._lock:
            if isinstance(bound, Claim):
                if not isinstance(bound.kind, str) or not bound.kind.isprintable():
                    raise InvalidInputError(
                        f"a claim has the kind {bound.kind!r:.80}; expected a printable text."
                    )
                # Solvers report infinities while they know nothing.
                if math.isfinite(bound.bound) and bound.bound > self._claimed:
                    self._claimed = float(bound.bound)
                    self._channel.report(
                        {
                            "kind": "bound_claimed",
                            "value": self._claimed,
                            "bound_kind": bound.kind,
                        }
                    )
            elif self._certified is None or bound.bound > self._certified:
                value = operator.index(bound.bound)
                if not -(2**63) <= value < 2**63:
                    raise InvalidInputError(
                        f"a certificate has the bound {value}; expected a 64-bit integer."
                    )
                self._certified = value
                self._send("bound_certified", self._certified, bound.to_json())

    def _send(self, kind: str, value: int, document: dict[str, Any]) -> None:
        header = {"kind": kind, "value": value}
        self._channel.report(header, canonical_json(document).encode())


def _methods_at(path: str) -> Mapping[str, Method]:
    module, _, name = path.partition(":")
    value = getattr(importlib.import_module(module), name)
    items: Iterable[Method] = value if isinstance(value, tuple) else (value,)
    return {method.name: method for method in items}


def check_method(task: Task, method: Method) -> None:
    """Raise an error unless a method is the one that a task names, and can run here."""
    if method.problem != task.problem:
        raise InvalidInputError(
            f"method {method.name!r} treats {method.problem!r}; the task's problem is "
            f"{task.problem!r}."
        )
    if method.version != task.method_version:
        raise InvalidInputError(
            f"method {method.name!r} has version {method.version}; the task asks for version "
            f"{task.method_version}."
        )
    missing = [name for name in method.requires if not _is_installed(name)]
    if missing:
        raise UnsupportedError(
            f"method {method.name!r} needs {', '.join(missing)}, which is not installed"
            f"{''.join(map(extra_with, missing))}."
        )


def _is_installed(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:  # A package above the module is missing.
        return False


def _load(task: Task, content: bytes) -> Instance:
    problem = find("problem", task.problem, catalog.problems())
    found = hashlib.sha256(content).hexdigest()
    if found != task.instance_sha256:
        raise InvalidInputError(
            f"what came with the task has the hash {found}; "
            f"expected the instance {task.instance_sha256}."
        )
    instance = problem.instance_from_json(json.loads(content))
    # Kept by the instance: every report needs it, and the method's clock does not run yet.
    assert instance.sha256 == found
    return instance
