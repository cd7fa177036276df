import numpy as np
import pytest
from graphs import ROUND_DEVICE

from boundmark.problems.devices import Cluster, Link
from boundmark.problems.errors import InvalidInputError

DEVICES = {"a": ROUND_DEVICE, "b": ROUND_DEVICE, "c": ROUND_DEVICE}


def link(bandwidth: float, latency: float = 0.0) -> Link:
    """Return a link that nobody has measured."""
    return Link(bandwidth, latency, "made up")


def test_links_and_paths_by_hand() -> None:
    """Each direction keeps its own numbers, and a path has its narrowest link's bandwidth."""
    links = {
        ("a", "b"): link(8, 1),
        ("b", "a"): link(4, 2),
        ("b", "c"): link(2, 4),
        ("c", "b"): link(16, 8),
    }
    cluster = Cluster.from_links("chain", DEVICES, links, "made up")
    assert cluster.members == ("a", "b", "c")
    inf = np.inf
    assert cluster.bandwidth.tolist() == [[inf, 8, 2], [4, inf, 2], [4, 16, inf]]
    assert cluster.latency.tolist() == [[0, 1, 5], [2, 0, 4], [10, 8, 0]]
    assert [found.bandwidth for found in cluster.links] == [8, 2, 4, 2, 4, 16]
    with pytest.raises(ValueError, match="read-only"):
        cluster.bandwidth[0, 1] = 1


@pytest.mark.parametrize(
    ("links", "expected"),
    [
        ({}, "there is no path from 'a' to 'b'; expected links that connect all devices"),
        (
            {("a", "b"): link(1), ("b", "a"): link(1)},
            "there is no path from 'a' to 'c'; expected links that connect all devices",
        ),
        (
            {("a", "b"): link(1)},
            "there is a link from 'a' to 'b' and none back; expected both directions",
        ),
        ({("a", "d"): link(1)}, "a link names 'd'; expected one of a, b, c"),
        ({("a", "a"): link(1)}, "a link joins 'a' to itself; expected two different devices"),
    ],
)
def test_bad_links_are_named(links: dict[tuple[str, str], Link], expected: str) -> None:
    """The error names the devices at both ends."""
    with pytest.raises(InvalidInputError, match=expected):
        Cluster.from_links("bad", DEVICES, links, "made up")


def test_a_cluster_has_devices() -> None:
    """None at all is a mistake; a single one needs no links."""
    with pytest.raises(InvalidInputError, match="the cluster has no devices; expected at least"):
        Cluster.from_links("empty", {}, {}, "made up")
    assert Cluster.from_links("single", {"a": ROUND_DEVICE}, {}, "made up").links == []
