"""Layouts and instances of `microbatch` for tests."""

from hypothesis import strategies as st

from boundmark.datasets.microbatch.shapes import SHAPES, Costs, load
from boundmark.heuristics.microbatch.pattern import find_earliest_starts
from boundmark.problems.arrays import IntArray
from boundmark.problems.method import Budget, Method
from boundmark.problems.microbatch import Block, BlockLayout, MicrobatchInstance, Schedule


def shape(name: str, memory: int = 0, micro_batches: int = 0) -> MicrobatchInstance:
    """Return an instance on a layout such as ``"nn-4-train"``."""
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
    layout = SHAPES[draw(st.sampled_from(sorted(SHAPES)))](devices, costs)
    memory = draw(st.integers(3, 30))
    return MicrobatchInstance.of(layout, memory=memory, micro_batches=draw(st.integers(0, 9)))


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


@st.composite
def scheduled_layouts(draw: st.DrawFn) -> tuple[BlockLayout, IntArray]:
    """Draw any layout and start times that keep to exclusive devices and dependencies."""
    devices, size = draw(st.integers(1, 4)), draw(st.integers(1, 6))
    blocks = [
        Block(
            str(i),
            "forward",
            draw(st.integers(1, 4)),
            0,
            tuple(draw(st.sets(st.integers(0, devices - 1), min_size=1))),
        )
        for i in range(size)
    ]
    pairs = [(i, j) for i in range(size) for j in range(i + 1, size)]
    edges = draw(st.lists(st.sampled_from(pairs), unique=True)) if pairs else []
    layout = BlockLayout.from_blocks(blocks, edges, devices)
    count = draw(st.integers(1, 4))
    sequence = draw(st.permutations([(i, number) for i in range(size) for number in range(count)]))
    # A block comes after its inputs, which have smaller numbers.
    rank = {turn: position for position, turn in enumerate(sequence)}
    for i in range(size):
        for j in layout.dag.consumers_of(i).tolist():
            for number in range(count):
                rank[j, number] = max(rank[j, number], rank[i, number])
    sequence = sorted(rank, key=lambda turn: (rank[turn], turn))
    orders = [
        [turn for turn in sequence if device in blocks[turn[0]].devices]
        for device in range(devices)
    ]
    return layout, find_earliest_starts(layout, orders, count)
