"""Settings of axes that several plots share."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes


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
