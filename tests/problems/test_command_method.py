"""Executables as methods: what they write is reported, and whatever they do wrong is a sentence."""

import shutil
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

import boundmark
from boundmark.problems.errors import InvalidInputError
from boundmark.problems.method import Method

NODES = pd.DataFrame({"name": ["a", "b", "c"], "work": [4, 2, 3], "transfer": [1, 1, 1]})
EDGES = pd.DataFrame({"source": ["a", "b"], "target": ["b", "c"]})
CHAIN = boundmark.load((NODES, EDGES), name="chain")

EXAMPLE = Path(__file__).parents[2] / "docs" / "examples" / "first_fit.cpp"


def run(code: str, seconds: float = 5.0) -> "pd.Series[str]":
    """Return the row of a program in Python that has read its instance as `instance`."""
    program = f"import json, sys\ninstance = json.loads(sys.stdin.readline())\n{code}"
    method = Method.command([sys.executable, "-c", program], name="mine")
    rows = boundmark.benchmark(method, CHAIN, k=2, seconds=seconds, quiet=True)
    return rows.iloc[0]


def test_what_it_writes_is_reported() -> None:
    """Solutions, claims, and certificates, which the checker judges."""
    row = run(
        """
print()
print(json.dumps({"stages": [0] * len(instance["work"])}))
print(json.dumps({"claimed_bound": 5.5}), flush=True)
print(json.dumps({"certificate": {"kind": "max-work/1", "bound": 4, "payload": {"node": 0}}}))
print(json.dumps({"stages": [0, 1, 1]}), end="")
"""
    )
    assert (row["status"], row["cost"], row["bound"]) == ("ok", 6, 4)


@pytest.mark.parametrize(
    ("code", "status", "detail"),
    [
        ("print('garbage')", "error", " is 'garbage'; expected a JSON object, such as a solution."),
        ("print([1])", "error", " is '[1]'; expected a JSON object, such as a solution."),
        ("sys.exit(3)", "error", " ended with exit code 3; expected 0."),
        ("import os; os.kill(os.getpid(), 9)", "error", " was ended by signal 9."),
        (
            "print(json.dumps({'stages': [0]}))", "error",
            " is no solution: the partition has 1 stages; expected one for each of the 3 nodes",
        ),
        ("print(json.dumps({'claimed_bound': True}))", "error", ": claimed_bound is no number"),
        ("print(json.dumps({'stages': [1, 0, 1]}))", "error", ""),
        ("import time; time.sleep(60)", "ok", ""),
        ("import os, time; os.close(1); time.sleep(60)", "ok", ""),
        (
            "import time; print('x' * 10**6, end='', flush=True); time.sleep(60)", "error",
            "it had written 1,000,000 characters and no end of a line when its time was up",
        ),
    ],
)  # fmt: skip
def test_what_it_does_wrong(code: str, status: str, detail: str) -> None:
    """One sentence each, without anybody's frames; who hangs is ended when the time is up."""
    row = run(code, seconds=1)
    assert row["status"] == status
    assert detail in row["detail"]
    assert "Traceback" not in row["detail"]
    assert row["seconds"] < 30


def test_long_lines_come_whole() -> None:
    """However many pieces they are read in, and with others beside them."""
    row = run(
        "line = json.dumps({'stages': [0, 1, 1]})\n"
        "print(json.dumps({'stages': [0, 0, 0]}) + '\\n' + line[:-1] + ' ' * 10**6 + line[-1])"
    )
    assert (row["status"], row["cost"]) == ("ok", 6)


def test_what_it_found_before_counts() -> None:
    """Also if it ignores the signal that ends it, in the middle of a line."""
    row = run(
        "import signal, time\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "print(json.dumps({'stages': [0, 0, 0]}), '{', sep='\\n', end='', flush=True)\n"
        "time.sleep(60)",
        seconds=1,
    )
    assert (row["status"], row["cost"]) == ("ok", 9)


def test_commands_that_are_none() -> None:
    """A text is no list; what is not there cannot be started."""
    with pytest.raises(InvalidInputError, match="expected a list of texts, the executable first"):
        Method.command("./solver")
    rows = boundmark.benchmark(Method.command(["./no-such-solver"]), CHAIN, k=2, quiet=True)
    assert rows["detail"].iloc[0] == (
        "./no-such-solver cannot be started: No such file or directory; expected an executable."
    )
    with pytest.raises(InvalidInputError, match="treats 'ordering'; expected one for 'pipeline'"):
        boundmark.benchmark(Method.command(["x"], problem="ordering"), CHAIN, k=2, quiet=True)


def test_the_seed_is_given() -> None:
    """A method whose command names the seed depends on it."""
    assert Method.command(["./solver", "--seed={seed}"]).seeded
    method = Method.command(["/bin/sh", "-c", "echo '{\"claimed_bound\": {seed}}'"], name="mine")
    rows = boundmark.benchmark(method, CHAIN, k=2, seed=2, quiet=True)
    assert rows["status"].iloc[0] == "ok"


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("g++") is None, reason="there is no C++ compiler")
def test_the_example_in_cpp(tmp_path: Path) -> None:
    """It compiles without warnings, and its partition is one of the checker's."""
    solver = tmp_path / "first_fit"
    flags = ["-O2", "-std=c++17", "-Wall", "-Wextra", "-Werror"]
    subprocess.run(["g++", *flags, "-o", solver, EXAMPLE], check=True)
    rows = boundmark.benchmark(
        Method.command([str(solver)]), ["onnx-light/squeezenet", CHAIN], k=(1, 2, 4), quiet=True
    )
    assert (rows["status"] == "ok").all()
    assert (rows["gap"] >= 0).all()
    assert rows["gap"].iloc[1] < 0.5
