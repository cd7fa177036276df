"""The mean gap by k, a line a data set."""

import pandas as pd
from matplotlib.figure import Figure

from boundmark.reports.plots.style import legend_below, looks, new_figure
from boundmark.reports.tables.tasks import ALL

# Distance between data sets at the same k, so that their intervals do not cover each other.
OFFSET = 0.07


def gap_by_k_data(gaps: pd.DataFrame) -> pd.DataFrame:
    """Return the means and intervals of the gap table, where there are any."""
    columns = ["dataset", "k", "mean_gap", "mean_gap_low", "mean_gap_high"]
    shown = gaps[gaps["mean_gap"].notna()]
    if shown["dataset"].nunique() <= 2:
        shown = shown[shown["dataset"] != ALL]
    return shown[columns].reset_index(drop=True)


def draw_gap_by_k(data: pd.DataFrame) -> Figure:
    """Draw points with bootstrap intervals."""
    values = sorted({int(k) for k in data["k"]})
    datasets = list(dict.fromkeys(data["dataset"]))
    figure = new_figure()
    axes = figure.subplots()
    for at, (dataset, look) in enumerate(looks(datasets).items()):
        shown = data[data["dataset"] == dataset].fillna(
            {"mean_gap_low": data["mean_gap"], "mean_gap_high": data["mean_gap"]}
        )
        shift = (at - (len(datasets) - 1) / 2) * OFFSET
        axes.errorbar(
            [values.index(int(k)) + shift for k in shown["k"]],
            100 * shown["mean_gap"],
            yerr=[
                100 * (shown["mean_gap"] - shown["mean_gap_low"]).clip(lower=0),
                100 * (shown["mean_gap_high"] - shown["mean_gap"]).clip(lower=0),
            ],
            color=look.color,
            marker=look.marker,
            linestyle=look.linestyle,
            elinewidth=1.0,
            capsize=2.5,
            label=dataset,
        )
    axes.set_xticks(range(len(values)), [str(k) for k in values])
    axes.set_ylim(bottom=0.0)
    axes.set(xlabel="k (stages)", ylabel="mean gap (%)")
    legend_below(figure, axes)
    return figure
