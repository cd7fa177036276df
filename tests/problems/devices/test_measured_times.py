import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest
from graphs import small_graph

from boundmark.problems.devices import Cluster, Device, default_device, find_device
from boundmark.problems.errors import BoundmarkError, InvalidInputError
from boundmark.problems.placement.costs import placement_graph
from boundmark.problems.roofline import operation_seconds

NAMES = small_graph().names

DOCUMENT: dict[str, Any] = {
    "format": "boundmark-times/1",
    "base": "nvidia-v100",
    "source": "made up",
    "operators": {name: 1000 * (at + 1) for at, name in enumerate(NAMES)},
}


def stored(document: Any, folder: Path) -> str:
    """Write times as `boundmark profile` does, and return the file's name."""
    path = folder / "mine.json"
    path.write_text(json.dumps(document))
    return str(path)


def test_times_are_taken_as_they_are(tmp_path: Path) -> None:
    """Operators take the time measured, free types included; the link is that of the base."""
    device = find_device(stored(DOCUMENT, tmp_path))
    assert isinstance(device, Device)
    assert device.name == "measured:mine"
    base = find_device("nvidia-v100")
    assert isinstance(base, Device)
    assert device.link == base.link
    assert operation_seconds(small_graph(), device) == pytest.approx([1e-6, 2e-6, 3e-6])


def test_times_of_another_model_are_refused(tmp_path: Path) -> None:
    """The first operator without a time is named."""
    less = {**DOCUMENT, "operators": {NAMES[0]: 5}}
    device = find_device(stored(less, tmp_path))
    assert isinstance(device, Device)
    with pytest.raises(InvalidInputError, match=f"no time for operator '{NAMES[1]}'"):
        operation_seconds(small_graph(), device)
    more = {**DOCUMENT, "operators": {**DOCUMENT["operators"], "another": 5}}
    device = find_device(stored(more, tmp_path))
    assert isinstance(device, Device)
    with pytest.raises(InvalidInputError, match="times for 4 operators, one of them 'another'"):
        operation_seconds(small_graph(), device)
    assert default_device().measured is None
    assert dataclasses.replace(device, measured=None).name == device.name


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"format": "boundmark-times/2"}, "expected 'boundmark-times/1'"),
        ({"op_times": {}}, "there is a field 'op_times'; expected only base, operators, source"),
        ({"operators": {}}, "operators is no object with times"),
        ({"operators": [1]}, "operators is no object with times"),
        ({"operators": {"a": -1}}, "the time of operator 'a' is -1; expected nanoseconds"),
        ({"operators": {"a": 1.5}}, "the time of operator 'a' is 1.5; expected nanoseconds"),
        ({"operators": {"a": True}}, "the time of operator 'a' is True; expected nanoseconds"),
        ({"base": 3}, "base or source is no text"),
        ({"base": "nvidia-t9"}, "base: there is no device or cluster 'nvidia-t9'; did you mean"),
        ({"base": "moirai-intra-server"}, "base is the cluster 'moirai-intra-server'"),
    ],
)
def test_bad_files(change: dict[str, Any], expected: str, tmp_path: Path) -> None:
    """What is odd is refused with the file's name."""
    with pytest.raises(InvalidInputError) as raised:
        find_device(stored({**DOCUMENT, **change}, tmp_path))
    assert expected in str(raised.value)
    assert "mine.json" in str(raised.value)


@pytest.mark.parametrize("content", ["{", "[]", ""])
def test_no_times_at_all(content: str, tmp_path: Path) -> None:
    """A file that is cut off or something else is refused."""
    path = tmp_path / "mine.json"
    path.write_text(content)
    with pytest.raises(InvalidInputError, match=r"mine\.json"):
        find_device(str(path))


def test_one_device_of_a_cluster_takes_the_times(tmp_path: Path) -> None:
    """The others keep their rates, and all keep their memory and links; only the name differs."""
    plain = find_device("hsdag-server")
    found = find_device(f"hsdag-server+CPU={stored(DOCUMENT, tmp_path)}")
    assert isinstance(plain, Cluster)
    assert isinstance(found, Cluster)
    assert found.name == "hsdag-server+CPU=measured:mine"
    assert "made up" in found.source
    before, after = (placement_graph(small_graph(), item) for item in (plain, found))
    assert after.duration[:, 0].tolist() == [1000, 2000, 3000]
    assert (after.duration[:, 1:] == before.duration[:, 1:]).all()
    assert (after.duration[:, 0] != before.duration[:, 0]).any()
    assert (after.capacity == before.capacity).all()
    assert (after.times == before.times).all()


def test_several_devices_of_a_cluster_take_times(tmp_path: Path) -> None:
    """Each has those of its own file, relative to the folder, also where the runtime fuses."""
    stored(DOCUMENT, tmp_path)
    twice = {name: 2 * time for name, time in DOCUMENT["operators"].items()}
    (tmp_path / "slow.json").write_text(json.dumps({**DOCUMENT, "operators": twice}))
    found = find_device("hsdag-server+CPU=mine.json+GPU.0=slow.json+fusion", tmp_path)
    assert isinstance(found, Cluster)
    assert found.name == "hsdag-server+CPU=measured:mine+GPU.0=measured:slow+fusion"
    duration = placement_graph(small_graph(), found).duration
    assert duration[:, 0].tolist() == [1000, 2000, 3000]
    assert duration[:, 1].tolist() == [2000, 4000, 6000]


def test_measured_operators_are_supported_whatever_the_dtype(tmp_path: Path) -> None:
    """A device without a rate for the model's type supports what was measured on it."""
    found = find_device(f"hsdag-server+CPU={stored(DOCUMENT, tmp_path)}")
    assert isinstance(found, Cluster)
    other = dataclasses.replace(found.devices[0], peak_rate={"int8": 1e12})
    found = dataclasses.replace(found, devices=(other, *found.devices[1:]))
    assert placement_graph(small_graph(), found).duration[:, 0].tolist() == [1000, 2000, 3000]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("hsdag-server+cpu=mine.json", "no device (of cluster hsdag-server) 'cpu'; known are CPU"),
        ("hsdag-srver+CPU=mine.json", "no device or cluster 'hsdag-srver'; did you mean"),
        ("nvidia-t4+CPU=mine.json", "'nvidia-t4' is a single device; expected a cluster"),
        ("hsdag-server+CPU=mine.json+CPU=mine.json", "CPU has times twice"),
        ("hsdag-server+CPU=mine.txt", "CPU has the times 'mine.txt'; expected a file that ends"),
        ("hsdag-server+CPU=other.json", "other.json"),
    ],
)
def test_odd_times_of_a_cluster(name: str, expected: str, tmp_path: Path) -> None:
    """A device that is not there, a file that is none, and times twice are named."""
    stored(DOCUMENT, tmp_path)
    with pytest.raises(BoundmarkError) as raised:
        find_device(name, tmp_path)
    assert expected in str(raised.value)
