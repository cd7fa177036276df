"""Failures that users can mend, each with a sentence for them, such as unknown names."""

from collections.abc import Mapping
from typing import TypeVar

# Longest text of a user that messages show: a path fits, a number of 5,000 digits does not.
LONGEST_WORD = 300
LONGEST_LINE = 2000


def printable(text: str) -> str:
    """Return a text with escapes for characters that move the cursor or cannot be encoded."""
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)


def shortened(text: str, longest: int) -> str:
    """Return a text without its middle if it is longer than a limit."""
    if len(text) <= longest:
        return text
    return f"{text[: longest * 2 // 3]}...{text[3 - longest // 3 :]}"


def shown(text: str) -> str:
    """Return a text for messages: escaped by `printable`, long words and lines without middles."""
    return "\n".join(
        shortened(
            " ".join(shortened(word, LONGEST_WORD) for word in printable(line).split(" ")),
            LONGEST_LINE,
        )
        for line in text.split("\n")
    )


class BoundmarkError(Exception):
    """A failure whose message is one sentence for the user: what, where, and what was expected.

    Whatever of the user's it quotes, the message shows as `shown` does.
    """

    def __str__(self) -> str:
        return shown(super().__str__())


class InvalidInputError(BoundmarkError):
    """An input (file, graph, parameter) breaks the rules of its format or problem."""


class NoRoomError(InvalidInputError):
    """A model does not fit into the memory of the devices that it is to run on."""


class MissingFileError(InvalidInputError):
    """An input that the user has to provide is not there."""


class UnknownNameError(BoundmarkError):
    """A name (of a suite, method, data set or instance) that does not exist."""


class UnsupportedError(BoundmarkError):
    """A method cannot treat this instance here, e.g. for want of a licence."""


class StoreError(BoundmarkError):
    """A results folder cannot be read or written as asked."""


# By a module that not every installation has, the extra of boundmark that installs it.
EXTRAS = {
    "aiconfigurator_core": "kernel-tables",
    "distributed": "dask",
    "gurobipy": "solvers",
    "jax": "learned",
    "matplotlib": "plots",
    "mtkahypar": "partitioners",
    "onnxruntime": "onnxruntime",
    "pymetis": "partitioners",
    "pymoo": "geneflow",
    "pyscipopt": "solvers",
    "torch": "torch",
    "xlrd": "sheets",
    "z3": "z3",
}


def extra_with(module: str) -> str:
    """Return how to get a module that is not installed, as the end of a sentence.

    What to install are the packages of the extra, which every kind of installation can get: our own
    name means us in a checkout only, and on an index whoever takes it first.

    Returns
    -------
    str
        E.g. ``"; expected the extra 'sheets': pip install 'xlrd>=2.0.1'"``, without the command if
        boundmark was not installed but put on the path; empty if no extra has the module.
    """
    from importlib.metadata import PackageNotFoundError, requires

    from packaging.requirements import Requirement

    extra = EXTRAS.get(module)
    if extra is None:
        return ""
    try:
        known = [Requirement(text) for text in requires("boundmark") or ()]
    except PackageNotFoundError:
        known = []
    packages = [
        f"'{one.name}{one.specifier}'"
        for one in known
        if one.marker and one.marker.evaluate({"extra": extra})
    ]
    command = f": pip install {' '.join(packages)}" if packages else ""
    return f"; expected the extra {extra!r}{command}"


def quoted(value: object, longest: int = 80) -> str:
    """Return a value as Python writes it, on one line that is cut to a length."""
    try:
        text = " ".join(repr(value).split())
    except (ValueError, RecursionError):
        # Python writes down no integer of more than 4,300 digits, nor what is nested too deeply.
        kind = "an integer" if isinstance(value, int) else f"a {type(value).__name__}"
        return f"{kind} too long to be shown"
    return text if len(text) <= longest else f"{text[: longest - 3]}..."


Value = TypeVar("Value")

# Names that an error lists.
MOST_NAMES = 20


def find(what: str, name: object, among: Mapping[str, Value]) -> Value:
    """Return the value of a name.

    Parameters
    ----------
    what
        Kind of thing looked for, e.g. ``"method"`` or ``"graph in zoo"``; used in the error.

    Raises
    ------
    UnknownNameError
        If there is none, with the names that come near.
    """
    # Callers of the Python API may give anything, also what has no hash.
    if not isinstance(name, str):
        raise UnknownNameError(f"{what} is {quoted(name)}; expected a name: {_listed([*among])}.")
    if name in among:
        return among[name]
    # Only mistakes need it.
    import difflib

    near = difflib.get_close_matches(name, among, n=3, cutoff=0.5)
    known = "did you mean " + " or ".join(near) if near else f"known are {_listed([*among])}"
    kind, within, place = what.partition(" in ")
    raise UnknownNameError(f"there is no {kind} {quoted(name)}{within}{place}; {known}.")


def _listed(names: list[str]) -> str:
    """Return the names with commas between them, the first ones if they are many."""
    more = f" and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else ""
    return ", ".join(names[:MOST_NAMES]) + more
