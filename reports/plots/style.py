"""One look for all plots, legible on white and on black, in colour and without.

The first six colours are those of M. Okabe and K. Ito (B. Wong: "Points of view: color blindness",
Nature Methods 8, 2011) without black and yellow, which vanish on a dark or a light page. The others
are, one after the other, as far as possible in CIELAB from those before, among those that stand out
from both pages. Every colour comes with a marker and a dash pattern of its own.
"""

from collections.abc import Mapping, Sequence
from itertools import cycle, islice
from typing import TYPE_CHECKING, Any, NamedTuple

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
