"""Solutions of every problem are graded by the names of operators, blocks and devices."""

import csv
import json
from pathlib import Path
from typing import Any

import pytest
from command_line import Boundmark

from boundmark.problems.catalog import problems

MODEL = "onnx-light/squeezenet"

# Of each problem: a model, a method that finds solutions, one that proves bounds, options.
CASES = {
    "pipeline": (MODEL, "balanced-work", "mean-work", ("-k", 3)),
    "microbatch": ("shapes/v-4-train", "1f1b", "device-load", ("--micro-batches", 4)),
    "placement": (MODEL, "m-topo", "critical-path", ()),
    "ordering": (MODEL, "default-order", "live-cut", ("--metric", "peak")),
    "slicing": (MODEL, "equal-slices", "slice-compute", ("--edge-devices", 3)),
}


def test_every_problem_has_a_case() -> None:
    """Whoever adds a problem adds its table, and its case here."""
    assert set(CASES) == {name for name, one in problems().items() if one.table is not None}


@pytest.mark.parametrize("problem", CASES)
def test_a_solution_found_is_graded_the_same(
    boundmark: Boundmark, tmp_path: Path, problem: str
) -> None:
    """What `solve` writes by name costs the same when it comes back, and its parts add up."""
    model, heuristic, bound, options = CASES[problem]
    common = ("--problem", problem, *options)
    out = tmp_path / "out"
    command = ("solve", model, *common, "--method", heuristic, "--method", bound, "--out", out)
    found = json.loads(boundmark(*command, "--json").stdout)
    by_name = Path(found["files"]["by_name"])
    mine = tmp_path / "mine.csv"
    with by_name.open() as file:
        header, *rows = csv.reader(file)
    assert tuple(header) == problems()[problem].table.columns
    mine.write_text("\n".join(",".join(row) for row in [header, *reversed(rows)]))
    command = ("evaluate", model, mine, *common, "--bounds", out)
    graded = json.loads(boundmark(*command, "--json").stdout)
    assert graded["instance_sha256"] == found["instance_sha256"]
    assert graded["objective"] == found["objective"]
    assert graded["certified_bound"] == found["certified_bound"]
    assert sum(loss["ticks"] for loss in graded["losses"]) == graded["objective"]
    if isinstance(found["named_solution"], dict):
        mine = tmp_path / "mine.json"
        mine.write_text(json.dumps(found["named_solution"]))
        again = json.loads(boundmark("evaluate", model, mine, *command[3:], "--json").stdout)
        assert again["objective"] == found["objective"]


@pytest.mark.parametrize("problem", CASES)
def test_the_grade_is_an_exit_code(boundmark: Boundmark, tmp_path: Path, problem: str) -> None:
    """0 within the gap asked for, 1 beyond it, whatever the problem."""
    model, heuristic, bound, options = CASES[problem]
    common = ("--problem", problem, *options, "--method", bound)
    found = boundmark("solve", model, *common, "--method", heuristic, "--json")
    answer = json.loads(found.stdout)
    assert answer["gap"] > 0
    path = tmp_path / "mine.json"
    path.write_text(json.dumps(answer["solution"]))
    for wanted, code in ((100 * answer["gap"] + 1, 0), (0, 1)):
        command = ("evaluate", model, path, *common, "--max-gap", wanted)
        assert boundmark(*command, check=False).returncode == code


MISTAKES: list[tuple[str, Any, str]] = [
    ("placement", {"x": "A"}, "there is no operator 'x' in the model"),
    ("placement", ["A"] * 65, "1 of 66 operators are left out"),
    ("placement", ["E"] * 66, "is 'E'; expected A, B, C, D, or a number from 0 to 3"),
    ("placement", [4] * 66, "is 4; expected A, B, C, D, or a number from 0 to 3"),
    ("ordering", [0] * 66, "position 0 occurs twice; expected unique positions"),
    ("ordering", list(range(65, -1, -1)), "before"),
    ("slicing", [0] * 66, "entry 0 is 0; expected an object with the fields operator, device, ind"),
    (
        "slicing",
        [{"operator": v, "device": "pi1", "indices": 1} for v in range(66)],
        "indices together; expected",
    ),
    (
        "slicing",
        [{"operator": 0, "device": "pi9", "indices": 1}],
        "is 'pi9'; expected pi1, pi2, pi3, pi4, pi5 and 3 more",
    ),
]


@pytest.mark.parametrize(("problem", "content", "message"), MISTAKES)
def test_mistakes(
    boundmark: Boundmark, tmp_path: Path, problem: str, content: Any, message: str
) -> None:
    """Each is a sentence and exit code 2."""
    path = tmp_path / "mine.json"
    path.write_text(json.dumps(content))
    done = boundmark("evaluate", MODEL, path, "--problem", problem, check=False)
    assert done.returncode == 2
    assert message in " ".join(done.stderr.split())
    assert "Traceback" not in done.stderr
