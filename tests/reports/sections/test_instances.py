"""Instances that a page unfolds."""

from pathlib import Path
from typing import Any

import pytest
from documented import append

from boundmark.reports.folder_results import read_folder
from boundmark.reports.sections.instances import detail_section
from boundmark.reports.stored.store import ResultStore


@pytest.fixture
def store(tmp_path: Path, make_row: Any) -> ResultStore:
    """Return a folder with an instance of three tasks and one of a single one."""
    store = ResultStore.create_or_open(tmp_path)
    trace = [{"seconds": 0.1, "kind": "solution", "value": 9.0}]
    append(store, make_row("a", objective=5, seed=1, method="m"), trace)
    append(store, make_row("b", objective=6, seed=2, method="m"), trace)
    append(store, make_row("c", bound_certified=5, method="share", method_kind="bound"), [])
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
        ("m", "1", "5"), ("m", "2", "6"), ("share", "1", ""),
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
