"""How the gaps of the instances are distributed, a curve per value of a parameter."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from boundmark.reports.plots.style import DASHES, MARKERS
from boundmark.reports.tables.parameters import Value, values_in_order

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Of the plasma scale, the part that stands out from white as well as from black.
DARKEST, LIGHTEST = 0.25, 0.8


def gap_distribution_data(certified: pd.DataFrame, by: str) -> pd.DataFrame:
    """Return for each value the points of the empirical distribution function of the gap.

    The fraction is of all instances with that value, so it stays below 1 where some have no gap.

    Parameters
    ----------
    by
        The parameter's column.
    """
    columns: dict[str, list[Any]] = {by: [], "gap": [], "fraction": []}
    for value in values_in_order(certified[by]):
        group = certified.loc[(certified[by] == value).fillna(False).astype(bool), "gap"]
        gaps = np.sort(group.dropna().to_numpy(np.float64))
        columns[by] += [value] * len(gaps)
        columns["gap"] += gaps.tolist()
        columns["fraction"] += (np.arange(1, len(gaps) + 1) / len(group)).tolist()
    data = pd.DataFrame(columns)
    return data.drop_duplicates([by, "gap"], keep="last").reset_index(drop=True)


def draw_gap_distribution(
    data: pd.DataFrame, axes: "Axes", by: str, heading: Callable[[Value], str]
) -> None:
    """Draw one step function per value; values are ordered, and so are the colours.

    Parameters
    ----------
    by, heading
        The parameter's column, and how its values are written in the legend.
    """
    from matplotlib import colormaps

    values = values_in_order(data[by])
    largest = max(float(data["gap"].max()), 0.001) * 100
    for at, value in enumerate(values):
        share = at / max(1, len(values) - 1)
        steps = data[data[by] == value]
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
            label=heading(value),
        )
    axes.set(
        xlim=(-0.02 * largest, 1.03 * largest),
        ylim=(0.0, 1.02),
        xlabel="gap (%)",
        ylabel="fraction of instances",
    )
