"""The picture of the README is drawn from results."""

import pandas as pd
import pytest
import readme_gaps

ROWS = pd.DataFrame(
    [
        ("pipeline", "a", 12, None), ("pipeline", "a", 10, None), ("pipeline", "a", None, 10),
        ("ordering", "b", 30, 20), ("ordering", "b", None, 15), ("slicing", "c", 7, None),
    ],
    columns=["problem", "instance_sha256", "objective", "bound_certified"],
)  # fmt: skip


def test_gaps_are_to_the_best_bound_of_an_instance() -> None:
    """Without a bound there is no gap, and the best solution is marked."""
    gaps = readme_gaps.solution_gaps(ROWS)
    assert gaps.to_dict("list") == {
        "problem": ["pipeline", "pipeline", "ordering"],
        "gap": [pytest.approx(20.0), pytest.approx(0.0), pytest.approx(50.0)],
        "best": [False, True, True],
    }


def test_a_row_for_each_problem() -> None:
    """Those with the most instances stand at the top."""
    figure = readme_gaps.draw(readme_gaps.solution_gaps(ROWS), readme_gaps.COLOURS["dark"])
    (ax,) = figure.axes
    assert [label.get_text() for label in ax.get_yticklabels()] == ["pipeline", "ordering"]
