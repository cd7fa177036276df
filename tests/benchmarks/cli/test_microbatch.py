import json
from pathlib import Path

import pytest
from command_line import Boundmark


def stored(folder: Path) -> tuple[Path, Path]:
    """Return the instance and the solution in a results folder."""
    (instance,) = (folder / "instances").glob("*.json")
    (solution,) = (folder / "solutions").glob("*.json")
    return instance, solution


@pytest.fixture(scope="module")
def schedule(boundmark: Boundmark, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Solve an M-shape by 1F1B+; not to be changed."""
    out = tmp_path_factory.mktemp("schedule")
    boundmark(
        "solve", "shapes/m-3-train", "--memory", 3, "--method", "1f1b-plus", "--out", out, "--quiet"
    )
    return stored(out)


def test_from_a_model_to_a_simulation(boundmark: Boundmark, tmp_path: Path) -> None:
    """A model is partitioned, its stages are scheduled, and the schedule is simulated."""
    boundmark(
        "solve", "onnx-light/squeezenet", "-k", 3, "--method", "slicegraph",
        "--out", tmp_path / "stages", "--quiet",
    )  # fmt: skip
    made = tmp_path / "layout.json"
    boundmark("microbatch", "from-pipeline", *stored(tmp_path / "stages"), made, "--memory", 3)
    document = json.loads(made.read_text())
    assert document["capacity"] == [3, 3, 3]
    assert max(document["duration"][:3]) == 100
    boundmark("solve", made, "--method", "1f1b", "--out", tmp_path / "schedule", "--quiet")
    done = boundmark(
        "microbatch", "simulate", *stored(tmp_path / "schedule"), "--micro-batches", 6, "--json"
    )
    answer = json.loads(done.stdout)
    assert answer["micro_batches"] == 6
    assert len(answer["busy"]) == 3
    assert answer["makespan"] <= answer["scheduled"]


def test_simulation_as_json(
    boundmark: Boundmark, schedule: tuple[Path, Path], tmp_path: Path
) -> None:
    """Free transfers cost nothing, others do; the instruction lists are kept on request."""
    lists = tmp_path / "lists.json"
    command = ("microbatch", "simulate", *schedule, "--micro-batches", 8, "--json")
    free = json.loads(boundmark(*command, "--instructions", lists).stdout)
    slow, blocking = (
        json.loads(boundmark(*command, "--transfer", 2, *more).stdout)
        for more in ((), ("--blocking",))
    )
    assert free["makespan"] <= free["scheduled"] == slow["scheduled"]
    assert free["makespan"] <= slow["makespan"] <= blocking["makespan"]
    assert free["busy"] == blocking["busy"]
    assert len(json.loads(lists.read_text())["devices"]) == 3


def test_simulation_for_people(boundmark: Boundmark, schedule: tuple[Path, Path]) -> None:
    """A line a device, then the makespan."""
    lines = boundmark(
        "microbatch", "simulate", *schedule, "--transfer", 1, "--blocking"
    ).stdout.splitlines()
    assert lines[0].split()[:3] == ["device", "blocks", "sends"]
    assert [line.split()[0] for line in lines[1:4]] == ["0", "1", "2"]
    assert lines[-1].startswith("makespan")


def test_mistakes_are_sentences(boundmark: Boundmark, schedule: tuple[Path, Path]) -> None:
    """Files in the wrong order, too few micro-batches, and no ratio, exit with 2."""
    instance, solution = schedule
    for arguments, text in (
        (("simulate", solution, instance), "expected 'boundmark-instance/1'"),
        (("simulate", instance, solution, "--transfer", 2**53), "ticks; expected at most 2^53"),
        (("simulate", instance, solution, "--transfer", 2**53 + 1), "not in the range"),
        (("simulate", instance, solution, "--micro-batches", 1), "at least"),
        (("from-pipeline", instance, solution, "x.json"), "expected a PipelineInstance"),
        (("from-pipeline", instance, solution, "x.json", "--backward", "much"), "such as 2, 2.5"),
    ):
        done = boundmark("microbatch", *arguments, check=False)
        assert done.returncode == 2
        assert text in done.stderr
        assert "Traceback" not in done.stderr
