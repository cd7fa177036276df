"""Make docs/papers.md: which items of five papers are here, where, and on which terms.

    python docs/tables/paper_items.py

The items are entries of docs/tables/paper_items.toml, which says what each field is.
"""

import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from results_page import DOCS, NONE, anchors, make_page, markdown

FILE = DOCS / "tables" / "paper_items.toml"
PAGE = DOCS / "papers.md"

# By section: name, and key of the bibliography.
PAPERS = {
    "mtpp": ("MTPP", "MTPP24"),
    "moirai": ("Moirai", "MOIRAI24"),
    "hsdag": ("HSDAG", "HSDAG24"),
    "tessel": ("Tessel", "TESSEL24"),
    "memorianova": ("MemoriaNova", "MEMORIANOVA24"),
}

STATUSES = ("done", "altered", "missing")

# A file of the repository, or a page of docs with or without an anchor.
NAMED = re.compile(r"(?<![\w/.-])([\w./-]+\.[a-z]\w*)(#[\w-]+)?")


class Item(NamedTuple):
    """An item of a paper; the fields are those of the file."""

    item: str
    shows: str
    where: str
    status: str
    terms: str


def items(path: Path = FILE) -> dict[str, list[Item]]:
    """Return the items of each paper that has any, in the order of `PAPERS`.

    Raises
    ------
    ValueError
        If a section, an entry or a field is not understood, or a place is not there.
    """
    sections = tomllib.loads(path.read_text())
    for name in sections:
        if name not in PAPERS:
            raise ValueError(f"{path}: section {name!r}; expected one of {', '.join(PAPERS)}.")
    return {
        name: [
            _item(f"{path}: {name}, entry {number}", entry)
            for number, entry in enumerate(sections[name], 1)
        ]
        for name in PAPERS
        if name in sections
    }


def _item(place: str, entry: Mapping[str, Any]) -> Item:
    if isinstance(entry.get("item"), str):
        place += f" ({entry['item']})"
    for name in [*Item._fields, *entry]:
        if name not in entry or name not in Item._fields or not isinstance(entry[name], str):
            raise ValueError(
                f"{place}: field {name!r} is missing, unknown or no text; expected texts "
                f"{', '.join(Item._fields)}."
            )
    found = Item(**{name: text.strip() for name, text in entry.items()})
    if found.status not in STATUSES:
        raise ValueError(
            f"{place}: field 'status' is {found.status!r}; expected {', '.join(STATUSES)}."
        )
    may_be_empty = {"terms"} if found.status == "done" else set()
    may_be_empty |= {"where"} if found.status == "missing" else set()
    for name, text in found._asdict().items():
        if not text and name not in may_be_empty:
            raise ValueError(f"{place}: field {name!r} is empty; expected a text.")
    for name, anchor in NAMED.findall(found.where):
        target = _target(name)
        if target is None:
            raise ValueError(
                f"{place}: field 'where' names {name}, which is no file of the repository and no "
                "page of docs."
            )
        if anchor and anchor[1:] not in anchors(target):
            raise ValueError(f"{place}: field 'where': {name} has no heading {anchor}.")
    return found


def _target(name: str) -> Path | None:
    """Return the file that a text names, below docs or the repository's root; None without one."""
    return next((root / name for root in (DOCS, DOCS.parent) if (root / name).is_file()), None)


def _where(text: str) -> str:
    """Return a place with links to pages; links that it has stay as they are."""
    if not text or "](" in text:
        return text or NONE

    def linked(match: re.Match[str]) -> str:
        name, anchor = match[1], match[2] or ""
        target = _target(name)
        assert target is not None
        is_page = target.suffix == ".md" and target.is_relative_to(DOCS)
        # The site leaves out the data behind pages.
        if not is_page or target.is_relative_to(DOCS / "tables"):
            return f"`{name}`"
        relative = target.relative_to(DOCS).as_posix()
        return f"[{relative.removesuffix('.md')}]({relative}{anchor})"

    return NAMED.sub(linked, text.replace("`", ""))


def sections(found: Mapping[str, list[Item]]) -> str:
    """Return a heading, a sentence and a table for each paper."""
    lines = []
    for name, own in found.items():
        title, key = PAPERS[name]
        counts = ", ".join(
            f"{sum(one.status == status for one in own)} {status}" for status in STATUSES
        )
        head = ["item", "what it shows", "where", "status", "terms"]
        rows = [[one.item, one.shows, _where(one.where), one.status, one.terms] for one in own]
        table = markdown(head, rows, len(head))
        lines += [f"## {title}", "", f"Items of [{key}]: {counts}.", "", table, ""]
    return "\n".join(lines).strip()


if __name__ == "__main__":
    make_page(PAGE, lambda: {"items": sections(items())})
