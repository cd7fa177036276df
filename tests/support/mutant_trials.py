"""Tries mutants of a package with tests that are collected once, in processes forked from here.

A mutant is put in the place of the code that the tests have imported already, so that a trial takes
as long as the tests do that run the changed line, up to the first that fails. Nothing is written.
"""

import ast
import contextlib
import json
import os
import resource
import select
import shutil
import signal
import sys
import tempfile
import time
import types
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from _pytest.runner import runtestprotocol
from code_mutants import Mutant

Line = tuple[str, int]


@dataclass(frozen=True)
class Trial:
    """What tests made of a mutant.

    Attributes
    ----------
    killed_by
        The test that failed, ``timeout``, or ``import``; None if the mutant survived.
    tests
        How many were run.
    """

    killed_by: str | None
    tests: int
    seconds: float


@dataclass(frozen=True)
class Limits:
    """What a trial may take before it counts as a failure: a mutant may well have no end.

    Attributes
    ----------
    factor, seconds
        Processor time of each test, as a multiple of what it takes while lines are noted, which is
        several times as long as otherwise, and more.
    memory
        Bytes beyond what the process has when it is forked.
    """

    factor: float = 1.0
    seconds: float = 2.0
    memory: int = 2**32


class Tracer:
    """Notes which lines of a folder are run."""

    def __init__(self, folder: Path) -> None:
        self._prefix = str(folder) + os.sep
        self.lines: set[Line] = set()

    def __call__(self, frame: types.FrameType, event: str, argument: Any) -> Any:
        """Return what `sys.settrace` is to call for the lines of a function, if it is ours."""
        name = frame.f_code.co_filename
        if not name.startswith(self._prefix):
            return None
        module, lines = name[len(self._prefix) :], self.lines
        lines.add((module, frame.f_lineno))

        def each(inner: types.FrameType, event: str, argument: Any) -> Any:
            if event == "line":
                lines.add((module, inner.f_lineno))
            return each

        return each


class Trials:
    """A plugin of pytest: runs all tests once, and then mutants instead of tests.

    Parameters
    ----------
    package
        The module of the package whose code is mutated.
    mutants
        Those to be tried.
    standalone
        Names of test files that run a copy of the package's folder: they are added for mutants of
        its top level, and find a mutated folder.
    note
        Called with each mutant and what came of it.
    before
        Called before the first mutant: threads that tests have left are not in forked processes.
    """

    def __init__(
        self,
        package: types.ModuleType,
        mutants: Sequence[Mutant],
        *,
        standalone: Sequence[str],
        note: Callable[[Mutant, Trial], None],
        before: Callable[[], None],
        jobs: int = 1,
        limits: Limits = Limits(),
    ) -> None:
        self._package = package
        self._folder = Path(str(package.__file__)).parent
        self._mutants = mutants
        self._standalone = standalone
        self._note = note
        self._before = before
        self._jobs = jobs
        self._limits = limits
        self._covered: dict[str, set[Line]] = {}
        self._folders: dict[str, set[str]] = {}
        self._seconds: dict[str, float] = {}
        # Of each module, the tests that have killed a mutant, the latest last.
        self._killers: dict[str, dict[str, None]] = defaultdict(dict)
        self.failed = False

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Run the tests, and the trials if all of them passed."""
        if session.testsfailed:
            raise session.Interrupted("tests cannot be collected")
        self._run_all(session.items)
        if not self.failed:
            self._before()
            self._try_all(session.items)
        return True

    def _run_all(self, items: list[pytest.Item]) -> None:
        for item, following in zip(items, [*items[1:], None], strict=True):
            tracer, begin = Tracer(self._folder), time.process_time()
            sys.settrace(tracer)
            try:
                reports = runtestprotocol(item, log=False, nextitem=following)
            finally:
                sys.settrace(None)
            for report in reports:
                if report.failed:
                    print(f"{item.nodeid} fails without any mutant:\n{report.longreprtext}")
                    self.failed = True
            self._covered[item.nodeid] = tracer.lines
            self._folders[item.nodeid] = {os.path.dirname(module) for module, _ in tracer.lines}
            self._seconds[item.nodeid] = time.process_time() - begin

    def chosen(self, items: list[pytest.Item], mutant: Mutant) -> list[pytest.Item]:
        """Return the tests that run the changed lines.

        Those that have killed others of the module come first, the latest of them before all, and
        then the fastest.
        """
        first, last = mutant.lines
        span = {(mutant.module, line) for line in range(first, last + 1)}
        is_top = "/" not in mutant.module
        # What a module computes when it is imported, any test may use that runs its folder.
        uses_all = mutant.function == "<module>"
        folder = os.path.dirname(mutant.module)
        found = [
            item
            for item in items
            if span & self._covered[item.nodeid]
            or (uses_all and (is_top or folder in self._folders[item.nodeid]))
            or (is_top and item.path.name in self._standalone)
        ]
        latest = {name: -number for number, name in enumerate(self._killers[mutant.module])}
        return sorted(
            found, key=lambda item: (latest.get(item.nodeid, 1), self._seconds[item.nodeid])
        )

    def _try_all(self, items: list[pytest.Item]) -> None:
        waiting = list(reversed(self._mutants))
        running: dict[int, tuple[Mutant, int, float, float]] = {}
        while waiting or running:
            while waiting and len(running) < self._jobs:
                mutant = waiting.pop()
                chosen = self.chosen(items, mutant)
                if not chosen:
                    self._note(mutant, Trial(None, 0, 0.0))
                    continue
                most = sum(map(self._most_seconds, chosen))
                reader, pid = self._forked(mutant, chosen)
                # A test may wait for ever without using the processor.
                running[reader] = mutant, pid, time.monotonic(), 30 + 4 * most
            ready, _, _ = select.select(list(running), [], [], 1.0)
            for reader, (mutant, pid, begin, most) in list(running.items()):
                seconds = time.monotonic() - begin
                if reader not in ready:
                    if seconds < most:
                        continue
                    os.kill(pid, signal.SIGKILL)
                with os.fdopen(reader, "rb") as file:
                    answer = file.read()
                os.waitpid(pid, 0)
                del running[reader]
                killed_by, tests = json.loads(answer) if answer else ("timeout", 0)
                if killed_by in self._seconds:
                    killers = self._killers[mutant.module]
                    killers.pop(killed_by, None)
                    killers[killed_by] = None
                self._note(mutant, Trial(killed_by, tests, round(seconds, 2)))

    def _most_seconds(self, item: pytest.Item) -> float:
        return self._limits.seconds + self._limits.factor * self._seconds[item.nodeid]

    def _forked(self, mutant: Mutant, items: list[pytest.Item]) -> tuple[int, int]:
        """Start a trial; return what its answer can be read from, and its process."""
        reader, writer = os.pipe()
        sys.stdout.flush()
        pid = os.fork()
        if pid:
            os.close(writer)
            return reader, pid
        code = 1
        try:
            os.close(reader)
            memory = _memory() + self._limits.memory
            resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
            with open(os.devnull, "w") as nowhere:
                os.dup2(nowhere.fileno(), 1)
                os.dup2(nowhere.fileno(), 2)
            with self._in_a_copy(mutant, items):
                answer = self._tried(mutant, items)
            os.write(writer, json.dumps(answer).encode())
            code = 0
        finally:
            os._exit(code)

    def _tried(self, mutant: Mutant, items: list[pytest.Item]) -> tuple[str | None, int]:
        try:
            put_in_place(self._package, mutant)
        except Exception:
            return "import", 0
        for number, (item, following) in enumerate(zip(items, [*items[1:], None], strict=True)):
            # The signal ends the process.
            signal.setitimer(signal.ITIMER_PROF, self._most_seconds(item))
            reports = runtestprotocol(item, log=False, nextitem=following)
            if any(report.failed for report in reports):
                return item.nodeid, number + 1
        return None, len(items)

    @contextlib.contextmanager
    def _in_a_copy(self, mutant: Mutant, items: list[pytest.Item]) -> Iterator[None]:
        """Let tests that run a copy of the folder find the mutant there."""
        if not any(item.path.name in self._standalone for item in items):
            yield
            return
        with tempfile.TemporaryDirectory() as name:
            copied = Path(name, self._folder.name)
            ignored = shutil.ignore_patterns("__pycache__")
            shutil.copytree(self._folder, copied, ignore=ignored)
            (copied / mutant.module).write_text(ast.unparse(mutant.tree()))
            self._package.__file__ = str(copied / "__init__.py")
            yield


def _memory() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    return pages * resource.getpagesize()


def put_in_place(package: types.ModuleType, mutant: Mutant) -> None:
    """Let everybody who has imported a module use its mutant from now on.

    Functions keep their identity and get other code. Other values are replaced wherever a module
    of the package has them under the same name.
    """
    parts = Path(mutant.module).with_suffix("").parts
    name = ".".join([package.__name__, *(part for part in parts if part != "__init__")])
    module = sys.modules.get(name)
    if module is None:
        # A program of its own, such as `__main__`.
        return
    assert module.__file__ is not None
    new = types.ModuleType(name)
    new.__package__, new.__file__ = module.__package__, module.__file__
    if hasattr(module, "__path__"):
        new.__path__ = module.__path__
    exec(compile(mutant.tree(), module.__file__, "exec"), new.__dict__)
    modules = [
        other
        for key, other in list(sys.modules.items())
        if other is not None and (key == package.__name__ or key.startswith(package.__name__ + "."))
    ]
    for key, value in vars(new).items():
        old = vars(module).get(key)
        if key.startswith("__"):
            continue
        if getattr(value, "__module__", name) == name and not _replace_code(old, value):
            for other in modules:
                if key in vars(other) and _is_same(vars(other)[key], old):
                    setattr(other, key, value)


def _is_same(first: object, second: object) -> bool:
    return first is second or (type(first) is type(second) and first == second)


def _replace_code(old: Any, new: Any) -> bool:
    """Give a function or the methods of a class other code; return False for other values."""
    if isinstance(old, type) and isinstance(new, type):
        for key, value in vars(new).items():
            own = vars(old).get(key)
            is_plain = isinstance(value, int | tuple | str) and not key.startswith("_")
            if not _replace_code(own, value) and is_plain and own != value:
                setattr(old, key, value)
        return True
    for wrapped in ("__wrapped__", "fget", "__func__"):
        if hasattr(old, wrapped) and hasattr(new, wrapped):
            return _replace_code(getattr(old, wrapped), getattr(new, wrapped))
    if not isinstance(old, types.FunctionType) or not isinstance(new, types.FunctionType):
        return False
    if old.__code__.co_freevars == new.__code__.co_freevars:
        old.__code__ = new.__code__
        old.__defaults__, old.__kwdefaults__ = new.__defaults__, new.__kwdefaults__
    return True
