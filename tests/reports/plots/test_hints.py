"""What plots tell when pointed at, and how little room their SVG takes."""

import re
import xml.etree.ElementTree as ET

import pandas as pd
from matplotlib.axes import Axes

from boundmark.reports.plots import Plot, drawing_of, page_svg

SVG = "{http://www.w3.org/2000/svg}"
DATA = pd.DataFrame({"x": [1, 2, 3], "y": [5.0, 6.25, 7.0]})


def titles(draw: object) -> dict[str, list[str]]:
    """Return the texts of a plot's titles by the element that has them."""
    root = ET.fromstring(drawing_of(Plot("p", "T", "C.", DATA, draw), "p").svg)  # type: ignore[arg-type]
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

    svg = drawing_of(Plot("p", "T", "C.", DATA, draw), "a.p").svg
    wanted = set(re.findall(r'(?:url\(#|href="#)([^")]+)', svg))
    assert wanted
    assert wanted <= set(re.findall(r' id="([^"]+)"', svg))
