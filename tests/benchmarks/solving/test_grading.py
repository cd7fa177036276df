"""Solutions of every problem are graded by the names of operators, blocks and devices."""

import csv
import json
from pathlib import Path
from typing import Any

import pytest
from command_line import Boundmark
from recording import record

from boundmark.benchmarks.cli.answers.printer import named_solution, write_named_solution
from boundmark.benchmarks.solving.answer import Answer
from boundmark.benchmarks.solving.grading import solution_in
from boundmark.benchmarks.solving.model import choose, named_instance
from boundmark.benchmarks.solving.presentation import presentation_of
from boundmark.problems.catalog import problems
from boundmark.problems.errors import InvalidInputError
from boundmark.problems.problem import solution_document

MODEL = "onnx-light/squeezenet"

# Of each problem: a model, a method that finds solutions, parameters.
CASES: dict[str, tuple[str, str, dict[str, str]]] = {
    "pipeline": (MODEL, "balanced-work", {"k": "3"}),
    "microbatch": ("shapes/v-4-train", "1f1b", {"micro_batches": "4"}),
    "placement": (MODEL, "m-topo", {}),
    "ordering": (MODEL, "bfs-order", {"metric": "peak"}),
    "slicing": (MODEL, "equal-slices", {"edge_devices": "3"}),
    "layers": (MODEL, "llama-cpp-memory", {"devices": "2xT4,1xA10"}),
}


def found(problem: str) -> Answer:
    """Return what a heuristic finds for the case of a problem."""
    model, method, given = CASES[problem]
    source = named_instance(model, given, problem)
    solution = record(method, source.instance).solutions[-1]
    objective = source.instance.objective(solution)
    document = solution_document(source.instance, solution, objective)
    return Answer(
        source=source, objective=objective, certified_bound=None, claimed_bound=None,
        solution=document, certificate=None, method=method, bound_method=None, seconds=0.0,
        failures=(),
    )  # fmt: skip


def test_every_problem_has_a_case() -> None:
    """Whoever adds a problem adds its table, and its case here."""
    assert set(CASES) == {name for name, one in problems().items() if one.table is not None}


@pytest.mark.parametrize("problem", CASES)
def test_what_is_written_by_name_costs_the_same(problem: str, tmp_path: Path) -> None:
    """In any order of rows; and the parts of the cost add up to it."""
    answer = found(problem)
    path = write_named_solution(answer, tmp_path, "best")
    assert path is not None
    with path.open() as file:
        header, *rows = csv.reader(file)
    assert tuple(header) == problems()[problem].table.columns
    path.write_text("\n".join(",".join(row) for row in [header, *reversed(rows)]))
    objects = tmp_path / "mine.json"
    objects.write_text(json.dumps(named_solution(answer)))
    model, _, given = CASES[problem]
    for file in (path, objects):
        graded = solution_in(file, choose(model, given, problem))
        assert graded.source.instance.sha256 == answer.source.instance.sha256
        # A table of devices does not say when operators start; all heuristics use one simulator.
        assert graded.objective == answer.objective
        assert graded.document["objective"] == answer.objective
    losses = presentation_of(problem).losses(answer)
    assert sum(loss.ticks for loss in losses) == answer.objective
    assert all(loss.ticks >= 0 for loss in losses)


def test_the_grade_is_an_exit_code(boundmark: Boundmark, tmp_path: Path) -> None:
    """0 within the gap asked for, 1 beyond it; `test_evaluate` has more of pipelines."""
    answer = found("placement")
    path = write_named_solution(answer, tmp_path, "best")
    command = ("evaluate", MODEL, path, "--problem", "placement", "--method", "critical-path")
    done = boundmark(*command, "--max-gap", 1, "--json", check=False)
    graded = json.loads(done.stdout)
    assert graded["objective"] == answer.objective
    assert 0 < graded["certified_bound"] <= graded["objective"]
    assert done.returncode == (0 if graded["gap"] <= 0.01 else 1)
    assert graded["grade"] == ("passed" if graded["gap"] <= 0.01 else "failed")


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
def test_mistakes(problem: str, content: Any, message: str, tmp_path: Path) -> None:
    """Each is a sentence that names the file."""
    path = tmp_path / "mine.json"
    path.write_text(json.dumps(content))
    with pytest.raises(InvalidInputError) as raised:
        solution_in(path, choose(MODEL, {}, problem))
    assert message in str(raised.value)
    assert str(raised.value).startswith(str(path))
