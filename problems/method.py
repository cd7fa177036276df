"""The contract of a method: a function that reports solutions and bounds as it finds them.

Nothing is returned, so every method is anytime: when it is killed, what it reported still counts.
Time, memory and verification are the runner's, never the method's.
"""

import importlib
import importlib.util
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Protocol, TypeAlias, get_args

from boundmark.problems.certificate import Certificate, Claim
from boundmark.problems.errors import InvalidInputError, UnsupportedError, extra_with
from boundmark.problems.problem import ParameterValue, Solution

Kind: TypeAlias = Literal["heuristic", "bound", "exact"]


@dataclass(frozen=True)
class Budget:
    """Time, memory and threads that a method may use; it watches the clock, the rest is enforced.

    Attributes
    ----------
    wall_seconds
        Soft limit; the runner stops the method a little later.
    memory_bytes
        Hard limit.
    threads
        For solvers that can use more than one.
    """

    wall_seconds: float
    memory_bytes: int = 4 * 2**30
    threads: int = 1
    started: float = field(default_factory=time.monotonic)

    def remaining(self) -> float:
        """Return the seconds left, 0.0 when the time is up."""
        return max(0.0, self.started + self.wall_seconds - time.monotonic())

    def spent(self) -> float:
        """Return the seconds since the method started."""
        return time.monotonic() - self.started

    def is_spent(self) -> bool:
        """Whether the time is up."""
        return self.remaining() == 0.0

    def part(self, fraction: float) -> "Budget":
        """Return a budget for a step: a fraction of the time that is left, from now on.

        Memory and threads are the same.

        Examples
        --------
        >>> budget = Budget(wall_seconds=60.0)
        >>> budget.part(0.5).wall_seconds <= 30.0
        True
        """
        return replace(self, wall_seconds=fraction * self.remaining(), started=time.monotonic())


class Progress(Protocol):
    """The receiver of a method's reports. Both calls may come any number of times; the best counts.

    Of equally good solutions, the last one does: it may be better in what the objective leaves out.
    """

    def solution(self, solution: Solution) -> None:
        """Report a solution; its objective is computed by the receiver."""

    def bound(self, bound: Certificate | Claim) -> None:
        """Report a lower bound, with a certificate or on the solver's word."""


class Run(Protocol):
    """The function that is a method; parameters arrive as keyword arguments."""

    def __call__(
        self, instance: Any, budget: Budget, seed: int, progress: Progress, **params: Any
    ) -> None:
        """Treat one instance.

        Raises
        ------
        UnsupportedError
            If the method cannot treat this instance here.
        """


@dataclass(frozen=True)
class Deferred:
    """A function that is imported when it is first called, since tables are read more often.

    Attributes
    ----------
    path
        ``"module:function"``.
    """

    path: str

    def load(self) -> Callable[..., Any]:
        """Import the function's module, with all that it compiles, and return the function."""
        module, _, name = self.path.partition(":")
        function: Callable[..., Any] = getattr(importlib.import_module(module), name)
        return function

    def __call__(self, *arguments: Any, **params: Any) -> Any:
        """Call the function, and return what it returns."""
        return self.load()(*arguments, **params)


@dataclass(frozen=True)
class Method:
    """A registered method.

    Attributes
    ----------
    name
        As written in suites and tables, e.g. ``"brkga-10000"``.
    problem
        Name of the problem it treats.
    kind
        ``"heuristic"`` reports solutions, ``"bound"`` lower bounds, ``"exact"`` both.
    summary
        One sentence for `boundmark methods`, with the source.
    run
        The function, or where it is: `Deferred` keeps what lists methods from importing solvers and
        compiling kernels.
    params
        Parameters and their defaults; a suite may override them.
    version
        Raised whenever results may change: stored results of other versions are not reused.
    seeded
        Whether the seed matters; a suite runs other methods once, not once per seed.
    known_cost
        Name of the parameter, an integer, that takes the cost of a solution which is known when the
        method starts, 0 for none; `solve` fills it in. Such a method need not look for anything
        worse, and ends once it has proven that cost optimal.
    requires
        Modules beyond the core dependencies, checked before a task starts.
    warm
        Modules that take long to import and are imported before tasks are forked. Those of a
        problem's methods must get along in one process, and start no threads when imported.
    left_out
        Why `solve` does not run it unless it is asked for, in a sentence; empty if it does. For
        heuristics: of other methods, `Problem.rounds` says which ones are run.
    """

    name: str
    problem: str
    kind: Kind
    summary: str
    run: Run | Deferred | Callable[..., None]
    params: Mapping[str, ParameterValue] = field(default_factory=dict)
    version: int = 1
    seeded: bool = False
    known_cost: str | None = None
    requires: tuple[str, ...] = ()
    warm: tuple[str, ...] = ()
    left_out: str = ""

    def __post_init__(self) -> None:
        for field_name, is_right, expected in (
            ("problem", isinstance(self.problem, str), "a text"),
            ("summary", isinstance(self.summary, str), "a text"),
            ("left_out", isinstance(self.left_out, str), "a text"),
            ("kind", self.kind in get_args(Kind), " or ".join(get_args(Kind))),
            ("run", callable(self.run), "a function"),
            ("params", _is_params(self.params), "names with texts, numbers or truth values"),
            ("version", type(self.version) is int, "an integer"),
            ("requires", _are_texts(self.requires), "a tuple of texts"),
            ("warm", _are_texts(self.warm), "a tuple of texts"),
        ):
            if not is_right:
                value = getattr(self, field_name)
                raise InvalidInputError(
                    f"{field_name} of method {self.name!r} is {value!r:.80}; expected {expected}."
                )

    @classmethod
    def command(
        cls,
        argv: Sequence[str],
        *,
        name: str = "",
        problem: str = "",
        kind: Kind = "exact",
        summary: str = "",
        version: int = 1,
    ) -> "Method":
        """Return an executable as a method.

        It is started for each task. On standard input it gets the instance's canonical JSON on one
        line. Each line that it writes to standard output is a JSON object: a solution in its stored
        form, such as ``{"stages": [0, 0, 1]}``; ``{"claimed_bound": 12.5}``; or
        ``{"certificate": {"kind": ..., "bound": ..., "payload": ...}}``. It is ended when the time
        is up, and killed with its task if it does not listen; what it wrote by then counts. What it
        writes to standard error is kept at its row.

        Parameters
        ----------
        argv
            The executable and its arguments, in which ``{seed}``, ``{seconds}`` and ``{threads}``
            stand for the task's.
        name
            By default that of the file.
        problem
            By default the one that comes first where a model suits several.
        kind
            What it may report; an executable that reports no bounds is a heuristic.

        Raises
        ------
        InvalidInputError
            If `argv` is no list of texts.

        Examples
        --------
        >>> Method.command(["./my_solver", "--seed", "{seed}"]).name
        'my_solver'
        """
        from pathlib import Path

        from boundmark.problems.command_method import CommandRun
        from boundmark.problems.entry_points import problems

        if not problem:
            problem = min(problems().values(), key=lambda one: (one.precedence, one.name)).name
        texts = argv if isinstance(argv, list | tuple) else ()
        if not texts or not all(isinstance(text, str) and text for text in texts):
            raise InvalidInputError(
                f"the command is {argv!r:.80}; expected a list of texts, the executable first."
            )
        called = name or Path(texts[0]).stem
        return cls(
            name=called,
            problem=problem,
            kind=kind,
            summary=summary or f"The executable {Path(texts[0]).name}.",
            run=CommandRun(tuple(texts), called),
            version=version,
            seeded=any("{seed}" in text for text in texts),
        )

    def load(self) -> Run | Callable[..., None]:
        """Return the function, imported if it was not yet."""
        return self.run.load() if isinstance(self.run, Deferred) else self.run


def _is_params(value: object) -> bool:
    return isinstance(value, Mapping) and all(
        isinstance(name, str) and isinstance(given, bool | int | float | str)
        for name, given in value.items()
    )


def _are_texts(value: object) -> bool:
    return isinstance(value, tuple) and all(isinstance(text, str) for text in value)


def require_module(name: str) -> None:
    """Raise `UnsupportedError` unless a module is installed; do not import it."""
    if importlib.util.find_spec(name) is None:
        raise UnsupportedError(f"module {name} is not installed{extra_with(name)}.")
