"""Plots as figures and pictures: what they tell when pointed at, and looks that differ."""

import re
import xml.etree.ElementTree as ET
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
import pytest
from matplotlib.axes import Axes

from boundmark.reports.plots import (
    COLOURS,
    GLYPHS,
    MARKERS,
    Panels,
    Plot,
    distinct_names,
    drawing_of,
    figure_of,
    include_zero,
    looks,
    names_below,
    page_svg,
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


def test_rows_of_panels_do_not_mix_data_sets() -> None:
    """A row for each value of a second column, each panel with its own data and both titles."""
    panels = Panels("panel", str, rows="series")
    figure = figure_of(plot(panels=panels, height=2.0))
    titles = ["one, v9", "one, v10", "two, v9", "two, v10"]
    assert [axes.get_title() for axes in figure.axes] == titles
    shown = [[list(line.get_ydata()) for line in axes.lines] for axes in figure.axes]
    assert shown == [[[7]], [[5]], [[6]], []]
    assert figure.get_figheight() > 4.0


def test_equal_names_of_two_data_sets_differ() -> None:
    """Other names stay as they are."""
    data = pd.DataFrame({"dataset": ["a", "b", "b"], "instance": ["x", "x", "y"]})
    assert distinct_names(data).tolist() == ["a/x", "b/x", "y"]


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


SVG = "{http://www.w3.org/2000/svg}"
POINTS = pd.DataFrame({"x": [1, 2, 3], "y": [5.0, 6.25, 7.0]})


def titles(draw: object) -> dict[str, list[str]]:
    """Return the texts of a plot's titles by the element that has them."""
    root = ET.fromstring(drawing_of(Plot("p", "T", "C.", POINTS, draw), "p").svg)  # type: ignore[arg-type]
    found: dict[str, list[str]] = {}
    for element in root.iter():
        for title in element.findall(f"{SVG}title"):
            found.setdefault(element.tag.removeprefix(SVG), []).append(str(title.text))
    return found


def test_marks_tell_their_values() -> None:
    """Each mark of a series its own; the line, the series, whose name may be anything."""

    def draw(data: pd.DataFrame, axes: Axes) -> None:
        axes.plot(data["x"], data["y"], "o-", label='<a> & "b"')

    found = titles(draw)
    assert found["use"] == ["<a> & 'b': 5", "<a> & 'b': 6.25", "<a> & 'b': 7"]
    assert found["g"] == ["<a> & 'b'"]


def test_bars_tell_where_they_are() -> None:
    """What stands on the axis its length, and what lies along time its start and its end."""

    def draw(data: pd.DataFrame, axes: Axes) -> None:
        axes.barh([0, 1], [3, 4], left=[0, 2**53 - 5], label="run")
        axes.bar(data["x"], data["y"], label="load")

    assert titles(draw)["g"] == [
        "run: 3", "run: 9,007,199,254,740,987 to 9,007,199,254,740,991",
        "load: 5", "load: 6.25", "load: 7",
    ]  # fmt: skip


def test_series_without_a_name_say_nothing() -> None:
    """Lines that only help the eye have none; of marks that are left out, the name is told."""

    def draw(data: pd.DataFrame, axes: Axes) -> None:
        axes.plot(data["x"], data["y"])
        axes.plot(data["x"], data["y"], marker="o", markevery=2, label="profile")

    assert titles(draw) == {"g": ["profile"]}


WRITTEN = """<?xml version="1.0"?>
<svg width="9pt">
 <metadata>
  x
 </metadata>
 <defs>
  <style type="text/css">*{a: b}</style>
  <path id="m1" d="M 0 1.23456
L -0.5001 2"/>
 </defs>
 <g id="line_1">
  <use xlink:href="#m1" x="1.999" y="0.001" style="fill: #010101"/>
  <use xlink:href="#m1" x="3" y="4" style="fill: #010101"/>
  <use xlink:href="#m1" x="3" y="4" style="fill: #010101"/>
 </g>
 <text style="c">x="1.23456" style="c"</text>
</svg>
"""


def test_only_what_is_needed_stays() -> None:
    """Ids that something refers to, hundredths, and styles once; texts are left alone."""
    assert page_svg(WRITTEN, "a.p") == (
        '<svg id="a.p-figure" width="9pt">\n'
        "<defs>\n"
        '<style type="text/css">*{a: b}[id="a.p-figure"] .p0{fill: currentColor}</style>\n'
        '<path id="a.p-m1" d="M 0 1.23\nL -0.5 2"/>\n'
        "</defs>\n"
        "<g>\n"
        '<use xlink:href="#a.p-m1" x="2" y="0" class="p0"/>\n'
        '<use xlink:href="#a.p-m1" x="3" y="4" class="p0"/>\n'
        '<use xlink:href="#a.p-m1" x="3" y="4" class="p0"/>\n'
        "</g>\n"
        '<text style="c">x="1.23456" style="c"</text>\n'
        "</svg>\n"
    )


def test_every_reference_leads_somewhere() -> None:
    """Marks and clips are found under the ids that were given to them."""

    def draw(data: pd.DataFrame, axes: Axes) -> None:
        axes.plot(data["x"], data["y"], "o-", label="a")

    svg = drawing_of(Plot("p", "T", "C.", POINTS, draw), "a.p").svg
    wanted = set(re.findall(r'(?:url\(#|href="#)([^")]+)', svg))
    assert wanted
    assert wanted <= set(re.findall(r' id="([^"]+)"', svg))


WHITE, DARK = "#ffffff", "#14171a"


def linear(colour: str) -> np.ndarray:
    """Return the linear red, green and blue of a colour such as ``"#0072B2"``."""
    values = np.array([int(colour[at : at + 2], 16) for at in (1, 3, 5)]) / 255
    return np.where(values <= 0.04045, values / 12.92, ((values + 0.055) / 1.055) ** 2.4)


def lab(colour: str) -> np.ndarray:
    """Return a colour in CIELAB (D65)."""
    to_xyz = np.array(
        [[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.0721750],
         [0.0193339, 0.1191920, 0.9503041]]
    )  # fmt: skip
    x, y, z = np.cbrt(to_xyz @ linear(colour) / [0.95047, 1.0, 1.08883])
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


def contrast(one: str, other: str) -> float:
    """Return the contrast ratio of WCAG 2."""
    light = sorted(linear(c) @ [0.2126, 0.7152, 0.0722] + 0.05 for c in (one, other))
    return float(light[1] / light[0])


def test_colours_differ() -> None:
    """By far more than what is just noticeable, which is 2.3."""
    assert len(COLOURS) == 20
    distances = [np.linalg.norm(lab(a) - lab(b)) for a, b in combinations(COLOURS, 2)]
    assert min(distances) > 25


@pytest.mark.parametrize(("page", "least"), [(WHITE, 2.2), (DARK, 3.0)])
def test_colours_stand_out(page: str, least: float) -> None:
    """From light pages and from dark ones."""
    assert min(contrast(colour, page) for colour in COLOURS) > least


def test_markers_differ() -> None:
    """In plots and on pages, whatever the colour."""
    assert len(set(MARKERS)) == len(MARKERS) == len(set(GLYPHS)) == len(GLYPHS) == 21
    names = [str(at) for at in range(420)]
    assert len({(look.color, look.marker) for look in looks(names).values()}) == 420
