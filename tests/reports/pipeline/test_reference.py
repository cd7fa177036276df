"""The bound that solutions are divided by."""

from typing import Any

from one_row import BOUND

from boundmark.reports.pipeline.reference import reference_bounds
from boundmark.reports.tables.certified import certified_table
from boundmark.reports.tables.tasks import with_names


def test_reference_falls_back_to_the_best_bound(make_row: Any, frame: Any) -> None:
    """L is the simple bound only if both parts are certified; without any bound there is none."""
    rows = [
        make_row("1", instance="a", method="max-work", bound_certified=3, **BOUND),
        make_row("2", instance="a", method="share", bound_certified=7, **BOUND),
        make_row("3", instance="b", objective=5),
    ]
    table = certified_table(frame(rows))
    references = reference_bounds(with_names(frame(rows)), table)
    assert references[["bound", "is_simple"]].to_dict("records") == [
        {"bound": 7.0, "is_simple": False}
    ]
    (instance,) = references["instance_sha256"]
    assert instance == table.set_index("instance").at["a", "instance_sha256"]
