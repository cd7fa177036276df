"""What a page begins with, and what it folds away."""

import re

from boundmark.reports.pages.formats import render_html, render_markdown
from boundmark.reports.pages.page import Cell, Group, Page, Section, Table
from boundmark.reports.report import first_table_open

SECTIONS = (
    Section("Answer", problem="one", is_headline=True, is_open=True),
    Section("Answer", problem="two", is_headline=True, is_open=True),
    Section("Gaps", problem="two"),
    Section("Time", problem="one"),
    Section("Failed tasks"),
)


def test_contents_by_problem() -> None:
    """Answers stand open; the rest is folded by problem, and what all share comes last."""
    page = Page("t", "s", ("Of one.", "Of two."), (), (), (), SECTIONS, {})
    assert list(page.open) == [1, 2]
    assert [(problem, list(sections)) for problem, sections in page.folded.items()] == [
        ("two", [3]), ("one", [4]), ("", [5]),
    ]  # fmt: skip
    html = render_html(page)
    places = [html.index(f'id="section-{number}"') for number in (1, 2, 3, 4, 5)]
    assert places == sorted(places)
    assert html.index('<details class="more"') > places[1]
    assert re.findall(r'<summary>(.*?) <small>', html) == [
        "two in detail", "one in detail", "Everything else",
    ]  # fmt: skip
    assert '<h2 id="section-4">one: Time</h2>' in html
    assert "<li>Of two.</li>" in html
    assert "- Of two." in render_markdown(page)


def test_contents_of_one_problem() -> None:
    """No heading names it."""
    page = Page("t", "s", (), (), (), (), (Section("Gaps", is_open=True), Section("Time")), {})
    assert [*page.open, *page.folded[""]] == [1, 2]
    assert '<h2 id="section-2">Time</h2>' in render_html(page)


def test_folded_tables_show_their_titles_only() -> None:
    """A folded table stands behind its title; Markdown, which cannot fold, shows it."""
    row = (Cell("plain"), Cell("1.0"))
    tables = [
        Table(name, ("method", "gap"), (Group((), (row,)),), is_folded=is_folded)
        for name, is_folded in (("Solutions", False), ("Bounds", True))
    ]
    page = Page("t", "s", (), (), (), (), (Section("A", tuple(tables), is_open=True),), {})
    html = render_html(page)
    assert html.count("<table>") == 2
    assert re.findall(r"<summary><b>(.*?)</b></summary>", html) == ["Bounds"]
    assert "<h3>Solutions</h3>" in html
    assert render_markdown(page).count("| plain | 1.0 |") == 2


def test_only_the_main_problem_has_all_its_tables_open() -> None:
    """Of the others, the first table stands open."""
    tables = tuple(Table(name, ("method",), ()) for name in ("Solutions", "Bounds", "Claims"))
    section = first_table_open(Section("Answer", tables))
    assert [table.is_folded for table in section.tables] == [False, True, True]
    assert first_table_open(Section("Answer")) == Section("Answer")
