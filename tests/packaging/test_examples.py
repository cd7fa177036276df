"""The examples in docstrings: they run, and print what they say."""

import doctest
import importlib
from pathlib import Path

import pytest

import boundmark

PACKAGE = Path(str(boundmark.__file__)).parent


def modules_with_examples() -> list[str]:
    """Return the names of modules whose text has a prompt."""
    found = [
        ".".join(("boundmark", *path.relative_to(PACKAGE).with_suffix("").parts))
        for layer in PACKAGE.iterdir()
        if layer.is_dir()
        for path in layer.rglob("*.py")
        if ">>> " in path.read_text()
    ]
    return ["boundmark", *sorted(found)]


def test_the_most_used_functions_have_examples() -> None:
    """At least ten."""
    assert len(modules_with_examples()) >= 10


@pytest.mark.parametrize("name", modules_with_examples())
def test_examples_print_what_they_say(name: str) -> None:
    """Each docstring by itself, as a reader would type it."""
    done = doctest.testmod(importlib.import_module(name))
    assert done.attempted
    assert not done.failed
