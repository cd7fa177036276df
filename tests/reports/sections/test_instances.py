"""Instances that a page unfolds."""

import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from documented import append

from boundmark.reports.folder_results import read_folder
from boundmark.reports.sections.instances import Steps, curve_svg, detail_section, improving
from boundmark.reports.stored.store import ResultStore


@pytest.fixture
def store(tmp_path: Path, make_row: Any) -> ResultStore:
    """Return a folder with an instance of three tasks and one of a single one."""
    store = ResultStore.create_or_open(tmp_path)
    trace = [{"seconds": 0.1, "kind": "solution", "value": 9.0}]
    append(store, make_row("a", objective=5, seed=1, method="m"), trace)
    append(store, make_row("b", objective=6, seed=2, method="m"), trace)
    append(
        store, make_row("c", bound_certified=5, method="fractional-load", method_kind="bound"), []
    )
    failed = {"status": "timeout", "status_detail": "too long", "instance": "other"}
    append(store, make_row("d", **failed), [])
    return store


def test_every_task_is_there_with_its_files(store: ResultStore) -> None:
    """Best solutions first; numbers lead to documents, and the command names the best ones."""
    results = read_folder(store).of_problem("pipeline", None)
    section = detail_section(results, [])
    assert section is not None
    first, second = section.details
    assert first.title == "zoo/a k=2"
    assert first.summary == "best cost 5, best bound 5, optimal"
    lines = first.table.groups[0].rows
    assert [(line[0].text, line[2].text, line[3].text) for line in lines] == [
        ("m", "1", "5"), ("m", "2", "6"), ("fractional-load", "1", ""),
    ]  # fmt: skip
    linked = [cell.href for line in lines for cell in line if cell.href]
    assert all((store.directory / href).exists() for href in linked)
    assert len(linked) == 3
    (command,) = first.commands
    assert command.split()[:2] == ["boundmark", "verify"]
    assert set(command.split()[2:]) == {linked[0], linked[2]}
    assert "9 after 0.1 s" in first.curve
    assert second.commands == ()
    assert [cell.text for cell in second.table.groups[0].rows[0]][-2:] == ["timeout", "too long"]


def test_largest_gaps_have_room_first(store: ResultStore) -> None:
    """An instance without a gap is the furthest from being known; what is left out is counted."""
    results = read_folder(store).of_problem("pipeline", None)
    section = detail_section(results, [], most_bytes=1500)
    assert section is not None
    assert [detail.title for detail in section.details] == ["zoo/other k=2"]
    assert "The 1 others are in the tables" in section.paragraphs[1]
    assert detail_section(results, [], most_bytes=0) is None


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
