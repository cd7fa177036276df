"""Flows, partitions and integers as files have them."""

import copy
from typing import Any

import pytest
from brute_force import instance
from certified import certified

from boundmark.bounds import checker
from boundmark.problems.arrays import frozen
from boundmark.problems.pipeline import Partition
from boundmark.problems.problem import solution_document


@pytest.mark.parametrize("name", ["node-cut", "share, one node"])
def test_every_flow_entry_matters(name: str) -> None:
    """A single flow that proves the optimum has no slack: each entry dropped costs the bound."""
    sample = certified("pipeline", name).instance.to_json()
    certificate = certified("pipeline", name).certificate
    flows = certificate["payload"].get("flows", [certificate["payload"]])
    for flow in range(len(flows)):
        for i in range(len(flows[flow]["edges"])):
            changed = copy.deepcopy(certificate)
            entry = changed["payload"].get("flows", [changed["payload"]])[flow]
            del entry["edges"][i], entry["amounts"][i]
            with pytest.raises(checker.Rejected):
                checker.check_certificate(sample, changed)


def test_integers_may_be_decimal_texts() -> None:
    """Amounts beyond 2^53 survive JSON readers that know only floating point."""
    sample = certified("pipeline", "node-cut")
    document = copy.deepcopy(sample.certificate)
    document["payload"]["amounts"] = [str(x) for x in document["payload"]["amounts"]]
    assert checker.check_certificate(sample.instance.to_json(), document) == document["bound"]


CHAIN = instance([5, 5, 5], [(0, 1), (1, 2)], 3, transfer=[4, 2, 0], param_load=[0, 9, 0], cache=6)


def test_objective_is_recomputed() -> None:
    """The checker and the data model agree on what a solution costs."""
    for stages, objective in (([0, 0, 0], 18), ([0, 1, 2], 14), ([2, 0, 1], 14), ([1, 1, 0], 15)):
        partition = Partition(frozen(stages))
        assert CHAIN.objective(partition) == objective
        document = solution_document(CHAIN, partition, objective)
        assert checker.check_solution(CHAIN.to_json(), document) == objective


@pytest.mark.parametrize(
    ("field", "value", "reason"),
    [
        ("format", "boundmark-certificate/1", "format is not 'boundmark-solution/1'"),
        ("problem", "ordering", "problem is not 'pipeline'"),
        ("instance_sha256", "0" * 64, "instance_sha256 is not"),
        ("stages", [0, 1], "not one for each node"),
        ("stages", [0, 1, 3], "stages of the solution is not an integer from 0 to 2"),
        ("stages", [0, 1, -1], "stages of the solution is not an integer from 0 to 2"),
        ("stages", [0, True, 2], "stages of the solution is not an integer"),
        ("stages", "012", "stages of the solution is not a list"),
        ("stages", [0, 1, 0], "in a cycle"),
        ("stages", [0, 0, 2], "is not what it costs, 15"),
        ("objective", 13, "is not what it costs, 14"),
        ("objective", 15, "is not what it costs, 14"),
        ("objective", 14.0, "objective is not an integer"),
    ],
)
def test_malformed_solutions(field: str, value: Any, reason: str) -> None:
    """A solution that breaks a constraint, or states another cost, is rejected."""
    good = solution_document(CHAIN, Partition(frozen([0, 1, 2])), 14)
    with pytest.raises(checker.Rejected, match=reason):
        checker.check_solution(CHAIN.to_json(), {**good, field: value})


def test_who_found_a_solution() -> None:
    """A text may say so, and need not."""
    good = solution_document(CHAIN, Partition(frozen([0, 1, 2])), 14)
    assert checker.check_solution(CHAIN.to_json(), {**good, "producer": "memetic 5"}) == 14
    with pytest.raises(checker.Rejected, match="the solution's producer is not a text, but 5"):
        checker.check_solution(CHAIN.to_json(), {**good, "producer": 5})
