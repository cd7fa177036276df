"""What a release says of itself: one version, in all places, and those of its solvers."""

import os
import re
import subprocess
import sys
import tomllib
from importlib.metadata import version
from pathlib import Path

from click.testing import CliRunner

import boundmark
from boundmark.benchmarks.cli import main
from boundmark.reports.stored.run_records import SOLVERS

ROOT = Path(__file__).parents[2]


def test_there_is_one_version() -> None:
    """That of pyproject.toml; the citation has the same."""
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    cited = re.search(r"^version: (.+)$", (ROOT / "CITATION.cff").read_text(), re.MULTILINE)
    assert cited is not None
    assert cited.group(1) == declared == version("boundmark") == boundmark.__version__
    assert f"## {declared}" in (ROOT / "CHANGELOG.md").read_text()


def test_the_command_tells_versions() -> None:
    """Of boundmark and of all solvers, also of one that is not installed."""
    lines = CliRunner().invoke(main, ["--version"]).output.splitlines()
    assert lines[0].startswith(f"boundmark {version('boundmark')}, Python 3.")
    assert [line.split()[0] for line in lines[1:]] == list(SOLVERS)


def test_shells_complete_commands() -> None:
    """The script that the guide names is there, and completes names of commands."""
    asked = {
        **os.environ, "_BOUNDMARK_COMPLETE": "bash_complete",
        "COMP_WORDS": "boundmark meas", "COMP_CWORD": "1",
    }  # fmt: skip
    code = "from boundmark.benchmarks.cli import main; main(prog_name='boundmark')"
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, env=asked, check=True)
    assert done.stdout.split() == ["plain,measure"]
