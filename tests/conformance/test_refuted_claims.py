"""A claim that a verified cost refutes is marked as wrong, whatever the problem."""

import json
from contextlib import suppress
from pathlib import Path

import pandas as pd
import pytest
from command_line import Boundmark
from recording import record
from tiny_instances import larger

from boundmark.problems.catalog import methods, problems
from boundmark.problems.errors import UnsupportedError
from boundmark.problems.json_documents import canonical_json

BOAST = 10.0**12


def write(problem: str, folder: Path) -> tuple[Path, Path]:
    """Write an instance of a problem, and a method that claims too much and solves nothing."""
    one, boast = folder / f"{problem}.json", folder / f"{problem}.py"
    one.write_text(canonical_json(larger(problem).to_json()))
    boast.write_text(
        "from boundmark.problems.certificate import Claim\n"
        f"PROBLEM = {problem!r}\n"
        'KIND = "bound"\n'
        "def run(instance, budget, seed, progress):\n"
        f"    progress.bound(Claim('boast', {BOAST}))\n"
    )
    return one, boast


def solving(problem: str) -> str:
    """Return the first method of a problem that solves the instance."""
    for name, method in methods(problem).items():
        if method.kind == "heuristic":
            with suppress(UnsupportedError):
                record(name, larger(problem))
                return name
    raise AssertionError(problem)


@pytest.mark.parametrize("problem", problems())
def test_solve_leaves_it_out(boundmark: Boundmark, tmp_path: Path, problem: str) -> None:
    """A note says so, although the method itself has no cost that refutes it."""
    one, boast = write(problem, tmp_path)
    named = ("--method", solving(problem), "--method", boast)
    answer = json.loads(boundmark("solve", one, *named, "--json").stdout)
    assert answer["claimed_bound"] is None
    (note,) = answer["failures"]
    assert note.endswith(
        f"its bound of {BOAST:,.3f} is above a verified cost of {answer['objective']:,}, "
        "so it is wrong and left out"
    )


@pytest.mark.usefixtures("undrawn")
def test_runs_and_reports_list_it(boundmark: Boundmark, tmp_path: Path) -> None:
    """At the end of the run, on the page and in a table, whatever the problem."""
    suite, out, said = tmp_path / "suite.toml", tmp_path / "out", []
    for problem in problems():
        one, boast = write(problem, tmp_path)
        suite.write_text(
            f'description = "A boast."\nproblem = "{problem}"\ntime_limit_seconds = 5\n'
            f"memory_limit_gib = 1\nmethods = {json.dumps([solving(problem), str(boast)])}\n"
            f'[[instances]]\nfile = "{one.name}"\n'
        )
        done = boundmark("run", suite, "--out", out, "--quiet")
        said += [line for line in done.stdout.splitlines() if line.startswith("wrong: ")]
    boundmark("report", out, "--quiet")
    table = pd.read_parquet(out / "tables" / "contradicted_claims.parquet")
    assert len(table) == len(problems())
    assert (table["bound_claimed"] == BOAST).all()
    for problem, cost in zip(table["problem"], table["best_objective"], strict=True):
        (line,) = {line for line in said if f"/{problem}.py above verified costs; " in line}
        assert "the first: 1,000,000,000,000.000 on " in line
        assert line.endswith(f"which has a solution of {int(cost):,}")
    assert "Claims that a verified solution contradicts" in (out / "report.md").read_text()
