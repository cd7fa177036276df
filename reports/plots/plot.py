"""A plot of a page, and the style that all plots share."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import cycle, islice
from typing import TYPE_CHECKING, Any, NamedTuple

import pandas as pd

if TYPE_CHECKING:
    from matplotlib.axes import Axes


COLOURS = (
    "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#695A1E", "#871E96",
    "#96B43C", "#3C00FF", "#00C300", "#FF005A", "#2D5A5A", "#B4A596", "#B496FF", "#962D2D",
    "#1E69FF", "#FF0FE1", "#FF3CA5", "#FF0000",
)  # fmt: skip

# Letters are shapes by name; of three numbers, the first is that of corners.
MARKERS: tuple[Any, ...] = (
    "o", "s", "^", "D", "v", "P", "X", "<", ">", "p", "*", "h", "d", "8", (4, 1, 0), (6, 1, 0),
    (3, 1, 0), (3, 1, 180), (4, 1, 45), (8, 1, 0), (5, 0, 180),
)  # fmt: skip

# Of pages, where marks are text.
GLYPHS = "●■▲◆▼✚✖◀▶⬟★⬢◊○□△◇▽◁▷☆"
DASHES: tuple[Any, ...] = ("-", (0, (5, 1.5)), (0, (1, 1)), (0, (5, 1.5, 1, 1.5)), (0, (9, 2)))

# Of lines that only help the eye, on any page.
GREY = "#808080"

# Stands for the colour of the surrounding text, which SVG calls currentColor.
INK = "#010101"

# What every figure is drawn and written with; the salt makes identifiers the same in every run.
_SETTINGS: Any = {
    "axes.edgecolor": INK,
    "axes.grid": True,
    "axes.labelcolor": INK,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlesize": 10,
    "axes.titleweight": "bold",
    "figure.facecolor": "none",
    "axes.facecolor": "none",
    "font.family": "DejaVu Sans",
    "font.size": 9,
    "grid.alpha": 0.3,
    "grid.color": GREY,
    "grid.linewidth": 0.6,
    "legend.frameon": False,
    "legend.handlelength": 3.0,
    "lines.linewidth": 1.6,
    "lines.markersize": 5,
    "savefig.facecolor": "none",
    "svg.fonttype": "none",
    "svg.hashsalt": "boundmark",
    "text.color": INK,
    # Names may hold dollar signs; no text of a plot is a formula.
    "text.parse_math": False,
    "xtick.color": INK,
    "ytick.color": INK,
}


class Look(NamedTuple):
    """How one series is drawn."""

    color: str
    marker: Any
    linestyle: Any


Looks = Mapping[str, Look]


def looks(names: Sequence[str]) -> dict[str, Look]:
    """Return a look for each name; the first 420 differ."""
    cycles = zip(cycle(COLOURS), cycle(MARKERS), cycle(DASHES), strict=False)
    return {name: Look(*look) for name, look in zip(names, islice(cycles, len(names)), strict=True)}


def settings() -> Any:
    """Return the context within which figures are drawn and written."""
    import matplotlib as mpl

    return mpl.rc_context(_SETTINGS)


def plain_log_ticks(axis: Any) -> None:
    """Label a logarithmic axis with plain numbers, the more of them the shorter its range."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    low, high = sorted(axis.get_view_interval())
    subs: tuple[float, ...] = (1.0,)
    if high < 10 * low:
        subs = (1.0, 1.5, 2.0, 3.0, 5.0, 7.0)
    elif high < 1000 * low:
        subs = (1.0, 2.0, 5.0)
    axis.set_major_locator(LogLocator(subs=subs))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.set_minor_formatter(NullFormatter())


def integer_ticks(axis: Any) -> None:
    """Label an axis with integers only."""
    from matplotlib.ticker import MaxNLocator

    axis.set_major_locator(MaxNLocator(integer=True))


def include_zero(axes: "Axes", x: float) -> None:
    """Let the vertical axis reach down to 0, with the margin that it has at the top.

    Parameters
    ----------
    x
        Some place within the horizontal axis.
    """
    axes.update_datalim([(x, 0.0)])
    axes.autoscale_view(scalex=False)


def names_below(axes: "Axes", names: list[str]) -> None:
    """Put names under the places 0, 1, 2, ... of the horizontal axis."""
    axes.set_xticks(range(len(names)), names, rotation=60, ha="right", rotation_mode="anchor")
    axes.grid(visible=False, axis="x")


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
