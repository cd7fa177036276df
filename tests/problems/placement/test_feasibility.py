"""Memory while tensors are live, by hand and by brute force."""

import random
from dataclasses import replace

import numpy as np
import pytest
from brute_force_placement import live_instance, live_peaks, optimum

from boundmark.bounds import checker
from boundmark.problems.errors import InvalidInputError
from boundmark.problems.placement import PROBLEM, PlacementInstance, PlacementSchedule
from boundmark.problems.placement.feasibility import needed_transfers, peaks
from boundmark.problems.problem import solution_document

CHAIN = live_instance(
    [[2, 2], [3, 3], [1, 1]], [(0, 1), (1, 2)], tensors=[4, 2], results=[0, 0, 5],
    memory=[1, 1, 1], capacity=[9, 9],
)  # fmt: skip


def schedule(devices: list[int], starts: list[int], *rows: list[int]) -> PlacementSchedule:
    """Return a schedule."""
    return PlacementSchedule(
        np.array(devices), np.array(starts), np.array(rows, dtype=np.int64).reshape(-1, 3)
    )


def test_by_hand() -> None:
    """In a chain, an input is freed when its reader has ended, and a result when it has."""
    alone = schedule([0, 0, 0], [0, 2, 5])
    # 3 for operators; 4 from 0 to 5, 2 from 2 to 6, 5 from 5 to 6.
    assert peaks(CHAIN.graph, alone, "per-tensor").tolist() == [3 + 7, 0]
    with pytest.raises(
        InvalidInputError, match=r"live tensors on device 0 take 10 .* 1 are missing"
    ):
        CHAIN.objective(alone)
    apart = schedule([0, 1, 1], [0, 3, 6], [0, 1, 2])
    # Device 0 keeps the tensor until it is there; the other one has it from then on.
    assert peaks(CHAIN.graph, apart, "per-tensor").tolist() == [1 + 4, 2 + 7]
    assert CHAIN.objective(apart) == 7


def test_outputs_that_are_kept() -> None:
    """The other model of the same graph has a hash of its own, and room for all outputs."""
    kept = PlacementInstance.of(CHAIN.graph, "per-tensor", "none", memory="parameters+outputs")
    assert kept.graph.memory.tolist() == [5, 3, 6]
    assert (kept.memory_model, CHAIN.memory_model) == ("parameters+outputs", "parameters+live")
    assert "memory_model" not in kept.to_json()
    assert kept.with_parameters({"memory": "parameters+live"}).sha256 == CHAIN.sha256
    read = PlacementInstance.from_json(CHAIN.to_json())
    assert (read.sha256, read.parameters) == (CHAIN.sha256, CHAIN.parameters)
    assert read.with_parameters({"memory": "parameters+outputs"}).sha256 == kept.sha256
    with pytest.raises(InvalidInputError, match="does not say how large its tensors are"):
        PlacementInstance.from_json(kept.to_json()).with_parameters({"memory": "parameters+live"})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"memory_model": "live"}, "memory_model is 'live'; expected 'parameters\\+live'"),
        ({"tensor_memory": [1]}, "there are 1 sizes of tensors and 3 of results"),
        ({"tensor_memory": [1, -1]}, "tensor_memory"),
        ({"result_memory": None}, "result_memory"),
        ({"result_memory": [0, 0, 20]}, "11.*device 'd0'|device '0' has 9"),
    ],
)
def test_malformed_documents(change: dict[str, object], message: str) -> None:
    """One sentence names what is wrong; the checker rejects the same."""
    document = {**CHAIN.to_json(), **change}
    with pytest.raises(InvalidInputError, match=message):
        PlacementInstance.from_json(document)
    with pytest.raises(checker.Rejected):
        checker.check_instance(document)


def test_what_fits_nowhere() -> None:
    """The tightest device and the missing bytes are named."""
    with pytest.raises(
        InvalidInputError, match="together, 2 too little; the tightest is 'd1' with"
    ):
        replace(CHAIN.graph, memory=[5, 5, 5], capacity=[9, 4], tensor_memory=[0, 0],
                result_memory=[0, 0, 0])  # fmt: skip
    with pytest.raises(InvalidInputError, match=r"'v1' takes 7 of .*'d0' has 5, 2 too little"):
        replace(CHAIN.graph, capacity=[5, 4])


def drawn(dice: random.Random) -> tuple[PlacementInstance, PlacementSchedule]:
    """Return an instance and a schedule of it that may or may not keep the memory."""
    nodes = dice.randrange(1, 6)
    edges = [(u, v) for v in range(nodes) for u in range(v) if dice.random() < 0.5]
    writers = len({u for u, _ in edges})
    sample = live_instance(
        [[dice.randrange(4), dice.randrange(4)] for _ in range(nodes)],
        edges,
        times=[[0, dice.randrange(3), dice.randrange(3), 0]],
        tensors=[dice.randrange(4) for _ in range(writers)],
        results=[dice.randrange(3) for _ in range(nodes)],
        capacity=[100, 100],
        transfers=dice.choice(["per-tensor", "per-edge"]),
    )
    devices = np.array([dice.randrange(2) for _ in range(nodes)])
    # All one by one, with pauses.
    needed = needed_transfers(sample.graph, devices, sample.transfers)
    now, starts, rows = 0, [], []
    for v in range(nodes):
        now += dice.randrange(2)
        starts.append(now)
        now += int(sample.graph.duration[v, devices[v]])
        for (tensor, receiver), readers in needed.items():
            if sample.graph.producer[tensor] == v:
                rows.append([tensor, receiver, now])
                ends = devices[v], devices[readers[0]]
                now += int(sample.graph.times[sample.graph.size[tensor], *ends])
    return sample, schedule(devices.tolist(), starts, *sorted(rows))


def test_peaks_are_those_of_counting_every_tick() -> None:
    """With one unit less than its peak, a device has no room, here and in the checker."""
    dice = random.Random(1)
    for _ in range(300):
        sample, found = drawn(dice)
        most = peaks(sample.graph, found, sample.transfers)
        assert most.tolist() == live_peaks(sample, found)
        for lack in (0, 1):
            capacity = np.maximum(sample.graph.needed.max(), most - lack)
            if sample.graph.memory.sum() > capacity.sum():
                continue
            small = replace(sample, graph=replace(sample.graph, capacity=capacity))
            stored = solution_document(small, found, 0)
            if (most <= capacity).all():
                makespan = small.objective(found)
                stored["objective"] = makespan
                assert checker.check_solution(small.to_json(), stored) == makespan
            else:
                with pytest.raises(InvalidInputError, match="live tensors on device"):
                    small.objective(found)
                with pytest.raises(checker.Rejected, match="while tensors are live"):
                    checker.check_solution(small.to_json(), stored)


def test_models_differ() -> None:
    """Kept outputs have no room on one device, live tensors have: the optimum is another one."""
    live = live_instance(
        [[2, 4]] * 3, [(0, 1), (1, 2)], times=[[0, 3, 3, 0]], tensors=[2, 2], results=[0, 0, 2],
        capacity=[4, 4],
    )  # fmt: skip
    kept = live.with_parameters({"memory": "parameters+outputs"})
    assert (optimum(live), optimum(kept)) == (6, 11)


def test_default_of_models() -> None:
    """Models say how large their tensors are, and sheets do not."""
    (memory,) = (one for one in PROBLEM.parameters if one.name == "memory")
    assert memory.default == "auto"
    assert PlacementInstance.of(CHAIN.graph, "per-tensor", "none").graph.is_live


# Makespans with other times, against starts that are pushed until nothing is broken.
