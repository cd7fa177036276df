"""Names and texts that users bring are data: no mark-up, and nothing that moves the cursor."""

import json
import os
from pathlib import Path

import pytest
from command_line import Boundmark

from boundmark.problems.dag import Dag
from boundmark.problems.errors import InvalidInputError

# Ends a style that was not begun, starts one, and moves the cursor.
NAME = "[/b] [red]$\\frac$ <i>x \x1b[31m"
SHOWN = r"[/b] [red]$\frac$ <i>x \x1b[31m"

PROFILE = "\n".join(
    [
        *(
            f"node{number} -- {NAME} -- forward_compute_time={number}.5, backward_compute_time=1,"
            " activation_size=800.0, parameter_size=12.0"
            for number in range(1, 4)
        ),
        "\tnode1 -- node2",
        "\tnode2 -- node3",
    ]
)

SUITE = f"""
description = {json.dumps(NAME)}
problem = "pipeline"
time_limit_seconds = 60
memory_limit_gib = 1
methods = ["max-work", "uniform"]
[[instances]]
file = "*.txt"
k = [2]
"""

DEVICES = f"""
[devices.own]
source = {json.dumps(NAME)}
peak_tera_ops_per_s = {{ float16 = 40 }}
memory_bandwidth_gb_per_s = 100
memory_gib = 8
op_overhead_us = 3
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with a model, a suite and a device file full of such texts."""
    (tmp_path / f"{NAME.replace('/', '')}.txt").write_text(PROFILE)
    (tmp_path / "own.toml").write_text(SUITE)
    (tmp_path / "devices.toml").write_text(DEVICES)
    return tmp_path


@pytest.mark.slow
def test_a_run_and_its_report_show_names_as_they_are(folder: Path, boundmark: Boundmark) -> None:
    """Table, pages and listings name an instance by its characters, escaped where need be."""
    out = folder / "out"
    ran = boundmark("run", folder / "own.toml", "--out", out)
    reported = boundmark("report", out)
    assert SHOWN.replace("/", "") in reported.stdout.replace("\n", "")
    for text in (ran.stdout, ran.stderr, reported.stdout, (out / "report.md").read_text()):
        assert "\x1b[31m" not in text
    assert r"[b] [red]$\frac$ &lt;i&gt;x \x1b[31m" in (out / "report.html").read_text()


def test_solve_shows_names_as_they_are(folder: Path, boundmark: Boundmark) -> None:
    """Neither the model's name nor those of its operators change how the answer looks."""
    model = next(folder.glob("*x*.txt"))
    done = boundmark("solve", model, "-k", "2", "--method", "uniform", "--time-limit", "60")
    assert SHOWN.replace("/", "") in done.stdout
    assert "\x1b[31m" not in done.stdout + done.stderr


def test_a_device_shows_its_source_as_it_is(folder: Path, boundmark: Boundmark) -> None:
    """A source may hold anything."""
    done = boundmark("devices", folder / "devices.toml")
    assert SHOWN in " ".join(done.stdout.split())


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("9" * 5000, "9" * 200 + "..." + "9" * 97),
        ("n\0o\x1b[2J\udce9", r"n\x00o\x1b[2J\udce9"),
        ("a -> " * 2200, ("a -> " * 2200)[:1333] + "..." + ("a -> " * 2200)[-663:]),
        ("two\nlines", "two\nlines"),
    ],
)
def test_messages_show_texts_escaped_up_to_a_limit(text: str, shown: str) -> None:
    """Neither a number of 5,000 digits nor a long cycle is printed whole, nor a NUL as it is."""
    assert str(InvalidInputError(text)) == shown
    # A message that another quotes stays as it is.
    assert str(InvalidInputError(str(InvalidInputError(text)))) == shown


def test_a_long_cycle_is_named_by_its_ends() -> None:
    """Names of its first and last operators are enough."""
    edges = [(at, (at + 1) % 2000) for at in range(2000)]
    with pytest.raises(InvalidInputError, match=r"cycle, 0 -> 1 .*\.\.\..* -> 0; exp") as caught:
        Dag.from_edges(2000, edges)
    assert len(str(caught.value)) < 500


@pytest.mark.slow
@pytest.mark.parametrize("name", [b"caf\xe9", "caf\N{LATIN SMALL LETTER E WITH ACUTE}".encode()])
def test_names_that_are_no_text(
    tmp_path: Path, name: bytes, monkeypatch: pytest.MonkeyPatch, boundmark_process: Boundmark
) -> None:
    """Folders and files with any bytes in their names are written and read, under any locale."""
    for variable, value in (("LC_ALL", "C"), ("PYTHONUTF8", "0"), ("PYTHONCOERCECLOCALE", "0")):
        monkeypatch.setenv(variable, value)
    folder = tmp_path / os.fsdecode(name)
    folder.mkdir()
    model = folder / f"{os.fsdecode(name)}.txt"
    model.write_text(PROFILE)
    (folder / "own.toml").write_text(SUITE)
    out, kept = folder / "out", folder / "kept"
    given = ("-k", "2", "--method", "uniform", "--time-limit", "5", "--out", kept)
    boundmark_process("solve", model, *given)
    boundmark_process("run", folder / "own.toml", "--out", out)
    for words in (("verify", out), ("report", out), ("compare", out, out), ("verify", kept)):
        assert boundmark_process(*words).returncode == 0
    assert (out / "report.md").is_file()


def test_an_error_shows_names_as_they_are(folder: Path, boundmark: Boundmark) -> None:
    """An error names the file without moving the cursor."""
    done = boundmark("solve", folder / "no \x1b[31m such file.txt", "-k", "2", check=False)
    assert done.returncode == 2
    assert r"no \x1b[31m such file" in done.stderr
