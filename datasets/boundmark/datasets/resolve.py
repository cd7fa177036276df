"""From what a user names to a graph, a layout or a whole instance."""

from pathlib import Path

from boundmark.datasets.any_file import READERS, load_file
from boundmark.problems.catalog import datasets, find
from boundmark.problems.dataset import Source
from boundmark.problems.errors import UnknownNameError
from boundmark.problems.problem import Instance


def load_member(name: str) -> Source:
    """Return what has a name such as ``"onnx-light/resnet50"``.

    Raises
    ------
    UnknownNameError
        If there is no such data set, or it has no such member.
    """
    dataset, separator, member = name.partition("/")
    if not separator:
        raise UnknownNameError(
            f"there is no graph {name!r}; expected DATASET/GRAPH, e.g. onnx-light/resnet50."
        )
    return find("data set", dataset, datasets()).load(member)


def load_source(source: str) -> Source | Instance:
    """Return what is in a file, or else what has this name in a data set.

    Raises
    ------
    InvalidInputError
        If the source has the form of a file, and the file is not what it should be.
    UnknownNameError
        If it has not, and no data set has such a member.
    """
    path = Path(source)
    if path.suffix.lower() in READERS or path.exists():
        return load_file(path)
    return load_member(source)
