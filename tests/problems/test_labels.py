"""Labels beside instances: they come back as they were, and hostile ones are refused."""

import json
from pathlib import Path
from typing import Any

import pytest

from boundmark.problems.errors import InvalidInputError
from boundmark.problems.labels import Labels, Naming, labels_path, names_of, read_labels

SHA = "a" * 64
GIVEN = Labels(("conv", "relu"), "ns", "nvidia-t4", "file/my model.onnx")


def document(**changes: Any) -> dict[str, Any]:
    """Return stored labels with some fields changed."""
    return {**GIVEN.to_json("pipeline", SHA), **changes}


def read(value: Any) -> Labels:
    """Read a document as that of an instance with two nodes."""
    return Labels.from_json(value, problem="pipeline", instance_sha256=SHA, nodes=2)


def test_round_trip(tmp_path: Path) -> None:
    """What a results folder keeps is found beside the instance's file."""
    instance = tmp_path / "instances" / f"{SHA}.json"
    path = labels_path(instance, SHA)
    assert path == tmp_path / "labels" / f"{SHA}.json"
    path.parent.mkdir()
    path.write_text(json.dumps(document()))
    assert read_labels(path, problem="pipeline", instance_sha256=SHA, nodes=2) == GIVEN


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ([], "expected an object"),
        (document(format="boundmark-labels/9"), "format is 'boundmark-labels/9'"),
        (document(problem="other"), "problem is 'other'; expected that of the instance"),
        (document(instance_sha256="b" * 64), "instance_sha256 is 'bbb"),
        (document(more=1), "field 'more' is missing or unknown"),
        ({"format": "boundmark-labels/1"}, "is missing or unknown"),
        (document(names="conv"), "names is not a list with one name for each of the 2 nodes"),
        (document(names=["conv"]), "names is not a list with one name for each of the 2 nodes"),
        (document(names=["conv", 1]), "an entry of names is 1; expected a text"),
        (document(names=["conv", "conv"]), "names has 'conv' twice"),
        (document(names=["conv", "x" * 5000]), "expected a text of at most 4096 characters"),
        (document(names=["conv", "\ud800"]), r"'\\ud800'; expected a text"),
        (document(tick=1), "tick is 1; expected a text"),
        (document(device=None), "device is None; expected a text"),
        (document(source={}), "source is {}; expected a text"),
    ],
)
def test_hostile_labels(value: Any, message: str) -> None:
    """Each is refused with the field and what was expected."""
    with pytest.raises(InvalidInputError) as caught:
        read(value)
    assert message.replace("\\\\", "\\") in str(caught.value)
    assert str(caught.value).isprintable()


@pytest.mark.parametrize("content", [b"", b"{", b"\xff", b"[" * 100_000])
def test_files_that_hold_none(tmp_path: Path, content: bytes) -> None:
    """The message names the file."""
    path = tmp_path / "labels.json"
    path.write_bytes(content)
    with pytest.raises(InvalidInputError, match=r"labels\.json"):
        read_labels(path, problem="pipeline", instance_sha256=SHA, nodes=2)


def test_names_are_unique() -> None:
    """Nodes that share a name can still be told apart, and those without have numbers."""

    class Three:
        nodes = 3

    naming = Naming(lambda instance: ["a", "b", "a"], lambda instance, names, tick: instance)
    assert names_of(naming, Three()) == ("a#0", "b", "a#2")
    assert names_of(None, Three()) == ("0", "1", "2")
