import json
from pathlib import Path

from command_line import Boundmark

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
