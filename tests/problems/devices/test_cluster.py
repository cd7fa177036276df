import dataclasses
from typing import Any

import numpy as np
import pytest
from graphs import ROUND_DEVICE

from boundmark.problems.devices import Cluster, Link, substitutes
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


def test_rates_are_read_only() -> None:
    """A device is the same wherever it is used."""
    with pytest.raises(TypeError):
        ROUND_DEVICE.peak_rate["int8"] = 1.0  # type: ignore[index]
    with pytest.raises(InvalidInputError, match="'round' has no peak rate for int64; expected one"):
        ROUND_DEVICE.rate("int64")


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
