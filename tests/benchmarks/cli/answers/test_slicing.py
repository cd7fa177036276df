import dataclasses
import json
import re
from pathlib import Path

import pytest
from brute_force_slicing import HALO, instance, needs
from command_line import Boundmark

from boundmark.benchmarks.cli.answers import slicing
from boundmark.benchmarks.running.planning import NamedInstance
from boundmark.benchmarks.solving.answer import Answer

METHODS = ("--method", "slice-compute", "--method", "one-device", "--method", "equal-slices")


def test_a_model_on_a_cluster(boundmark: Boundmark, tmp_path: Path) -> None:
    """On as many devices as are asked for; what is printed is what the checker accepts."""
    out = tmp_path / "out"
    command = ("solve", "onnx-light/alexnet", "--problem", "slicing", *METHODS)
    slow = ("--device", "raspberry-pi-4-fast-ethernet", "--edge-devices", "3")
    answer = json.loads(boundmark(*command, *slow, "--json", "--out", out).stdout)
    assert answer["device"] == "raspberry-pi-4-fast-ethernet"
    assert 0 < answer["certified_bound"] <= answer["objective"]
    assert [device["name"] for device in answer["devices"]] == ["pi1", "pi2", "pi3"]
    assert sum(answer["parts"]) == 24
    assert "0 rejected" in boundmark("verify", out).stdout


def test_a_stored_instance(boundmark: Boundmark, tmp_path: Path) -> None:
    """Instances of one's own are JSON files; fewer devices can be asked for."""
    sample = instance([4, 4], [[8, 8, 8], [6, 6, 6]], [needs(0, 1, 4)])
    path = tmp_path / "mine.json"
    path.write_text(json.dumps(sample.to_json()))
    answer = json.loads(boundmark("solve", path, *METHODS, "--json").stdout)
    assert (answer["problem"], answer["objective"], answer["certified_bound"]) == ("slicing", 7, 7)
    fewer = json.loads(boundmark("solve", path, "--edge-devices", "2", *METHODS, "--json").stdout)
    assert fewer["objective"] == 7


ZERO = """
[devices.stuck]
source = "none"
peak_giga_ops_per_s = { float32 = 0 }
memory_bandwidth_gb_per_s = 1
memory_gib = 1
op_overhead_us = 1
"""

LITTLE = """
[devices.tiny]
source = "none"
peak_giga_ops_per_s = { float32 = 1 }
memory_bandwidth_gb_per_s = 1
memory_mib = 1
op_overhead_us = 1

[clusters.two]
source = "none"
devices = { a = "tiny", b = "tiny" }

[[clusters.two.links]]
from = "a"
to = "b"
symmetric = true
bandwidth_mbit_per_s = 100
latency_us = 0
"""


@pytest.mark.parametrize(
    ("devices", "expected"),
    [
        ("nvidia-t4", "problem 'slicing' needs a cluster, e.g. raspberry-pi-4-gigabit"),
        ("moirai-inter-server", "problem 'slicing' needs devices around one router"),
        (ZERO, "float32 is 0; expected a positive number"),
        (LITTLE, r"no slicing of operator 'n8' meets the memory limits"),
    ],
)
def test_devices_that_will_not_do(
    boundmark: Boundmark, tmp_path: Path, devices: str, expected: str
) -> None:
    """Each is refused in a sentence."""
    if "\n" in devices:
        path = tmp_path / "mine.toml"
        path.write_text(devices)
        devices = str(path)
    command = ("solve", "onnx-light/alexnet", "--problem", "slicing", "--device", devices)
    done = boundmark(*command, check=False)
    assert done.returncode != 0
    assert expected in " ".join(done.stderr.split())


def test_more_devices_than_there_are(boundmark: Boundmark) -> None:
    """The number is compared with the cluster's."""
    done = boundmark(
        "solve", "onnx-light/alexnet", "--problem", "slicing", "--edge-devices", "9", check=False
    )
    assert done.returncode != 0
    assert "edge_devices is 9; expected 1 to 8" in " ".join(done.stderr.split())


def test_an_order_of_operators(boundmark: Boundmark, tmp_path: Path) -> None:
    """From a method and from a file; latency and bounds are the same, since memory is plentiful."""
    command = ("solve", "onnx-light/alexnet", "--problem", "slicing", *METHODS, "--json")
    plain = json.loads(boundmark(*command).stdout)
    ordered = json.loads(boundmark(*command, "--order", "btsearch").stdout)
    assert ordered["objective"] == plain["objective"]
    assert ordered["certified_bound"] == plain["certified_bound"]
    assert "in the order of btsearch, sum of memory" in " ".join(ordered["warnings"])
    names = [f"n{v}" for v in range(24)]
    path = tmp_path / "order.csv"
    path.write_text("operator,position\n" + "\n".join(f"{n},{v}" for v, n in enumerate(names)))
    taken = json.loads(boundmark(*command, "--order", path).stdout)
    assert taken["instance_sha256"] == plain["instance_sha256"]
    path.write_text("operator,position\n" + "\n".join(f"{n},{23 - v}" for v, n in enumerate(names)))
    done = boundmark(*command, "--order", path, check=False)
    assert done.returncode != 0
    assert "whose output it reads" in " ".join(done.stderr.split())


def test_a_plan_with_an_order_of_its_own(boundmark: Boundmark, tmp_path: Path) -> None:
    """It is stored and graded with its order; a table of parts would not say that."""
    sample = instance(
        [1] * 5, [[3]] * 5, [needs(0, 2, 1), needs(1, 3, 1), needs(2, 4, 1), needs(3, 4, 1)],
        output=[10, 10, 1, 1, 1], capacity=[12],
    )  # fmt: skip
    path, out = tmp_path / "mine.json", tmp_path / "out"
    path.write_text(json.dumps(sample.to_json()))
    command = ("solve", path, "--method", "memorianova", "--out", out, "--json")
    answer = json.loads(boundmark(*command).stdout)
    assert (answer["objective"], answer["named_solution"]) == (15, None)
    assert answer["order"].index("2") < answer["order"].index("1")
    assert not list(out.glob("*.csv"))
    (stored,) = (out / "solutions").iterdir()
    graded = boundmark("evaluate", path, stored, "--method", "slice-compute", "--json")
    assert json.loads(graded.stdout)["objective"] == 15


@pytest.mark.parametrize(
    ("problem", "order", "expected"),
    [
        (
            "slicing",
            "nosuch",
            "--order is 'nosuch'; expected a file, or one of bfs-order, b",
        ),
        ("slicing", "heft", "a method of problem 'placement' that makes no order"),
        ("pipeline", "btsearch", "given for problem 'pipeline'; expected one of slicing"),
    ],
)
def test_orders_that_will_not_do(
    boundmark: Boundmark, problem: str, order: str, expected: str
) -> None:
    """Each is refused in a sentence."""
    k = ("-k", "2") if problem == "pipeline" else ()
    command = ("solve", "onnx-light/alexnet", "--problem", problem, *k, "--order", order)
    done = boundmark(*command, check=False)
    assert done.returncode != 0
    assert expected in " ".join(done.stderr.split())


def test_a_share_of_the_memory(boundmark: Boundmark) -> None:
    """Little memory is refused with the operator that does not fit; more is not."""
    two = ("--edge-devices", "2", "--memory-percent")
    command = ("solve", "onnx-light/alexnet", "--problem", "slicing", *METHODS, *two)
    answer = json.loads(boundmark(*command, "60", "--json").stdout)
    assert answer["instance"] == "onnx-light/alexnet edge_devices=2 memory_percent=60"
    assert any("no device has memory for the whole model" in why for why in answer["failures"])
    done = boundmark(*command, "50", check=False)
    assert done.returncode != 0
    assert "no slicing of operator" in done.stderr


# How `solve` shows slicings.

SAMPLE = instance(
    [4, 4], [[8, 8], [4, 4]], [needs(0, 1, 4, HALO, 2)], weights=[3, 5], output=[2, 1],
    capacity=[20, 40],
)  # fmt: skip
ANSWER = Answer(
    source=NamedInstance("made", "up", SAMPLE),
    objective=8, certified_bound=7, claimed_bound=None,
    solution={"vectors": [[0, 2, 4], [0, 2, 4]]},
    certificate=None, method="hand", bound_method="hand", seconds=1.0, failures=(),
)  # fmt: skip


def test_a_line_for_each_device(capsys: pytest.CaptureFixture[str]) -> None:
    """What it computes, its share of the latency, what it receives, how full it is."""
    slicing.print_solution(ANSWER)
    lines = [re.split(r" {2,}", line.strip()) for line in capsys.readouterr().out.splitlines()]
    assert lines[0] == [
        "device", "operators", "computing", "share", "communicating", "received", "memory", "full",
    ]  # fmt: skip
    # While the second runs: its parameters and output, the first one's output, and the halo.
    assert lines[1] == ["d0", "2", "6", "75%", "2", "2", "13", "65%"]
    assert lines[2] == ["d1", "2", "6", "75%", "2", "2", "13", "32%"]
    assert lines[3] == ["operators by number of parts: 2 in 2"]
    assert (slicing.PRESENTATION.objective_name(ANSWER), slicing.PRESENTATION.unit(ANSWER)) == (
        "latency",
        "",
    )


def test_facts() -> None:
    """Programs get the same numbers."""
    same = {"operators": 2, "computing": 6, "communicating": 2, "received": 2, "memory": 13}
    assert slicing.facts(ANSWER) == {
        "parts": [0, 2],
        "devices": [{"name": "d0", **same}, {"name": "d1", **same}],
        "order": None,
    }


def test_without_a_solution(capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing is shown."""
    nothing = dataclasses.replace(ANSWER, solution=None, objective=None)
    slicing.print_solution(nothing)
    assert capsys.readouterr().out == ""
    assert slicing.facts(nothing) == {"devices": None, "parts": None, "order": None}
