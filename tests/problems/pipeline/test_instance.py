import hashlib
from typing import Any

import pytest
from brute_force import instance

from boundmark.problems.errors import InvalidInputError
from boundmark.problems.json_documents import canonical_json
from boundmark.problems.pipeline import Partition, PipelineInstance
from boundmark.problems.pipeline.instance import in_pipeline_order


def test_identity_is_the_hash_of_the_canonical_json() -> None:
    """Any program can recompute it: sorted keys, no white space, SHA-256."""
    sample = instance([1, 2], [(0, 1)], 2)
    text = (
        '{"cache":0,"edges":[[0,1]],"format":"boundmark-instance/1","k":2,"param_load":[0,0],'
        '"problem":"pipeline","transfer":[1,1],"work":[1,2]}'
    )
    assert canonical_json(sample.to_json()) == text
    assert sample.sha256 == hashlib.sha256(text.encode()).hexdigest()


@pytest.mark.parametrize("k", [0, -1, 1.5, True])
def test_k_must_be_a_positive_integer(k: Any) -> None:
    """More stages than nodes are allowed; less than one is not."""
    with pytest.raises(InvalidInputError, match="expected a positive number of stages"):
        instance([1], [], k)


def test_k_must_fit_into_memory() -> None:
    """Far more stages than any machine has devices are a typing error, not a reason to die."""
    with pytest.raises(InvalidInputError, match=r"k is 1099511627776; expected at most 1048576"):
        instance([1], [], 2**40)


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("format", "boundmark-instance/0", "expected 'boundmark-instance/1'"),
        ("edges", None, "edges is not a list"),
        ("edges", [[0, 1.5]], r"edge \[0, 1.5\] is not a pair of node numbers"),
        ("edges", [[0, 7]], "names an unknown node"),
        ("edges", [[0, 1], [1, 0]], "form a cycle, 0 -> 1 -> 0|form a cycle, 1 -> 0 -> 1"),
        ("work", [1, -2], "work of node '1' is -2"),
        ("work", [], "work has|the graph has no nodes|names an unknown node"),
        ("cache", "much", "cache is 'much'"),
    ],
)
def test_malformed_json_is_named(field: str, value: Any, message: str) -> None:
    """Each wrong field gives a sentence of its own."""
    document = {**instance([1, 2], [(0, 1)], 2).to_json(), field: value}
    with pytest.raises(InvalidInputError, match=message):
        PipelineInstance.from_json(document)


def test_cyclic_quotient_is_refused() -> None:
    """Two stages that need each other's data cannot run ([MTPP24], Figure 2, middle)."""
    sample = instance([1, 1, 1], [(0, 1), (1, 2)], 2)
    with pytest.raises(
        InvalidInputError, match=r"stage 0 -> stage 1 -> stage 0|stage 1 -> stage 0"
    ):
        sample.objective(Partition([0, 1, 0]))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("stages", "message"),
    [
        ([0, 0], "has 2 stages; expected one for each of the 3 nodes"),
        ([0, 0, 2], "uses stages 0 to 2; expected 0 to 1"),
        ([-1, 0, 0], "uses stages -1 to 0"),
    ],
)
def test_partition_that_does_not_fit_is_refused(stages: list[int], message: str) -> None:
    """The error says what the instance expects."""
    with pytest.raises(InvalidInputError, match=message):
        instance([1, 1, 1], [], 2).objective(Partition(stages))  # type: ignore[arg-type]


def test_stage_numbers_may_come_in_any_order_and_can_be_sorted() -> None:
    """Only the stages matter; `in_pipeline_order` numbers them as data flows."""
    sample = instance([1, 1, 1], [(0, 1), (1, 2)], 3)
    backwards = Partition([2, 1, 0])  # type: ignore[arg-type]
    assert sample.objective(backwards) == 3
    assert in_pipeline_order(sample, backwards).stages.tolist() == [0, 1, 2]


def test_slices_of_an_order() -> None:
    """Consecutive pieces of the order become stages; a piece may be empty."""
    order, ends = [2, 0, 1], [1, 1, 3]
    partition = Partition.from_segments(Partition(order).stages, Partition(ends).stages)  # type: ignore[arg-type]
    assert partition.stages.tolist() == [2, 2, 0]


@pytest.mark.parametrize("value", [{}, {"stages": "0"}, {"stages": [0, 1.0]}, {"stages": [True]}])
def test_malformed_solution_is_named(value: dict[str, object]) -> None:
    """A solution file that is not a list of integers is refused in a sentence."""
    with pytest.raises(InvalidInputError, match="stages of the solution is not a list of integers"):
        Partition.from_json(value)
