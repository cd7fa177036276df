"""Which problem it is, where a model suits several."""

import dataclasses
import json
import re
from pathlib import Path
from typing import Any

import pytest
from layouts import shape

from boundmark.benchmarks.solving.model import (
    Model,
    choose,
    load_instance,
    load_solution,
    named_instance,
)
from boundmark.problems.arrays import frozen
from boundmark.problems.catalog import datasets, problems
from boundmark.problems.computation_graph import ComputationGraph, Operator, Tensor
from boundmark.problems.dataset import Dataset
from boundmark.problems.devices import find_device
from boundmark.problems.errors import BoundmarkError, InvalidInputError
from boundmark.problems.json_documents import canonical_json
from boundmark.problems.microbatch import MicrobatchInstance, Schedule
from boundmark.problems.parameter import ChoiceParameter
from boundmark.problems.pipeline import PipelineInstance
from boundmark.problems.pipeline.graph import PipelineGraph
from boundmark.problems.problem import Instance, solution_document

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
    for other in others:
        monkeypatch.setitem(problems(), other.name, other)


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
            f"no problem about {GRAPH} has k and objective together; 'pipeline' has k, phase, "
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
    odd = Dataset("x", object, "Odd.", tuple, lambda member: object())
    monkeypatch.setitem(datasets(), "x", odd)
    with pytest.raises(BoundmarkError, match="x/y is of type object, which no problem is about"):
        named_instance("x/y", {})


def halves(dtype: str = "float16") -> ComputationGraph:
    """Return a graph of two elementwise operators."""
    tensors = tuple(Tensor(name, (10**6,), dtype) for name in "abc")
    operators = (
        Operator("relu", "Relu", 10**6, (0,), (1,), {}),
        Operator("gelu", "Gelu", 10**6, (1,), (2,), {}),
    )
    return ComputationGraph(operators, tensors, frozenset(), (2,), dtype)


@pytest.mark.parametrize(
    ("dataset", "dtype", "device", "costs", "expected"),
    [
        ("file", "float16", None, None, "nvidia-h100+calibrated"),
        ("file", "float32", None, None, "nvidia-h100"),
        ("zoo", "float16", None, None, "nvidia-t4"),
        ("zoo", "float16", "nvidia-h100", None, "nvidia-h100"),
        ("zoo", "float16", "nvidia-h100", "calibrated", "nvidia-h100+calibrated"),
        ("file", "float16", None, "roofline", "nvidia-h100"),
        ("file", "float16", "nvidia-a100", None, "nvidia-a100"),
        ("file", "float16", "nvidia-a100", "calibrated", "nvidia-a100+calibrated"),
        ("file", "float32", "nvidia-h100+fusion", "calibrated", "nvidia-h100+fusion+calibrated"),
    ],
)
def test_costs_are_those_that_are_asked_for(
    dataset: str, dtype: str, device: str | None, costs: str | None, expected: str
) -> None:
    """Or else the usual ones: calibrated for a model of one's own, if measured in its dtype."""
    given = {"k": 2} if costs is None else {"k": 2, "costs": costs}
    hardware = None if device is None else find_device(device)
    model = Model(halves(dtype), "m", dataset, "m", hardware)
    assert choose(model, given, "pipeline", are_texts=False).device == expected


@pytest.mark.parametrize(
    ("dtype", "device", "expected"),
    [
        ("float16", "nvidia-h100+fusion", "nvidia-h100 in float16, fused"),
        ("float32", "raspberry-pi-5", "raspberry-pi-5 in float32"),
        ("float16", "dgx-a100", "nvidia-a100 in float16"),
    ],
)
def test_what_costs_are_for_is_known(dtype: str, device: str, expected: str) -> None:
    """The devices of a cluster once, and the type of the model's arithmetic."""
    model = Model(halves(dtype), "m", "file", "m", find_device(device))
    problem = "placement" if device == "dgx-a100" else "pipeline"
    given = {} if device == "dgx-a100" else {"k": 2}
    assert str(choose(model, given, problem, are_texts=False).hardware) == expected


@pytest.mark.parametrize(
    ("device", "costs", "message"),
    [
        ("nvidia-h100", "peak", "costs is 'peak'; expected roofline, calibrated, or a .json file"),
        ("nvidia-h100", "times.json", "times.json does not exist; expected measured times."),
        ("raspberry-pi-5", "calibrated", "has no table of efficiencies"),
        ("nvidia-h100+calibrated", "roofline", "has others; expected one of both"),
        ("dgx-a100", "times.json", "expected --device dgx-a100+gpu0=times.json"),
    ],
)
def test_costs_that_a_device_cannot_have(device: str, costs: str, message: str) -> None:
    """The error says what was expected."""
    model = Model(halves(), "m", "file", "m", find_device(device))
    with pytest.raises(InvalidInputError, match=re.escape(message)):
        choose(model, {"k": 2, "costs": costs}, "pipeline", are_texts=False)


def test_measured_costs_keep_the_link_and_memory_of_the_device(tmp_path: Path) -> None:
    """Only the times are the file's."""
    times = tmp_path / "times.json"
    times.write_text(
        json.dumps(
            {
                "format": "boundmark-times/1",
                "base": "nvidia-t4",
                "source": "a clock",
                "operators": {"relu": 5, "gelu": 7},
            }
        )
    )
    model = Model(halves(), "m", "file", "m", find_device("nvidia-a100"))
    chosen = choose(model, {"k": 2, "costs": str(times)}, "pipeline", are_texts=False)
    instance = chosen.make({"k": 2})
    assert isinstance(instance, PipelineInstance)
    graph = instance.graph
    assert graph.work.tolist() == [5, 7]
    assert graph.transfer.tolist() == [round(2e6 / 300e9 * 1e9), 0]
    assert chosen.device == "measured:times"


def test_efficiencies_of_another_dtype_are_said_to_be() -> None:
    """They were measured in float16."""
    said = "were measured in float16 and bfloat16, and the model computes in float32"
    for dtype, is_said in (("float16", False), ("float32", True)):
        model = Model(halves(dtype), "m", "file", "m", find_device("nvidia-h100"))
        chosen = choose(model, {"k": 2, "costs": "calibrated"}, "pipeline", are_texts=False)
        assert any(said in note for note in chosen.notes) == is_said


@pytest.mark.parametrize(
    ("problem", "device", "given"),
    [
        ("pipeline", "raspberry-pi-4", {"k": 2}),
        ("placement", "raspberry-pi-4-gigabit", {}),
        ("slicing", "raspberry-pi-4-gigabit", {}),
    ],
)
def test_devices_without_the_type_are_named(
    problem: str, device: str, given: dict[str, int]
) -> None:
    """Whatever the problem, they compute in a wider type, and a note says so."""
    for dtype, is_said in (("float16", True), ("float32", False)):
        model = Model(halves(dtype), "m", "file", "m", find_device(device))
        chosen = choose(model, given, problem, are_texts=False)
        assert chosen.notes == is_said * (
            "device raspberry-pi-4 has no peak rate for float16: it computes in float32, the next "
            "type that it has",
        )
        assert chosen.named(chosen.make(given)).notes == chosen.notes


def test_costs_of_graphs_with_costs_cannot_be_chosen() -> None:
    """They came with the model."""
    graph = PipelineGraph.without_parameters(
        halves().dag, frozen([1, 2]), frozen([3, 4]), ("relu", "gelu")
    )
    model = Model(graph, "m", "file", "m")
    with pytest.raises(InvalidInputError, match="costs is 'roofline', but the costs came with"):
        choose(model, {"k": 2, "costs": "roofline"}, "pipeline", are_texts=False)


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
