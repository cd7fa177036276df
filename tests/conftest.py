"""Settings for all tests, and what those of several folders use."""

import gc
import os
import sys
from collections.abc import Iterator
from importlib.abc import MetaPathFinder
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from drawing import nothing_drawn
from hypothesis import given, settings
from hypothesis.strategies import none

if TYPE_CHECKING:
    from command_line import Boundmark

# What `solve` finds must not depend on what the library has come to know.
os.environ["BOUNDMARK_LIBRARY"] = ""

# What a test stores need not survive a power cut, and to wait for the disk takes milliseconds.
os.fsync = lambda descriptor: None

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
    # At its first test, hypothesis asks the collector who refers to its generator: a module that
    # would be frozen, and unknown to the collector. With Python 3.14 that is a warning.
    given(none())(lambda nothing: None)()
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


# The command line is imported by the tests that use it only: those of the checker start without.
@pytest.fixture(scope="session")
def boundmark() -> "Boundmark":
    """Run the command line in this process, which takes a third of the time of a fresh one."""
    from command_line import boundmark_here

    return boundmark_here


@pytest.fixture(scope="session")
def boundmark_process() -> "Boundmark":
    """Run the command line in a process of its own, as a user does."""
    from command_line import boundmark_with

    return boundmark_with()


@pytest.fixture(scope="session")
def suite_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write a suite of thirty short tasks."""
    from command_line import SUITE

    path = tmp_path_factory.mktemp("suite") / "small.toml"
    path.write_text(SUITE)
    return path


@pytest.fixture(scope="session")
def finished_run(
    boundmark: "Boundmark", suite_file: Path, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """Return the suite's results folder; not to be changed."""
    out = tmp_path_factory.mktemp("finished") / "out"
    boundmark("run", suite_file, "--out", out, "--quiet")
    return out
