import re
from pathlib import Path

import pytest

from boundmark.problems.devices.device_file import read_clusters, read_devices, read_document
from boundmark.problems.devices.registry import load_device_file
from boundmark.problems.errors import InvalidInputError

EXAMPLE = """
[devices.gpu]
source = "made up"
memory_gib = 2
memory_bandwidth_mb_per_s = 0.3
op_overhead_us = 5

[devices.gpu.peak_giga_ops_per_s]
float32 = 8.1
float8 = 16

[devices.gpu.link]
source = "made up, too"
bandwidth_gbit_per_s = 44.26
latency_ms = 0.7

[clusters.box]
source = '''
  Measured
  by nobody.
'''
devices = { left = "gpu", right = "gpu", far = "gpu" }

[[clusters.box.links]]
from = "left"
to = "right"
symmetric = true
bandwidth_gb_per_s = 3
latency_ns = 20

[[clusters.box.links]]
from = "right"
to = "far"
bandwidth_mbit_per_s = 8
latency_ns = 0

[[clusters.box.links]]
from = "far"
to = "right"
bandwidth_mbit_per_s = 16
latency_ns = 0

[clusters.pair]
source = "made up"
devices = { left = "gpu", right = "gpu" }
bandwidth_gb_per_s = [["-", 2], [1.5, "-"]]
latency_us = 3
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Return where a test puts its file."""
    return tmp_path / "own.toml"


def test_example_is_read(path: Path) -> None:
    """Units are those in the keys, and each number is rounded once."""
    path.write_text(EXAMPLE)
    document = read_document(path)
    devices = read_devices(document)
    gpu = devices["gpu"]
    assert gpu.peak_rate == {"float32": 8.1e9, "float8": 16e9}
    assert gpu.memory_bandwidth == 0.3e6
    assert gpu.memory_bytes == 2 * 2**30
    assert gpu.op_overhead == 5e-6
    assert gpu.link is not None
    assert gpu.link.bandwidth == 44.26e9 / 8
    assert gpu.link.latency == 0.7e-3
    assert gpu.link.source == "made up, too"
    clusters = read_clusters(document, devices)
    box = clusters["box"]
    assert box.source == "Measured by nobody."
    assert box.members == ("left", "right", "far")
    assert box.bandwidth[0, 1] == box.bandwidth[1, 0] == 3e9
    assert (box.bandwidth[0, 2], box.bandwidth[2, 0]) == (1e6, 2e6)
    assert box.latency[0, 2] == 20e-9
    pair = clusters["pair"]
    assert (pair.bandwidth[0, 1], pair.bandwidth[1, 0]) == (2e9, 1.5e9)
    assert (pair.latency[0, 1], pair.latency[1, 0]) == (3e-6, 3e-6)


def test_a_byte_order_mark_is_no_mistake(path: Path) -> None:
    """Editors on Windows write one."""
    path.write_text(EXAMPLE, "utf-8-sig")
    assert read_devices(read_document(path))


def replaced(old: str, new: str) -> str:
    """Return the example with one thing changed."""
    assert EXAMPLE.count(old) >= 1
    return EXAMPLE.replace(old, new, 1)


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("[devices", "expected TOML; "),
        ("[device.gpu]", "device is unknown; expected devices."),
        ("devices = 3", "devices: found 3; expected a table."),
        ("[devices]\ngpu = 3", "devices.gpu: found 3; expected a table."),
        (EXAMPLE + "[devices.gpu]", "expected TOML; Cannot declare"),
        (
            replaced("memory_gib = 2", ""),
            "devices.gpu: memory is missing; "
            "expected memory_gib or memory_mib or memory_gb or memory_mb.",
        ),
        (replaced("memory_gib", "memory"), "devices.gpu: memory has no unit; expected memory_gib"),
        (
            replaced("memory_gib = 2", "memory_gib = 2\nmemory_gb = 2"),
            "devices.gpu: memory_gib and memory_gb are both given; expected one of them, with",
        ),
        (
            replaced("memory_gib = 2", "memory_gib = 2\nmemory = 2"),
            "devices.gpu: memory and memory_gib are both given; expected one of them, with",
        ),
        (
            replaced("memory_gib = 2", "memory_gib = 0.3"),
            "devices.gpu: memory_gib is 322122547.2 bytes; expected a whole number of them.",
        ),
        (
            replaced("memory_bandwidth_mb", "memory_bandwith_mb"),
            "devices.gpu: memory_bandwith_mb_per_s is unknown; expected memory_bandwidth_mb_per_s",
        ),
        (
            replaced("= 0.3", "= 0"),
            "devices.gpu: memory_bandwidth_mb_per_s is 0; expected a positive number.",
        ),
        (
            replaced("= 0.3", "= -0.3"),
            "devices.gpu: memory_bandwidth_mb_per_s is -0.3; expected a positive number.",
        ),
        (
            replaced("= 0.3", "= nan"),
            "devices.gpu: memory_bandwidth_mb_per_s is nan; expected a positive number.",
        ),
        (
            replaced("= 0.3", "= inf"),
            "devices.gpu: memory_bandwidth_mb_per_s is inf; expected a positive number.",
        ),
        (
            replaced("= 0.3", "= 1e400"),
            "devices.gpu: memory_bandwidth_mb_per_s is 1E+400; expected at most 300 digits on ",
        ),
        (
            replaced("= 0.3", "= 1e-99999999"),
            "devices.gpu: memory_bandwidth_mb_per_s is 1E-99999999; expected at most 300 digits",
        ),
        (
            replaced("= 0.3", "= 1e999999999999999999999"),
            "devices.gpu: memory_bandwidth_mb_per_s is '1e999999999999999999999'; expected a ",
        ),
        (
            replaced("= 0.3", f"= {10**400}"),
            f"devices.gpu: memory_bandwidth_mb_per_s is 1{'0' * 52}...{'0' * 23}; expected at most",
        ),
        (
            replaced("= 0.3", "= " + "9" * 5000),
            "expected TOML; memory_bandwidth_mb_per_s has a number of more than 4,300 digits",
        ),
        ("a = " + "[" * 50_000, "the TOML is nested too deeply to be read."),
        ("a." * 200_000 + "a = 1", "the TOML is nested too deeply to be read."),
        (
            "".join(f"a.b{at} = 1\n" for at in range(200_000)),
            "cannot be read: it has more than 1 MiB.",
        ),
        (
            replaced("= 0.3", '= "fast"'),
            "devices.gpu: memory_bandwidth_mb_per_s is 'fast'; expected a number.",
        ),
        (
            replaced("= 0.3", "= true"),
            "devices.gpu: memory_bandwidth_mb_per_s is True; expected a number.",
        ),
        (
            replaced("overhead_us = 5", "overhead_us = -5"),
            "devices.gpu: op_overhead_us is -5; expected zero or a positive number.",
        ),
        (
            replaced('source = "made up"', ""),
            "devices.gpu: source is missing; expected where the numbers come from.",
        ),
        (
            replaced('source = "made up"', 'source = " "'),
            "devices.gpu: source is ' '; expected where the numbers come from.",
        ),
        (
            replaced("peak_giga_ops_per_s", "peak"),
            "devices.gpu: peak has no unit; expected peak_tera_ops_per_s or peak_giga_ops_per_s.",
        ),
        (
            replaced("float32 = 8.1\nfloat8 = 16", ""),
            "device 'gpu' has no peak rate; expected one for at least one dtype.",
        ),
        (
            replaced("float8 =", "float9 ="),
            "devices.gpu: peak_giga_ops_per_s: float9 is unknown; expected float8 or float6.",
        ),
        (
            replaced("float8 = 16", "float8 = -1"),
            "devices.gpu: peak_giga_ops_per_s: float8 is -1; expected a positive number.",
        ),
        (
            replaced("latency_ms = 0.7", ""),
            "devices.gpu: link: latency is missing; "
            "expected latency_ms or latency_us or latency_ns.",
        ),
        (
            replaced('"gpu", right', '"abacus", right'),
            "clusters.box: devices: left is 'abacus'; expec",
        ),
        (
            replaced('"gpu", right', '{ kind = "gpu" }, right'),
            "clusters.box: devices: left is {'kind': 'gpu'}; expected one of ",
        ),
        (
            replaced('devices = { left = "gpu", right = "gpu", far = "gpu" }', ""),
            "clusters.box: devices is missing; expected a table of names and kinds of devices.",
        ),
        (
            replaced('to = "far"', 'to = "fat"'),
            "clusters.box: a link names 'fat'; expected one of left, right, far.",
        ),
        (
            replaced('to = "far"', ""),
            "clusters.box: link 2: to is missing; expected the name of a device.",
        ),
        (
            replaced('from = "right"', 'from = "far"'),
            "clusters.box: a link joins 'far' to itself; expected two different devices.",
        ),
        (
            replaced('from = "far"', 'from = "left"'),
            "clusters.box: link 3: the link from 'left' to 'right' is given before; "
            "expected it once.",
        ),
        (
            replaced("symmetric = true", ""),
            "clusters.box: there is a link from 'left' to 'right' and none back; expected both "
            "directions, or one that is stated to be symmetric.",
        ),
        (
            replaced("symmetric = true", 'symmetric = "yes"'),
            "clusters.box: link 1: symmetric is 'yes'; expected true or false.",
        ),
        (
            replaced("bandwidth_mbit_per_s = 8", "bandwidth_mbit_per_s = 0"),
            "clusters.box: link 2: bandwidth_mbit_per_s is 0; expected a positive number.",
        ),
        (
            replaced('right = "gpu", far = "gpu" }', 'right = "gpu", far = "gpu", moon = "gpu" }'),
            "clusters.box: there is no path from 'left' to 'moon'; "
            "expected links that connect all devices in both directions.",
        ),
        (
            replaced('[["-", 2], [1.5, "-"]]', '[["-", 2]]'),
            "clusters.pair: bandwidth_gb_per_s is not a matrix with a row and a column for each "
            "of the 2 devices.",
        ),
        (
            replaced('[["-", 2], [1.5, "-"]]', '[["-", 2, 3], [1.5, "-"]]'),
            "clusters.pair: bandwidth_gb_per_s is not a matrix with a row and a column for each "
            "of the 2 devices.",
        ),
        (
            replaced('[["-", 2], [1.5, "-"]]', '[[1, 2], [1.5, "-"]]'),
            "clusters.pair: bandwidth_gb_per_s from 'left' to itself is 1; expected '-'.",
        ),
        (
            replaced('[["-", 2], [1.5, "-"]]', '[["-", 0], [1.5, "-"]]'),
            "clusters.pair: bandwidth_gb_per_s from 'left' to 'right' is 0; expected a positive "
            "number.",
        ),
        (
            replaced('[["-", 2], [1.5, "-"]]', '[["-", 2], ["-", "-"]]'),
            "clusters.pair: there is a link from 'left' to 'right' and none back; expected both",
        ),
        (
            replaced('[["-", 2], [1.5, "-"]]', '[["-", 2], ["?", "-"]]'),
            "clusters.pair: bandwidth_gb_per_s from 'right' to 'left' is '?'; expected a number.",
        ),
        (
            replaced("latency_us = 3", ""),
            "clusters.pair: latency is missing; expected latency_ms or latency_us or latency_ns.",
        ),
        (
            replaced("latency_us = 3", "latency_us = 3\nlinks = []"),
            "clusters.pair: expected links or a matrix bandwidth_gb_per_s; both are given.",
        ),
        (
            replaced('bandwidth_gb_per_s = [["-", 2], [1.5, "-"]]', ""),
            "clusters.pair: expected links or a matrix bandwidth_gb_per_s; found neither.",
        ),
        (
            replaced('bandwidth_gb_per_s = [["-", 2], [1.5, "-"]]', "links = 3"),
            "clusters.pair: links is 3; expected a list of tables.",
        ),
        (
            replaced('bandwidth_gb_per_s = [["-", 2], [1.5, "-"]]', "links = [3]"),
            "clusters.pair: link 1: found 3; expected a table.",
        ),
    ],
)
def test_mistakes_are_explained(path: Path, content: str, expected: str) -> None:
    """Each mistake ends in one sentence that names the file, the table and the field."""
    path.write_text(content)
    with pytest.raises(InvalidInputError, match=re.escape(expected)) as caught:
        load_device_file(path)
    assert str(caught.value).startswith(f"{path}")
    assert str(caught.value).endswith(".")


def test_other_bytes_are_explained(path: Path) -> None:
    """A file that is no text is refused like one that is no TOML."""
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(InvalidInputError, match="expected TOML; 'utf-8' codec"):
        load_device_file(path)
