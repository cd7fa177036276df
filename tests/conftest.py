"""Settings for all tests."""

import gc
import os
import sys
from collections.abc import Iterator
from importlib.abc import MetaPathFinder

import pytest
from drawing import nothing_drawn
from hypothesis import settings

# What `solve` finds must not depend on what the library has come to know.
os.environ["BOUNDMARK_LIBRARY"] = ""

# How long an example takes says nothing about correctness. Examples are the same in every run, so
# that a commit is judged by what it changes; `nox -s tests` tries the first few, and
# `nox -s properties` looks for new ones.
settings.register_profile("boundmark", deadline=None, print_blob=True, derandomize=True)
settings.register_profile("few", settings.get_profile("boundmark"), max_examples=25)
settings.register_profile("search", deadline=None, print_blob=True, max_examples=500)
settings.load_profile("boundmark")


class _NoOrTools(MetaPathFinder):
    """Refuses OR-Tools in the process of the tests, where it and highspy would exclude each other.

    Which of them a test can use must not depend on the tests before it. Tests that need OR-Tools
    use `other_process`, or a command in a process of its own.
    """

    def find_spec(self, fullname: str, path: object, target: object = None) -> None:
        """Refuse modules of OR-Tools; whether it is installed can be asked."""
        if fullname.startswith("ortools."):
            raise ImportError(f"{fullname} is not loaded by the process of the tests.")


sys.meta_path.insert(0, _NoOrTools())


def pytest_collection_finish() -> None:
    """Keep the garbage collector from looking through all modules and tests again and again."""
    gc.collect()
    gc.freeze()


@pytest.fixture
def undrawn() -> Iterator[None]:
    """Let the plots of a test's reports be empty."""
    with nothing_drawn():
        yield


@pytest.fixture(scope="module")
def all_undrawn() -> Iterator[None]:
    """Let the plots of a module's reports be empty."""
    with nothing_drawn():
        yield
