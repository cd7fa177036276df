"""Who is credited, and events of traces by task."""

from typing import Any

import pandas as pd

from boundmark.reports.best_known import of_results
from boundmark.reports.tables.rows import best_rows, events_by_task
from boundmark.reports.tables.tasks import certified_table


def test_events_stay_in_order() -> None:
    """Of each task, as they were stored, whatever lies between them; without traces, none."""
    traces = pd.DataFrame(
        [("b", 2.0, 5.0), ("a", 1.0, 7.0), ("b", 1.0, 6.0)], columns=["task_id", "seconds", "value"]
    )
    assert events_by_task(traces) == {"a": [(1.0, 7.0)], "b": [(2.0, 5.0), (1.0, 6.0)]}
    assert events_by_task(traces.iloc[:0]) == {}


def test_the_best_row() -> None:
    """The lowest value, of equal ones the fastest, then the first by name; none without value."""
    tasks = pd.DataFrame(
        [
            ("x", "d", 0.1, 8),
            ("x", "c", 3.0, 7),
            ("x", "b", 2.0, 7),
            ("x", "a", 2.0, 7),
            ("y", "a", 1.0, None),
            ("z", "b", None, 5),
            ("z", "c", 9.0, 5),
        ],
        columns=["instance_sha256", "method", "wall_seconds", "objective"],
    ).astype({"objective": "Int64"})
    best = best_rows(tasks, "objective").set_index("instance_sha256")["method"]
    assert best.to_dict() == {"x": "a", "z": "c"}
    highest = best_rows(tasks, "objective", highest=True).set_index("instance_sha256")["method"]
    assert highest.to_dict() == {"x": "d", "z": "c"}
    each = best_rows(tasks, "objective", of=("instance_sha256", "method"))
    assert len(each) == 6
    assert best_rows(tasks.iloc[4:5], "objective").empty


def test_all_credit_the_same_method(make_row: Any, frame: Any) -> None:
    """Report and best-known records: the fastest, not the first by name or by date."""
    facts: list[dict[str, Any]] = [
        {"method": "early", "wall_seconds": 3.0, "objective": 9, "bound_certified": 4},
        {"method": "a-name", "wall_seconds": 2.0, "objective": 9, "bound_certified": 5},
        {"method": "quick", "wall_seconds": 0.5, "objective": 9, "bound_certified": 5},
        {"method": "worse", "wall_seconds": 0.1, "objective": 11},
    ]
    results = frame([make_row(f"t{at}", **values) for at, values in enumerate(facts)])
    (known,) = certified_table(results).to_dict("records")
    (record,) = of_results(results).to_dict("records")
    for credited in (known, record):
        assert (credited["objective"], credited["objective_method"]) == (9, "quick")
        assert (credited["bound"], credited["bound_method"]) == (5, "quick")


def test_a_whole_run_is_credited_alike(synthetic: Any, frame: Any) -> None:
    """Whatever ties there are, the table and the records name the same methods."""
    rows = [row for row, _ in synthetic(members=2)]
    for row in rows:
        # Coarse enough that several methods have the same value.
        for column, step in (("objective", 10**6), ("bound_certified", 10**6)):
            if row.get(column) is not None:
                row[column] = row[column] // step * step + (step if column == "objective" else 0)
    results = frame(rows)
    methods = ["objective_method", "bound_method"]
    known, records = (
        table.set_index("instance_sha256")[methods].sort_index()
        for table in (certified_table(results), of_results(results))
    )
    # Variants of a method have its name and what tells them apart.
    plain = known.apply(lambda column: column.str.split(" (", regex=False).str[0])
    pd.testing.assert_frame_equal(plain, records, check_dtype=False)
    of_costs = results.groupby("instance_sha256")["objective"]
    assert (of_costs.apply(lambda costs: (costs == costs.min()).sum()) > 1).any()
