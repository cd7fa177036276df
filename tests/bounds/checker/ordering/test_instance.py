"""Instances that are none, each with one value changed, and those that are just possible."""

import copy
from typing import Any

import pytest

from boundmark.bounds import checker
from boundmark.bounds.checker.values import LARGEST_COST

# Operator 0 writes tensor 1, which 1 and 2 read; 1 may overwrite it, 2 ends with an output to keep.
SAMPLE: dict[str, Any] = {
    "format": "boundmark-instance/1", "problem": "ordering", "metric": "sum", "in_place": "yes",
    "weights": "streamed", "size": [2, 5, 5, 1], "producer": [-1, 0, 1, 2],
    "consumers": [[0], [1, 2], [2], []], "kept": [3], "parameter_size": [1, 2, 3],
    "parameter_total": 6, "overwrites": [[], [1], []],
}  # fmt: skip


def changed(**change: Any) -> dict[str, Any]:
    """Return the sample with other fields."""
    return {**copy.deepcopy(SAMPLE), **change}


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"size": [2, 5, 5, LARGEST_COST + 1]}, "size of the instance is not an integer from 0"),
        ({"parameter_size": [], "overwrites": []}, "the instance has no operators"),
        ({"producer": [-1, 0, 1, 3]}, "producer of the instance is not an integer from -1 to 2"),
        ({"overwrites": [[], [4], []]}, "overwrites of the instance is not an integer from 0 to 3"),
        ({"overwrites": [[], [3, 4], []]}, "overwrites of the instance is not an integer from 0"),
        ({"parameter_total": -1}, "parameter_total is not an integer from 0"),
        ({"parameter_total": 2}, "or parameter_total is too small"),
        ({"parameter_total": LARGEST_COST}, "the sizes of the instance are too large"),
        ({"size": [LARGEST_COST // 3 - 16, 5, 5, 1]}, "the sizes of the instance are too large"),
        ({"consumers": [[0], [1, 2], [0, 2], []]}, "the instance's graph has a cycle"),
        ({"consumers": [[0], [0, 1, 2], [2], []]}, "the instance's graph has a cycle"),
        ({"overwrites": [[], [0], []]}, "overwrites what it does not read, an input, or a tensor"),
        ({"overwrites": [[0], [], []]}, "overwrites what it does not read, an input, or a tensor"),
        ({"overwrites": [[], [2], []]}, "overwrites what it does not read, an input, or a tensor"),
        ({"kept": [1]}, "overwrites what it does not read, an input, or a tensor that is kept"),
        ({"size": [2, 4, 5, 1]}, "a tensor that is smaller than its output"),
        ({"producer": [-1, 0, 0, 2]}, "overwrites a tensor and does not have one output"),
        ({"producer": [-1, 0, 1, 1]}, "overwrites a tensor and does not have one output"),
    ],
)
def test_instances_that_are_none(change: dict[str, Any], reason: str) -> None:
    """Each is refused with what is wrong; without the change it is an instance."""
    checker.check_instance(SAMPLE)
    with pytest.raises(checker.Rejected, match=reason):
        checker.check_instance(changed(**change))


@pytest.mark.parametrize(
    "change",
    [
        {"parameter_total": 3},
        {"parameter_total": LARGEST_COST // 3 - 13},
        {"size": [LARGEST_COST // 3 - 17, 5, 5, 1]},
        {"size": [2, 6, 5, 1]},
        {"kept": [2, 3]},
        {"kept": []},
        {"in_place": "no"},
        {"overwrites": [[], [], [1]]},
        {"consumers": [[0], [1], [2], []], "overwrites": [[], [1], [2]]},
    ],
)
def test_instances_that_are_just_possible(change: dict[str, Any]) -> None:
    """Limits are part of what is allowed."""
    checker.check_instance(changed(**change))


@pytest.mark.parametrize("more", [0, 1])
def test_all_bytes_together_are_limited(more: int) -> None:
    """All tensors and parameters add up to 2^53 at most, once for each operator."""
    alone = changed(
        size=[5], producer=[0], consumers=[[]], kept=[], parameter_size=[1], overwrites=[[]],
        parameter_total=LARGEST_COST - 5 + more,
    )  # fmt: skip
    if more:
        with pytest.raises(checker.Rejected, match="the sizes of the instance are too large"):
            checker.check_instance(alone)
    else:
        checker.check_instance(alone)


def test_what_is_made_of_an_instance() -> None:
    """Reads, writes and workspace of operators follow from the tensors and from how weights are."""
    read = checker.check_instance(SAMPLE)
    assert (read.is_peak, read.reads, read.writes) == (False, [[0], [1], [1, 2]], [[1], [2], [3]])
    assert (read.written, read.overwrites, read.kept) == ([5, 5, 1], [[], [1], []], {3})
    for weights, workspace in (("none", [0] * 3), ("streamed", [1, 2, 3]), ("resident", [6] * 3)):
        assert checker.check_instance(changed(weights=weights)).workspace == workspace
    assert checker.check_instance(changed(metric="peak")).is_peak
    assert checker.check_instance(changed(in_place="no")).overwrites == [[], [], []]
