"""Listings of `nvidia-smi` and `rocm-smi` as devices."""

import json
from pathlib import Path

import pytest

from boundmark.problems.devices.device_listing import devices_of, listed_devices
from boundmark.problems.errors import InvalidInputError
from boundmark.problems.layers.fleet import read_fleet

NVIDIA = """name, memory.free [MiB]
NVIDIA GeForce RTX 3090, 9000 MiB
NVIDIA GeForce RTX 3090, 22000 MiB
Tesla T4, 14000 MiB
"""
AMD = {
    "card0": {
        "Card Series": "AMD Instinct MI300X",
        "VRAM Total Memory (B)": str(192 * 2**30),
        "VRAM Total Used Memory (B)": str(2 * 2**30),
    },
    "system": {"Driver version": "6.0"},
}


def test_order_and_free_memory_are_kept(tmp_path: Path) -> None:
    """Two equal cards with different memory left are two types of devices."""
    path = tmp_path / "smi.csv"
    path.write_text(NVIDIA)
    fleet = read_fleet(listed_devices(str(path)))
    assert [kind.model for kind in fleet.kinds] == ["nvidia-rtx-3090"] * 2 + ["nvidia-t4"]
    assert [kind.memory_bytes >> 20 for kind in fleet.kinds] == [9000, 22000, 14000]
    assert fleet.names[0] == "nvidia-rtx-3090:9000MiB#0"


def test_without_units() -> None:
    """`--format=csv,nounits` is read as well, with other columns beside."""
    content = "index, memory.free [MiB], name\n0, 9000, NVIDIA L4\n"
    assert devices_of(content) == "1xNVIDIA L4:9000MiB"


def test_amd(tmp_path: Path) -> None:
    """What is used is taken off, and what is no card is left out."""
    path = tmp_path / "rocm.json"
    path.write_text(json.dumps(AMD))
    assert listed_devices(str(path)) == f"1xAMD Instinct MI300X:{190 * 1024}MiB"


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("", "its first line is"),
        ("name, memory.total [MiB]\nNVIDIA L4, 9000 MiB\n", "its first line is"),
        ("name, memory.free [MiB]\n", "it lists no devices"),
        ("name, memory.free [MiB]\nNVIDIA L4, [N/A]\n", "line 2 is"),
        ("name, memory.free [MiB]\nNVIDIA L4, 9 GiB\n", "line 2 is"),
        ('{"card0": {}}', "card0 has no series"),
        ("{", "it is no JSON"),
    ],
)
def test_what_is_no_listing(content: str, expected: str) -> None:
    """The sentence says what was expected."""
    with pytest.raises(InvalidInputError, match=expected):
        devices_of(content)


def test_this_machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The word `local` asks the tool that is there, and says so if none is."""
    tool = tmp_path / "nvidia-smi"
    tool.write_text(f"#!/bin/sh\ncat <<'END'\n{NVIDIA}END\n")
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    assert listed_devices("local").startswith("1xNVIDIA GeForce RTX 3090:9000MiB,")
    monkeypatch.setenv("PATH", "")
    with pytest.raises(InvalidInputError, match="neither nvidia-smi nor rocm-smi"):
        listed_devices("local")
