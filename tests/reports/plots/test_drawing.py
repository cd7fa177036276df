"""Plots as figures and pictures."""

import xml.etree.ElementTree as ET
from dataclasses import replace
from typing import Any

import pandas as pd
import pytest
from matplotlib.axes import Axes

from boundmark.reports.plots import (
    Panels,
    Plot,
    drawing_of,
    figure_of,
    include_zero,
    looks,
    names_below,
    plain_log_ticks,
)

DATA = pd.DataFrame(
    {"panel": ["v10", "v9", "v9"], "series": ["one", "two", "one"], "x": [1, 2, 3], "y": [5, 6, 7]}
)


def draw(data: pd.DataFrame, axes: Axes) -> None:
    """Draw one line per series."""
    for name, part in data.groupby("series"):
        axes.plot(part["x"], part["y"], "o-", label=name)
    axes.set_ylabel("height")


def plot(**given: Any) -> Plot:
    """Return a plot of two series."""
    return Plot("p", "Title", "Caption.", DATA, draw, **given)


def test_panels_side_by_side() -> None:
    """One per value in natural order, each with its data; the outer one says what is shown."""
    figure = figure_of(plot(panels=Panels("panel", lambda value: f"<{value}>")))
    assert [axes.get_title() for axes in figure.axes] == ["<v9>", "<v10>"]
    assert [len(axes.lines) for axes in figure.axes] == [2, 1]
    assert [axes.get_ylabel() for axes in figure.axes] == ["height", ""]
    assert figure.axes[0].get_ylim() == figure.axes[1].get_ylim()


def test_names_are_data_and_shown_as_they_are() -> None:
    """Looks are found by raw names; no sign makes a formula, and what is invisible is seen."""
    name, hidden = "a$b_c|d<e>&%#$", "z\u200b\x00"
    known = looks([name, hidden])
    rows = [(panel, series, 1) for panel in (name, hidden) for series in (name, hidden)]

    def draw_named(data: pd.DataFrame, axes: Axes) -> None:
        for series in data["series"]:
            axes.plot([0, 1], [1, 2], color=known[series].color, label=series)
        names_below(axes, [name, hidden])

    given = Plot(
        "p", "T", "C", pd.DataFrame(rows, columns=["panel", "series", "x"]), draw_named,
        Panels("panel", str),
    )  # fmt: skip
    drawing = drawing_of(given, "a.p", with_png=True)
    texts = [element.text for element in ET.fromstring(drawing.svg).iter() if element.text]
    shown = r"z\u200b\x00"
    # Two titles of panels, two names below each, and the legend; then the hints at four lines.
    assert texts.count(name) == texts.count(shown) == 4 + 2
    assert not any("$" in text and text != name for text in texts)


@pytest.mark.parametrize("panels", [None, Panels("panel", str)])
def test_the_legend_names_each_series_once(panels: Panels | None) -> None:
    """Below the axes, with room of its own."""
    figure = figure_of(plot(panels=panels, height=3.0))
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == ["one", "two"]
    assert figure.get_figheight() > 3.0


def test_a_legend_above_takes_no_room() -> None:
    """The figure is as high as it was asked to be."""
    assert figure_of(plot(legend_is_above=True, height=3.0)).get_figheight() == 3.0


def test_pictures_are_the_same_every_time() -> None:
    """Byte by byte, well-formed, and with ids that no other plot of the page has."""
    first, second = (drawing_of(plot(), "a.p", with_png=True) for _ in range(2))
    assert first == second
    assert first.png is not None
    assert first.png.startswith(b"\x89PNG")
    assert drawing_of(plot(), "a.p") == replace(first, png=None)
    ids = [element.get("id") for element in ET.fromstring(first.svg).iter()]
    assert {text for text in ids if text and not text.startswith("a.p-")} == set()
    assert "currentColor" in first.svg


@pytest.mark.parametrize(
    ("high", "expected"), [(5.0, 1.5), (500.0, 2.0), (1e5, 10.0)], ids=["short", "middle", "long"]
)
def test_short_logarithmic_axes_have_more_ticks(high: float, expected: float) -> None:
    """The second tick from 1 upwards."""
    (axes,) = figure_of(plot()).axes
    axes.set(xscale="log", xlim=(1.0, high))
    plain_log_ticks(axes.xaxis)
    ticks = [tick for tick in axes.xaxis.get_majorticklocs() if tick > 1.01]
    assert ticks[0] == pytest.approx(expected)


def test_common_axes_reach_down_to_zero() -> None:
    """Whichever panel comes last."""

    def draw_from_zero(data: pd.DataFrame, axes: Axes) -> None:
        draw(data, axes)
        include_zero(axes, 1.0)

    given = Plot("p", "T", "C", DATA, draw_from_zero, Panels("panel", str))
    for axes in figure_of(given).axes:
        low, high = axes.get_ylim()
        assert low < 0
        assert high > 7
