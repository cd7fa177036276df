"""What a page begins with."""

from boundmark.reports.pages.html import render_html
from boundmark.reports.pages.markdown import render_markdown
from boundmark.reports.pages.page import Page, Section

SECTIONS = (
    Section("Gaps", problem="one"),
    Section("Gaps", problem="two"),
    Section("Time", problem="one"),
    Section("Failed tasks"),
)


def test_contents_by_problem() -> None:
    """Each problem has a line of its own, in the order of the page; what all share comes last."""
    page = Page("t", "s", ("Of one.", "Of two."), (), (), (), SECTIONS, {})
    assert [(problem, dict(titles)) for problem, titles in page.contents.items()] == [
        ("one", {1: "Gaps", 3: "Time"}),
        ("two", {2: "Gaps"}),
        ("", {4: "Failed tasks"}),
    ]
    html = render_html(page)
    assert '<h2 id="section-3">one: Time</h2>' in html
    assert html.index('href="#section-3"') < html.index('href="#section-2"')
    assert "<li>Of two.</li>" in html
    assert "- Of two." in render_markdown(page)


def test_contents_of_one_problem() -> None:
    """No heading names it, and no list of findings is needed."""
    page = Page("t", "s", (), (), (), (), (Section("Gaps"), Section("Time")), {})
    assert page.contents == {"": {1: "Gaps", 2: "Time"}}
    assert "<strong>" not in render_html(page)
