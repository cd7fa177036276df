from typing import Any

import pytest
from brute_force_microbatch import layout
from certified import certified
from certified.microbatch import TIGHT
from checking import proved
from other_process import call
from recording import record

from boundmark.bounds import checker
from boundmark.problems.arrays import frozen
from boundmark.problems.errors import UnsupportedError
from boundmark.problems.microbatch import MicrobatchInstance, Repetend, Schedule
from boundmark.problems.problem import solution_document


def test_a_schedule_of_a_million_periods_is_refused_at_once() -> None:
    """Before any number of micro-batches but its own is looked at, which would take years."""
    instance = MicrobatchInstance.of(layout([("F", 1, 0, (0,)), ("B", 1, 0, (0,))], [(0, 1)], 1))
    solution = Schedule(frozen([[0, 2**59]]), Repetend(2, frozen([0, 0])))

    document = solution_document(instance, solution, 2)
    with pytest.raises(checker.TooLarge, match="the check takes more than"):
        checker.check_solution(instance.to_json(), document)


@pytest.mark.parametrize(
    ("name", "payload", "reason"),
    [
        ("device-load", {}, "the payload is not an object with the fields blocks, device"),
        ("device-load", {"device": 2, "blocks": [0]}, "device of the payload is not an integer"),
        ("device-load", {"device": -1, "blocks": [0]}, "device of the payload is not an integer"),
        ("device-load", {"device": 0, "blocks": [-1]}, "blocks of the payload is not an integer"),
        ("device-load", {"device": 0, "blocks": [4]}, "blocks of the payload is not an integer"),
        ("memory-latency", {"device": -1, "pairs": []}, "device of the payload is not an integer"),
        ("memory-latency", {"device": 2, "pairs": []}, "device of the payload is not an integer"),
        ("memory-latency", {"device": 0, "pairs": [[-1, 3, 1]]}, "block of a pair is not an int"),
        ("memory-latency", {"device": 0, "pairs": [[0, 4, 1]]}, "block of a pair is not an int"),
        ("memory-latency", {"device": 0, "pairs": [[0, 3, 0]]}, "amount of a pair is not an int"),
        ("device-load", {"device": 0, "blocks": []}, "repeated, or there are none"),
        ("device-load", {"device": 0, "blocks": [0, 0]}, "repeated, or there are none"),
        ("device-load", {"device": 0, "blocks": [1]}, "is not on the device"),
        ("memory-latency", {"device": 0, "pairs": 1}, "not a list of triples"),
        ("memory-latency", {"device": 0, "pairs": [[0, 3]]}, "not a list of triples"),
        ("memory-latency", {"device": 0, "pairs": []}, "not all that the device allocates"),
        ("memory-latency", {"device": 0, "pairs": [[3, 0, 1]]}, "not an allocation and a release"),
        ("memory-latency", {"device": 0, "pairs": [[1, 2, 1]]}, "not an allocation and a release"),
        ("memory-latency", {"device": 0, "pairs": [[0, 3, 2]]}, "not an allocation and a release"),
        ("memory-latency", {"device": 0, "pairs": [[0, 3, -1]]}, "amount of a pair is not an int"),
        ("modulo-tree", {"bound": 6, "order": [0], "pairs": []}, "not have every block once"),
        ("modulo-tree", {"bound": 6, "order": [0, 1, 2, 3], "pairs": []}, "one list for each"),
        (
            "modulo-tree",
            {"bound": 7, "order": [0, 1, 2, 3], "pairs": [[[0, 3, 1]], [[1, 2, 1]]]},
            "the tree does not refute a period",
        ),
        (
            "modulo-tree",
            {"bound": 10**6, "order": [0, 1, 2, 3], "pairs": [[], []]},
            "bound of the payload is not an integer from 1 to 1024",
        ),
    ],
)
def test_malformed_payloads(name: str, payload: Any, reason: str) -> None:
    """Each is rejected with the reason."""
    document = {**certified("microbatch", name).certificate, "payload": payload}
    with pytest.raises(checker.Rejected, match=reason):
        checker.check_certificate(TIGHT[name][1].to_json(), document)


FREE = MicrobatchInstance.of(layout([("F", 1, 1, (0,)), ("B", 1, -1, (0,))], [], 1), memory=1)


def test_no_producer_claims_what_does_not_wait() -> None:
    """Without a path between them, nothing is known of how long a device holds something."""
    with pytest.raises(UnsupportedError, match="no device holds what a later block"):
        call(record, "memory-latency", FREE)


def test_a_release_has_to_wait_for_its_allocation() -> None:
    """Nor does the checker believe it."""
    with pytest.raises(checker.Rejected, match="does not wait for the allocation"):
        proved(FREE, "memory-latency/1", {"device": 0, "pairs": [[0, 1, 1]]}, 1)
