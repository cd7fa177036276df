"""Models and instances in files, told apart by suffix, and by how they begin if need be."""

import json
from pathlib import Path
from typing import Any

from boundmark.datasets.file_format import FileFormat, formats
from boundmark.problems.catalog import problems
from boundmark.problems.errors import InvalidInputError
from boundmark.problems.problem import Instance
from boundmark.problems.source_file import naming, read_bytes

# Instances are the one format that all problems share.
INSTANCE_SUFFIX = ".json"


def known_suffixes() -> tuple[str, ...]:
    """Return the suffixes of all formats that can be read."""
    known = [suffix for one in formats().values() for suffix in one.suffixes]
    return tuple(dict.fromkeys([*known, INSTANCE_SUFFIX]))


def load_file(path: str | Path) -> Any:
    """Read a file of any registered format, or a stored instance.

    Returns
    -------
    Instance, or one of some `Problem.sources`.

    Raises
    ------
    InvalidInputError
        If no format has the suffix, or the file is not what its suffix says.
    """
    path = Path(path)
    suffix = path.suffix.lower()
    if suffix == INSTANCE_SUFFIX:
        return _load_instance(path)
    candidates = [one for one in formats().values() if suffix in one.suffixes]
    if not candidates:
        raise InvalidInputError(
            f"{path} has the suffix {path.suffix!r}; expected one of {', '.join(known_suffixes())}."
        )
    return _of_content(path, candidates).load(path)


def _of_content(path: Path, candidates: list[FileFormat]) -> FileFormat:
    if len(candidates) == 1:
        return candidates[0]
    content = read_bytes(path)
    for one in candidates:
        if one.recognises is not None and one.recognises(content):
            return one
    for one in candidates:
        if one.recognises is None:
            return one
    names = " or ".join(one.name for one in candidates)
    raise InvalidInputError(f"{path} is not recognised; expected {names}.")


def _load_instance(path: Path) -> Instance:
    content = read_bytes(path)
    with naming(path):
        try:
            value = json.loads(content)
        except ValueError as error:
            raise InvalidInputError(f"expected JSON, found {error}.") from error
        if not isinstance(value, dict):
            raise InvalidInputError(f"expected an instance, found a {type(value).__name__}.")
        name = value.get("problem")
        if not isinstance(name, str) or name not in problems():
            raise InvalidInputError(f"problem is {name!r}; expected {' or '.join(problems())}.")
        return problems()[name].instance_from_json(value)
