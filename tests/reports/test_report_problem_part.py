"""The part of a report about one problem, and the reports of problems behind entry points."""

import logging
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from documented import append
from plugin_packages import install

from boundmark.problems import entry_points
from boundmark.reports.default import DEFAULT
from boundmark.reports.folder_results import read_folder
from boundmark.reports.report import part_of, report_of, write_report
from boundmark.reports.stored.store import ResultStore

Package = Callable[..., None]

SOUND = """
from dataclasses import replace
from boundmark.reports.default import DEFAULT
from boundmark.reports.pages.page import Section
def section(results, tables):
    return Section("Very own", paragraphs=(f"{len(tables['mine'])} rows.",))
REPORT = replace(
    DEFAULT,
    tables=lambda results: {"methods": results.tasks, "mine": results.certified},
    sections=(section,),
    headline=lambda results, tables: "All is well.",
    limitations=lambda results, tables: ("Made up.",),
)
"""

# What is wrong, the module, and what is said about it.
BROKEN = [
    ("cannot be imported", "import no_such_module_anywhere", "ModuleNotFoundError: No module"),
    ("is no Python", "REPORT = (", "SyntaxError: '(' was never closed"),
    ("raises", "raise RuntimeError('first\\nsecond')", "RuntimeError: first second"),
    ("exits", "import sys; sys.exit('gone')", "SystemExit: gone"),
    ("lacks the object", "OTHER = 1", "AttributeError: module"),
    ("has the wrong type", "REPORT = 7", "it holds a int; expected a ProblemReport"),
    ("fails in a table", SOUND + "REPORT = replace(REPORT, tables=lambda results: 1 / 0)",
     "ZeroDivisionError: division by zero"),
    ("exits in a section", SOUND + "REPORT = replace(REPORT, sections=(lambda *_: exit(3),))",
     "SystemExit: 3"),
    ("has no table to store", SOUND + "REPORT = replace(REPORT, tables=lambda _: {'mine': [1]})",
     "AttributeError: "),
]  # fmt: skip

PLOTS = """
import pandas as pd
from boundmark.reports.plots import Plot
def draw(data, axes):
    axes.plot(data["x"], data["y"])
def plotted(results, tables):
    plot = Plot("p", "P", "c", pd.DataFrame({"x": [1], "y": [2]}), draw)
    return Section("Drawn", plots=(plot, plot))
REPORT = replace(REPORT, sections=(plotted,))
"""
BROKEN += [
    ("cannot draw", SOUND + PLOTS.replace('"y": [2]', ""), "KeyError: 'y'"),
    ("draws two plots of a name", SOUND + PLOTS, "two plots are called unheard-of/p"),
]


@pytest.fixture
def package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> Iterator[Package]:
    """Return the function that installs a package with a report, of the problem `unheard-of`."""
    caplog.set_level(logging.WARNING, "boundmark")
    site = tmp_path / "site"
    site.mkdir()
    monkeypatch.syspath_prepend(site)
    entry_points._entry_points.cache_clear()

    def add(name: str, code: str, problem: str = "unheard-of") -> None:
        install(site, name, {"boundmark.reports": {problem: f"{name}:REPORT"}}, code)
        entry_points._entry_points.cache_clear()

    yield add
    entry_points._entry_points.cache_clear()
    for name in [name for name in sys.modules if (site / f"{name}.py").exists()]:
        del sys.modules[name]


@pytest.fixture
def store(tmp_path: Path, make_row: Any) -> ResultStore:
    """Return a folder with results of a problem that we report on and of two others."""
    store = ResultStore.create_or_open(tmp_path / "results-folder")
    append(store, make_row("1", objective=5), [])
    for problem in ("unheard-of", "unheard-too"):
        row = make_row(problem, problem=problem, instance_params='{"size": 2}', instance=problem)
        append(store, row | {"objective": 7}, [])
    return store


@pytest.mark.usefixtures("undrawn")
def test_a_package_brings_a_report(
    package: Package, store: ResultStore, caplog: pytest.LogCaptureFixture
) -> None:
    """Its sections, tables, headline and limitations stand beside those of other problems."""
    package("sound_report", SOUND)
    written = write_report(store.directory)
    text = (store.directory / "report.md").read_text()
    assert "## unheard-of: Very own\n\n1 rows." in text
    assert "## pipeline: Instances" in text
    assert "All is well." in text
    assert "- Made up." in text
    assert store.directory / "tables" / "unheard-of" / "mine.parquet" in written
    assert caplog.messages == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("code", "reason"), [case[1:] for case in BROKEN], ids=[case[0] for case in BROKEN]
)
def test_broken_reports_are_left_out(
    package: Package,
    store: ResultStore,
    caplog: pytest.LogCaptureFixture,
    code: str,
    reason: str,
) -> None:
    """The default one serves; one line, a warning and on the page, says why."""
    package("broken", code)
    part = part_of(read_folder(store), "unheard-of")
    (line,) = caplog.messages
    assert line.startswith("warning: left out ")
    assert "unheard-of" in line
    assert reason in line
    assert "\n" not in line
    assert part.limitations == (line.replace("warning: l", "L"),)
    default = part_of(read_folder(store), "unheard-too")
    assert [section.title for section in part.sections] == [
        section.title for section in default.sections
    ]


def test_one_report_serves_a_problem(package: Package, caplog: pytest.LogCaptureFixture) -> None:
    """Ours before others, then the first package by name whose report can be loaded."""
    package("b_package", SOUND)
    package("c_package", SOUND)
    package("a_package", "REPORT = 7")
    report, complaints = report_of("unheard-of")
    assert report.sections[0].__module__ == "b_package"
    assert len(complaints) == 2
    assert "of package a_package: it holds a int; expected a ProblemReport" in complaints[0]
    assert "of package c_package: 'unheard-of' is taken" in complaints[1]
    package("usurper", SOUND, problem="pipeline")
    report, complaints = report_of("pipeline")
    assert report.sections[0].__module__.startswith("boundmark.reports.")
    assert len(complaints) == 1
    assert len(caplog.messages) == 3


@pytest.mark.usefixtures("undrawn")
def test_nobody_asks_about_problems_without_results(
    package: Package, tmp_path: Path, make_row: Any, caplog: pytest.LogCaptureFixture
) -> None:
    """A broken report of another problem is not even loaded."""
    package("elsewhere", "raise RuntimeError")
    store = ResultStore.create_or_open(tmp_path / "results-folder")
    append(store, make_row("1", objective=5), [])
    write_report(store.directory)
    assert "unheard-of" not in (store.directory / "report.md").read_text()
    assert caplog.messages == []


@pytest.mark.slow
def test_the_warning_reaches_standard_error(package: Package, store: ResultStore) -> None:
    """Of the command, in one line; the report is written all the same."""
    package("faulty_report", "raise RuntimeError('no luck')")
    done = subprocess.run(
        [sys.executable, "-m", "boundmark", "report", str(store.directory), "--quiet"],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True, text=True, check=True, timeout=120,
    )  # fmt: skip
    # What follows is about the documents, which are made up.
    assert done.stderr.splitlines()[0] == (
        "warning: left out entry point 'unheard-of' (boundmark.reports) of package faulty_report: "
        "RuntimeError: no luck"
    )
    assert str(store.directory / "report.html") in done.stdout
    page = (store.directory / "report.md").read_text().replace("\\", "")
    assert "RuntimeError: no luck" in page[page.index("## Known limitations") :]
    assert "## unheard-of: Instances" in page


def test_problems_without_report_have_the_default_one() -> None:
    """Silently: that is no mistake."""
    assert report_of("nobody-has-heard-of-it") == (DEFAULT, [])


@pytest.mark.parametrize("problem", ["pipeline", "microbatch"])
def test_ours_are_found_and_sound(problem: str) -> None:
    """By the entry points of this package."""
    report, complaints = report_of(problem)
    assert report is not DEFAULT
    assert complaints == []
