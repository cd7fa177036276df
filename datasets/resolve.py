"""Loading whatever a user names: a graph, another source of instances, or a whole instance."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from boundmark.datasets.any_file import known_suffixes, load_file, refuse_dims
from boundmark.datasets.file_format import NO_DIMS
from boundmark.problems.catalog import datasets
from boundmark.problems.errors import BoundmarkError, InvalidInputError, UnknownNameError
from boundmark.problems.lookup import find


def load_member(name: str) -> Any:
    """Return what has a name such as ``"onnx-light/resnet50"``.

    Raises
    ------
    UnknownNameError
        If there is no such data set, or it has no such member.
    InvalidInputError
        If the data set cannot load it, or does not hold what it declares.
    """
    dataset, separator, member = name.partition("/")
    if not member and dataset in datasets():
        raise UnknownNameError(
            f"{dataset!r} is a data set; expected one of its graphs, which "
            f"`boundmark datasets --members {dataset}` lists."
        )
    if not separator:
        raise UnknownNameError(
            f"there is no graph {name!r}; expected DATASET/GRAPH, e.g. onnx-light/resnet50."
        )
    chosen = find("data set", dataset, datasets())
    try:
        loaded = chosen.load(member)
    except BoundmarkError:
        raise
    except Exception as error:
        # A data set may be somebody else's code.
        raise InvalidInputError(
            f"data set {dataset!r} does not load {member!r:.80}: {type(error).__name__}: {error}"
        ) from error
    if not isinstance(loaded, chosen.source):
        raise InvalidInputError(
            f"{name} is a {type(loaded).__name__}; "
            f"expected a {chosen.source.__name__}, as its data set declares."
        )
    return loaded


def load_source(source: str, dims: Mapping[str, int] = NO_DIMS) -> Any:
    """Return what is in a file, or else what has this name in a data set.

    Parameters
    ----------
    dims
        Sizes of dimensions that a file leaves open, by name.

    Raises
    ------
    InvalidInputError
        If the source has the form of a file, and the file is not what it should be.
    UnknownNameError
        If it has not, and no data set has such a member.
    """
    path = Path(source)
    if path.suffix.lower() in known_suffixes() or path.exists():
        return load_file(path, dims)
    refuse_dims(source, dims)
    return load_member(source)
