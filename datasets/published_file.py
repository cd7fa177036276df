"""Find published inputs, which are not part of this package, in a folder that the user names."""

import os
from pathlib import Path

from boundmark.problems.errors import MissingFileError

VARIABLE = "BOUNDMARK_DATA"


def published_file(collection: str, name: str) -> Path:
    """Return the path of a file in the folder that the environment variable names.

    Raises
    ------
    MissingFileError
        If the variable is not set, or its folder does not have the file.
    """
    folder = os.environ.get(VARIABLE)
    if not folder:
        raise MissingFileError(
            f"{collection}/{name} does not come with boundmark; expected {VARIABLE} to name the "
            "folder that it is in."
        )
    path = Path(folder) / collection / name
    if not path.is_file():
        raise MissingFileError(
            f"{path} does not exist; expected {VARIABLE} to name a folder with {collection}/{name}."
        )
    return path
