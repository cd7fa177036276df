import dataclasses
import re
from typing import Any

import pytest
from graphs import ROUND_DEVICE, ROUND_LINK, small_graph

from boundmark.problems.devices import Cluster, Device, Link
from boundmark.problems.errors import InvalidInputError
from boundmark.problems.pipeline.costs import pipeline_graph, stage_hardware, with_costs

OTHER_DEVICE = dataclasses.replace(ROUND_DEVICE, name="other")


def pair(first: Device, second: Device, forth: float = 1e8, back: float = 1e8) -> Cluster:
    """Connect two devices."""
    links = {
        ("a", "b"): Link(forth, ROUND_LINK.latency, ""),
        ("b", "a"): Link(back, ROUND_LINK.latency, ""),
    }
    return Cluster.from_links("pair", {"a": first, "b": second}, links, "made up")


def test_costs_by_hand() -> None:
    """Work is the larger of the two roofs plus the overhead; the last tensor is never sent."""
    costs = with_costs(small_graph(), ROUND_DEVICE, ROUND_LINK)
    assert costs.work.tolist() == [5000 + 20, 800 + 20, 0]
    assert costs.transfer.tolist() == [4000 + 100, 4000 + 100, 0]
    assert costs.param_load.tolist() == [2000, 0, 0]
    assert costs.cache == 10_000
    assert costs.tick == "ns"


def test_devices_and_clusters_of_equal_devices_give_the_same_costs() -> None:
    """A cluster only says how the devices are connected."""
    alone = pipeline_graph(small_graph(), ROUND_DEVICE)
    connected = pipeline_graph(small_graph(), pair(ROUND_DEVICE, ROUND_DEVICE))
    assert alone.work.tolist() == connected.work.tolist()
    assert alone.transfer.tolist() == connected.transfer.tolist()


@pytest.mark.parametrize(
    ("hardware", "expected"),
    [
        (
            dataclasses.replace(ROUND_DEVICE, link=None),
            "device 'round' has no link to others of its kind; problem 'pipeline' needs one, "
            "[devices.round.link] in a file.",
        ),
        (
            pair(ROUND_DEVICE, OTHER_DEVICE),
            "cluster 'pair' has other, round; problem 'pipeline' needs devices of one kind.",
        ),
        (
            pair(ROUND_DEVICE, ROUND_DEVICE, back=2e8),
            "cluster 'pair' has 2 kinds of links; problem 'pipeline' needs one kind.",
        ),
        (
            Cluster.from_links("lonely", {"a": ROUND_DEVICE}, {}, ""),
            "cluster 'lonely' has no kinds of links; problem 'pipeline' needs one kind.",
        ),
    ],
)
def test_hardware_of_several_kinds_is_refused(hardware: Device | Cluster, expected: str) -> None:
    """All stages have the same device and the same link, so there must be one of each."""
    with pytest.raises(InvalidInputError, match=re.escape(expected)):
        stage_hardware(hardware)


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        (
            {"memory_bandwidth": 1e-9},
            "entry [0] of times in nanoseconds is 7e+20; expected an integer of 64 bits.",
        ),
        (
            {"link": dataclasses.replace(ROUND_LINK, bandwidth=1e-305)},
            "of times in nanoseconds is inf; expected an integer of 64 bits.",
        ),
        (
            {"memory_bytes": 2**62},
            "the costs add up to 1.8e+16 ticks; expected at most 2^53, so use a coarser tick.",
        ),
    ],
)
@pytest.mark.filterwarnings("ignore:overflow encountered")
def test_absurd_hardware_is_refused(changes: dict[str, Any], expected: str) -> None:
    """Costs that would not be exact end in a sentence."""
    with pytest.raises(InvalidInputError, match=re.escape(expected)):
        pipeline_graph(small_graph(), dataclasses.replace(ROUND_DEVICE, **changes))


def test_unknown_dtype_is_named() -> None:
    """A device without a rate for the model's type cannot be guessed at."""
    with pytest.raises(
        InvalidInputError, match="no peak rate for bfloat16; expected one of float32"
    ):
        pipeline_graph(small_graph("bfloat16"), ROUND_DEVICE)
