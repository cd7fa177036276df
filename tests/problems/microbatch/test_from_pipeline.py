from fractions import Fraction

import pytest
from brute_force import instance, instances
from hypothesis import given
from hypothesis import strategies as st
from layouts import reported

from boundmark.problems.arrays import frozen
from boundmark.problems.catalog import methods
from boundmark.problems.errors import InvalidInputError
from boundmark.problems.microbatch import MicrobatchInstance
from boundmark.problems.microbatch.from_pipeline import layout_of
from boundmark.problems.pipeline import Partition, PipelineInstance

ONE_FORWARD_ONE_BACKWARD = methods("microbatch")["1f1b"]

# A diamond 0 -> 1, 2 -> 3 and stages named backwards, one of them empty.
DIAMOND = instance([4, 6, 2, 10], [(0, 1), (0, 2), (1, 3), (2, 3)], 4)
STAGES = Partition(frozen([3, 1, 1, 0]))


def test_stages_by_hand() -> None:
    """Stages come in pipeline order; f(S) = 5, 11, 12 becomes 6, 11, 12 hundredths times two."""
    layout = layout_of(DIAMOND, STAGES, backward=2, activation=7, ticks=12)
    costs = [4 + 1, 6 + 2 + 1 + 2, 10 + 2]
    assert [block.duration for block in layout.blocks] == [*costs, *(2 * c for c in costs)]
    assert [block.memory for block in layout.blocks] == [7, 7, 7, -7, -7, -7]
    assert [block.devices for block in layout.blocks] == [(0,), (1,), (2,)] * 2
    edges = set(zip(layout.dag.sources.tolist(), layout.dag.targets.tolist(), strict=True))
    assert edges == {(0, 1), (1, 2), (5, 4), (4, 3), (0, 3), (1, 4), (2, 5)}


def test_inference_keeps_nothing() -> None:
    """Without backward blocks, nothing stays in memory."""
    layout = layout_of(DIAMOND, STAGES, backward=0)
    assert [block.kind for block in layout.blocks] == ["forward"] * 3
    assert [block.memory for block in layout.blocks] == [0] * 3


def test_durations_are_rounded_up() -> None:
    """The slowest stage takes the ticks asked for; no block takes none."""
    layout = layout_of(DIAMOND, STAGES, backward=Fraction(5, 2), ticks=5)
    assert [block.duration for block in layout.blocks] == [3, 5, 5, 6, 12, 13]
    free = instance([0, 0], [(0, 1)], 2, transfer=[0, 0])
    blocks = layout_of(free, Partition(frozen([0, 1]))).blocks
    assert [block.duration for block in blocks] == [1] * 4


@given(instances(), st.data())
def test_any_partition_can_be_scheduled(model: PipelineInstance, data: st.DataObject) -> None:
    """1F1B runs what comes of any partition, at the rate of its slowest stage at best."""
    stage = [data.draw(st.integers(0, model.k - 1)) for _ in range(model.nodes)]
    for u, v in zip(model.graph.dag.sources, model.graph.dag.targets, strict=True):
        stage[v] = max(stage[v], stage[u])
    layout = layout_of(model, Partition(frozen(stage)), ticks=50)
    scheduled = MicrobatchInstance.of(layout)
    schedule = reported(ONE_FORWARD_ONE_BACKWARD, scheduled)
    assert scheduled.objective(schedule) >= max(layout.loads)


@pytest.mark.parametrize(
    ("given_values", "text"),
    [
        ({"backward": -1}, "backward is -1; expected a ratio of at least 0"),
        ({"activation": -1}, "activation is -1; expected a non-negative integer"),
        ({"ticks": 0}, "ticks is 0; expected a positive integer"),
        ({"partition": Partition(frozen([0, 0]))}, "the partition has 2 stages"),
        ({"partition": Partition(frozen([0, 1, 1, 0]))}, "cannot run one after another"),
    ],
)
def test_bad_input(given_values: dict[str, object], text: str) -> None:
    """Errors name what is wrong and what was expected."""
    arguments = {"instance": DIAMOND, "partition": STAGES, **given_values}
    with pytest.raises(InvalidInputError, match=text):
        layout_of(**arguments)  # type: ignore[arg-type]
