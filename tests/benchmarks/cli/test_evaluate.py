"""`boundmark evaluate`: an own solution is graded against a certified bound."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from command_line import Boundmark
from schedules import v_shape

from boundmark.bounds import checker
from boundmark.datasets.resolve import load_file, load_member
from boundmark.problems.json_documents import canonical_json
from boundmark.problems.pipeline import PROBLEM, Partition
from boundmark.problems.problem import solution_document

MODEL = "onnx-light/squeezenet"
KEYS = {
    "instance_sha256", "problem", "objective", "certified_bound", "claimed_bound", "gap",
    "optimal", "method", "solution", "certificate", "seconds",
}  # fmt: skip


def table(stages: dict[str, Any]) -> str:
    """Return a partition as CSV."""
    rows = [f"{name},{stage}" for name, stage in stages.items()]
    return "\n".join(["operator,stage", *rows]) + "\n"


@pytest.fixture(scope="module")
def names() -> tuple[str, ...]:
    """Return the operators' names in the order of the model."""
    return load_member(MODEL).names


@pytest.fixture
def quarters(tmp_path: Path, names: tuple[str, ...]) -> Path:
    """Write a partition into four runs of operators."""
    path = tmp_path / "mine.csv"
    path.write_text(table({name: 4 * at // len(names) for at, name in enumerate(names)}))
    return path


def test_a_stored_bound_grades(
    boundmark: Boundmark, finished_run: Path, quarters: Path, names: tuple[str, ...]
) -> None:
    """Cost, its parts and the gap to the folder's bound; stages and so `k` come from the file."""
    command = ("evaluate", MODEL, quarters, "--bounds", finished_run)
    answer = json.loads(boundmark(*command, "--json").stdout)
    assert set(answer) >= KEYS
    instance = PROBLEM.maker(load_member(MODEL))({"k": 4})
    stages = [4 * at // len(names) for at in range(len(names))]
    assert answer["instance_sha256"] == instance.sha256
    assert answer["objective"] == instance.objective(Partition(stages))
    assert answer["objective"] == sum(loss["ticks"] for loss in answer["losses"])
    assert answer["certified_bound"] <= answer["objective"]
    assert answer["gap"] == answer["objective"] / answer["certified_bound"] - 1
    assert answer["named_solution"][names[-1]] == 3
    assert checker.check_solution(instance.to_json(), answer["solution"]) == answer["objective"]
    proved = checker.check_certificate(instance.to_json(), answer["certificate"])
    assert proved >= answer["certified_bound"]
    text = boundmark(*command).stdout
    assert f"at most {answer['gap']:.2%} above the optimum" in text
    assert "where it is lost stage" in text
    assert max(map(len, text.splitlines())) <= 80


def test_the_grade_is_an_exit_code(
    boundmark: Boundmark, finished_run: Path, quarters: Path
) -> None:
    """0 if the gap is small enough, 1 if not, 3 if there is no bound to say."""
    command = ("evaluate", MODEL, quarters, "--bounds", finished_run)
    assert boundmark(*command, "--max-gap", 10_000).returncode == 0
    assert boundmark(*command, "--max-gap", 0, check=False).returncode == 1
    done = boundmark(*command, "-k", 5, "--max-gap", 10, check=False)
    assert done.returncode == 3
    assert "There is no certified bound" in done.stderr
    assert boundmark(*command, "-k", 5, check=False).returncode == 3
    assert "has no certified bound on instance" in " ".join(done.stdout.split())


def test_a_bound_is_computed(boundmark: Boundmark, quarters: Path, tmp_path: Path) -> None:
    """By methods that prove; what was found is kept, and the folder can be verified."""
    out = tmp_path / "out"
    answer = json.loads(
        boundmark(
            "evaluate", MODEL, quarters, "--method", "mean-work", "--out", out, "--json"
        ).stdout
    )
    assert answer["bound_method"] == "mean-work"
    assert 0 < answer["certified_bound"] < answer["objective"]
    assert ", 0 rejected" in boundmark("verify", out).stdout
    by_name = Path(answer["files"]["by_name"])
    assert by_name.read_text() == quarters.read_text()


def test_names_come_back_with_a_stored_instance(
    boundmark: Boundmark, finished_run: Path, quarters: Path, names: tuple[str, ...]
) -> None:
    """The instance's file has hash and content of before; the folder knows the names."""
    instance = PROBLEM.maker(load_member(MODEL))({"k": 4})
    path = finished_run / "instances" / f"{instance.sha256}.json"
    assert path.read_text() == canonical_json(instance.to_json())
    stored = load_file(path)
    assert stored.sha256 == instance.sha256
    assert (stored.graph.names, stored.graph.tick) == (names, "ns")
    text = boundmark("evaluate", path, quarters, "--bounds", finished_run).stdout
    assert f"{names[0]} .. " in text
    labels = json.loads((finished_run / "labels" / path.name).read_text())
    assert (labels["device"], labels["source"]) == ("nvidia-t4", MODEL)


def test_hostile_labels_are_rejected(
    boundmark: Boundmark, finished_run: Path, tmp_path: Path
) -> None:
    """`verify` says which file, and a stored instance does not take them for names."""
    folder = tmp_path / "out"
    shutil.copytree(finished_run, folder)
    path = min((folder / "labels").glob("*.json"))
    labels = json.loads(path.read_text())
    path.write_text(json.dumps({**labels, "names": ["\x1b[2J"] * len(labels["names"])}))
    done = boundmark("verify", folder, check=False)
    assert done.returncode == 1
    assert "1 rejected" in done.stdout
    assert f"labels/{path.name}: names has" in done.stdout
    assert "\x1b" not in done.stdout
    done = boundmark("solve", folder / "instances" / path.name, check=False)
    assert done.returncode == 2
    assert "twice; expected unique names" in " ".join(done.stderr.split())


def test_schedules(boundmark: Boundmark, tmp_path: Path) -> None:
    """A table of starts is for its number of micro-batches; an object may repeat."""
    _, schedule = v_shape(micro_batches=6)
    layout = load_member("shapes/v-4-train")
    rows = ["block,micro_batch,start"]
    for number, starts in enumerate(schedule.starts_for(6).tolist()):
        rows += [f"{b.name},{number},{s}" for b, s in zip(layout.blocks, starts, strict=True)]
    path = tmp_path / "mine.csv"
    path.write_text("\n".join(rows))
    command = ("evaluate", "shapes/v-4-train", path, "--memory", 4, "--method", "device-load")
    answer = json.loads(boundmark(*command, "--json").stdout)
    assert answer["micro_batches"] == 6
    assert answer["certified_bound"] <= answer["objective"]
    assert [loss["name"] for loss in answer["losses"]] == ["computing", "waiting"]
    path = tmp_path / "mine.json"
    path.write_text(json.dumps(schedule.to_json()))
    command = ("evaluate", "shapes/v-4-train", path, "--memory", 4, "--method", "device-load")
    text = boundmark(*command).stdout
    assert "period           4 (by given, verified)" in text
    assert "0 (optimal, certified)" in text


@pytest.mark.parametrize(
    ("content", "options", "message"),
    [
        ({"x": 0}, (), "there is no operator 'x' in the model"),
        ([0] * 65, (), "1 of 66 operators are left out: "),
        ([1] * 66, ("-k", 1), "the partition uses stages 1 to 1; expected 0 to 0."),
        ([v % 2 for v in range(66)], (), "the stages cannot run one after another"),
        ([0] * 66, ("--max-gap", "nan"), "--max-gap is nan; expected a percentage of at least 0."),
        ([0] * 66, ("--time-limit", "nan"), "'--time-limit': nan; expected a positive"),
        ([0] * 66, ("--method", "slicegraph"), "method 'slicegraph' finds no bounds"),
        ([0] * 66, ("--method", "modulo"), "method 'modulo' treats 'microbatch'"),
        ({"stages": [0] * 65}, (), "the partition has 65 stages; expected one for each of the 66"),
    ],
)
def test_mistakes(
    boundmark: Boundmark, tmp_path: Path, content: Any, options: tuple[Any, ...], message: str
) -> None:
    """Each is a sentence and exit code 2."""
    path = tmp_path / "mine.json"
    path.write_text(json.dumps(content))
    done = boundmark("evaluate", MODEL, path, *options, check=False)
    assert done.returncode == 2
    assert message in " ".join(done.stderr.split())
    assert "Traceback" not in done.stderr


def test_a_solution_of_another_instance(boundmark: Boundmark, tmp_path: Path) -> None:
    """A stored solution says which instance it is of."""
    instance = PROBLEM.maker(load_member("onnx-light/alexnet"))({"k": 2})
    partition = Partition([0] * instance.nodes)
    path = tmp_path / "solution.json"
    document = solution_document(instance, partition, instance.objective(partition))
    path.write_text(json.dumps(document))
    done = boundmark("evaluate", "onnx-light/alexnet", path, "-k", 3, check=False)
    assert done.returncode == 2
    assert f"it is a solution of instance '{instance.sha256[:12]}'" in " ".join(done.stderr.split())
