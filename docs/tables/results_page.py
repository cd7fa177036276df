"""What scripts that print tables and make results pages have in common.

A generated part stands between the marks `<!-- name -->` and `<!-- end of name -->` of its page.
"""

import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

DOCS = Path(__file__).resolve().parents[1]

# Of a cell without a value, on results pages.
NONE = "–"


def markdown(head: Sequence[str], rows: Iterable[Sequence[str]], text_columns: int = 1) -> str:
    """Return a table whose first columns are text, and the others numbers.

    A head that begins with `>` is of a column of numbers wherever it stands.
    """
    rule = [
        "---:" if at >= text_columns or name.startswith(">") else "---"
        for at, name in enumerate(head)
    ]
    titles = [name.removeprefix(">") for name in head]
    return "\n".join("| " + " | ".join(line) + " |" for line in (titles, rule, *rows))


def by_stages(sizes: Iterable[int]) -> list[str]:
    """Return the heads of columns for numbers of stages."""
    return [f"k = {k}" for k in sizes]


def anchors(page: Path) -> set[str]:
    """Return what code hosts and the site make of a page's headings, to be linked to."""
    found = set()
    for heading in re.findall(r"^#+ +(.*)$", page.read_text(), re.MULTILINE):
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).strip().lower()
        found.add(re.sub(r"[^\w\- ]", "", plain).replace(" ", "-"))
    return found


def filled(page: str, parts: Mapping[str, str], path: Path) -> str:
    """Return a page with what stands between the marks of each part made anew.

    Parameters
    ----------
    page
        The page's text.
    parts
        Text of each part by its name.
    path
        Of the page, for messages.

    Raises
    ------
    ValueError
        If a part has no marks.
    """
    for name, text in parts.items():
        start, end = f"<!-- {name} -->", f"<!-- end of {name} -->"
        before, _, rest = page.partition(start)
        _, found, after = rest.partition(end)
        if not found:
            raise ValueError(f"{path}: {start} or {end} is missing; expected both.")
        page = f"{before}{start}\n\n{text}\n\n{end}{after}"
    return page


def make_page(
    page: Path,
    parts: Callable[[], Mapping[str, str]],
    collect: Callable[[list[Path]], None] | None = None,
    tables: tuple[Path, Callable[[], str]] | None = None,
) -> None:
    """Make a page's generated parts anew, and the file of tables that it leaves out.

    Parameters
    ----------
    collect
        Takes the data from results folders, which the command names behind `collect`.
    """
    if collect is not None and sys.argv[1:2] == ["collect"]:
        collect([Path(name) for name in sys.argv[2:]])
    if tables is not None:
        path, text = tables
        path.write_text(text())
    page.write_text(filled(page.read_text(), parts(), page))


def all_tables(title: str, made: Mapping[str, str]) -> str:
    """Return a file of tables, each under its name."""
    return f"# {title}\n" + "".join(f"\n## {name}\n\n{text}\n" for name, text in made.items())
