"""What a release says of itself: one version, in all places, and those of its solvers."""

import os
import re
import subprocess
import sys
import tomllib
from importlib.metadata import version
from pathlib import Path

import pytest
from click.testing import CliRunner

import boundmark
from boundmark.benchmarks.cli.group import main
from boundmark.reports.stored.run_records import SOLVERS

ROOT = Path(__file__).parents[2]
LAYERS = ("problems", "datasets", "heuristics", "bounds", "benchmarks", "reports")


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
    code = "from boundmark.benchmarks.cli.group import main; main(prog_name='boundmark')"
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, env=asked, check=True)
    assert done.stdout.split() == ["plain,measure"]


# The name on an index, as an argument of an installer or among dependencies; a path ends in it.
INSTALLER = r"\b(?:pipx?|pip3|uvx?|conda|poetry)\b[^\n`&|;]*?[\s'\"=]"
BY_NAME = re.compile(rf"{INSTALLER}boundmark(?![\w/.-])|\bboundmark(?:\[|\s*[~=<>!]=)")

READ = ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "Containerfile", "noxfile.py", ".ci/*")
READ += (".github/**/*", *(f"{folder}/**/*" for folder in ("docs", "notes", *LAYERS)))
TEXTS = {"", ".html", ".ipynb", ".j2", ".js", ".md", ".py", ".rst", ".toml", ".yml"}


def test_nobody_is_told_to_install_our_name_from_an_index() -> None:
    """Nobody has registered it: whoever does would get those who follow the advice."""
    texts = [path for pattern in READ for path in ROOT.glob(pattern) if path.suffix in TEXTS]
    texts = [path for path in texts if path.is_file() and "generated" not in path.parts]
    assert len(texts) > 500
    found = {str(path.relative_to(ROOT)): BY_NAME.findall(path.read_text()) for path in texts}
    assert {name: lines for name, lines in found.items() if lines} == {}


@pytest.mark.parametrize(
    "line",
    [
        "pip install boundmark", "python3 -m pip install -U 'boundmark[sheets]'", "uvx boundmark",
        'uv add "boundmark"', "expected boundmark[sheets] to read", "pipx install boundmark==0.1.0",
        'dependencies = ["boundmark>=0.1"]',
    ],
)  # fmt: skip
def test_such_advice_is_recognised(line: str) -> None:
    """In whichever words."""
    assert BY_NAME.search(line)


@pytest.mark.parametrize(
    "line",
    [
        "~/boundmark/bin/pip install .", "pip install '.[sheets]' && boundmark solve",
        "pip install ./boundmark-0.1.0-py3-none-any.whl", "pip install -e ~/boundmark",
    ],
)  # fmt: skip
def test_paths_are_no_such_advice(line: str) -> None:
    """They are what we recommend."""
    assert not BY_NAME.search(line)
