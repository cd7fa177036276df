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


@pytest.fixture(params=problems())
def problem(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Write an instance of a problem, and a method that claims too much and solves nothing."""
    name: str = request.param
    (tmp_path / "one.json").write_text(canonical_json(larger(name).to_json()))
    (tmp_path / "boast.py").write_text(
        "from boundmark.problems.certificate import Claim\n"
        f"PROBLEM = {name!r}\n"
        'KIND = "bound"\n'
        "def run(instance, budget, seed, progress):\n"
        f"    progress.bound(Claim('boast', {BOAST}))\n"
    )
    return name


def solving(problem: str) -> str:
    """Return the first method of a problem that solves the instance."""
    for name, method in methods(problem).items():
        if method.kind == "heuristic":
            with suppress(UnsupportedError):
                record(name, larger(problem))
                return name
    raise AssertionError(problem)


def test_solve_leaves_it_out(boundmark: Boundmark, tmp_path: Path, problem: str) -> None:
    """A note says so, although the method itself has no cost that refutes it."""
    named = ("--method", solving(problem), "--method", tmp_path / "boast.py")
    answer = json.loads(boundmark("solve", tmp_path / "one.json", *named, "--json").stdout)
    assert answer["claimed_bound"] is None
    (note,) = answer["failures"]
    assert note.endswith(
        f"its bound of {BOAST:,.3f} is above a verified cost of {answer['objective']:,}, "
        "so it is wrong and left out"
    )


@pytest.mark.usefixtures("undrawn")
def test_runs_and_reports_list_it(boundmark: Boundmark, tmp_path: Path, problem: str) -> None:
    """At the end of the run, on the page and in a table."""
    suite, out = tmp_path / "suite.toml", tmp_path / "out"
    named = json.dumps([solving(problem), str(tmp_path / "boast.py")])
    suite.write_text(
        f'description = "A boast."\nproblem = "{problem}"\ntime_limit_seconds = 5\n'
        f"memory_limit_gib = 1\nmethods = {named}\n"
        '[[instances]]\nfile = "one.json"\n'
    )
    done = boundmark("run", suite, "--out", out, "--quiet")
    (line,) = [line for line in done.stdout.splitlines() if line.startswith("wrong: ")]
    assert "/boast.py above verified costs; the first: 1,000,000,000,000.000 on " in line
    boundmark("report", out, "--quiet")
    (row,) = pd.read_parquet(out / "tables" / "contradicted_claims.parquet").itertuples()
    assert row.bound_claimed == BOAST
    assert line.endswith(f"which has a solution of {int(row.best_objective):,}")
    page = (out / "report.md").read_text()
    assert "Claims that a verified solution contradicts" in page
