import dataclasses
from typing import Any

import pytest
from graphs import ROUND_DEVICE

from boundmark.problems.devices import Link
from boundmark.problems.errors import InvalidInputError

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
def test_bad_links_are_named(bandwidth: float, latency: float, expected: str) -> None:
    """A link moves something, and nothing arrives before it is sent."""
    with pytest.raises(InvalidInputError, match=expected):
        Link(bandwidth, latency, "made up")


def test_rates_are_read_only() -> None:
    """A device is the same wherever it is used."""
    with pytest.raises(TypeError):
        ROUND_DEVICE.peak_rate["int8"] = 1.0  # type: ignore[index]
    with pytest.raises(InvalidInputError, match="'round' has no peak rate for int8; expected one"):
        ROUND_DEVICE.rate("int8")
