"""How `solve` shows answers."""

import re

import pytest
from schedules import v_shape

from boundmark.benchmarks.cli.answers import microbatch
from boundmark.benchmarks.running.planning import NamedInstance
from boundmark.benchmarks.solving.answer import Answer


def answer(micro_batches: int, *, is_solved: bool = True) -> Answer:
    """Return an answer with a schedule made by hand."""
    instance, schedule = v_shape(micro_batches=micro_batches)
    return Answer(
        source=NamedInstance("shapes", "v-4-train", instance),
        objective=instance.objective(schedule),
        certified_bound=4, claimed_bound=None,
        solution=schedule.to_json() if is_solved else None,
        certificate=None, method="hand", bound_method="hand", seconds=1.0, failures=(),
    )  # fmt: skip


def test_a_period_is_shown_with_its_schedule(capsys: pytest.CaptureFixture[str]) -> None:
    """Drawing, bubble rate, least number of micro-batches and memory, no line too long."""
    microbatch.print_solution(answer(0))
    text = capsys.readouterr().out
    assert "┃" in text
    assert re.search(r"^bubble rate +0\.00%$", text, re.MULTILINE)
    assert re.search(r"^micro-batches +5 or more$", text, re.MULTILINE)
    assert "memory held      4, 3, 2, 1 on devices 0 to 3" in text
    assert max(map(len, text.splitlines())) <= 80


def test_facts_of_a_period() -> None:
    """The steady state has no bubbles."""
    assert microbatch.objective_name(answer(0)) == "period"
    assert microbatch.facts(answer(0)) == {"bubble_rate": 0.0, "micro_batches": 5}


def test_facts_of_a_makespan() -> None:
    """Of 6 micro-batches: 4 ticks each and device, of 36 ticks."""
    assert microbatch.objective_name(answer(6)) == "makespan"
    assert microbatch.facts(answer(6)) == {"bubble_rate": 1 / 3, "micro_batches": 6}


def test_without_a_schedule_nothing_is_made_up(capsys: pytest.CaptureFixture[str]) -> None:
    """No drawing, and null."""
    microbatch.print_solution(answer(0, is_solved=False))
    assert capsys.readouterr().out == ""
    facts = microbatch.facts(answer(0, is_solved=False))
    assert facts == {"bubble_rate": None, "micro_batches": None}
