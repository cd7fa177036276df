from typing import Any

import pytest
from brute_force import instance

from boundmark.bounds import checker
from boundmark.problems.arrays import frozen
from boundmark.problems.pipeline import Partition
from boundmark.problems.problem import solution_document

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
