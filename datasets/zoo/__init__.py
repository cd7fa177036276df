"""`zoo`: architectures that papers partition and place, exported operator by operator.

The graphs come with the package, one compressed file each (see `graph_file`), and an index.
`export` makes them.
"""

import hashlib
import json
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any

from boundmark.datasets.readers.graph_file import from_json
from boundmark.problems.computation_graph import ComputationGraph
from boundmark.problems.dataset import Dataset
from boundmark.problems.errors import InvalidInputError, find
from boundmark.problems.files import RefusedFileError, decompressed, naming

_DATA = files("boundmark.datasets.zoo") / "data"


@cache
def index() -> Mapping[str, Mapping[str, Any]]:
    """Return the index: facts on each graph by name, in the order of tables.

    Fields are ``sha256`` (of the file, decompressed), ``source``, ``nodes``, ``edges``, ``flops``
    and ``parameters``.
    """
    entries: Mapping[str, Mapping[str, Any]] = json.loads(
        (_DATA / "index.json").read_text(encoding="utf-8")
    )
    return entries


def load(member: str) -> ComputationGraph:
    """Read a graph that comes with the package.

    Raises
    ------
    UnknownNameError
        If there is none of this name.
    InvalidInputError
        If its file is not as it was shipped.
    """
    entry = find("graph in zoo", member, index())
    with naming(f"zoo/{member}"):
        return from_json(_content(member, entry["sha256"]))[0]


def about(member: str) -> Mapping[str, Any]:
    """Return where a graph comes from; raises as `load` does."""
    entry = find("graph in zoo", member, index())
    with naming(f"zoo/{member}"):
        origin = from_json(_content(member, entry["sha256"]))[1]
    return {
        "source": origin.source,
        "configuration": dict(origin.configuration),
        "versions": dict(origin.versions),
        "sha256": entry["sha256"],
        "weights": origin.parameters,
    }


def _content(member: str, expected: str) -> bytes:
    """Return a file's content, if it has the expected hash."""
    try:
        content = decompressed((_DATA / f"{member}.json.gz").read_bytes())
    except FileNotFoundError as error:
        raise InvalidInputError("the file is missing from the installed package.") from error
    except RefusedFileError as error:
        raise InvalidInputError(f"{error}, so the file is damaged.") from error
    found = hashlib.sha256(content).hexdigest()
    if found != expected:
        raise InvalidInputError(
            f"the file has the hash {found[:12]}; expected {expected[:12]}, so it is damaged or "
            "of another version of the package."
        )
    return content


DATASET = Dataset(
    name="zoo",
    source=ComputationGraph,
    summary="Vision, language, speech and science models used in papers, exported from torch.",
    members=lambda: tuple(index()),
    load=load,
    about=about,
)
