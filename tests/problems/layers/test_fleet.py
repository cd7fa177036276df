"""Devices in a line, and clusters."""

import numpy as np
import pytest

from boundmark.problems.devices import Cluster, Link, shipped
from boundmark.problems.errors import InvalidInputError, UnknownNameError
from boundmark.problems.layers.fleet import of_cluster, read_fleet


def test_kinds_counts_and_links() -> None:
    """Devices stand as they are written; kinds are joined by the slower link, or the one given."""
    fleet = read_fleet("2xA100-80GB,1xA10,A100")
    assert [device.name for device in fleet.kinds] == ["nvidia-a100", "nvidia-a10"]
    assert fleet.types == (0, 0, 1, 0)
    assert fleet.links[0, 1].bandwidth == fleet.links[1, 0].bandwidth == 24e9
    assert fleet.links[0, 0].bandwidth == 300e9
    assert (1, 1) not in fleet.links
    assert read_fleet("A100,2xA10@1.25").links[0, 1].bandwidth == 1.25e9


def test_memory_in_a_name() -> None:
    """One that comes with boundmark, or the same device with other memory."""
    small, odd = (read_fleet(name).kinds[0] for name in ("A100-40GB", "V100-16GB"))
    assert (small.name, small.memory_bandwidth) == ("nvidia-a100-40gb", 1555e9)
    assert (odd.name, odd.memory_bytes) == ("nvidia-v100-16gb", 16 * 2**30)


def test_twins_of_a_cluster_are_one_type() -> None:
    """All eight of a DGX; with a slower link between two halves, two types."""
    assert read_fleet("dgx-a100").types == (0,) * 8
    device = shipped().devices["nvidia-a10"]
    halves = Cluster.from_links(
        "halves",
        dict.fromkeys("abcd", device),
        {
            (x, y): Link(10.0 if (x in "ab") == (y in "ab") else 1.0, 0.0, "made up")
            for x in "abcd" for y in "abcd" if x != y
        },
        "made up",
    )  # fmt: skip
    fleet = of_cluster(halves)
    assert fleet.types == (0, 0, 1, 1)
    assert fleet.links[0, 0].bandwidth == 10.0
    assert fleet.links[0, 1].bandwidth == 1.0
    assert np.isfinite([link.bandwidth for link in fleet.links.values()]).all()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "devices are not given; expected devices such as '2xA100"),
        ("0xA100", "devices have '0xA100'; expected"),
        ("A100;A10", "devices have 'A100;A10'; expected"),
        ("A100@fast", "devices are 'A100@fast'; expected"),
        ("A100@-1", "expected"),
        ("intel-i9-12900k,A100", "'intel-i9-12900k' has no usual link; expected '@'"),
    ],
)
def test_what_is_no_list_of_devices(text: str, expected: str) -> None:
    """A sentence says what was expected."""
    with pytest.raises(InvalidInputError, match=expected):
        read_fleet(text)


def test_unknown_devices() -> None:
    """With what might have been meant."""
    with pytest.raises(UnknownNameError, match="nvidia-a100"):
        read_fleet("2xnvidia-a1000")
