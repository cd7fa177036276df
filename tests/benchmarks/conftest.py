import subprocess
import sys
from pathlib import Path

import pytest
from command_line import SUITE, Boundmark


@pytest.fixture(scope="session")
def boundmark() -> Boundmark:
    """Run the command line in a process of its own, as a user does."""

    def call(*arguments: object, check: bool = True) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            [sys.executable, "-m", "boundmark", *map(str, arguments)],
            capture_output=True,
            text=True,
            timeout=120,
        )
        if check:
            assert done.returncode == 0, done.stdout + done.stderr
        return done

    return call


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
