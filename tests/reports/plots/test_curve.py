"""Curves of solutions and bounds over time."""

import re
from xml.etree import ElementTree as ET

from boundmark.reports.sections.instances import Steps, curve_svg, improving


def test_only_improvements_are_steps() -> None:
    """In order of time: lower costs, higher bounds."""
    events = [(3.0, 5.0), (1.0, 9.0), (2.0, 9.5), (4.0, 5.0)]
    assert improving(events, is_bound=False) == ((1.0, 9.0), (3.0, 5.0))
    assert improving(events, is_bound=True) == ((1.0, 9.0), (2.0, 9.5))


def test_places_follow_time_and_value() -> None:
    """Later is further right, a lower cost further down, a bound below the best cost."""
    steps = [
        Steps("a", 0, False, ((0.01, 16.0), (1.0, 10.0))),
        Steps("b", 1, True, ((0.1, 8.0),)),
    ]
    paths = re.findall(r'<path d="M(\d+) (\d+)(?:H(\d+)V(\d+))?', curve_svg(steps, 10.0, 10.0))
    (x0, y0, x1, y1), (x2, y2, *_) = [tuple(int(p or 0) for p in path) for path in paths]
    assert x0 < x2 < x1
    assert y0 < y1 < y2


def test_names_are_text() -> None:
    """Whatever methods are called, the drawing is sound XML that shows it."""
    name = '<script>&"\x07'
    root = ET.fromstring(curve_svg([Steps(name, 25, False, ((0.0, 3.0),))], 3.0, 0.0))
    title = root.find(".//title")
    assert title is not None
    assert title.text == '<script>&"\\x07: cost 3 after 0 s'


def test_nothing_is_drawn_of_nothing() -> None:
    """Tasks that reported nothing have no steps."""
    assert curve_svg([Steps("a", 0, False, ())], 1.0, 1.0) == ""


def test_far_values_are_at_the_edge() -> None:
    """A cost of a hundred times the best, and a bound of zero, are drawn within the frame."""
    svg = curve_svg(
        [Steps("a", 0, False, ((0.1, 1000.0),)), Steps("b", 0, True, ((0.1, 0.0),))], 10.0, 1.0
    )
    places = [int(y) for y in re.findall(r'<path d="M\d+ (\d+)H', svg)]
    assert all(8 <= y <= 158 for y in places)
