"""Modulo scheduling with CP-SAT, and the checker on what comes of it."""

from typing import Any

from boundmark.bounds import checker
from boundmark.bounds.microbatch import memory_latency
from boundmark.bounds.microbatch.modulo import completed
from boundmark.bounds.microbatch.steady_state import SteadyState, SteadyStateModel
from boundmark.datasets.microbatch.shapes import load
from boundmark.problems.microbatch import MicrobatchInstance
from boundmark.problems.problem import solution_document


def steady_state(sample: MicrobatchInstance, period: int) -> SteadyState:
    """Return a steady state of a period that is possible."""
    state = SteadyStateModel(sample, period, period).solve(60, 1).state
    assert state is not None
    return state


class Period:
    """NN with memory 2 D: a period without bubbles is found; with D, the same is refuted."""

    param_names = ("devices",)
    params = (4, 8, 16)

    def setup(self, devices: int) -> None:
        layout = load(f"nn-{devices}-train")
        self.roomy = MicrobatchInstance.of(layout)
        self.tight = MicrobatchInstance.of(layout, memory=devices)

    def time_found(self, devices: int) -> None:
        steady_state(self.roomy, 8)

    def time_refuted(self, devices: int) -> None:
        outcome = SteadyStateModel(self.tight, 8, 8).solve(60, 1)
        assert outcome.verdict == "impossible"


class Completion:
    """The shortest warm-up and cool-down."""

    def setup(self) -> None:
        self.sample = MicrobatchInstance.of(load("m-4-train"), memory=6)
        self.state = steady_state(self.sample, 6)

    def time_completion(self) -> None:
        completed(self.sample, self.state, 60, 1)


class Schedules:
    """The checks of a schedule and of a bound."""

    param_names = ("devices",)
    params = (4, 16)

    def setup(self, devices: int) -> None:
        self.sample = MicrobatchInstance.of(load(f"nn-{devices}-train"))
        self.state = steady_state(self.sample, 8)
        self.document: dict[str, Any] = self.sample.to_json()
        self.solution = solution_document(self.sample, self.state.schedule, 8)
        found = memory_latency.certificate(self.sample, "memory-latency")
        assert found is not None
        self.certificate = found.to_json()

    def time_objective(self, devices: int) -> None:
        self.sample.objective(self.state.schedule)

    def time_check_solution(self, devices: int) -> None:
        checker.check_solution(self.document, self.solution)

    def time_check_certificate(self, devices: int) -> None:
        checker.check_certificate(self.document, self.certificate)
