"""Devices in a line, and clusters."""

from pathlib import Path

import numpy as np
import pytest

from boundmark.problems.devices import Cluster, Link, shipped
from boundmark.problems.errors import InvalidInputError, UnknownNameError
from boundmark.problems.layers.fleet import of_cluster, read_fleet, read_hosts


def test_kinds_counts_and_links() -> None:
    """Devices stand as they are written; kinds are joined by the slower link, or the one given."""
    fleet = read_fleet("2xA100-80GB,1xA10,A100")
    assert [device.name for device in fleet.kinds] == ["nvidia-a100", "nvidia-a10"]
    assert fleet.types == (0, 0, 1, 0)
    assert fleet.links[0, 1].bandwidth == fleet.links[1, 0].bandwidth == 24e9
    assert fleet.links[0, 0].bandwidth == 300e9
    assert (1, 1) not in fleet.links
    assert read_fleet("A100,2xA10@1.25").links[0, 1].bandwidth == 1.25e9


def test_hosts() -> None:
    """Each with equal devices; between them, the rate that is given."""
    one = read_hosts("4xA10")
    assert (one.hosts, one.between, one.devices) == (((0, 4),), None, 4)
    hosts = read_hosts("A10,2x8xH100@50")
    assert hosts.hosts == ((0, 1), (1, 8), (1, 8))
    assert hosts.between is not None
    assert hosts.between.bandwidth == 50e9
    assert [link.bandwidth for link in hosts.inside] == [24e9, 450e9]
    assert hosts.words() == "1 host of 1 nvidia-a10 and 2 hosts of 8 nvidia-h100"


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
        (
            "A100@fast",
            "devices are 'A100@fast', with 'fast' behind '@'; expected GB/s",
        ),
        ("A100@-1", "expected"),
        ("H100,A100@1e-300", "devices are 'H100,A100@1e-300', with '1e-300' behind '@'; expected"),
        ("2x0xA100", "devices have '2x0xA100'; expected"),
        ("A10,,A10", "devices have ''; expected"),
        ("1025xA100", "there are 1025 devices; expected at most 1024"),
        ("999999999999999999x999999999999999999xA100", "expected at most 1024"),
        ("1000xA100,25xA10", "there are 1025 devices; expected at most 1024"),
        ("2xdgx-a100", "devices have '2xdgx-a100', a cluster; expected it alone, or devices"),
        ("A10,dgx-a100", "devices have 'dgx-a100', a cluster; expected it alone, or devices"),
        ("dgx-a100@3", "devices are 'dgx-a100@3'; expected no '@' for a cluster"),
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


@pytest.mark.parametrize(
    ("text", "counts"),
    [
        ("7x3090,1x3080", {"nvidia-rtx-3090": 7, "nvidia-rtx-3080": 1}),
        ("3x4090", {"nvidia-rtx-4090": 3}),
        ("4090", {"nvidia-rtx-4090": 1}),
        ("2xH200", {"nvidia-h200": 2}),
        ("2xrtx4090, RTX 5090", {"nvidia-rtx-4090": 2, "nvidia-rtx-5090": 1}),
        ("MI300X,2XM2-Ultra", {"amd-mi300x": 1, "apple-m2-ultra": 2}),
        ("jetson-orin,nvidia-rtx-3090", {"nvidia-jetson-agx-orin": 1, "nvidia-rtx-3090": 1}),
    ],
)
def test_names_that_people_type(text: str, counts: dict[str, int]) -> None:
    """Numbers of devices and names that begin with digits are told apart by the x."""
    fleet = read_fleet(text)
    names = [name.partition("#")[0] for name in fleet.names]
    assert {name: names.count(name) for name in names} == counts


OWN = """
[devices.my-npu]
source = "made up"
memory_gib = 1
memory_bandwidth_gb_per_s = 1
op_overhead_us = 1
peak_tera_ops_per_s = { float32 = 1 }
"""


def test_own_devices_beside_others(tmp_path: Path) -> None:
    """By file, or file and name; a default link comes with a note, once."""
    folder = tmp_path / "a@b"
    folder.mkdir()
    path = folder / "mine.toml"
    path.write_text(OWN)
    for named in (str(path), f"{path}:my-npu", f"{path}:MY_NPU"):
        fleet = read_fleet(f"2x{named},2xL4,{path}")
        assert fleet.names == (
            "my-npu#0", "my-npu#1", "nvidia-l4#0", "nvidia-l4#1", "my-npu#2",
        )  # fmt: skip
        assert fleet.links[0, 0].bandwidth == fleet.links[0, 1].bandwidth == 24e9
        assert fleet.notes == (
            "device 'my-npu' has no usual link; PCIe Gen4 x16, 24 GB/s, is taken",
        )
    assert read_fleet(f"{path},L4@3").notes == ()
    assert read_fleet(f"{path},L4@3").links[0, 1].bandwidth == 3e9
    assert read_fleet(str(path)).names == ("my-npu#0",)
    other = tmp_path / "other.toml"
    other.write_text(OWN.replace("= 1", "= 2"))
    with pytest.raises(InvalidInputError, match="two different devices are called 'my-npu'"):
        read_fleet(f"{path},{other}")
    with pytest.raises(UnknownNameError, match="did you mean my-npu"):
        read_fleet(f"2x{path}:my-np")


def test_default_links() -> None:
    """A processor and a card are in one computer; two processors are two computers."""
    fleet = read_fleet("2xintel-i9-12900k,A100")
    assert fleet.links[0, 0].bandwidth == 9.4e9 / 8
    assert fleet.links[0, 1].bandwidth == 24e9
    assert fleet.notes == (
        "device 'intel-i9-12900k' has no usual link; 10 Gigabit Ethernet, 1.175 GB/s, is taken",
        "device 'intel-i9-12900k' has no usual link; PCIe Gen4 x16, 24 GB/s, is taken",
    )
    assert read_fleet("i9-12900k").notes == ()
    assert read_fleet("2xA100,A10").notes == ()


def test_groups_for_tensor_parallelism() -> None:
    """Groups are types of their own, and joined like their members."""
    fleet = read_fleet("2x4xH100,2xA100,H100@5")
    assert fleet.names == (
        "nvidia-h100*4#0", "nvidia-h100*4#1", "nvidia-a100#0", "nvidia-a100#1", "nvidia-h100#0",
    )  # fmt: skip
    assert fleet.types == (0, 0, 1, 1, 2)
    assert fleet.degrees == (4, 1, 1)
    assert [link and link.bandwidth for link in fleet.inner] == [450e9, None, None]
    assert fleet.links[0, 2].bandwidth == fleet.links[0, 0].bandwidth == 450e9
    assert fleet.links[0, 1].bandwidth == 5e9
    assert fleet.kinds[0] is fleet.kinds[2]
    same = read_fleet("8xH100,4xA100", tensor_parallel=4)
    assert same.names == ("nvidia-h100*4#0", "nvidia-h100*4#1", "nvidia-a100*4#0")
    assert same.degrees == (4, 4)


def test_groups_of_a_cluster() -> None:
    """Members in a row, if they are equal and equally joined."""
    fleet = read_fleet("dgx-a100", tensor_parallel=4)
    assert fleet.names == ("gpu0..gpu3", "gpu4..gpu7")
    assert (fleet.types, fleet.degrees) == ((0, 0), (4,))
    assert fleet.inner[0] is not None
    assert fleet.inner[0].bandwidth == fleet.links[0, 0].bandwidth == 300e9
    one = read_fleet("dgx-a100", tensor_parallel=8)
    assert (one.names, one.links) == (("gpu0..gpu7",), {})


@pytest.mark.parametrize(
    ("text", "degree", "expected"),
    [
        ("6xA100", 4, "'6xA100', and tensor_parallel is 4; expected a multiple of 4 devices"),
        ("4xA100,A10", 4, "devices have 'A10', and tensor_parallel is 4; expected a multiple of"),
        ("2x2xA100", 2, "'2x2xA100', which are groups, and tensor_parallel is 2; expected one of"),
        ("dgx-a100", 3, "has 8 devices, and tensor_parallel is 3; expected a divisor of 8"),
        ("hsdag-two-devices", 2, "'CPU' to 'GPU.1' differ, or their links do; expected equal"),
        ("raspberry-pi-mixed-gigabit", 2, "'pi1' to 'pi2' differ, or their links do"),
        ("moirai-intra-server", 2, "'A' to 'B' differ, or their links do; expected equal"),
    ],
)
def test_what_makes_no_groups(text: str, degree: int, expected: str) -> None:
    """A sentence says what does not fit."""
    with pytest.raises(InvalidInputError, match=expected):
        read_fleet(text, tensor_parallel=degree)
