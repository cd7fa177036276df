import json
from pathlib import Path
from typing import Any

import pytest
from layouts import shape

from boundmark.benchmarks.model import load_instance, load_solution
from boundmark.problems.errors import InvalidInputError
from boundmark.problems.json_documents import canonical_json
from boundmark.problems.microbatch import MicrobatchInstance, Schedule
from boundmark.problems.pipeline import PipelineInstance
from boundmark.problems.problem import solution_document

INSTANCE = shape("v-2-train", micro_batches=1)
SCHEDULE = Schedule.from_json({"starts": [[0, 1, 2, 5]], "repetend": None})


def test_round_trip(tmp_path: Path) -> None:
    """What a results folder keeps can be read back."""
    path = tmp_path / "instance.json"
    path.write_text(canonical_json(INSTANCE.to_json()))
    assert load_instance(path, MicrobatchInstance).sha256 == INSTANCE.sha256
    path.write_text(json.dumps(solution_document(INSTANCE, SCHEDULE, 8)))
    found = load_solution(path, "microbatch", INSTANCE.sha256)
    assert found.to_json() == SCHEDULE.to_json()


def test_instance_of_another_problem(tmp_path: Path) -> None:
    """The file's name and both kinds of instance are in the message."""
    path = tmp_path / "instance.json"
    path.write_text(canonical_json(INSTANCE.to_json()))
    with pytest.raises(InvalidInputError, match="MicrobatchInstance; expected a PipelineInstance"):
        load_instance(path, PipelineInstance)


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"format": "boundmark-instance/1"}, "format is not 'boundmark-solution/1'"),
        ({"problem": "pipeline"}, "problem is 'pipeline'; expected 'microbatch'"),
        ({"instance_sha256": "abc"}, "instance_sha256 is 'abc'; expected that of the given"),
        ({"starts": 3}, "starts of the solution is not a table"),
    ],
)
def test_bad_solutions(tmp_path: Path, changes: dict[str, Any], text: str) -> None:
    """Each field that is wrong is named, with the file."""
    path = tmp_path / "solution.json"
    path.write_text(json.dumps({**solution_document(INSTANCE, SCHEDULE, 8), **changes}))
    with pytest.raises(InvalidInputError, match=f"solution.json: .*{text}"):
        load_solution(path, "microbatch", INSTANCE.sha256)


@pytest.mark.parametrize("text", ["", "{", "[]", "[" * 100_000])
def test_files_that_are_no_solution(tmp_path: Path, text: str) -> None:
    """Broken files are no solutions."""
    path = tmp_path / "solution.json"
    path.write_text(text)
    with pytest.raises(InvalidInputError, match=r"solution\.json"):
        load_solution(path, "microbatch", INSTANCE.sha256)
