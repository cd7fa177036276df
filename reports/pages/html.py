"""The report as one HTML page that needs nothing else and makes no request.

Its one script sorts and filters rows; without it, all tables are there as they are.
"""

from functools import cache

import jinja2
from markupsafe import Markup

from boundmark.reports.pages.html_cells import html_rows, html_text
from boundmark.reports.pages.page import Page
from boundmark.reports.plots.style import COLOURS
from boundmark.reports.text.visible import visible


def render_html(page: Page) -> str:
    """Return the page with styles and plots inside; all text is escaped."""
    svg = {name: Markup(text) for name, text in page.svg.items()}
    template = _environment().get_template("report.html.j2")
    return template.render(
        page=page,
        svg=svg,
        anchors=_anchors(page),
        colours=COLOURS,
        cells=html_rows,
        text_of=html_text,
    )


def _anchors(page: Page) -> frozenset[str]:
    """Return the places that links of cells may lead to."""
    details = (detail.anchor for section in page.sections for detail in section.details)
    plots = (f"plot-{plot.name}" for section in page.sections for plot in section.plots)
    return frozenset((*details, *plots))


@cache
def _environment() -> jinja2.Environment:
    return jinja2.Environment(
        loader=jinja2.PackageLoader("boundmark.reports.pages"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
        # Plots are of another class, `Markup`.
        finalize=lambda value: visible(value) if type(value) is str else value,
    )
