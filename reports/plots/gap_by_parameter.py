"""The mean gap by one parameter, a line per data set."""

from typing import TYPE_CHECKING

import pandas as pd

from boundmark.reports.plots.style import looks
from boundmark.reports.tables.grouping import ALL
from boundmark.reports.tables.parameters import values_in_order

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Distance between data sets at the same value, so that their intervals do not cover each other.
OFFSET = 0.07


def gap_by_parameter_data(gaps: pd.DataFrame, by: str) -> pd.DataFrame:
    """Return the means and intervals of the gap table, where there are any.

    Parameters
    ----------
    by
        The parameter's column.
    """
    columns = ["dataset", by, "mean_gap", "mean_gap_low", "mean_gap_high"]
    shown = gaps[gaps["mean_gap"].notna()]
    if shown["dataset"].nunique() <= 2:
        shown = shown[shown["dataset"] != ALL]
    return shown[columns].reset_index(drop=True)


def draw_gap_by_parameter(data: pd.DataFrame, axes: "Axes", by: str, label: str) -> None:
    """Draw points with bootstrap intervals over the values of a parameter, evenly spaced.

    Lines join the values of a number, and none those of a choice among names.

    Parameters
    ----------
    by, label
        The parameter's column, and what the axis says.
    """
    values = values_in_order(data[by])
    are_names = any(isinstance(value, str) for value in values)
    datasets = list(dict.fromkeys(data["dataset"]))
    for at, (dataset, look) in enumerate(looks(datasets).items()):
        shown = data[data["dataset"] == dataset].fillna(
            {"mean_gap_low": data["mean_gap"], "mean_gap_high": data["mean_gap"]}
        )
        shift = (at - (len(datasets) - 1) / 2) * OFFSET
        axes.errorbar(
            [values.index(value) + shift for value in shown[by]],
            100 * shown["mean_gap"],
            yerr=[
                100 * (shown["mean_gap"] - shown["mean_gap_low"]).clip(lower=0),
                100 * (shown["mean_gap_high"] - shown["mean_gap"]).clip(lower=0),
            ],
            color=look.color,
            marker=look.marker,
            linestyle="none" if are_names else look.linestyle,
            elinewidth=1.0,
            capsize=2.5,
            label=dataset,
        )
    axes.set_xticks(range(len(values)), [str(value) for value in values])
    axes.set_ylim(bottom=0.0)
    axes.set(xlim=(-0.4, len(values) - 0.6), xlabel=label, ylabel="mean gap (%)")
