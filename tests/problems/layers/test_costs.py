"""Costs of layers on devices and groups of them, computed by hand."""

from typing import Any

import pytest

from boundmark.problems.devices import Link
from boundmark.problems.errors import InvalidInputError
from boundmark.problems.layers import PROBLEM, LayerFacts, LayerModel, Operation, Workload
from boundmark.problems.layers.costs import chain_of
from boundmark.problems.layers.fleet import Fleet, read_fleet

TOKENS, WIDTH = 1000, 4000

# A dense layer of WIDTH x WIDTH in float16; its product is added up once over a group.
DENSE = Operation(2 * TOKENS * WIDTH**2, 2 * (WIDTH**2 + 2 * TOKENS * WIDTH))


class Dense(LayerModel):
    """Two equal layers, with all-reduces, or with measured times."""

    def __init__(self, reductions: int = 1, **seconds: float) -> None:
        reduced = float(reductions * TOKENS * WIDTH * 2)
        weights, named = 2 * WIDTH**2, {name.replace("_", "-"): x for name, x in seconds.items()}
        self.listed = tuple(
            LayerFacts(
                name, (DENSE,), weights, 0, 8000, seconds=named, reductions=reductions,
                reduced=reduced,
            )
            for name in "ab"
        )  # fmt: skip

    def layers(self, workload: Workload) -> tuple[LayerFacts, ...]:
        """Return the same layers for each workload."""
        return self.listed


def times(fleet: Fleet, model: LayerModel) -> list[int]:
    """Return the first layer's time on each type of devices."""
    return [int(row[0]) for row in chain_of(model, Workload(), fleet, 90).time]


def test_a_dense_layer_by_hand() -> None:
    """32 GFLOP take 102,564 ns at 312 TFLOPS, longer than 48 MB; then 5 us to launch."""
    assert times(read_fleet("A100"), Dense()) == [102_564 + 5_000]


@pytest.mark.parametrize(
    ("degree", "computing", "reducing"),
    [
        # Two devices send half of 8 MB twice, at 300 GB/s: 26,667 ns; four a quarter six times.
        (2, 51_282.05, 26_666.67),
        (4, 25_641.03, 40_000),
    ],
)
def test_groups_by_hand(degree: int, computing: float, reducing: float) -> None:
    """Arithmetic is split, launching is not, and all-reduces are added; memory adds up."""
    fleet = read_fleet("8xA100", tensor_parallel=degree)
    assert times(fleet, Dense()) == [round(computing + 5_000 + reducing)]
    assert times(fleet, Dense(3)) == [round(computing + 5_000 + 3 * reducing)]
    chain = chain_of(Dense(), Workload(), fleet, 90)
    assert chain.capacity.tolist() == [degree * (80 * 2**30 * 90 // 100)]
    assert chain.device_names[0] == f"nvidia-a100*{degree}#0"


def test_latency_of_all_reduces() -> None:
    """Each all-reduce takes 2 (t - 1) steps, and each step the latency of the link."""
    fleet = read_fleet("4xA100,4xA100", tensor_parallel=4)
    slow = Fleet(
        fleet.kinds, fleet.types, fleet.names, fleet.links, fleet.degrees,
        (Link(300e9, 1e-6, "made up"),),
    )  # fmt: skip
    assert times(slow, Dense(2))[0] - times(fleet, Dense(2))[0] == 2 * 6 * 1_000


def test_memory_traffic_is_split() -> None:
    """Where it takes longer than arithmetic: 48 MB at 4 times 24 GB/s of a made-up device."""
    fleet = read_fleet("4xraspberry-pi-5", tensor_parallel=4)
    moved = 48e6 / (4 * 17.07e9)
    computed = 32e9 / (4 * 307.2e9)
    reduced = 6 / 4 * 8e6 / 117.5e6
    expected = (max(moved, computed) + 5e-6 + reduced) * 1e9
    assert times(fleet, Dense()) == [round(expected)]


def test_groups_beside_single_devices() -> None:
    """Each type has its own time; single ones reduce nothing."""
    assert times(read_fleet("4xA100,A100"), Dense()) == [107_564]
    assert times(read_fleet("1x4xA100,A100"), Dense()) == [70_641, 107_564]


def test_measured_times_are_of_single_devices() -> None:
    """They are found by any name that a device has, and groups have none."""
    model = Dense(nvidia_a100=0.5)
    assert times(read_fleet("2xA100-80GB"), model) == [500_000_000]
    with pytest.raises(InvalidInputError, match="has no time on 'nvidia-a10'; it has times on"):
        times(read_fleet("A10"), model)
    with pytest.raises(
        InvalidInputError, match="layer 'a' has measured times, and 2 'nvidia-a100'"
    ):
        times(read_fleet("1x2xA100"), model)


def test_models_without_all_reduces_are_not_split() -> None:
    """Times of groups would leave out what these send to each other."""
    with pytest.raises(InvalidInputError, match="does not say what its layers send within a group"):
        times(read_fleet("1x2xA100"), Dense(0))


@pytest.mark.parametrize(
    ("dtype", "device", "used"),
    [("float16", "raspberry-pi-4", "float32"), ("bfloat16", "T4", "float16")],
)
def test_a_type_without_a_rate(dtype: str, device: str, used: str) -> None:
    """Devices compute in another type, with a note."""
    other, same = Dense(0), Dense(0)
    other.dtype, same.dtype = dtype, used
    given = {"devices": f"2x{device}"}
    made: list[Any] = [PROBLEM.maker(one)(given) for one in (other, same)]
    found, expected = made
    assert found.chain.time.tolist() == expected.chain.time.tolist()
    said = f"has no peak rate for {dtype}: it computes in {used}, the next type that it has"
    assert [said in note for note in found.notes if "peak rate" in note] == [True]
    assert not any("peak rate" in note for note in expected.notes)
