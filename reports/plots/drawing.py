"""Plots as figures, and figures as SVG and PNG."""

import io
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from matplotlib.figure import Figure, SubplotParams
from matplotlib.text import Text
from matplotlib.ticker import FuncFormatter

from boundmark.reports.plots.hints import add_hints
from boundmark.reports.plots.plot import Plot
from boundmark.reports.plots.style import settings
from boundmark.reports.plots.svg_text import page_svg
from boundmark.reports.text import natural_order, visible

# What an entry of a legend takes, at the size of text below.
LEGEND_MARK_INCHES, LEGEND_LETTER_INCHES, LEGEND_LINE_INCHES = 0.75, 0.075, 0.18
MOST_LEGEND_COLUMNS = 6

# About what stands left and right of the axes; the layout finds it out when all is drawn.
LEFT_INCHES, RIGHT_INCHES = 0.6, 0.2


@dataclass(frozen=True)
class Drawing:
    """A plot as it is stored and shown.

    Attributes
    ----------
    png
        None if it was not asked for: it takes half as long as all the rest.
    """

    svg: str
    png: bytes | None


def drawing_of(plot: Plot, identifier: str, *, with_png: bool = False) -> Drawing:
    """Draw a plot; the ids within its SVG begin with an identifier."""
    with settings():
        figure = figure_of(plot)
        svg = page_svg(_svg(figure), identifier)
        if not with_png:
            return Drawing(svg, None)
        # What takes the most time, and would come to the same.
        figure.set_layout_engine("none")
        return Drawing(svg, _png(figure))


def figure_of(plot: Plot) -> Figure:
    """Return the figure of a plot, with its panels and its legend."""
    margins = SubplotParams(
        left=LEFT_INCHES / plot.width, right=1 - RIGHT_INCHES / plot.width
    )  # So that who draws knows how wide the axes will be.
    size = (plot.width, plot.height)
    figure = Figure(figsize=size, layout="constrained", subplotpars=margins)
    if plot.panels is None:
        plot.draw(plot.data, figure.subplots())
    else:
        _draw_panels(plot, figure)
    for axes in figure.axes:
        add_hints(axes)
    _add_legend(plot, figure)
    _make_visible(figure)
    return figure


def _make_visible(figure: Figure) -> None:
    """Write characters that cannot be seen or encoded as escapes, in all that the figure says.

    Data and labels of series stay what they are: names are keys, and texts are for people.
    """
    for axes in figure.axes:
        for axis in (axes.xaxis, axes.yaxis):
            # Names at ticks; the others are numbers.
            formatter = axis.get_major_formatter()
            if isinstance(formatter, FuncFormatter):
                axis.set_major_formatter(FuncFormatter(_visibly(formatter.func)))
    for text in figure.findobj(Text):
        assert isinstance(text, Text)
        text.set_text(visible(text.get_text()))


def _visibly(name: Callable[..., str]) -> Callable[..., str]:
    """Return a function that says the same, visibly."""
    return lambda *args: visible(name(*args))


def _draw_panels(plot: Plot, figure: Figure) -> None:
    assert plot.panels is not None
    column = plot.data[plot.panels.column]
    is_text = column.map(lambda value: isinstance(value, str)).any()
    values: list[Any] = natural_order(column) if is_text else sorted(set(column))
    all_axes = figure.subplots(
        1, len(values), sharex=plot.panels.has_common_x, sharey=True, squeeze=False
    )[0]
    for axes, value in zip(all_axes, values, strict=True):
        axes.set_title(plot.panels.title(value))
        plot.draw(plot.data[column == value], axes)
        axes.label_outer()


def _add_legend(plot: Plot, figure: Figure) -> None:
    handles: dict[str, Any] = {}
    for axes in figure.axes:
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
            handles.setdefault(label, handle)
    labels = list(handles) if plot.panels is None else natural_order(handles)
    if not labels:
        return
    shown = [handles[label] for label in labels]
    if plot.legend_is_above:
        figure.legend(
            shown, labels, loc="outside upper right", ncols=len(labels), handlelength=1.2,
            fontsize=8,
        )  # fmt: skip
        return
    widest = LEGEND_MARK_INCHES + LEGEND_LETTER_INCHES * max(map(len, labels))
    columns = max(1, min(MOST_LEGEND_COLUMNS, len(labels), int(plot.width / widest)))
    figure.set_figheight(plot.height + LEGEND_LINE_INCHES * -(-len(labels) // columns))
    figure.legend(shown, labels, loc="outside lower center", ncols=columns)


def _svg(figure: Figure) -> str:
    """Return the figure as matplotlib writes it."""
    buffer = io.StringIO()
    figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
    return buffer.getvalue()


def _png(figure: Figure) -> bytes:
    """Return the figure as PNG on white."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=160, facecolor="white", metadata={"Software": None})
    return buffer.getvalue()
