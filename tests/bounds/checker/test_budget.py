"""What a check spends, and that it bounds what a check does, whatever the files' shape.

Work is counted in instructions of the interpreter, inside the checker's own functions. So a
function that goes through operators, devices, classes or edges again and again without spending
steps is found at sizes of a few hundred.
"""

import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
from costly_documents import SHAPES, Shape, documents

from boundmark.bounds import checker
from boundmark.bounds.checker import budget, registry
from boundmark.bounds.checker.budget import hold, limited, spend


def test_steps_are_spent_once() -> None:
    """Each check has all steps, and no more."""
    for _ in range(2):
        with limited("a file"):
            spend(budget.MOST_STEPS - 1)
            spend(1)
            with pytest.raises(checker.TooLarge, match="more than 67,108,864 steps"):
                spend(1)


def test_an_inner_check_has_a_budget_of_its_own() -> None:
    """And leaves that of the outer one alone."""
    with limited("a file"):
        spend(budget.MOST_STEPS)
        with limited("a file"):
            spend(budget.MOST_STEPS)
        with pytest.raises(checker.TooLarge):
            spend(1)


def test_without_a_budget_there_is_no_limit() -> None:
    """Producers use parts of the checker as long as they like."""
    spend(10 * budget.MOST_STEPS)


def test_memory_is_refused_before_it_is_taken() -> None:
    """What a check holds is compared with the limit."""
    hold(budget.MOST_CHECK_BYTES)
    with pytest.raises(checker.TooLarge, match="more than 512 MiB of memory"):
        hold(budget.MOST_CHECK_BYTES + 1)


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (MemoryError(), "there is not enough memory for the check of a file"),
        (RecursionError(), "the values of a file are nested too deeply"),
    ],
)
def test_what_python_cannot_do_is_refused(error: Exception, reason: str) -> None:
    """The verdict is a rejection, not a traceback."""
    with pytest.raises(checker.Rejected, match=reason), limited("a file"):
        raise error


FOLDER = str(Path(checker.__file__).parent)


# Instructions that a step may take, about a microsecond, and those for each value of a document,
# which the size of its file bounds.
OF_A_STEP = 100


OF_A_VALUE = 30


# Enough to tell, and few enough to be counted in a fraction of a second.
SIZE = 500


MOST_STEPS = 2**15


def work(function: Callable[[], None]) -> tuple[int, int]:
    """Return how many instructions of the checker a function executes, and the steps it spends."""
    count = spent = 0
    left: int | None = None

    def trace(frame: FrameType, event: str, argument: Any) -> Any:
        nonlocal count, spent, left
        before, left = left, budget.steps_left()
        spent += max(0, before - left) if None not in (before, left) else 0
        if event == "call":
            if not frame.f_code.co_filename.startswith(FOLDER):
                return None
            frame.f_trace_opcodes, frame.f_trace_lines = True, False
        elif event == "opcode":
            count += 1
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        function()
    finally:
        sys.settrace(before)
    return count, spent


def values(document: Any) -> int:
    """Return how many values a document has."""
    if isinstance(document, dict):
        return 1 + sum(map(values, document.values()))
    return 1 + sum(map(values, document)) if isinstance(document, list) else 1


def check(shape: Shape, instance: dict[str, Any], document: dict[str, Any]) -> None:
    """Check a document, whatever the verdict."""
    try:
        if shape.kind == "solution":
            checker.check_solution(instance, document)
        else:
            checker.check_certificate(instance, document)
    except checker.Rejected:
        return


@pytest.mark.parametrize("name", SHAPES)
def test_steps_bound_the_work(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Beyond reading, no check does more than it spends."""
    shape = SHAPES[name]
    instance, document = documents(shape, min(SIZE, max(100, shape.largest // 64)))
    monkeypatch.setattr(budget, "MOST_STEPS", MOST_STEPS)
    done, spent = work(lambda: check(shape, instance, document))
    read = 2 * values(instance) + values(document)
    allowed = OF_A_STEP * spent + OF_A_VALUE * read
    assert done <= allowed, f"{done:,} instructions, {spent:,} steps, {read:,} values"


def test_there_is_a_shape_of_each_kind() -> None:
    """And of solutions of each problem."""
    kinds = {(shape.problem, shape.kind) for shape in SHAPES.values()}
    known = {(problem, kind) for kind, problem in checker.KINDS.items()}
    assert kinds == known | {(problem, "solution") for problem in registry.PROBLEMS}
