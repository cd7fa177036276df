"""One look for all plots, legible on white and on black, in colour and without.

Colours are those of M. Okabe and K. Ito (B. Wong: "Points of view: color blindness", Nature Methods
8, 2011) without black and yellow, which vanish on a dark or a light page. Every colour comes with a
marker and a dash pattern of its own.
"""

import io
import re
from collections.abc import Sequence
from itertools import cycle, islice
from typing import Any, NamedTuple

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">", "p", "*")
DASHES: tuple[Any, ...] = ("-", (0, (5, 1.5)), (0, (1, 1)), (0, (5, 1.5, 1, 1.5)), (0, (9, 2)))

# What an entry of a legend takes, at the size of text below.
LEGEND_MARK_INCHES, LEGEND_LETTER_INCHES = 0.75, 0.075

# Stands for the colour of the surrounding text, which SVG calls currentColor.
_INK = "#010101"

# What every figure is drawn and written with; the salt makes identifiers the same in every run.
_SETTINGS: Any = {
    "axes.edgecolor": _INK,
    "axes.grid": True,
    "axes.labelcolor": _INK,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlesize": 10,
    "axes.titleweight": "bold",
    "figure.facecolor": "none",
    "axes.facecolor": "none",
    "font.family": "DejaVu Sans",
    "font.size": 9,
    "grid.alpha": 0.3,
    "grid.color": "#808080",
    "grid.linewidth": 0.6,
    "legend.frameon": False,
    "legend.handlelength": 3.0,
    "lines.linewidth": 1.6,
    "lines.markersize": 5,
    "savefig.facecolor": "none",
    "svg.fonttype": "none",
    "svg.hashsalt": "boundmark",
    "text.color": _INK,
    "xtick.color": _INK,
    "ytick.color": _INK,
}


class Look(NamedTuple):
    """How one series is drawn."""

    color: str
    marker: str
    linestyle: Any


def looks(names: list[str]) -> dict[str, Look]:
    """Return a look for each name; the first 330 differ."""
    cycles = zip(cycle(COLOURS), cycle(MARKERS), cycle(DASHES), strict=False)
    return {name: Look(*look) for name, look in zip(names, islice(cycles, len(names)), strict=True)}


def settings() -> Any:
    """Return the context within which figures are drawn and written."""
    return mpl.rc_context(_SETTINGS)


def new_figure(width: float = 7.4, height: float = 3.6) -> Figure:
    """Return an empty figure, in inches."""
    return Figure(figsize=(width, height), layout="constrained")


def legend_columns(figure: Figure, labels: Sequence[str], most: int = 4) -> int:
    """Return how many columns a legend below the figure may have."""
    widest = LEGEND_MARK_INCHES + LEGEND_LETTER_INCHES * max(map(len, labels), default=0)
    return max(1, min(most, len(labels), int(figure.get_figwidth() / widest)))


def legend_below(figure: Figure, axes: Axes, columns: int = 4) -> None:
    """Put the legend of an axes below the whole figure."""
    handles, labels = axes.get_legend_handles_labels()
    columns = legend_columns(figure, labels, columns)
    figure.legend(handles, labels, loc="outside lower center", ncols=columns)


def plain_log_ticks(axis: Any, low: float, high: float) -> None:
    """Label a logarithmic axis with plain numbers, the more of them the shorter its range."""
    subs: tuple[float, ...] = (1.0,)
    if high < 10 * low:
        subs = (1.0, 1.5, 2.0, 3.0, 5.0, 7.0)
    elif high < 1000 * low:
        subs = (1.0, 2.0, 5.0)
    axis.set_major_locator(LogLocator(subs=subs))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.set_minor_formatter(NullFormatter())


def to_svg(figure: Figure, name: str) -> str:
    """Return the figure as SVG text that takes its ink from the page; ids begin with the name."""
    buffer = io.StringIO()
    figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
    text = buffer.getvalue().replace(_INK, "currentColor")
    text = re.sub(r'(\bid="|url\(#|href="#)', rf"\g<1>{name}-", text)
    return text[text.index("<svg") :]


def to_png(figure: Figure) -> bytes:
    """Return the figure as PNG on white."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=160, facecolor="white", metadata={"Software": None})
    return buffer.getvalue()
