"""Assignments in the order of the devices: they cost the same, by enumeration."""

import random

import pytest
from brute_force_layers import assignments, cost, drawn

from boundmark.problems.layers import LayerAssignment, LayersInstance, Stage
from boundmark.problems.layers.arranging import in_order


def optima(sample: LayersInstance) -> tuple[int | None, list[LayerAssignment]]:
    """Return the optimum and all assignments that have it."""
    found: dict[int, list[LayerAssignment]] = {}
    for ends, used in assignments(sample):
        value = cost(sample, ends, used)
        if value is not None:
            stages = (Stage(d, a, b) for d, a, b in zip(used, [0, *ends], ends, strict=False))
            found.setdefault(value, []).append(LayerAssignment.of_stages(stages))
    return (min(found), found[min(found)]) if found else (None, [])


def used(solution: LayerAssignment) -> list[int]:
    """Return the devices of the stages."""
    return [stage.device for stage in solution.stages]


@pytest.mark.parametrize("order", ["free", "given"])
@pytest.mark.parametrize("goal", ["bottleneck", "latency", "makespan"])
def test_the_optimum_stays_one_and_is_in_order(goal: str, order: str) -> None:
    """If any optimum is on all devices in their order, all optima become the same such one."""
    in_turn = 0
    for seed in range(120):
        sample = drawn(random.Random(seed), goal, order, 6)
        if sample is None:
            continue
        best, known = optima(sample)
        every = list(range(len(sample.chain.devices)))
        found = [in_order(sample, one) for one in known]
        assert all(sample.objective(one) == best for one in found)
        for before, after in zip(known, found, strict=True):
            assert len(used(after)) >= len(used(before))
            again = in_order(sample, after)
            assert again.devices.tolist() == after.devices.tolist()
        if goal == "bottleneck" and any(used(one) == every for one in known):
            assert {tuple(one.devices.tolist()) for one in found} == {
                tuple(found[0].devices.tolist())
            }
            assert used(found[0]) == every
            in_turn += 1
    assert in_turn > 10 or goal != "bottleneck"


def test_equal_devices_are_used_from_the_first_on() -> None:
    """In the order of the pipeline, and fewer of them if that is asked for."""
    seen = 0
    for seed in range(120):
        sample = drawn(random.Random(seed), "bottleneck", "free", 6)
        _, known = optima(sample) if sample else (None, [])
        for one in known:
            found = in_order(sample, one, use_fewer=True)
            assert len(used(found)) == len(used(one))
            for kind in set(sample.chain.devices):
                own = [at for at, other in enumerate(sample.chain.devices) if other == kind]
                mine = [device for device in used(found) if device in own]
                assert mine == own[: len(mine)]
                seen += len(mine) < len(own)
    assert seen > 100
