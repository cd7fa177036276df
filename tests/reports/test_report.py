"""The report as a whole: complete, the same every time, safe, and silent about nothing."""

import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from documented import append

from boundmark.problems.errors import StoreError, UnknownNameError
from boundmark.reports.report import remove_stale, write_files, write_report
from boundmark.reports.stored.parquet import parquet_bytes
from boundmark.reports.stored.store import ResultStore

ENVIRONMENT = {
    "cpu": "A CPU",
    "cores": 2,
    "memory_bytes": 16 * 2**30,
    "libraries": {"numpy": "2.0", "pandas": "3.0"},
    "commit": None,
    "dirty": True,
    "load_at_start": [0.5, 0.25, 0.125],
    "thread_settings": {},
}


def fill(directory: Path, run: list[tuple[Any, Any]]) -> Path:
    """Store a run with its environment."""
    store = ResultStore.create_or_open(directory)
    for row, trace in run:
        append(store, row, trace)
    store.compact()
    store.environment.write_text(json.dumps(ENVIRONMENT))
    return directory


def contents(directory: Path) -> dict[str, bytes]:
    """Return all files below a folder, but for how long the checks took."""
    return {
        str(path.relative_to(directory)): re.sub(
            rb"rejected; [0-9.]+ s[.]", b"rejected", path.read_bytes()
        )
        for path in sorted(directory.rglob("*"))
        if path.is_file()
    }


@pytest.fixture(scope="module")
def reported(tmp_path_factory: pytest.TempPathFactory, synthetic: Any) -> tuple[Path, list[Path]]:
    """Return a folder with a report, which tests leave as it is, and the files written."""
    directory = fill(tmp_path_factory.mktemp("reported"), synthetic(members=1))
    return directory, write_report(directory)


class Links(HTMLParser):
    """Collects ids, the targets of links, tags left open, and everything that is fetched."""

    VOID = frozenset({"meta", "br", "img", "link", "input", "hr"})

    def __init__(self) -> None:
        super().__init__()
        self.ids: list[str] = []
        self.targets: set[str] = set()
        self.files: set[str] = set()
        self.fetched: list[str] = []
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note what the tag refers to."""
        if tag not in self.VOID:
            self.open.append(tag)
        for name, value in attrs:
            if name == "id":
                self.ids.append(str(value))
            elif name.endswith("href") and str(value).startswith("#"):
                self.targets.add(str(value)[1:])
            elif name == "href" and tag == "a":
                self.files.add(str(value))
            elif name in ("src", "href", "xlink:href", "action", "data") or name.startswith("on"):
                self.fetched.append(f"{tag} {name}={value}")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note what the tag refers to; it is closed already."""
        self.handle_starttag(tag, attrs)
        if tag not in self.VOID:
            self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        """Close the tag that was opened last."""
        assert self.open.pop() == tag


def test_the_same_results_have_the_same_report(
    reported: tuple[Path, list[Path]], tmp_path: Path, synthetic: Any
) -> None:
    """Byte by byte, whatever the order of arrival, with shards or without; nothing else changes."""
    first, written = reported
    second = ResultStore.create_or_open(tmp_path)
    for row, trace in reversed(synthetic(members=1)):
        append(second, row, trace)
    second.environment.write_text(json.dumps(ENVIRONMENT))
    stored = contents(tmp_path)
    write_report(tmp_path)
    here, there = contents(first), contents(tmp_path)
    names = {str(path.relative_to(first)) for path in written}
    assert {name: here[name] for name in names} == {name: there[name] for name in names}
    assert {name: there[name] for name in there if name not in names} == stored


def test_page_stands_alone_and_is_sound(reported: tuple[Path, list[Path]]) -> None:
    """One script, nothing fetched, tags closed, ids unique, and every link leads somewhere."""
    page = (reported[0] / "report.html").read_text()
    links = Links()
    links.feed(page)
    assert links.open == []
    assert links.fetched == []
    assert len(set(links.ids)) == len(links.ids)
    assert links.targets <= set(links.ids)
    assert links.files
    assert all((reported[0] / name).is_file() for name in links.files)
    assert page.count("<script") == 1
    assert "@import" not in page


def test_everything_is_written(reported: tuple[Path, list[Path]]) -> None:
    """Pages, tables, and every plot as SVG with its data; no pictures that nobody asked for."""
    directory, written = reported
    paths = {str(path.relative_to(directory)) for path in written}
    plots = ("gap_by_k", "gap_distribution", "performance_profile", "runtime_scatter")
    assert paths >= {f"plots/pipeline/{name}.{end}" for name in plots for end in ("svg", "parquet")}
    assert not {path for path in paths if path.endswith(".png")}
    assert paths >= {"report.html", "report.md", "tables/certified.parquet"}
    table = pd.read_parquet(directory / "tables" / "certified.parquet")
    assert len(table) == 2 * 3
    text = (directory / "report.md").read_text()
    for part in ("## Settings", "## Environment", "## Known limitations", "## Failed tasks"):
        assert part in text
    assert "- memory: 16 GiB" in text
    assert "- libraries: numpy 2.0, pandas 3.0" in text
    assert "changes that are in no commit" in text
    assert "Solutions relative to the simple lower bound" in text
    assert "Left out" not in text


def test_text_from_the_data_is_never_markup(tmp_path: Path, make_row: Any) -> None:
    """Neither on the page, in a plot, nor in Markdown tables."""
    bad = '<script>alert("1")</script>|`*x*`\n&'
    rows = [
        make_row("1", dataset=bad, instance=bad, suite=bad, method=bad, objective=3),
        make_row("2", dataset=bad, instance=bad, method="fractional-load", bound_certified=2,
                 bound_kind=bad, method_kind="bound"),
        make_row("3", dataset=bad, instance=bad, method="m", status="error", status_detail=bad),
    ]  # fmt: skip
    store = ResultStore.create_or_open(tmp_path)
    for row in rows:
        append(store, row, [])
    store.environment.write_text(json.dumps({bad: bad}))
    write_report(tmp_path)
    page, text = (tmp_path / "report.html").read_text(), (tmp_path / "report.md").read_text()
    assert page.count("<script") == 1
    assert "&lt;script&gt;" in page
    assert "<script" not in text
    tables = [line for line in text.splitlines() if line.startswith("|")]
    assert any("script" in line for line in tables)
    assert all(line.endswith(" |") for line in tables)


@pytest.mark.usefixtures("undrawn")
def test_refuses_to_publish_a_contradiction(tmp_path: Path, make_row: Any, synthetic: Any) -> None:
    """The error is the only result: the earlier report stays as it was."""
    directory = fill(tmp_path, synthetic(members=1, datasets=("zoo",)))
    write_report(directory)
    before = contents(directory)
    store = ResultStore.open(directory)
    append(store, make_row("x", objective=1, instance="bad"), [])
    append(store, make_row("y", bound_certified=2, instance="bad", method_kind="bound"), [])
    with pytest.raises(StoreError, match="nothing is published"):
        write_report(directory)
    after = contents(directory)
    assert {name: after[name] for name in before} == before


def test_refuses_what_is_no_results_folder(tmp_path: Path) -> None:
    """An empty one, one that is none, a broken environment, and unknown formats."""
    with pytest.raises(StoreError, match="nothing does not exist"):
        write_report(tmp_path / "nothing")
    ResultStore.create_or_open(tmp_path / "empty")
    with pytest.raises(StoreError, match="holds no results; expected at least one"):
        write_report(tmp_path / "empty")
    with pytest.raises(UnknownNameError, match=r"no report format 'htm'; did you mean html"):
        write_report(tmp_path / "empty", ["htm"])


@pytest.mark.parametrize("text", ["{", "[1]"])
def test_refuses_broken_environments(tmp_path: Path, make_row: Any, text: str) -> None:
    """The file is named."""
    store = ResultStore.create_or_open(tmp_path)
    append(store, make_row("a", objective=1), [])
    store.environment.write_text(text)
    with pytest.raises(StoreError, match=r"environment\.json"):
        write_report(tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize(
    "part",
    [
        "only bounds",
        "only heuristics",
        "no traces",
        "all failed",
        "one task",
        "no limits",
        "no k",
        "no cpu time",
    ],
)
def test_partial_results_have_a_report(tmp_path: Path, synthetic: Any, part: str) -> None:
    """What is there is reported, and what is missing is said to be."""
    run = synthetic(members=1, datasets=("zoo",))
    keep = {
        "only bounds": lambda row: row["method_kind"] == "bound",
        "only heuristics": lambda row: row["method_kind"] == "heuristic",
    }
    run = [(row, trace) for row, trace in run if keep.get(part, bool)(row)]
    if part == "one task":
        run = run[:1]
    empty = {"objective": None, "bound_certified": None, "bound_claimed": None}
    for row, trace in run:
        if part == "no traces":
            trace.clear()
        if part == "all failed":
            row |= {**empty, "status": "unsupported"}
        if part == "no limits":
            row |= {"time_limit_seconds": None, "memory_limit_bytes": None, "threads": None}
            row |= {"wall_seconds": None, "nodes": None, "edges": None, "seed": None}
        if part == "no cpu time":
            row["cpu_seconds"] = None
        if part == "no k":
            row["instance_params"] = "{}"
    store = ResultStore.create_or_open(tmp_path)
    for row, trace in run:
        append(store, row, trace)
    write_report(tmp_path)
    text = (tmp_path / "report.md").read_text()
    assert "environment.json is missing" in text.replace("\\", "")
    assert "| instance | parameters | nodes |" in text
    assert "nan" not in text.lower()
    if part == "only bounds":
        assert "without verified solution" in text
        assert "## Solutions" not in text
    if part == "only heuristics":
        assert "without certified bound" in text
        assert "## Lower bounds" not in text
    assert ("Primal-dual" in text) == (part == "no cpu time")


@pytest.mark.usefixtures("undrawn")
def test_devices_are_among_the_settings(
    reported: tuple[Path, list[Path]], tmp_path: Path, make_row: Any
) -> None:
    """With the number of instances on each; without any, nothing is said of devices."""
    devices = {"a": "fast", "b": "fast", "c": "slow", "d": ""}
    store = ResultStore.create_or_open(tmp_path)
    for name, device in devices.items():
        store.append(make_row(name, instance=name, device=device, objective=1), [])
    write_report(tmp_path)
    text = (tmp_path / "report.md").read_text()
    assert "fast (2), slow (1)" in text
    assert "| devices |" not in (reported[0] / "report.md").read_text()


FRAME = pd.DataFrame({"a": [1]})
PLOT = {"plots/p/x.parquet": parquet_bytes(FRAME), "plots/p/x.svg": b"<svg/>", "plots/p/x.png": b""}


def names(directory: Path) -> set[str]:
    """Return the files below a folder."""
    return {str(path.relative_to(directory)) for path in directory.rglob("*") if path.is_file()}


def test_files_of_earlier_reports_go(tmp_path: Path) -> None:
    """A plot goes with its data, a table alone; what was written again stays."""
    write_files(tmp_path, {**PLOT, "tables/p/old.parquet": parquet_bytes(FRAME)})
    written = write_files(tmp_path, {"tables/p/new.parquet": parquet_bytes(FRAME)})
    remove_stale(tmp_path, written)
    assert names(tmp_path) == {"tables/p/new.parquet"}


def test_pictures_that_nobody_asked_for_again_go(tmp_path: Path) -> None:
    """They would show what an earlier report showed."""
    write_files(tmp_path, PLOT)
    written = write_files(tmp_path, {name: PLOT[name] for name in PLOT if name[-3:] != "png"})
    remove_stale(tmp_path, written)
    assert names(tmp_path) == {"plots/p/x.parquet", "plots/p/x.svg"}


def test_files_of_others_stay(tmp_path: Path) -> None:
    """Tables and pictures that no report wrote are nobody's business."""
    write_files(tmp_path, {"plots/mine.svg": b"<svg/>", "tables/broken.parquet": b"?"})
    FRAME.to_parquet(tmp_path / "tables" / "mine.parquet")
    remove_stale(tmp_path, [])
    assert names(tmp_path) == {"plots/mine.svg", "tables/broken.parquet", "tables/mine.parquet"}


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    """And why."""
    (tmp_path / "tables").write_text("a file")
    with pytest.raises(StoreError, match=r"cannot be written: (File exists|Not a directory)"):
        write_files(tmp_path, {"tables/p/x.parquet": b""})
