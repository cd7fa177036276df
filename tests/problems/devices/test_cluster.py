import dataclasses
import itertools
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from graphs import ROUND_DEVICE
from hypothesis import given
from hypothesis import strategies as st

from boundmark.problems.devices import Cluster, Link, substitutes
from boundmark.problems.devices.cluster import close_to_full_mesh
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


NAN = float("nan")


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"peak_rate": {}}, "device 'round' has no peak rate; expected one for at least one dty"),
        ({"peak_rate": {"int8": 0.0}}, "peak rate for int8 is 0; expected a positive number"),
        ({"memory_bandwidth": NAN}, "memory_bandwidth is nan; expected a positive number"),
        ({"memory_bytes": -1}, "memory_bytes is -1; expected a positive number"),
        ({"op_overhead": -1e-6}, "op_overhead is -1e-06; expected zero or a positive number"),
    ],
)
def test_bad_devices_are_named(changes: dict[str, Any], expected: str) -> None:
    """The error names the field and what it may be."""
    with pytest.raises(InvalidInputError, match=expected):
        dataclasses.replace(ROUND_DEVICE, **changes)


@pytest.mark.parametrize(
    ("bandwidth", "latency", "expected"),
    [
        (0.0, 0.0, "bandwidth is 0; expected a positive number"),
        (-1.0, 0.0, "bandwidth is -1; expected a positive number"),
        (NAN, 0.0, "bandwidth is nan; expected a positive number"),
        (float("inf"), 0.0, "bandwidth is inf; expected a positive number"),
        (1.0, -1.0, "latency is -1; expected zero or a positive number"),
        (1.0, NAN, "latency is nan; expected zero or a positive number"),
    ],
)
def test_links_without_bandwidth_are_named(bandwidth: float, latency: float, expected: str) -> None:
    """A link moves something, and nothing arrives before it is sent."""
    with pytest.raises(InvalidInputError, match=expected):
        Link(bandwidth, latency, "made up")


@pytest.mark.parametrize(
    ("rates", "dtype", "used"),
    [
        ({"float64": 1.0, "float32": 2.0, "float16": 3.0}, "float32", "float32"),
        ({"float64": 1.0, "float32": 2.0}, "float16", "float32"),
        ({"float64": 1.0, "float16": 3.0}, "float32", "float64"),
        ({"float32": 2.0, "float16": 3.0}, "bfloat16", "float16"),
        ({"float16": 3.0}, "float32", None),
    ],
)
def test_a_type_without_a_rate(rates: dict[str, float], dtype: str, used: str | None) -> None:
    """A narrower type's rate is no substitute; of the wider ones, the first counts, with a note."""
    device = dataclasses.replace(ROUND_DEVICE, peak_rate=rates)
    if used is None:
        assert substitutes(device, dtype) == ()
        with pytest.raises(InvalidInputError, match=f"no peak rate for {dtype}; expected one of"):
            device.rate(dtype)
        return
    assert device.rate(dtype) == rates[used]
    said = f"device round has no peak rate for {dtype}: it computes in {used}, the next type that"
    assert [note.startswith(said) for note in substitutes(device, dtype)] == [True] * (
        used != dtype
    )
    assert substitutes(dataclasses.replace(device, measured={"a": 1.0}), dtype) == ()


Links = dict[tuple[int, int], tuple[int, int]]


def simple_paths(links: Links, tail: int, head: int, size: int) -> list[list[tuple[int, int]]]:
    """Return all simple paths between two devices, each as the pairs that it runs through."""
    others = [device for device in range(size) if device not in (tail, head)]
    paths = []
    for hops in range(len(others) + 1):
        for between in itertools.permutations(others, hops):
            path = list(itertools.pairwise((tail, *between, head)))
            if all(pair in links for pair in path):
                paths.append(path)
    return paths


def best_path(links: Links, tail: int, head: int, size: int) -> tuple[int, int] | None:
    """Return the bandwidth and latency of the widest path, the quickest one of these."""
    if (tail, head) in links:
        return links[tail, head]
    offers = [
        (min(links[pair][0] for pair in path), -sum(links[pair][1] for pair in path))
        for path in simple_paths(links, tail, head, size)
    ]
    return (max(offers)[0], -max(offers)[1]) if offers else None


@st.composite
def networks(draw: st.DrawFn) -> tuple[int, Links]:
    """Draw up to six devices and links that differ by direction; few values, so that paths tie."""
    size = draw(st.integers(1, 6))
    pairs = list(itertools.permutations(range(size), 2))
    linked = draw(st.lists(st.sampled_from(pairs), unique=True)) if pairs else []
    values = st.tuples(st.integers(1, 4), st.integers(0, 3))
    return size, {pair: draw(values) for pair in linked}


def matrices(size: int, links: Links) -> tuple[np.ndarray, np.ndarray]:
    """Return the links as matrices."""
    bandwidth, latency = np.zeros((size, size)), np.zeros((size, size))
    for pair, (width, delay) in links.items():
        bandwidth[pair], latency[pair] = width, delay
    return bandwidth, latency


@given(networks())
def test_pairs_without_link_take_the_best_of_all_simple_paths(network: tuple[int, Links]) -> None:
    """Widest first, least latency among those; links stay, and missing paths are an error."""
    size, links = network
    names = [f"d{device}" for device in range(size)]
    expected = {
        pair: best_path(links, *pair, size) for pair in itertools.permutations(range(size), 2)
    }
    if None in expected.values():
        tail, head = next(pair for pair in sorted(expected) if expected[pair] is None)
        with pytest.raises(InvalidInputError, match=f"no path from 'd{tail}' to 'd{head}'"):
            close_to_full_mesh(*matrices(size, links), names)
        return
    bandwidth, latency = close_to_full_mesh(*matrices(size, links), names)
    for pair, best in expected.items():
        assert (bandwidth[pair], latency[pair]) == best
    assert np.diag(bandwidth).tolist() == [np.inf] * size
    assert np.diag(latency).tolist() == [0.0] * size


def test_the_papers_example() -> None:
    """Links of 10 MB/s and 5 MB/s in a row take 20 s for 100 MB ([MOIRAI24], III-C)."""
    links = {(0, 1): (10, 0), (1, 0): (10, 0), (1, 2): (5, 0), (2, 1): (5, 0)}
    bandwidth, _ = close_to_full_mesh(*matrices(3, links), "ABD")
    assert Fraction(100) / Fraction(bandwidth[0, 2]) == 20
