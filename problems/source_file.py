"""Read a user's file, so that every failure names the file."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from boundmark.problems.errors import InvalidInputError, NoRoomError
from boundmark.problems.regular_file import read_regular


def read_bytes(path: Path, expected: str = "a graph", most_bytes: int | None = None) -> bytes:
    """Return the contents of a regular file that is not empty.

    Parameters
    ----------
    expected
        What should be in it, for the error.
    most_bytes
        None if the file may have any size.

    Raises
    ------
    InvalidInputError
        If there is no such file, it has more bytes, or nothing can be read from it.
    """
    try:
        content = read_regular(path, most_bytes)
    except FileNotFoundError as error:
        raise InvalidInputError(f"{path} does not exist; expected a file.") from error
    except IsADirectoryError as error:
        raise InvalidInputError(f"{path} is a directory; expected a file.") from error
    except OSError as error:
        raise InvalidInputError(f"{path} cannot be read: {error.strerror}.") from error
    if not content:
        raise InvalidInputError(f"{path} is empty; expected {expected}.")
    return content


@contextmanager
def naming(place: str | Path) -> Iterator[None]:
    """Put the file, or the place in it, in front of an error's message."""
    try:
        yield
    except InvalidInputError as error:
        kind = NoRoomError if isinstance(error, NoRoomError) else InvalidInputError
        raise kind(f"{place}: {error}") from error
