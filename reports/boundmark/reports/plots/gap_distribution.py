"""How the gaps of the instances are distributed, by k."""

import pandas as pd
from matplotlib import colormaps
from matplotlib.figure import Figure

from boundmark.reports.plots.style import DASHES, MARKERS, legend_below, new_figure

# Of the plasma scale, the part that stands out from white as well as from black.
DARKEST, LIGHTEST = 0.25, 0.8


def gap_distribution_data(certified: pd.DataFrame) -> pd.DataFrame:
    """Return for each k the points of the empirical distribution function of the gap.

    The fraction is of all instances with that k, so it stays below 1 where some have no gap.
    """
    rows = []
    for k, group in certified.groupby("k"):
        gaps = group["gap"].dropna().sort_values()
        rows += [(k, gap, (at + 1) / len(group)) for at, gap in enumerate(gaps)]
    data = pd.DataFrame(rows, columns=["k", "gap", "fraction"])
    return data.drop_duplicates(["k", "gap"], keep="last").reset_index(drop=True)


def draw_gap_distribution(data: pd.DataFrame) -> Figure:
    """Draw one step function a k; k is ordered, and so are the colours."""
    values = sorted({int(k) for k in data["k"]})
    largest = max(float(data["gap"].max()), 0.001) * 100
    figure = new_figure()
    axes = figure.subplots()
    for at, k in enumerate(values):
        share = at / max(1, len(values) - 1)
        steps = data[data["k"] == k]
        gaps = [0.0, *(100 * steps["gap"]), 1.03 * largest]
        fractions = [0.0, *steps["fraction"], float(steps["fraction"].iloc[-1])]
        axes.plot(
            gaps,
            fractions,
            drawstyle="steps-post",
            color=colormaps["plasma"](DARKEST + share * (LIGHTEST - DARKEST)),
            linestyle=DASHES[at % len(DASHES)],
            marker=MARKERS[at % len(MARKERS)],
            markevery=(1, max(1, len(gaps) // 6)),
            label=f"k = {k}",
        )
    axes.set(
        xlim=(-0.02 * largest, 1.03 * largest),
        ylim=(0.0, 1.02),
        xlabel="gap (%)",
        ylabel="fraction of instances",
    )
    legend_below(figure, axes, columns=6)
    return figure
