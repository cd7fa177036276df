"""Certificates of kinds that packages check: accepted by the package, never certified."""

import json
from pathlib import Path

import plugin_packages
import pytest
from command_line import boundmark_with

import boundmark

CODE = """
from boundmark.problems.certificate import Certificate
from boundmark.problems.method import Method

def largest(instance, payload):
    return max(instance["work"][payload["node"]], 0)

def broken(instance, payload):
    raise RuntimeError("no\\nidea")

KINDS = {"largest/1": largest, "broken/1": broken}

def report(kind, more):
    def run(instance, budget, seed, progress):
        work = instance.graph.work
        node = int(work.argmax())
        payload = {"node": node}
        progress.bound(Certificate.of(instance, kind, int(work[node]) + more, payload, "mine"))
    return run

METHODS = tuple(
    Method(name=name, problem="pipeline", kind="bound", summary="One.", run=report(kind, more))
    for name, kind, more in (
        ("good", "largest/1", 0), ("greedy", "largest/1", 1), ("failing", "broken/1", 0),
        ("unknown", "other/1", 0),
    )
)
"""

SUITE = """
description = "Mine."
problem = "pipeline"
time_limit_seconds = 5
memory_limit_gib = 1
methods = ["balanced-work", "mean-work", "good", "greedy", "failing", "unknown"]

[[instances]]
dataset = "onnx-light"
members = ["squeezenet"]
k = [4]
"""


def test_a_package_accepts_what_the_checker_does_not_know(tmp_path: Path) -> None:
    """It is a claim with the package's name, in a column of its own; others are rejected."""
    points = {
        "boundmark.methods": {"mine": "mine:METHODS"},
        "boundmark.certificate_kinds": {"pipeline": "mine:KINDS"},
    }
    plugin_packages.install(tmp_path, "mine", points, CODE)
    suite, out = tmp_path / "mine.toml", tmp_path / "out"
    suite.write_text(SUITE)
    call = boundmark_with(tmp_path)
    call("run", suite, "--out", out, "--quiet")
    call("verify", "--quiet", out)
    call("report", out, "--format", "md")
    answer = call("solve", "onnx-light/squeezenet", "-k", 4, "--method", "good", "--json")
    found = json.loads(answer.stdout)
    assert (found["certified_bound"], found["claimed_bound"]) == (None, None)
    assert found["accepted_by"] == "largest/1, accepted by mine"
    shown = call("solve", "onnx-light/squeezenet", "-k", 4, "--method", "good").stdout
    assert f"plug-in's bound  {found['accepted_bound']:,.0f} ns (largest/1, accepted by" in shown
    judged = call("conformance", "good", "--seconds", 1, check=False).stdout
    assert " bounds that mine's own check accepts)" in judged
    results = boundmark.results(out)
    tasks = results.tasks.set_index("method")
    good = tasks.loc["good"]
    assert (good["status"], good["bound_kind"]) == ("ok", "largest/1, accepted by mine")
    assert good["bound_claimed"] > 0
    assert tasks["bound_certified"].drop("mean-work").isna().all()
    assert results.best["bound_method"].tolist() == ["mean-work"]
    for name, reason in (
        ("greedy", "mine says that it proves"),
        ("failing", "mine does not accept it: RuntimeError: no idea"),
        ("unknown", "no package knows the kind 'other/1'"),
    ):
        assert tasks.loc[name, "status"] == "error"
        assert reason in tasks.loc[name, "status_detail"]
    methods = results.methods.set_index("method")
    assert methods.loc["good", ["claiming", "accepting"]].tolist() == [0, 1]
    assert methods.loc["good", "accepted"] == pytest.approx(
        good["bound_claimed"] / results.best["objective"].iloc[0]
    )
    assert "accepted/UB" in (out / "report.md").read_text()
