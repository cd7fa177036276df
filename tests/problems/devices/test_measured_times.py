import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest
from graphs import small_graph

from boundmark.problems.devices import Device, default_device, find_device
from boundmark.problems.errors import InvalidInputError
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
    assert default_device().measured is None
    assert dataclasses.replace(device, measured=None).name == device.name


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"format": "boundmark-times/2"}, "expected 'boundmark-times/1'"),
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
