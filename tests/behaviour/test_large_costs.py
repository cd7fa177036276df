"""Costs that add up to nearly 2^53 are told to the last tick, wherever they are told."""

import json
from pathlib import Path

import brute_force
import pytest
from command_line import Boundmark

LARGE = 2**51
INSTANCE = brute_force.instance(
    [LARGE - 3, LARGE - 1, LARGE - 7, LARGE - 11],
    [(0, 1), (1, 2), (2, 3)],
    2,
    transfer=[3, 5, 7, 0],
)
HALVES, THREE = 2 * LARGE - 4 + 5, 3 * LARGE - 19 + 3

SUITE = """
description = "Large."
problem = "pipeline"
time_limit_seconds = 60
memory_limit_gib = 1
methods = ["max-work", "slicegraph", "uniform"]
[[instances]]
file = "large.json"
k = [2]
"""


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """Store the instance."""
    path = tmp_path / "large.json"
    path.write_text(json.dumps(INSTANCE.to_json()))
    return path


def test_answers(boundmark: Boundmark, model: Path) -> None:
    """JSON holds integers; what people read has separators, and columns that hold all of it."""
    given = (model, "-k", 2, "--time-limit", 60, "--method", "max-work")
    solved = json.loads(boundmark("solve", *given, "--method", "slicegraph", "--json").stdout)
    assert (solved["objective"], solved["certified_bound"]) == (HALVES, LARGE - 1)
    assert sum(loss["ticks"] for loss in solved["losses"]) == HALVES
    solution = model.with_name("own.csv")
    solution.write_text("operator,stage\n0,0\n1,1\n2,1\n3,1\n")
    lines = boundmark("evaluate", model, solution, *given[1:], "--quiet").stdout.splitlines()
    assert any(f"{THREE:,} (by given, verified)" in line for line in lines)
    losses = lines[next(at for at, line in enumerate(lines) if "lost" in line) + 1 :]
    assert len({line.index("%") for line in losses}) == 1


@pytest.mark.usefixtures("undrawn")
def test_pages(boundmark: Boundmark, model: Path) -> None:
    """Tables and hints say all digits."""
    (model.with_name("large.toml")).write_text(SUITE)
    out = model.with_name("out")
    boundmark("run", model.with_name("large.toml"), "--out", out, "--quiet")
    boundmark("report", out, "--format", "html,md,latex")
    html, markdown = (out / "report.html").read_text(), (out / "report.md").read_text()
    assert f"{HALVES:,}" in markdown
    assert f"slicegraph: cost {HALVES:,} after" in html
    assert f"max-work: bound {LARGE - 1:,} after" in html
    assert "e+1" not in html + markdown + (out / "report.tex").read_text()
