import pytest
from brute_force_placement import instance

from boundmark.problems.placement import PlacementSchedule
from boundmark.reports.placement.gantt.spans import schedule_spans


@pytest.mark.parametrize(("transfers", "receiver"), [("per-tensor", 1), ("per-edge", 2)])
def test_spans_by_hand(transfers: str, receiver: int) -> None:
    """Operators where they run, transfers at both ends; what takes no time is not there."""
    sample = instance(
        [[2, 3], [0, 1], [4, 4]], [(0, 1), (0, 2)], times=[[0, 5, 6, 0]], transfers=transfers
    )
    schedule = PlacementSchedule.from_json(
        {"devices": [0, 0, 1], "starts": [0, 2, 7], "transfers": [[0, receiver, 2]]}
    )
    spans = schedule_spans(sample, schedule)
    assert spans.to_numpy().tolist() == [
        [0, "run", 0, 2, "v0"],
        [0, "send", 2, 7, "v0"],
        [1, "receive", 2, 7, "v0"],
        [1, "run", 7, 11, "v2"],
    ]
