"""A plot before it is drawn: its data, its texts, and the function that draws it."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pandas as pd

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True)
class Panels:
    """Axes side by side with a common vertical axis, one for each value of a column.

    Attributes
    ----------
    title
        Returns what stands above the panel of a value.
    has_common_x
        Whether the horizontal axis is common too.
    """

    column: str
    title: Callable[[Any], str]
    has_common_x: bool = True


@dataclass(frozen=True)
class Plot:
    """A plot of a section.

    Attributes
    ----------
    name
        Of its files, `plots/<problem>/<name>.svg`; no two plots of a problem share one.
    data
        Exactly what is drawn. Without rows there is no plot.
    draw
        Draws data into axes, and labels what belongs into the legend. It gets all data, or with
        `panels` those of one panel. No text is taken for a formula, so logarithmic axes need
        `plain_log_ticks`.
    width, height
        Of the figure without its legend, in inches.
    legend_is_above
        Whether the legend stands in the upper right corner instead of below the axes.
    instance
        Hash of the instance that is drawn, whose details then lead here; empty if it is not one.
    """

    name: str
    title: str
    caption: str
    data: pd.DataFrame
    draw: Callable[[pd.DataFrame, "Axes"], None]
    panels: Panels | None = None
    width: float = 7.4
    height: float = 3.4
    legend_is_above: bool = False
    instance: str = ""


def instance_plot(
    kind: str,
    row: Any,
    caption: str,
    data: pd.DataFrame,
    draw: Callable[[pd.DataFrame, "Axes"], None],
) -> Plot:
    """Return the plot of one instance: named after it, and where its details lead.

    Parameters
    ----------
    kind
        What the name of its files begins with, e.g. ``"partition"``.
    row
        With `instance`, `parameters` and `instance_sha256`.
    """
    title = f"{row.instance}, {row.parameters}"
    words = re.sub(r"[^a-z0-9]+", "_", title.lower()).strip("_")
    name = f"{kind}_{words}_{row.instance_sha256[:8]}"
    return Plot(name, title, caption, data, draw, instance=str(row.instance_sha256))
