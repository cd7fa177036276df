"""Pages with generated parts: what the scripts that make results pages have in common.

A part stands between the marks `<!-- name -->` and `<!-- end of name -->` of its page.
"""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path


def markdown(head: Sequence[str], rows: Iterable[Sequence[str]], text_columns: int = 1) -> str:
    """Return a table whose first columns are text, and the others numbers."""
    rule = ["---"] * text_columns + ["---:"] * (len(head) - text_columns)
    return "\n".join("| " + " | ".join(line) + " |" for line in (head, rule, *rows))


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


def all_tables(title: str, made: Mapping[str, str]) -> str:
    """Return a file of tables, each under its name."""
    return f"# {title}\n" + "".join(f"\n## {name}\n\n{text}\n" for name, text in made.items())
