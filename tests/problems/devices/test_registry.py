import re
from pathlib import Path

import numpy as np
import pytest

from boundmark.problems.computation_graph import ARITHMETIC_DTYPES
from boundmark.problems.devices import (
    Cluster,
    Device,
    canonical_device_name,
    default_device,
    find_device,
    is_device_file,
    registry,
    shipped,
)
from boundmark.problems.devices.device_file import read_document
from boundmark.problems.devices.names import squeezed
from boundmark.problems.errors import InvalidInputError, UnknownNameError

DOCUMENTATION = Path(__file__).parents[3] / "docs" / "devices.md"

DEVICE = """
[devices.{name}]
source = "made up"
memory_gib = 1
memory_bandwidth_gb_per_s = 1
op_overhead_us = 1
peak_tera_ops_per_s = {{ float32 = 1 }}
"""


def test_default_device_has_its_old_numbers() -> None:
    """Published costs depend on each of these to the last bit."""
    device = default_device()
    assert device.peak_rate["float32"] == 8.1e12
    assert device.peak_rate["float16"] == 65e12
    assert device.peak_rate["int8"] == 130e12
    assert device.memory_bandwidth == 320e9
    assert device.memory_bytes == 16 * 2**30
    assert device.op_overhead == 5e-6
    assert device.link is not None
    assert (device.link.bandwidth, device.link.latency) == (12e9, 0.0)


def test_devices_cite_their_numbers() -> None:
    """Sources have a year, and say which numbers are not theirs."""
    for device in shipped().devices.values():
        assert re.search(r"\b20\d\d\b", device.source), device
        assert re.search(r"no datasheet number|Neither of these", device.source), device
        assert {"float32", "bfloat16"} & set(device.peak_rate), device
        assert set(device.peak_rate) <= set(ARITHMETIC_DTYPES), device
        assert device.link is None or device.link.source, device
        # Typing mistakes by a factor of a thousand would leave these ranges.
        assert 2e10 < max(device.peak_rate.values()) < 1e17, device
        assert 1e10 < device.memory_bandwidth < 1e13, device
        assert 2**32 <= device.memory_bytes < 2**40, device
        assert 1e-7 < device.op_overhead < 1e-4, device


def test_names_are_given_once() -> None:
    """No file hides what another one says, and no cluster a device."""
    folder = Path(registry.__file__).parent / "data"
    documents = [read_document(path) for path in folder.glob("*.toml")]
    names = [name for document in documents for table in document.values() for name in table]
    assert sorted(names) == sorted(shipped().all)


def test_clusters_of_moirai_are_those_of_the_paper() -> None:
    """Table III, in the paper's unit, from row to column; every pair was measured."""
    inter, intra = (shipped().clusters[f"moirai-{name}-server"] for name in ("inter", "intra"))
    assert [device.name for device in inter.devices] == [
        "nvidia-rtx-2080-ti",
        "nvidia-t4",
        "nvidia-p4",
        "nvidia-rtx-3060-ti",
    ]
    # Device C to device B and back, although a detour is wider than the link from A to C.
    assert inter.bandwidth[2, 1] == pytest.approx(35.31e9 / 8)
    assert inter.bandwidth[1, 2] == pytest.approx(35.32e9 / 8)
    assert inter.bandwidth[0, 2] == pytest.approx(32.92e9 / 8)
    assert [device.name for device in intra.devices] == ["nvidia-v100"] * 2 + ["nvidia-p100"] * 2
    assert intra.bandwidth[1, 0] == pytest.approx(1148.16e9 / 8)
    assert intra.bandwidth[3, 2] == pytest.approx(581.35e9 / 8)
    off_diagonal = ~np.eye(4, dtype=bool)
    assert inter.bandwidth[off_diagonal].sum() * 8e-9 == pytest.approx(463.72)
    assert intra.bandwidth[off_diagonal].sum() * 8e-9 == pytest.approx(8346.24)


def test_graphics_of_hsdag_talk_through_the_processor() -> None:
    """Between the two GPUs, the slower one of both links counts."""
    cluster = shipped().clusters["hsdag-server"]
    assert cluster.members == ("CPU", "GPU.0", "GPU.1")
    assert cluster.bandwidth[1, 2] == cluster.bandwidth[2, 1] == 24e9


def test_example_of_the_documentation_is_what_it_says(tmp_path: Path) -> None:
    """The file loads as printed, and its path through the host has the numbers stated below it."""
    path = tmp_path / "own.toml"
    path.write_text(DOCUMENTATION.read_text().split("```toml\n")[1].split("```")[0])
    cluster = find_device(str(path))
    assert isinstance(cluster, Cluster)
    assert cluster.members == ("left", "right", "host")
    assert cluster.bandwidth[0, 1] == 3.1e9
    assert cluster.latency[0, 1] == 16e-6


def test_names_lead_to_devices_and_clusters() -> None:
    """One name space for both, with near misses suggested."""
    assert find_device("nvidia-t4") is default_device()
    assert isinstance(find_device("hsdag-server"), Cluster)
    with pytest.raises(
        UnknownNameError, match="no device or cluster 'nvidia-t5'; did you mean nvidia-t4"
    ):
        find_device("nvidia-t5")


def test_files_lead_to_their_cluster_or_device(tmp_path: Path) -> None:
    """The only cluster counts, which may consist of shipped devices; else the only device."""
    path = tmp_path / "own.toml"
    path.write_text(DEVICE.format(name="mine"))
    found = find_device(str(path))
    assert isinstance(found, Device)
    assert found.name == "mine"
    path.write_text(
        DEVICE.format(name="mine")
        + """
        [clusters.both]
        source = "made up"
        devices = { x = "mine", y = "nvidia-t4" }
        bandwidth_gb_per_s = [["-", 1], [2, "-"]]
        latency_us = 0
        """
    )
    cluster = find_device(str(path))
    assert isinstance(cluster, Cluster)
    assert cluster.devices == (cluster.devices[0], default_device())


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("3090", "nvidia-rtx-3090"),
        ("3080", "nvidia-rtx-3080"),
        ("rtx4090", "nvidia-rtx-4090"),
        ("RTX 4090", "nvidia-rtx-4090"),
        ("GeForce RTX 5090", "nvidia-rtx-5090"),
        ("rtx-6000-ada", "nvidia-rtx-6000-ada"),
        ("A6000", "nvidia-rtx-a6000"),
        ("H200", "nvidia-h200"),
        ("h100_sxm5", "nvidia-h100"),
        ("B200", "nvidia-b200"),
        ("GB200", "nvidia-gb200"),
        ("L40S", "nvidia-l40s"),
        ("A100-80GB", "nvidia-a100"),
        ("A100 40GB", "nvidia-a100-40gb"),
        ("A100-SXM4-80GB", "nvidia-a100"),
        ("V100-16GB", "nvidia-v100-16gb"),
        ("MI300X", "amd-mi300x"),
        ("Instinct MI325X", "amd-mi325x"),
        ("M2-Ultra", "apple-m2-ultra"),
        ("m4max", "apple-m4-max"),
        ("M2-Ultra-64GB", "apple-m2-ultra-64gb"),
        ("jetson-orin", "nvidia-jetson-agx-orin"),
        ("TPU-v5e", "google-tpu-v5e"),
        ("v5p", "google-tpu-v5p"),
        ("Trillium", "google-tpu-v6e"),
        ("gaudi3", "intel-gaudi-3"),
    ],
)
def test_devices_are_found_as_people_write_them(text: str, name: str) -> None:
    """One lookup serves all that name a device; own names stay as they are."""
    found = find_device(text)
    assert isinstance(found, Device)
    assert found.name == canonical_device_name(text) == name
    assert canonical_device_name("my-npu") == "my-npu"


def test_no_spelling_means_two_devices() -> None:
    """Names and aliases all differ, also from those of clusters."""
    devices = shipped().devices.values()
    names = [squeezed(name) for one in devices for name in (one.name, *one.aliases)]
    names += map(squeezed, shipped().clusters)
    assert len(set(names)) == len(names)
    for device in devices:
        for name in (device.name, *device.aliases):
            assert find_device(name.upper()) is device


@pytest.mark.parametrize(("text", "near"), [("H2000", "h200"), ("rtx-4091", "4090")])
def test_unknown_names_suggest_near_ones(text: str, near: str) -> None:
    """Short names are among the suggestions."""
    with pytest.raises(UnknownNameError, match=f"no device or cluster '.*'; did you mean .*{near}"):
        find_device(text)


def test_the_maker_is_left_out_where_one_device_is_meant(tmp_path: Path) -> None:
    """Of two makers' devices of one name, none is meant without the maker."""
    path = tmp_path / "own.toml"
    path.write_text(DEVICE.format(name="amd-x") + DEVICE.format(name="intel-x"))
    assert find_device(f"{path}:AMD-X").name == "amd-x"
    with pytest.raises(
        UnknownNameError, match="no device or cluster 'x'; known are amd-x, intel-x"
    ):
        find_device(f"{path}:x")


def test_own_devices_may_have_aliases(tmp_path: Path) -> None:
    """They are found by these, in clusters too; a device of ours keeps its own."""
    path = tmp_path / "own.toml"
    path.write_text(
        DEVICE.format(name="mine")
        + """
        aliases = ["my-npu"]

        [clusters.both]
        source = "made up"
        devices = { x = "My NPU", y = "T4" }
        bandwidth_gb_per_s = [["-", 1], [2, "-"]]
        latency_us = 0
        """
    )
    cluster = find_device(f"{path}:both")
    assert isinstance(cluster, Cluster)
    assert [device.name for device in cluster.devices] == ["mine", "nvidia-t4"]
    assert find_device(f"{path}:my-npu").name == "mine"
    assert find_device("own.toml:mine", tmp_path).name == "mine"
    assert is_device_file("own.toml:mine")


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (DEVICE.format(name="H100"), "'H100' comes with boundmark; expected another name"),
        (
            DEVICE.format(name="one") + 'aliases = ["rtx4090"]',
            "'rtx4090' comes with boundmark; expected another name",
        ),
        (
            DEVICE.format(name="one")
            + 'aliases = ["x"]'
            + DEVICE.format(name="two")
            + 'aliases = ["x"]',
            "'one' and 'two' are both called 'x'; expected an alias of one device",
        ),
        (DEVICE.format(name="one") + "aliases = 3", "aliases is 3; expected a list of names"),
        (DEVICE.format(name="one") + 'aliases = ["a b"]', "expected a list of names without spac"),
        (DEVICE.format(name="one") + "is_computer = 1", "is_computer is 1; expected true or fal"),
        (DEVICE.format(name="nvidia-t4"), "'nvidia-t4' comes with boundmark; expected another na"),
        (
            DEVICE.format(name="one") + DEVICE.format(name="two"),
            "own.toml has one, two; expected one cluster, or else one device, in a file, or a name",
        ),
        (
            DEVICE.format(name="one")
            + '[clusters.one]\nsource = "-"\ndevices = {a = "one"}\nlinks = []',
            "own.toml: 'one' names a device and a cluster; expected a name for each",
        ),
        ("[devices]", "own.toml: there is nothing in it; expected devices or clusters"),
        ("", "own.toml is empty; expected devices or clusters"),
    ],
)
def test_ambiguous_files_are_refused(tmp_path: Path, content: str, expected: str) -> None:
    """A name in a table of results means one thing."""
    path = tmp_path / "own.toml"
    path.write_text(content)
    with pytest.raises(InvalidInputError, match=expected):
        find_device(str(path))


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("4070ti", "nvidia-rtx-4070-ti"),
        ("rtx 4070 ti", "nvidia-rtx-4070-ti"),
        ("4070-ti", "nvidia-rtx-4070-ti"),
        ("NVIDIA GeForce RTX 3060", "nvidia-rtx-3060"),
        ("NVIDIA A100-SXM4-80GB", "nvidia-a100"),
        ("NVIDIA H100 80GB HBM3", "nvidia-h100"),
        ("A16 (one of its four GPUs)", "nvidia-a16"),
        ("Tesla V100-SXM2-16GB", "nvidia-v100-16gb"),
        ("Ryzen AI Max+ 395", "amd-ryzen-ai-max-395"),
        ("Strix Halo", "amd-ryzen-ai-max-395"),
        ("m3 max", "apple-m3-max"),
        ("EPYC Genoa", "host-12-channel-ddr5-4800"),
        ("trn2", "aws-trainium-2"),
    ],
)
def test_names_as_shops_and_tools_write_them(text: str, name: str) -> None:
    """Brackets do not count, nor do capitals or what separates words."""
    assert find_device(text).name == name


def test_memory_that_is_left() -> None:
    """It is part of the name, and replaces the device's own."""
    device = find_device("3090:9GiB")
    assert (device.name, device.model) == ("nvidia-rtx-3090:9GiB", "nvidia-rtx-3090")
    assert find_device("cpu:64GiB").model == "host-2-channel-ddr5-5600"
    assert (device.memory_bytes, device.memory_is_left) == (9 * 2**30, True)
    assert find_device("L4:9000 MiB").memory_bytes == 9000 * 2**20
    assert find_device("3090").memory_is_left is False
    # How much a computer has is an assumption.
    assert find_device("cpu:192GiB").memory_bytes == 192 * 2**30


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("3090:48GiB", "more memory is left than 'nvidia-rtx-3090' has, 24 GiB"),
        ("3090:0GiB", "has no memory left"),
        ("dgx-a100:9GiB", "what is left of a cluster's memory"),
    ],
)
def test_memory_that_cannot_be_left(text: str, expected: str) -> None:
    """A device has no more memory than it has, and a cluster's is not one device's."""
    with pytest.raises(InvalidInputError, match=expected):
        find_device(text)
