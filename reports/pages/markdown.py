"""Write the report as Markdown that changes only where results change."""

from boundmark.reports.pages.page import Cell, Page, Section, Table
from boundmark.reports.plots.plot import Plot
from boundmark.reports.text import visible

# Characters that would be markup; data may contain any.
_ESCAPES = str.maketrans(
    {character: "\\" + character for character in "\\`*_[]|#"}
    | {"<": "&lt;", ">": "&gt;", "&": "&amp;", "\n": " ", "\r": " "}
)


def render_markdown(page: Page) -> str:
    """Return the page as GitHub-flavoured Markdown; plots are linked from `plots/`."""
    lines = [f"# {escaped(page.title)}", ""]
    if page.warning:
        lines += [f"> **{escaped(page.warning)}**", ""]
    if page.verdict:
        lines += [f"**{escaped(page.verdict[0])}**", ""]
        lines += [*(f"- {escaped(line)}" for line in page.verdict[1:]), ""]
    lines += [escaped(page.summary), ""]
    if page.findings:
        lines += [*(f"- {escaped(finding)}" for finding in page.findings), ""]
    for section in page.sections:
        lines += _section(section)
    for heading, pairs in (("Settings", page.settings), ("Environment", page.environment)):
        if pairs:
            lines += [f"## {heading}", ""]
            lines += [f"- {escaped(name)}: {escaped(value)}" for name, value in pairs]
            lines.append("")
    lines += ["## Known limitations", ""]
    lines += [f"- {escaped(limitation)}" for limitation in page.limitations]
    lines.append("")
    return "\n".join(lines).rstrip() + "\n"


def _section(section: Section) -> list[str]:
    lines = [f"## {escaped(section.heading)}", ""]
    for paragraph in section.paragraphs:
        lines += [escaped(paragraph), ""]
    plots = [line for plot in section.plots for line in _plot(plot)]
    tables = [line for table in section.tables for line in _table(table)]
    return [*lines, *plots, *tables] if section.is_headline else [*lines, *tables, *plots]


def _plot(plot: Plot) -> list[str]:
    return [
        f"**{escaped(plot.title)}.** {escaped(plot.caption)}",
        "",
        f"![{escaped(plot.title)}](plots/{plot.name}.svg)",
        "",
    ]


def _table(table: Table) -> list[str]:
    columns = range(len(table.columns))
    lines = [f"**{escaped(table.title)}**", ""]
    lines.append(_row([escaped(column) for column in table.columns]))
    lines.append(_row(["---:" if table.is_number(column) else "---" for column in columns]))
    for group in table.groups:
        if group.heading:
            lines.append(_row([f"*{_cell(cell)}*" if cell.text else "" for cell in group.heading]))
        lines += [_row([_cell(cell) for cell in row]) for row in group.rows]
    lines.append("")
    lines += [f"- {escaped(note)}" for note in table.notes]
    if table.notes:
        lines.append("")
    return lines


def _row(cells: list[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def _cell(cell: Cell) -> str:
    text = f"**{escaped(cell.text)}**" if cell.best else escaped(cell.text)
    return f"{text} ({escaped(cell.detail)})" if cell.detail else text


def escaped(text: str) -> str:
    """Escape a text for Markdown."""
    return visible(text).translate(_ESCAPES)
