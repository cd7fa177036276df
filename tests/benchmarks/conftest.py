from pathlib import Path

import pytest
from command_line import SUITE, Boundmark, boundmark_here, boundmark_with


@pytest.fixture(scope="session")
def boundmark() -> Boundmark:
    """Run the command line in this process, which takes a third of the time of a fresh one."""
    return boundmark_here


@pytest.fixture(scope="session")
def boundmark_process() -> Boundmark:
    """Run the command line in a process of its own, as a user does."""
    return boundmark_with()


@pytest.fixture(scope="session")
def suite_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write a suite of thirty short tasks."""
    path = tmp_path_factory.mktemp("suite") / "small.toml"
    path.write_text(SUITE)
    return path


@pytest.fixture(scope="session")
def finished_run(
    boundmark: Boundmark, suite_file: Path, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """Return the suite's results folder; not to be changed."""
    out = tmp_path_factory.mktemp("finished") / "out"
    boundmark("run", suite_file, "--out", out, "--quiet")
    return out
