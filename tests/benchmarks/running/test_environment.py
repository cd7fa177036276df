"""What counts as a dependency, on made-up installations, and as a change of the code."""

import subprocess
import sys
from pathlib import Path

import pytest

from boundmark.benchmarks.running import environment
from boundmark.benchmarks.running.environment import describe_environment, installed_versions


def install(folder: Path, name: str, version: str, *lines: str, entry_points: str = "") -> None:
    """Write the metadata that pip would leave."""
    info = folder / f"{name.replace('-', '_')}-{version}.dist-info"
    info.mkdir(parents=True)
    header = ("Metadata-Version: 2.1", f"Name: {name}", f"Version: {version}")
    (info / "METADATA").write_text("\n".join((*header, *lines)) + "\n")
    (info / "entry_points.txt").write_text(entry_points)


@pytest.fixture
def only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the only folder in which Python finds packages."""
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    return tmp_path


def test_dependencies_extras_and_plugins_are_recorded(only: Path) -> None:
    """Directly or not, optional if installed; what nobody needs or asks for is left out."""
    install(
        only, "boundmark", "1.0", "Requires-Dist: Need_Ed>=2", "Provides-Extra: fast",
        "Requires-Dist: rocket; extra == 'fast'", "Requires-Dist: absent; extra == 'fast'",
        "Requires-Dist: other-system; sys_platform == 'plan9'",
    )  # fmt: skip
    install(
        only, "need-ed", "2.5", "Requires-Dist: deep[more]", "Provides-Extra: tests",
        "Requires-Dist: checks; extra == 'tests'",
    )  # fmt: skip
    install(
        only, "deep", "0.1", "Provides-Extra: more", "Requires-Dist: asked-for; extra == 'more'",
        "Requires-Dist: need-ed",
    )  # fmt: skip
    install(
        only, "their_methods", "7", "Requires-Dist: their-solver",
        entry_points="[boundmark.methods]\nmine = their_methods:METHOD\n",
    )  # fmt: skip
    for name in ("asked-for", "rocket", "checks", "other-system", "their-solver", "unrelated"):
        install(only, name, "3")
    assert installed_versions() == {
        "asked-for": "3",
        "boundmark": "1.0",
        "deep": "0.1",
        "need-ed": "2.5",
        "rocket": "3",
        "their-methods": "7",
        "their-solver": "3",
    }


def test_the_environment_names_all_direct_dependencies() -> None:
    """Including what no list of ours names, such as scipy and z3."""
    libraries = describe_environment()["libraries"]
    assert {"boundmark", "numpy", "scipy", "z3-solver", "highspy", "psutil"} <= set(libraries)


def test_documents_make_no_checkout_dirty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tables in `docs` may be written between two runs; a source file that changed is told."""
    module = tmp_path / "source" / "environment.py"
    table = tmp_path / "docs" / "table.csv"
    for path in (module, table):
        path.parent.mkdir()
        path.write_text("old")
    author = ["-c", "user.name=A", "-c", "user.email=a@example.org"]
    for words in (["init", "-q"], ["add", "."], [*author, "commit", "-q", "-m", "first"]):
        subprocess.run(["git", "-C", str(tmp_path), *words], check=True)
    monkeypatch.setattr(environment, "__file__", str(module))
    table.write_text("new")
    describe_now = describe_environment.__wrapped__
    assert describe_now()["dirty"] is False
    module.write_text("new")
    assert describe_now()["dirty"] is True
