"""Labels of an instance: names of its nodes, its tick, its device and its source.

No objective depends on them, so they are not in an instance's canonical JSON and do not change its
hash. A results folder keeps them beside its instances, in ``labels/<hash of the instance>.json``.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from boundmark.problems.errors import InvalidInputError, quoted
from boundmark.problems.files import LARGEST_FILE, naming, read_bytes
from boundmark.problems.json_documents import check_format, json_object

LABELS_FORMAT = "boundmark-labels/1"

# Names in model files are paths at most.
LONGEST_NAME = 4096

_FIELDS = frozenset(
    {"format", "instance_sha256", "problem", "names", "tick", "device", "source"}
)  # fmt: skip


@dataclass(frozen=True)
class Naming:
    """The functions that name the nodes of a problem's instances, for people.

    Attributes
    ----------
    names
        Returns the names of an instance's nodes by number, each once.
    rename
        Returns the same instance, read from its JSON, with the names and the tick that it had.
    tick
        Returns what a tick is, e.g. ``"ns"``; ``"unit"`` if it is no time.
    """

    names: Callable[[Any], Sequence[str]]
    rename: Callable[[Any, Sequence[str], str], Any]
    tick: Callable[[Any], str] = lambda instance: "unit"


@dataclass(frozen=True)
class Labels:
    """Names of an instance and of its parts.

    Attributes
    ----------
    names
        Names of the nodes, by number.
    tick
        What a tick is, e.g. ``"ns"``; ``"unit"`` if it is no time.
    device
        Name of the device that the costs are for; empty if they came with the source.
    source
        Where the instance comes from, e.g. ``"onnx-light/resnet50"``.
    """

    names: tuple[str, ...]
    tick: str = "unit"
    device: str = ""
    source: str = ""

    def to_json(self, problem: str, instance_sha256: str) -> dict[str, Any]:
        """Return the document that is stored beside an instance."""
        return {
            "format": LABELS_FORMAT,
            "instance_sha256": instance_sha256,
            "problem": problem,
            "names": list(self.names),
            "tick": self.tick,
            "device": self.device,
            "source": self.source,
        }

    @classmethod
    def from_json(cls, value: Any, *, problem: str, instance_sha256: str, nodes: int) -> "Labels":
        """Read the labels of an instance with a given number of nodes."""
        if not isinstance(value, dict):
            raise InvalidInputError(f"expected an object, found {quoted(value)}.")
        check_format(value, LABELS_FORMAT)
        if set(value) != _FIELDS:
            odd = sorted(set(value) ^ _FIELDS)[0]
            raise InvalidInputError(
                f"field {quoted(odd)} is missing or unknown; expected {', '.join(sorted(_FIELDS))}."
            )
        for field, expected in (("problem", problem), ("instance_sha256", instance_sha256)):
            if value[field] != expected:
                raise InvalidInputError(
                    f"{field} is {quoted(value[field])}; expected that of the instance, "
                    f"{expected!r}."
                )
        for field in ("tick", "device", "source"):
            _check_text(value[field], field)
        names = value["names"]
        if not isinstance(names, list) or len(names) != nodes:
            raise InvalidInputError(
                f"names is not a list with one name for each of the {nodes} nodes."
            )
        for name in names:
            _check_text(name, "an entry of names")
        often = Counter(names)
        if len(often) < nodes:
            twice = often.most_common(1)[0][0]
            raise InvalidInputError(f"names has {quoted(twice)} twice; expected unique names.")
        return cls(tuple(names), value["tick"], value["device"], value["source"])


def names_of(naming_: Naming | None, instance: Any) -> tuple[str, ...]:
    """Return unique names of an instance's nodes, or their numbers."""
    if naming_ is None:
        return tuple(map(str, range(instance.nodes)))
    names = tuple(naming_.names(instance))
    often = Counter(names)
    if len(often) < len(names):
        # Whatever they are called, two of them can be told apart.
        return tuple(f"{name}#{at}" if often[name] > 1 else name for at, name in enumerate(names))
    return names


def labels_path(instance: Path, sha256: str) -> Path:
    """Return where a results folder that keeps an instance's file keeps its labels."""
    return instance.parent.parent / "labels" / f"{sha256}.json"


def read_labels(path: Path, *, problem: str, instance_sha256: str, nodes: int) -> Labels:
    """Read stored labels."""
    with naming(path):
        value = json_object(read_bytes(path, "labels", LARGEST_FILE))
        return Labels.from_json(
            value, problem=problem, instance_sha256=instance_sha256, nodes=nodes
        )


def _check_text(value: object, field: str) -> None:
    if not isinstance(value, str) or len(value) > LONGEST_NAME or not _is_text(value):
        raise InvalidInputError(
            f"{field} is {quoted(value)}; expected a text of at most {LONGEST_NAME} characters."
        )


def _is_text(value: str) -> bool:
    """Whether the characters can be written to a file: JSON may hold halves of some."""
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True
