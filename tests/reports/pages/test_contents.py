"""What a page begins with, and what it folds away."""

import re

from boundmark.reports.pages.html import render_html
from boundmark.reports.pages.markdown import render_markdown
from boundmark.reports.pages.page import Page, Section

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
