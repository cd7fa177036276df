"""Every plot alone: a function of data and axes."""

import pandas as pd
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from boundmark.reports.plots import looks
from boundmark.reports.sections.gaps import (
    draw_gap_by_parameter,
    draw_gap_distribution,
    draw_performance_profile,
    gap_by_parameter_data,
    gap_distribution_data,
)
from boundmark.reports.sections.runtime import draw_runtime_scatter, runtime_scatter_data


@pytest.fixture
def axes() -> Axes:
    """Return empty axes without any of our settings."""
    return Figure().subplots()


def labels(axes: Axes) -> list[str]:
    """Return what a legend would list."""
    return list(axes.get_legend_handles_labels()[1])


@pytest.mark.parametrize(
    ("values", "ticks", "has_line"),
    [([64, 2, 8], ["2", "8", "64"], True), (["v10", "sum", "v9"], ["sum", "v9", "v10"], False)],
)
def test_mean_gaps_in_the_order_of_values(
    axes: Axes, values: list[int | str], ticks: list[str], has_line: bool
) -> None:
    """Evenly spaced; names are not joined by lines, which would say that they are a scale."""
    certified = pd.DataFrame(
        {"dataset": "zoo", "instance": "net", "param_x": values, "gap": [0.3, 0.1, 0.2]}
    )
    data = gap_by_parameter_data(certified, "param_x")
    draw_gap_by_parameter(data, axes, "param_x", "x of it")
    assert [text.get_text() for text in axes.get_xticklabels()] == ticks
    assert axes.get_xlabel() == "x of it"
    assert labels(axes) == ["zoo, n = 1" if has_line else "zoo"]
    assert [text.get_text() for text in axes.texts] == [] if has_line else ["n = 1"] * 3
    points = axes.containers[0].lines[0]
    heights = dict(zip(points.get_xdata(), points.get_ydata(), strict=True))
    assert [heights[at] for at in range(3)] == pytest.approx(
        [dict(zip(map(str, values), (30, 10, 20), strict=True))[tick] for tick in ticks]
    )
    assert (points.get_linestyle() != "None") == has_line


def test_the_mean_over_all_is_left_out_beside_a_single_data_set() -> None:
    """It would be drawn twice."""
    certified = pd.DataFrame({"dataset": ["zoo"], "instance": "net", "param_x": 1, "gap": 0.1})
    found = gap_by_parameter_data(certified, "param_x")
    assert found["dataset"].tolist() == ["zoo"]


def test_curves_of_gaps_end_below_1_where_some_are_missing(axes: Axes) -> None:
    """The fraction is of all instances of a value."""
    certified = pd.DataFrame(
        {"param_x": pd.array([1, 1, 1, 2, None], "Int64"), "gap": [0.0, 0.5, None, 0.2, 0.1]}
    )
    data = gap_distribution_data(certified, "param_x")
    assert data["fraction"].tolist() == pytest.approx([1 / 3, 2 / 3, 1.0])
    draw_gap_distribution(data, axes, "param_x", lambda value: f"x = {value}")
    assert labels(axes) == ["x = 1", "x = 2"]


def test_profiles_have_a_step_function_per_method(axes: Axes) -> None:
    """On a logarithmic axis if the range is large; with given looks or without."""
    data = pd.DataFrame(
        {"method": ["b", "b", "a"], "factor": [1.0, 9.0, 1.0], "fraction": [0.5, 1.0, 0.5]}
    )
    draw_performance_profile(data, axes)
    assert labels(axes) == ["a", "b"]
    assert axes.get_xscale() == "log"
    other = Figure().subplots()
    draw_performance_profile(data, other, looks(["0", "a", "b"]))
    assert other.lines[0].get_color() == looks(["0", "a", "b"])["a"].color
    assert other.lines[0].get_color() != axes.lines[0].get_color()


def test_scatter_shows_three_values_and_hollow_failures(axes: Axes) -> None:
    """The smallest, the middle and the largest; a task that did not end ok is hollow."""
    tasks = pd.DataFrame(
        {"dataset": "d", "param_x": pd.array([1, 2, 3, 4, 5], "Int64"), "method": "m", "nodes": 10,
         "wall_seconds": [0.5, 1.0, 2.0, 3.0, 0.0], "status": ["ok", "ok", "oom", "ok", "ok"]}
    )  # fmt: skip
    data = runtime_scatter_data(tasks, "param_x")
    assert data["param_x"].tolist() == [1, 3, 5]
    draw_runtime_scatter(data, axes)
    filled, hollow, legend = axes.lines
    assert list(filled.get_ydata()) == [0.5, 1e-4]
    assert list(hollow.get_ydata()) == [2.0]
    assert hollow.get_markerfacecolor() == "none"
    assert (legend.get_label(), len(legend.get_xdata())) == ("m", 0)
