"""What a check does is bounded by the steps that it spends, whatever the files' shape.

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

FOLDER = str(Path(checker.__file__).parent)

# Instructions that a step may take, about a microsecond, and those for each value of a document,
# which the size of its file bounds.
OF_A_STEP = 100
OF_A_VALUE = 30

# Enough to tell, and few enough to be counted in a fraction of a second.
SIZE = 500
MOST_STEPS = 2**15


def work(function: Callable[[], None]) -> int:
    """Return how many instructions of the checker a function executes."""
    count = 0

    def trace(frame: FrameType, event: str, argument: Any) -> Any:
        nonlocal count
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
    return count


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


class Spending:
    """Stands in for the budget, and adds up what is taken from it."""

    def __init__(self) -> None:
        self.left: int | None = None
        self.total = 0

    def get(self) -> int | None:
        """Return how many steps are left."""
        return self.left

    def set(self, left: int) -> int | None:
        """Leave so many steps; return what there was, for `reset`."""
        before = self.left
        self.total += max(0, before - left) if before is not None else 0
        self.left = left
        return before

    def reset(self, before: int | None) -> None:
        """End a budget."""
        self.left = before


@pytest.mark.parametrize("name", SHAPES)
def test_steps_bound_the_work(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Beyond reading, no check does more than it spends."""
    shape, spending = SHAPES[name], Spending()
    instance, document = documents(shape, min(SIZE, max(100, shape.largest // 64)))
    monkeypatch.setattr(budget, "_steps_left", spending)
    monkeypatch.setattr(budget, "MOST_STEPS", MOST_STEPS)
    done = work(lambda: check(shape, instance, document))
    read = 2 * values(instance) + values(document)
    allowed = OF_A_STEP * spending.total + OF_A_VALUE * read
    assert done <= allowed, f"{done:,} instructions, {spending.total:,} steps, {read:,} values"


def test_there_is_a_shape_of_each_kind() -> None:
    """And of solutions of each problem."""
    kinds = {(shape.problem, shape.kind) for shape in SHAPES.values()}
    known = {(problem, kind) for kind, problem in checker.KINDS.items()}
    assert kinds == known | {(problem, "solution") for problem in registry.PROBLEMS}
