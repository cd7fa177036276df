import json
from dataclasses import replace
from typing import Any

import pytest
from brute_force_placement import instance

from boundmark.bounds import checker
from boundmark.datasets.resolve import load_member
from boundmark.problems.errors import BoundmarkError
from boundmark.problems.json_documents import canonical_json
from boundmark.problems.placement import PROBLEM, PlacementInstance, PlacementSchedule
from boundmark.problems.problem import solution_document

SAMPLE = instance(
    [[2, 3], [1, -1], [4, 4]], [(0, 1), (0, 2)], times=[[0, 5, 6, 0]], memory=[1, 2, 3],
    capacity=[3, 6],
)  # fmt: skip


def test_canonical_form() -> None:
    """It holds what the optimum depends on, and reads back to the same hash."""
    document = SAMPLE.to_json()
    assert document == {
        "format": "boundmark-instance/1", "problem": "placement", "transfers": "per-tensor",
        "duration": [[2, 3], [1, -1], [4, 4]], "memory": [1, 2, 3], "capacity": [3, 6],
        "producer": [0], "consumers": [[1, 2]], "size": [0], "times": [[0, 5, 6, 0]],
    }  # fmt: skip
    read = PlacementInstance.from_json(json.loads(canonical_json(document)))
    assert read.sha256 == SAMPLE.sha256
    assert checker.instance_sha256(document) == SAMPLE.sha256


def test_parameters() -> None:
    """Whether transfers are shared is part of the instance, and can be changed."""
    per_edge = SAMPLE.with_parameters({"transfers": "per-edge"})
    assert per_edge.parameters == {"transfers": "per-edge"}
    assert per_edge.sha256 != SAMPLE.sha256
    assert per_edge.with_parameters(SAMPLE.parameters).sha256 == SAMPLE.sha256
    assert not per_edge.is_redundant
    assert instance([[1], [1]], [(0, 1)], transfers="per-edge").is_redundant


DESCRIBED = PlacementInstance.of(
    replace(
        SAMPLE.graph, op_types=("Conv", "Relu", "Add"), output_shapes=((1, 8), (1, 8), ())
    ),
    "per-tensor", "none", "operators",
)  # fmt: skip


def test_descriptions_are_part_of_the_instance() -> None:
    """Types and shapes are stored and read back, change the hash, and nothing else."""
    document = DESCRIBED.to_json()
    assert document["op_types"] == ["Conv", "Relu", "Add"]
    assert document["output_shapes"] == [[1, 8], [1, 8], []]
    read = PlacementInstance.from_json(json.loads(canonical_json(document)))
    assert (read.sha256, read.parameters) == (DESCRIBED.sha256, DESCRIBED.parameters)
    assert read.graph.output_shapes == ((1, 8), (1, 8), ())
    assert DESCRIBED.with_parameters({"features": "costs"}).sha256 == SAMPLE.sha256
    solution = PlacementSchedule([0, 0, 1], [0, 2, 7], [[0, 1, 2]])  # type: ignore[arg-type]
    stored = solution_document(DESCRIBED, solution, 11)
    assert checker.check_solution(document, stored) == SAMPLE.objective(solution) == 11


def test_graphs_without_descriptions_have_none() -> None:
    """The error says what was expected."""
    with pytest.raises(BoundmarkError, match="does not say its operators' types and output shapes"):
        SAMPLE.with_parameters({"features": "operators"})


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"op_types": ["Conv"]}, "op_types is not a list with an entry for each operator"),
        ({"output_shapes": None}, "output_shapes is not a list with an entry for each operator"),
        ({"op_types": ["Conv", 1, "Add"]}, "op_types has 1; expected texts"),
        ({"output_shapes": [[1], [-1], []]}, r"output_shapes has \[-1\]; expected lists of non"),
        ({"output_shapes": [[1], 1, []]}, "output_shapes has 1; expected lists of non-negative"),
    ],
)
def test_malformed_descriptions(change: dict[str, Any], expected: str) -> None:
    """Whatever a file may hold."""
    with pytest.raises(BoundmarkError, match=expected):
        PlacementInstance.from_json({**DESCRIBED.to_json(), **change})


def test_fused_instances_say_so() -> None:
    """Which rules is stored, so the hash differs from that of the same graph without fusion."""
    make = PROBLEM.maker(load_member("onnx-light/squeezenet"))
    fused = make({"fusion": "backends"})
    assert isinstance(fused, PlacementInstance)
    document = json.loads(canonical_json(fused.to_json()))
    read = PlacementInstance.from_json(document)
    assert (read.sha256, read.parameters) == (fused.sha256, fused.parameters)
    assert read.parameters["fusion"] == "backends"
    assert checker.instance_sha256(document) == fused.sha256
    checker.check_instance(document)
    del document["fusion"]
    plain = PlacementInstance.from_json(document)
    assert plain.sha256 != fused.sha256
    assert plain.parameters == {"transfers": "per-tensor", "memory": "parameters+live"}


def test_stored_instances_are_not_fused_anew() -> None:
    """A document does not hold the graph from before, which other parameters would start from."""
    fused = replace(SAMPLE, fusion="moirai")
    assert fused.with_parameters({"fusion": "moirai"}).sha256 == fused.sha256
    for change in ({"fusion": "none"}, {"fusion": "backends"}, {"transfers": "per-edge"}):
        with pytest.raises(BoundmarkError, match="expected the same transfers and fusion"):
            fused.with_parameters(change)
    with pytest.raises(BoundmarkError, match="does not say its operators' types"):
        fused.with_parameters({"features": "operators"})
    described = replace(DESCRIBED, fusion="moirai").with_parameters({"features": "costs"})
    assert described.sha256 == fused.sha256


@pytest.mark.parametrize("value", ["none", "backend", 1, ["moirai"], None])
def test_unknown_rules_of_fusion(value: object) -> None:
    """Only names of rules are read."""
    with pytest.raises(BoundmarkError, match="expected 'moirai' or 'backends', or no such field"):
        PlacementInstance.from_json({**SAMPLE.to_json(), "fusion": value})


def test_names_are_given_back() -> None:
    """They are no part of the instance, but people want to see them."""
    assert PROBLEM.naming is not None
    read = PlacementInstance.from_json(SAMPLE.to_json())
    named = PROBLEM.naming.rename(read, ("a", "b", "c"), "ns")
    assert (PROBLEM.naming.names(named), PROBLEM.naming.tick(named)) == (("a", "b", "c"), "ns")
    assert named.sha256 == SAMPLE.sha256


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"transfers": "both"}, "transfers is 'both'; expected 'per-tensor' or 'per-edge'"),
        ({"duration": [], "memory": []}, "the graph has no operators"),
        ({"duration": [[2], [1], [4]]}, r"duration has the shape \(3, 1\); expected \(3, 2\)"),
        ({"duration": [[2, 3], [1], [4, 4]]}, "duration is not a table of integers"),
        ({"duration": [[2, 3], [-1, -1], [4, 4]]}, "no device supports operator '1'"),
        ({"duration": [[2, 3], [1, -2], [4, 4]]}, "a duration is -2; expected ticks, or -1"),
        ({"duration": [[2, 3], [1, 2**53], [4, 4]]}, "expected at most 2\\^53"),
        ({"memory": [1, 2]}, "memory has 2 values; expected one for each of the 3"),
        ({"memory": [1, 4, 3]}, "operator '1' takes 4 of memory, more than any device that supp"),
        ({"memory": [3, 3, 4]}, "take 10 of memory, and the devices have 9 together"),
        ({"capacity": [3, -6]}, "capacity of node '1' is -6"),
        ({"capacity": [3]}, "a row of times has 4 values; expected one for each of the 1 pairs"),
        ({"producer": [0, 1]}, "producer and consumers differ in length"),
        ({"producer": [3]}, "tensor 0 names operator 3; expected 0 to 2"),
        ({"producer": [1]}, "the edges form a cycle"),
        ({"consumers": [[]]}, r"consumers of tensor 0 are \[\]; expected at least one, ascending"),
        ({"consumers": [[2, 1]]}, "expected at least one, ascending"),
        ({"consumers": [1]}, "an entry of consumers is 1; expected a list of integers"),
        ({"size": [1]}, "size of tensor 0 is 1; expected the number of one of the 1 tables"),
        ({"times": [[0, 5, 6, 1]]}, "a tensor takes time from a device to itself"),
        ({"times": [[0, -5, 6, 0]]}, "a time of a transfer is -5"),
        ({"times": [[0, None, 6, 0]]}, "times is not a table of integers"),
    ],
)
def test_malformed_instances(change: dict[str, Any], expected: str) -> None:
    """Both readers refuse them, each with a sentence of its own."""
    document = {**SAMPLE.to_json(), **change}
    with pytest.raises(BoundmarkError, match=expected):
        PlacementInstance.from_json(document)
    with pytest.raises(checker.Rejected):
        checker.check_instance(document)


SCHEDULE = {"devices": [0, 0, 1], "starts": [0, 2, 7], "transfers": [[0, 1, 2]]}


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"devices": [0, 0]}, r"have the shapes \(\(2,\), \(3,\), \(1, 3\)\)"),
        ({"devices": [0, 0, 2]}, "uses devices 0 to 2; expected 0 to 1"),
        ({"devices": [0, 1, 1]}, "'v1' is on device 1, which does not support it"),
        ({"devices": [0, 0, 0]}, "device 0 take 6 of memory; expected at most 3"),
        ({"starts": [-1, 2, 7]}, "starts at -1; expected no start before 0"),
        ({"starts": [0, 1, 7]}, "'v1' starts at 1, before operator 'v0' ends at 2"),
        ({"starts": [0, 2, 6]}, "'v2' starts at 6, before the transfer of tensor 0 to 1 ends at 7"),
        ({"transfers": [[0, 1, 1]]}, "tensor 0 to 1 starts at 1, before operator 'v0' ends at 2"),
        ({"transfers": []}, "0 transfers are not the 1 that its devices need"),
        ({"transfers": [[0, 2, 2]]}, "1 transfers are not the 1 that its devices need, per-tensor"),
        ({"transfers": [[0, 1]]}, "is not a list of rows"),
        ({"starts": [0, 2, None]}, "starts of the solution is not a list of integers"),
        ({"starts": [0, 2, 2**61]}, "starts of the solution is not a list of integers up to 2"),
    ],
)
def test_malformed_schedules(change: dict[str, Any], expected: str) -> None:
    """They are refused with what is wrong; the checker refuses them too."""
    document = {**SCHEDULE, **change}
    with pytest.raises(BoundmarkError, match=expected):
        SAMPLE.objective(PlacementSchedule.from_json(document))
    stored = {
        "format": "boundmark-solution/1", "problem": "placement", "objective": 11,
        "instance_sha256": SAMPLE.sha256, **document,
    }  # fmt: skip
    with pytest.raises(checker.Rejected):
        checker.check_solution(SAMPLE.to_json(), stored)


FORK = instance([[2, 2]] * 3, [(0, 1), (0, 2)], times=[[0, 5, 6, 0]])


@pytest.mark.parametrize(
    ("transfers", "document", "expected"),
    [
        (
            "per-tensor",
            {"devices": [0, 1, 1], "starts": [0, 7, 8], "transfers": [[0, 1, 2]]},
            "device 1 runs two operators at 8; expected one at a time",
        ),
        (
            "per-edge",
            {"devices": [0, 1, 1], "starts": [0, 7, 9], "transfers": [[0, 1, 2], [0, 2, 4]]},
            "device 0 sends two tensors at 4; expected one at a time",
        ),
        (
            "per-edge",
            {"devices": [0, 1, 1], "starts": [0, 7, 12], "transfers": [[0, 1, 2], [0, 2, 7]]},
            None,
        ),
    ],
)
def test_one_at_a_time(transfers: str, document: dict[str, Any], expected: str | None) -> None:
    """A device runs one operator and a port moves one tensor; both readers say so."""
    sample = FORK.with_parameters({"transfers": transfers})
    stored = {
        "format": "boundmark-solution/1", "problem": "placement", "objective": 14,
        "instance_sha256": sample.sha256, **document,
    }  # fmt: skip
    schedule = PlacementSchedule.from_json(document)
    if expected is None:
        assert sample.objective(schedule) == 14
        assert checker.check_solution(sample.to_json(), stored) == 14
        return
    with pytest.raises(BoundmarkError, match=expected):
        sample.objective(schedule)
    with pytest.raises(checker.Rejected, match="at once"):
        checker.check_solution(sample.to_json(), stored)
