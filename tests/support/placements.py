"""Placements and instances of `microbatch` for tests."""

from hypothesis import strategies as st

from boundmark.datasets.placement_shapes import SHAPES, Costs
from boundmark.datasets.shapes import load
from boundmark.problems.method import Budget, Method
from boundmark.problems.microbatch import MicrobatchInstance, Schedule


def shape(name: str, memory: int = 0, micro_batches: int = 0) -> MicrobatchInstance:
    """Return an instance on a placement such as ``"nn-4-train"``."""
    return MicrobatchInstance.of(load(name), memory=memory, micro_batches=micro_batches)


@st.composite
def shaped_instances(draw: st.DrawFn) -> MicrobatchInstance:
    """Draw a shape with up to six devices, small costs, little memory and few micro-batches."""
    devices = draw(st.integers(3, 6))
    forward = draw(st.integers(1, 4))
    costs = Costs(
        forward=forward,
        backward=forward + draw(st.integers(1, 6)),
        activation=draw(st.integers(0, 3)),
        is_training=draw(st.booleans()),
    )
    placement = SHAPES[draw(st.sampled_from(sorted(SHAPES)))](devices, costs)
    memory = draw(st.integers(3, 30))
    return MicrobatchInstance.of(placement, memory=memory, micro_batches=draw(st.integers(0, 9)))


class Solutions(list[Schedule]):
    """Keeps the schedules that a method reports."""

    def solution(self, solution: Schedule) -> None:
        """Keep a schedule."""
        self.append(solution)

    def bound(self, bound: object) -> None:
        """Forget a bound."""


def reported(method: Method, instance: MicrobatchInstance) -> Schedule:
    """Return the last schedule that a method reports."""
    solutions = Solutions()
    method.run(instance, Budget(wall_seconds=20), 1, solutions)
    return solutions[-1]
