import contextlib
import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st
from layouts import reported, shape, shaped_instances

from boundmark.bounds import checker
from boundmark.problems.catalog import methods
from boundmark.problems.errors import UnsupportedError
from boundmark.problems.method import Method
from boundmark.problems.microbatch import MicrobatchInstance, Schedule
from boundmark.problems.microbatch.schedule import peak_memory, steady_bubble_rate
from boundmark.problems.problem import solution_document

(
    CHIMERA_DIRECT,
    GPIPE,
    INTERLEAVED_1F1B,
    ONE_FORWARD_ONE_BACKWARD,
    ONE_FORWARD_ONE_BACKWARD_PLUS,
    ZB_H1,
) = (
    methods("microbatch")[name]
    for name in ("chimera-direct", "gpipe", "interleaved-1f1b", "1f1b", "1f1b-plus", "zb-h1")
)

BASELINES = (
    GPIPE, ONE_FORWARD_ONE_BACKWARD, ONE_FORWARD_ONE_BACKWARD_PLUS, INTERLEAVED_1F1B,
    CHIMERA_DIRECT, ZB_H1,
)  # fmt: skip


@given(st.sampled_from(BASELINES), shaped_instances())
def test_schedules_keep_all_constraints(method: Method, instance: MicrobatchInstance) -> None:
    """On any shape, with any memory, the checker accepts what is reported; or it is refused."""
    with contextlib.suppress(UnsupportedError):
        schedule = reported(method, instance)
        check(instance, schedule)


def check(instance: MicrobatchInstance, schedule: Schedule) -> None:
    """Ask the checker about a schedule, for some numbers of micro-batches if it is for any."""
    objective = instance.objective(schedule)
    document = solution_document(instance, schedule, objective)
    assert checker.check_solution(instance.to_json(), document) == objective
    if not instance.micro_batches:
        for count in (schedule.micro_batches, schedule.micro_batches + 1, 64):
            long = instance.with_parameters({"micro_batches": count})
            document = solution_document(long, schedule, long.objective(schedule))
            checker.check_solution(long.to_json(), document)


@pytest.mark.parametrize(
    ("method", "name", "memory", "period", "bubble"),
    [
        (ONE_FORWARD_ONE_BACKWARD, "v-4-train", 4, 4, 0),
        (CHIMERA_DIRECT, "x-4-train", 4, 10, 0.2),
        (ONE_FORWARD_ONE_BACKWARD_PLUS, "m-4-train", 4, 8, 0.25),
        (ONE_FORWARD_ONE_BACKWARD_PLUS, "nn-4-train", 4, 10, 0.2),
    ],
)
def test_bubble_rates_of_the_paper(
    method: Method, name: str, memory: int, period: int, bubble: float
) -> None:
    """Tessel's Table II, baselines, with an activation for each device in memory."""
    instance = shape(name, memory)
    assert instance.objective(reported(method, instance)) == period
    assert float(steady_bubble_rate(instance.layout, period)) == bubble


@pytest.mark.parametrize("devices", [2, 4, 8, 16])
def test_one_forward_one_backward_wastes_nothing_in_the_middle(devices: int) -> None:
    """Any number of devices: no bubble, D micro-batches in the repetend, (N + D - 1) (f + b)."""
    open_count = shape(f"v-{devices}-train", memory=devices)
    schedule = reported(ONE_FORWARD_ONE_BACKWARD, open_count)
    assert open_count.objective(schedule) == 4
    assert schedule.micro_batches == devices
    fixed = shape(f"v-{devices}-train", memory=devices, micro_batches=20)
    best = fixed.objective(reported(ONE_FORWARD_ONE_BACKWARD, fixed))
    assert best == fixed.objective(schedule) == (20 + devices - 1) * 4


def test_memory_of_one_forward_one_backward() -> None:
    """Stage s of S holds S - s activations; all of GPipe's devices hold N."""
    instance = shape("v-4-train", memory=8, micro_batches=8)
    starts = reported(ONE_FORWARD_ONE_BACKWARD, instance).starts
    assert peak_memory(instance.layout, starts) == (4, 3, 2, 1)
    assert peak_memory(instance.layout, reported(GPIPE, instance).starts) == (8, 8, 8, 8)


def test_less_memory_means_fewer_in_flight() -> None:
    """The period grows as memory shrinks, down to one micro-batch after the other."""
    periods = [
        instance.objective(reported(ONE_FORWARD_ONE_BACKWARD, instance))
        for instance in (shape("v-4-train", memory=memory) for memory in (4, 3, 2, 1))
    ]
    assert periods == sorted(periods)
    assert periods[0] == 4
    assert periods[-1] == 16


@pytest.mark.parametrize(("memory", "makespan"), [(8, 11 * 4), (4, 2 * 7 * 4), (2, 4 * 5 * 4)])
def test_gpipe_flushes_groups_that_fit(memory: int, makespan: int) -> None:
    """A group of g micro-batches takes (g + D - 1) (f + b)."""
    instance = shape("v-4-train", memory=memory, micro_batches=8)
    assert instance.objective(reported(GPIPE, instance)) == makespan


@pytest.mark.parametrize(
    ("name", "forward", "backward", "weight"),
    [("split-4-train", 1, 2, 1), ("split-4-train-b2", 1, 1, 1), ("split-8-train-f2-b6", 2, 4, 2)],
)
def test_zero_bubble_makespan(name: str, forward: int, backward: int, weight: int) -> None:
    """ZB-H1 has a bubble of (D - 1) (f + b - w), with the memory of 1F1B (Table 2 of its paper)."""
    devices = int(name.split("-")[1])
    instance = shape(name, memory=devices, micro_batches=20)
    schedule = reported(ZB_H1, instance)
    busy = 20 * (forward + backward + weight)
    assert instance.objective(schedule) == busy + (devices - 1) * (forward + backward - weight)
    assert max(peak_memory(instance.layout, schedule.starts)) == devices


def test_interleaving_divides_the_bubble() -> None:
    """With V stages a device, the bubble is (D - 1) (f + b) of a stage (Narayanan et al., 2.2)."""
    instance = shape("interleaved-4-train", memory=20, micro_batches=8)
    assert instance.objective(reported(INTERLEAVED_1F1B, instance)) == 8 * 8 + 3 * 4
    open_count = shape("interleaved-4-train", memory=20)
    assert open_count.objective(reported(INTERLEAVED_1F1B, open_count)) == 8


def test_chimera_holds_half_of_the_devices_per_pipeline() -> None:
    """No device holds more than D activations, and the period does not depend on more memory."""
    for name, memory in itertools.product(("x-4-train", "x-8-train"), (8, 40)):
        instance = shape(name, memory)
        schedule = reported(CHIMERA_DIRECT, instance)
        starts = schedule.starts_for(40)
        assert max(peak_memory(instance.layout, starts)) <= instance.layout.devices


@pytest.mark.parametrize(("name", "makespan"), [("x-4-train-b1", 10), ("x-8-train-b1", 22)])
def test_unit_of_chimera(name: str, makespan: int) -> None:
    """D/2 micro-batches of each pipeline leave D - 2 bubbles if forward takes as long as backward.

    This is Table 2 of Chimera's paper.
    """
    devices = int(name.split("-")[1])
    instance = shape(name, memory=devices, micro_batches=devices // 2)
    assert makespan == 2 * devices + devices - 2
    assert instance.objective(reported(CHIMERA_DIRECT, instance)) == makespan


def test_ticks_do_not_matter_to_chimera() -> None:
    """Nanoseconds instead of units give the same order of blocks."""
    coarse = reported(CHIMERA_DIRECT, shape("x-4-train"))
    fine = shape("x-4-train-f1000000-b3000000")
    assert fine.objective(reported(CHIMERA_DIRECT, fine)) == 10_000_000
    assert coarse.repetend is not None
    assert coarse.repetend.period == 10


@pytest.mark.parametrize(
    ("method", "name", "memory", "micro_batches", "text"),
    [
        (GPIPE, "v-4-train", 4, 0, "repeats nothing"),
        (ONE_FORWARD_ONE_BACKWARD, "x-4-train", 4, 0, "2 stages; expected one per device"),
        (ONE_FORWARD_ONE_BACKWARD, "m-4-train", 4, 0, "'SF' is on 4 devices"),
        (ONE_FORWARD_ONE_BACKWARD, "split-4-train", 4, 0, "split"),
        (ONE_FORWARD_ONE_BACKWARD_PLUS, "v-4-train", 4, 0, "no block is on several devices"),
        (ONE_FORWARD_ONE_BACKWARD_PLUS, "k-4-train", 4, 0, "several branches"),
        (ONE_FORWARD_ONE_BACKWARD_PLUS, "multi_modal-4-train", 4, 0, "several branches"),
        (INTERLEAVED_1F1B, "v-4-train", 4, 0, "expected the same sequence of devices"),
        (INTERLEAVED_1F1B, "interleaved-4-train", 1, 0, "holds 2 on device 0"),
        (CHIMERA_DIRECT, "v-4-train", 4, 0, "1 independent pipelines; expected two"),
        (CHIMERA_DIRECT, "x-4-train", 1, 4, "holds 2 on device 0"),
        (ZB_H1, "v-4-train", 4, 0, "no block of kind weight"),
    ],
)  # fmt: skip
def test_other_layouts_are_refused(
    method: Method, name: str, memory: int, micro_batches: int, text: str
) -> None:
    """A method says in a sentence what it expected."""
    with pytest.raises(UnsupportedError, match=text):
        reported(method, shape(name, memory, micro_batches))
