"""How `solve` shows placements, and takes models and clusters."""

import dataclasses
import json
import re
from pathlib import Path

import pytest
from brute_force_placement import instance
from command_line import Boundmark

from boundmark.benchmarks.cli.answers import placement
from boundmark.benchmarks.running.planning import NamedInstance
from boundmark.benchmarks.solving.answer import Answer
from boundmark.problems.placement import PlacementInstance, PlacementSchedule

SAMPLE = instance(
    [[2, 3], [1, -1], [4, 4]], [(0, 1), (0, 2)], times=[[0, 5, 6, 0]], memory=[1, 2, 3],
    capacity=[3, 6],
)  # fmt: skip
ANSWER = Answer(
    source=NamedInstance("made", "up", SAMPLE),
    objective=11, certified_bound=7, claimed_bound=None,
    solution={"devices": [0, 0, 1], "starts": [0, 2, 7], "transfers": [[0, 1, 2]]},
    certificate=None, method="hand", bound_method="hand", seconds=1.0, failures=(),
)  # fmt: skip


def test_a_line_for_each_device(capsys: pytest.CaptureFixture[str]) -> None:
    """What it runs, its share of the makespan, what it sends and receives, how full it is."""
    placement.print_solution(ANSWER)
    lines = [re.split(r" {2,}", line.strip()) for line in capsys.readouterr().out.splitlines()]
    assert lines[0] == [
        "device", "operators", "busy", "share", "sending", "receiving", "memory", "full",
    ]  # fmt: skip
    assert lines[1] == ["d0", "2", "3", "27%", "5", "0", "3", "100%"]
    assert lines[2] == ["d1", "1", "4", "36%", "0", "5", "3", "50%"]
    assert placement.PRESENTATION.objective_name(ANSWER) == "makespan"
    assert placement.PRESENTATION.unit(ANSWER) == ""


def test_losses() -> None:
    """The device that computes longest does so for 4 of 11 ticks, and waits 5 for its tensor."""
    parts = [(loss.ticks, loss.where) for loss in placement.losses(ANSWER)]
    assert parts == [(4, "device d1"), (5, "device d1"), (2, "device d1")]


def test_facts() -> None:
    """Programs get the same numbers."""
    assert placement.facts(ANSWER) == {
        "transfers": 1,
        "devices": [
            {"name": "d0", "operators": 2, "busy": 3, "sending": 5, "receiving": 0,
             "memory": 3, "capacity": 3},
            {"name": "d1", "operators": 1, "busy": 4, "sending": 0, "receiving": 5,
             "memory": 3, "capacity": 6},
        ],
    }  # fmt: skip


def test_transfers_per_edge_name_consumers() -> None:
    """Their receivers are operators, and the devices of these receive."""
    per_edge = dataclasses.replace(
        ANSWER,
        source=NamedInstance("made", "up", SAMPLE.with_parameters({"transfers": "per-edge"})),
        solution={"devices": [0, 0, 1], "starts": [0, 2, 7], "transfers": [[0, 2, 2]]},
    )
    assert [device["receiving"] for device in placement.facts(per_edge)["devices"]] == [0, 5]


def test_fused_operators_are_also_run_one_by_one(capsys: pytest.CaptureFixture[str]) -> None:
    """As a chain, both wait for operator 0; one by one, only the second one of it does."""
    graph = instance([[9, 3], [4, 4], [2, 2]], [(0, 2), (1, 2)], times=[[0, 1, 1, 0]]).graph
    sample = PlacementInstance.of(
        dataclasses.replace(graph, op_types=("Concat", "Conv", "Relu")), "per-tensor", "backends"
    )
    assert sample.graph.names == ("v0", "v1 + v2")
    answer = dataclasses.replace(
        ANSWER,
        source=NamedInstance("made", "up", sample),
        objective=10,
        solution={"devices": [1, 0], "starts": [0, 4], "transfers": [[0, 0, 3]]},
    )
    assert sample.objective(PlacementSchedule.from_json(answer.solution)) == 10
    facts = placement.facts(answer)
    assert (facts["unfused_operators"], facts["unfused_objective"]) == (3, 6)
    placement.print_solution(answer)
    expected = "2 operators, fused of 3; run one by one, the makespan is 6"
    assert capsys.readouterr().out.splitlines()[-1] == expected


def test_without_a_solution(capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing is shown."""
    nothing = dataclasses.replace(ANSWER, solution=None, objective=None)
    placement.print_solution(nothing)
    assert capsys.readouterr().out == ""
    assert placement.facts(nothing) == {"devices": None, "transfers": None}


METHODS = ("--method", "critical-path", "--method", "single-device", "--method", "heft")


def test_a_model_on_a_cluster(boundmark: Boundmark, tmp_path: Path) -> None:
    """Like `--device` for other problems, with the default cluster if none is named.

    What is printed is what the checker accepts.
    """
    out = tmp_path / "out"
    command = ("solve", "onnx-light/alexnet", "--problem", "placement", *METHODS)
    answer = json.loads(
        boundmark(*command, "--device", "moirai-intra-server", "--json", "--out", out).stdout
    )
    assert answer["device"] == "moirai-intra-server"
    assert 0 < answer["certified_bound"] <= answer["objective"]
    assert [device["name"] for device in answer["devices"]] == ["A", "B", "C", "D"]
    assert sum(device["operators"] for device in answer["devices"]) == 24
    assert "0 rejected" in boundmark("verify", out).stdout
    usual = json.loads(boundmark(*command, "--json").stdout)
    assert usual["device"] == "moirai-inter-server"
    assert usual["instance_sha256"] != answer["instance_sha256"]


def test_a_parameter_of_its_own_is_enough(boundmark: Boundmark) -> None:
    """Whoever says how tensors are moved means this problem."""
    command = ("solve", "onnx-light/alexnet", "--transfers", "per-edge", *METHODS, "--quiet")
    lines = boundmark(*command).stdout.splitlines()
    assert "transfers=per-edge" in lines[0]
    assert lines[1].split()[:3] == ["device", "operators", "busy"]
    assert any(line.startswith("makespan ") for line in lines)


def test_a_single_device_is_refused(boundmark: Boundmark) -> None:
    """In a sentence that names a cluster."""
    command = ("solve", "onnx-light/alexnet", "--problem", "placement", "--device", "nvidia-t4")
    done = boundmark(*command, check=False)
    assert done.returncode != 0
    assert "problem 'placement' needs a cluster, e.g. moirai-inter-server" in done.stderr
