"""Which problem it is, where a model suits several."""

import dataclasses
from pathlib import Path

import pytest

from boundmark.benchmarks import model
from boundmark.benchmarks.model import named_instance
from boundmark.problems.catalog import problems
from boundmark.problems.errors import BoundmarkError
from boundmark.problems.json_documents import canonical_json
from boundmark.problems.parameter import ChoiceParameter
from boundmark.problems.pipeline import PipelineInstance
from boundmark.problems.problem import Instance

GRAPH = "regal-style/erdos-renyi-1"
PIPELINE = problems()["pipeline"]


def made(name: str) -> "type[PipelineInstance]":
    """Return instances of another problem, which ignore its parameters."""

    class Made(PipelineInstance):
        problem = name

    return Made


def problem(name: str, *parameters: str) -> object:
    """Return a problem about the same graphs, with optional choices as parameters."""
    return dataclasses.replace(
        PIPELINE,
        name=name,
        parameters=tuple(ChoiceParameter(each, "any", ("a", "b"), "a") for each in parameters),
        instance=lambda graph, **chosen: made(name)(graph, 1),
    )


@pytest.fixture(autouse=True)
def several(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let there be two more problems about graphs."""
    others = (problem("ordering", "objective"), problem("placing", "objective", "transfers"))
    known = {**problems(), **{other.name: other for other in others}}
    monkeypatch.setattr(model, "problems", lambda: known)


@pytest.mark.parametrize(
    ("given", "asked", "expected"),
    [
        ({"k": "2"}, None, "pipeline"),
        ({"objective": "b"}, None, "ordering"),
        ({"transfers": "b"}, None, "placing"),
        ({"objective": "b", "transfers": "b"}, None, "placing"),
        ({"objective": "b"}, "placing", "placing"),
        ({}, "placing", "placing"),
        ({"k": "2"}, "pipeline", "pipeline"),
    ],
)
def test_the_first_that_has_all_parameters(
    given: dict[str, str], asked: str | None, expected: str
) -> None:
    """Unless one is asked for by name."""
    assert named_instance(GRAPH, given, asked).instance.problem == expected


@pytest.mark.parametrize(
    ("model", "given", "asked", "message"),
    [
        (GRAPH, {}, None, "k is missing; problem 'pipeline' needs it."),
        (
            GRAPH, {"k": "2", "objective": "a"}, None,
            f"no problem about {GRAPH} has k and objective together; 'pipeline' has k, backward, "
            "'ordering' has objective, 'placing' has objective, transfers.",
        ),
        (GRAPH, {"k": "2"}, "ordering", "k is no parameter of problem 'ordering'; expected objec"),
        (GRAPH, {"k": "2"}, "odering", "there is no problem 'odering'; did you mean ordering"),
        (GRAPH, {"memory": "2"}, None, f"no problem about {GRAPH} has memory"),
        (
            GRAPH, {}, "microbatch",
            f"{GRAPH}: a PipelineGraph was given; problem 'microbatch' is about BlockLayout.",
        ),
        ("shapes/v-2-train", {"k": "2"}, None, "k is no parameter of problem 'microbatch'; expect"),
        (
            "shapes/v-2-train", {}, "ordering",
            "shapes/v-2-train: a BlockLayout was given; problem 'ordering' is about Computation",
        ),
    ],
)  # fmt: skip
def test_contradictions(model: str, given: dict[str, str], asked: str | None, message: str) -> None:
    """The sentence says what does not go together."""
    with pytest.raises(BoundmarkError) as caught:
        named_instance(model, given, asked)
    assert str(caught.value).startswith(message)


def test_instances_in_files_know_their_problem(tmp_path: Path) -> None:
    """It may be asked for again, but no other one."""
    path = tmp_path / "stored.json"
    stored: Instance = named_instance(GRAPH, {"k": "2"}).instance
    path.write_text(canonical_json(stored.to_json()))
    assert named_instance(str(path), {}).instance.sha256 == stored.sha256
    assert named_instance(str(path), {"k": "3"}, "pipeline").instance.parameters == {"k": 3}
    assert named_instance(str(path), {}).label == "file/stored.json k=2"
    with pytest.raises(
        BoundmarkError, match=r"stored\.json: an instance of 'pipeline' was given; p"
    ):
        named_instance(str(path), {}, "ordering")
    with pytest.raises(BoundmarkError, match="objective is no parameter of problem 'pipeline'"):
        named_instance(str(path), {"objective": "a"})


def test_a_source_that_no_problem_is_about(monkeypatch: pytest.MonkeyPatch) -> None:
    """The sentence names the type, so that the package that is missing can be found."""
    monkeypatch.setattr(model, "load_source", lambda model, dims: object())
    with pytest.raises(BoundmarkError, match="x/y is of type object, which no problem is about"):
        named_instance("x/y", {})
