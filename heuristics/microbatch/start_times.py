"""Start times found by Z3, under the constraints of [TESSEL24], Equation 1."""

import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

from boundmark.problems.errors import InvalidInputError, UnsupportedError
from boundmark.problems.method import Budget

# Largest horizon of a timeline, in ticks; beyond it, Z3 would start with millions of terms.
LONGEST_TIMELINE = 4096


@dataclass(frozen=True)
class Question:
    """Jobs and constraints; the answer is a start time, at least 0, for each job.

    Attributes
    ----------
    durations, memory
        Of each job; memory is held from its start on, and released by a negative amount.
    on_device
        The jobs on each device, which run one at a time.
    room
        Memory that each device has left at time 0.
    lags
        Triples (i, j, ticks): job j starts at least so many ticks after job i; the ticks may be
        negative.
    horizon
        When all jobs have ended.
    """

    durations: tuple[int, ...]
    memory: tuple[int, ...]
    on_device: tuple[tuple[int, ...], ...]
    room: tuple[int, ...]
    lags: tuple[tuple[int, int, int], ...]
    horizon: int


Find: TypeAlias = Callable[[Question], list[int] | None]


class OutOfTimeError(Exception):
    """The budget ended before Z3 had an answer."""


def finder(budget: Budget, seed: int, memory: str) -> Find:
    """Return a solver: a function from a `Question` to start times, None if there are none.

    The function raises `OutOfTimeError` when the budget is spent, and `UnsupportedError` if a
    timeline would be too long to write down.

    Parameters
    ----------
    memory
        How Z3 is told what a device holds, ``"timeline"`` or ``"pairs"``, see `ENCODINGS`.

    Raises
    ------
    InvalidInputError
        If there is no such encoding.
    """
    if memory not in ENCODINGS:
        raise InvalidInputError(f"memory is {memory!r}; expected {' or '.join(ENCODINGS)}.")
    encode = ENCODINGS[memory]

    def find(question: Question) -> list[int] | None:
        if budget.is_spent():
            raise OutOfTimeError
        if min(question.room) < 0:
            return None
        return _solve(question, budget, seed, encode)

    return find


def _solve(question: Question, budget: Budget, seed: int, encode: Any) -> list[int] | None:
    import z3

    # Z3 orders terms by when they were made: with a context of its own, an answer does not depend
    # on what was asked before.
    context = z3.Context()
    solver = z3.Solver(ctx=context)
    starts = [z3.Int(f"start{i}", ctx=context) for i in range(len(question.durations))]
    for start, duration in zip(starts, question.durations, strict=True):
        solver.add(start >= 0, start <= question.horizon - duration)
    for i, j, ticks in question.lags:
        solver.add(starts[j] >= starts[i] + ticks)
    for number, (i, j) in enumerate(_unordered(question)):
        # Telling Z3 takes seconds where there are many.
        if number % 1024 == 0 and budget.is_spent():
            raise OutOfTimeError
        solver.add(
            z3.Or(
                starts[i] + question.durations[i] <= starts[j],
                starts[j] + question.durations[j] <= starts[i],
            )
        )
    for device, jobs in enumerate(question.on_device):
        changing = [i for i in jobs if question.memory[i]]
        # Where everything fits at once, there is nothing to constrain.
        if sum(max(0, question.memory[i]) for i in jobs) > question.room[device]:
            for constraint in encode(question, device, changing, starts):
                if budget.is_spent():
                    raise OutOfTimeError
                solver.add(constraint)
    solver.set("random_seed", seed % 2**31)
    answer = _check(solver, budget)
    if answer == z3.unknown:
        raise RuntimeError(f"Z3 gave up: {solver.reason_unknown()}")
    if answer == z3.unsat:
        return None
    model = solver.model()
    return [model.eval(start, model_completion=True).as_long() for start in starts]


def _check(solver: Any, budget: Budget) -> Any:
    """Return Z3's answer, or raise `OutOfTimeError`.

    Z3 has a timeout of its own, but on a busy machine it misses one in about a hundred and goes on
    for ever. So it is interrupted again and again.
    """
    has_answered, is_stopped = threading.Event(), False

    def stop_in_time() -> None:
        nonlocal is_stopped
        if not has_answered.wait(min(budget.remaining(), threading.TIMEOUT_MAX)):
            is_stopped = True
            while not has_answered.wait(timeout=0.05):
                solver.interrupt()

    watch = threading.Thread(target=stop_in_time, daemon=True)
    watch.start()
    try:
        answer = solver.check()
    finally:
        has_answered.set()
        watch.join()
    if is_stopped:
        raise OutOfTimeError
    return answer


def _unordered(question: Question) -> list[tuple[int, int]]:
    """Return the pairs of jobs that share a device and may run in either order."""
    ordered = {(i, j) for i, j, ticks in question.lags if ticks >= question.durations[i]}
    pairs = {
        (i, j)
        for jobs in question.on_device
        for position, i in enumerate(jobs)
        for j in jobs[position + 1 :]
    }
    return sorted((i, j) for i, j in pairs if (i, j) not in ordered and (j, i) not in ordered)


def _timeline(question: Question, device: int, jobs: list[int], starts: list[Any]) -> Iterator[Any]:
    """Bound the memory in each time slot ([TESSEL24], Section V)."""
    import z3

    if question.horizon > LONGEST_TIMELINE:
        raise UnsupportedError(
            f"the timeline has {question.horizon:,} slots; expected at most {LONGEST_TIMELINE:,}, "
            "or memory = pairs."
        )
    zero, room = (z3.IntVal(value, ctx=starts[0].ctx) for value in (0, question.room[device]))
    changes = [(starts[i], z3.IntVal(question.memory[i], ctx=starts[0].ctx)) for i in jobs]
    held = zero
    for slot in range(question.horizon):
        now = z3.IntVal(slot, ctx=starts[0].ctx)
        held = z3.Sum([held, *(z3.If(start == now, memory, zero) for start, memory in changes)])
        yield held <= room


def _pairs(question: Question, device: int, jobs: list[int], starts: list[Any]) -> Iterator[Any]:
    """Bound, for each job that allocates, the memory of the jobs that started before it."""
    import z3

    for i in jobs:
        if question.memory[i] > 0:
            held = z3.Sum([z3.If(starts[j] <= starts[i], question.memory[j], 0) for j in jobs])
            yield held <= question.room[device]


# "timeline" is the published encoding; "pairs" says the same with terms for pairs of blocks in
# place of blocks and ticks.
ENCODINGS: dict[str, Callable[[Question, int, list[int], list[Any]], Iterator[Any]]] = {
    "timeline": _timeline,
    "pairs": _pairs,
}
