"""`zb-v` and `dualpipe-v`: their orders beside PyTorch's, and what they are known for."""

import itertools
from collections.abc import Callable
from types import SimpleNamespace

import pytest
from layouts import shape
from recording import record

from boundmark.bounds import checker
from boundmark.heuristics.microbatch.two_stages_in_a_v import (
    dualpipe_v_order,
    find_places,
    zb_v_order,
)
from boundmark.problems.errors import UnsupportedError
from boundmark.problems.microbatch import MicrobatchInstance
from boundmark.problems.problem import solution_document

NAMES = ("zb-v", "dualpipe-v")
# Both parts of a backward block take as long as a forward block.
EQUAL = "-train-f1-b2"


def instance(member: str, **parameters: int) -> MicrobatchInstance:
    """Return the instance of a shape."""
    return MicrobatchInstance.of(shape(member).layout, **parameters)


def reported(name: str, sample: MicrobatchInstance) -> int:
    """Return the objective of what a method reports, as the checker computes it."""
    (found,) = record(name, sample).solutions
    objective = sample.objective(found)
    document = solution_document(sample, found, objective)
    assert checker.check_solution(sample.to_json(), document) == objective
    return objective


@pytest.mark.parametrize("devices", [1, 2, 3, 4, 8])
@pytest.mark.parametrize("micro_batches", [1, 3, 8, 16, 21])
def test_zb_v_has_the_least_makespan(devices: int, micro_batches: int) -> None:
    """One device's work, and the time until the last device can begin: no bubble otherwise."""
    sample = instance(f"zb_v-{devices}{EQUAL}", memory=2 * devices, micro_batches=micro_batches)
    if micro_batches >= 2 * devices - 1:
        assert reported("zb-v", sample) == 6 * micro_batches + devices - 1
    else:
        assert reported("zb-v", sample) >= 6 * micro_batches + devices - 1


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("devices", [1, 2, 3, 4, 8])
def test_no_bubble_in_the_steady_state(name: str, devices: int) -> None:
    """With equal blocks and the memory of 1F1B, two activations per device, no device waits."""
    sample = instance(f"zb_v-{devices}{EQUAL}", memory=2 * devices + (name != "zb-v"))
    assert reported(name, sample) == 6


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    ("member", "memory", "micro_batches", "reason"),
    [
        ("v-4-train", 8, 8, "expected two on each device"),
        ("interleaved-4-train", 8, 8, "expected two on each device"),
        ("split-4-train", 8, 8, "expected two on each device"),
        ("zb_v-4-infer", 8, 8, "without split backward blocks"),
        ("zb_v-4-train", 7, 8, "expected at most 7"),
    ],
)
def test_other_layouts_are_refused(
    name: str, member: str, memory: int, micro_batches: int, reason: str
) -> None:
    """With a sentence that says what was expected."""
    with pytest.raises(UnsupportedError, match=reason):
        record(name, instance(member, memory=memory, micro_batches=micro_batches))


def test_dualpipe_v_needs_as_many_micro_batches_as_stages() -> None:
    """As PyTorch does."""
    with pytest.raises(UnsupportedError, match="7 micro-batches; expected at least one for each"):
        record("dualpipe-v", instance("zb_v-4-train", memory=9, micro_batches=7))


@pytest.mark.parametrize(
    ("name", "order"),
    [("ScheduleZBVZeroBubble", zb_v_order), ("ScheduleDualPipeV", dualpipe_v_order)],
)
def test_orders_are_those_of_pytorch(
    name: str, order: Callable[..., list[tuple[int, int]]]
) -> None:
    """Each action of each rank; a full backward is a backward block, then a weight block."""
    schedules = pytest.importorskip("torch.distributed.pipelining.schedules")
    calculate = getattr(schedules, name)._calculate_single_rank_operations
    for devices, more in itertools.product((1, 2, 3, 4, 8), (0, 1, 2, 7)):
        count = 2 * devices + more
        ranks = SimpleNamespace(
            pp_group_size=devices, num_stages=2 * devices, _n_microbatches=count
        )
        for rank, place in enumerate(find_places(shape(f"zb_v-{devices}-train").layout)):
            blocks = {rank: place[2:5], 2 * devices - 1 - rank: place[5:8]}
            expected = []
            for action in filter(None, calculate(ranks, rank)):
                for one in action.sub_actions or (action,):
                    forward, backward, weight = blocks[one.stage_index]
                    run = {
                        "FORWARD": (forward,),
                        "BACKWARD_INPUT": (backward,),
                        "BACKWARD_WEIGHT": (weight,),
                        "FULL_BACKWARD": (backward, weight),
                    }[one.computation_type.name]
                    expected += [(block, one.microbatch_index) for block in run]
            assert order(place, count) == expected
