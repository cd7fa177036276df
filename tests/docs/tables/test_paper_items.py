"""The list of what of the papers is here, and the page that is made of it."""

from pathlib import Path

import paper_items
import pytest
from results_page import filled

GOOD = {
    "item": "Table 1", "shows": "bounds", "where": "results-mtpp.md#table-1-bounds-on-models",
    "status": "done", "terms": "",
}  # fmt: skip


def written(folder: Path, section: str = "mtpp", **changes: str | int | None) -> Path:
    """Return a file with one entry; a field that is None is left out."""
    fields = {name: value for name, value in {**GOOD, **changes}.items() if value is not None}
    lines = [f"{name} = {value!r}" for name, value in fields.items()]
    path = folder / "items.toml"
    path.write_text("\n".join([f"[[{section}]]", *lines, ""]))
    return path


def test_the_page_is_that_of_the_list() -> None:
    """`python docs/tables/paper_items.py` makes it anew; all places of the list are there."""
    page = paper_items.PAGE.read_text()
    parts = {"items": paper_items.sections(paper_items.items())}
    assert filled(page, parts, paper_items.PAGE) == page


def test_places_are_links(tmp_path: Path) -> None:
    """Pages of docs with their anchor; files are named, and texts stay."""
    where = "results-mtpp.md#case-study, docs/gallery/plot_pipeline.py, by hand"
    (item,) = paper_items.items(written(tmp_path, where=where))["mtpp"]
    text = paper_items.sections({"mtpp": [item]})
    assert "[results-mtpp](results-mtpp.md#case-study)" in text
    assert "`docs/gallery/plot_pipeline.py`, by hand |" in text
    assert "1 done, 0 altered, 0 missing" in text


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"section": "gpipe"}, "section 'gpipe'; expected one of mtpp, moirai"),
        ({"shows": None}, r"mtpp, entry 1 \(Table 1\): field 'shows' is missing"),
        ({"terms": 3}, "field 'terms' is missing, unknown or no text"),
        ({"note": "x"}, "field 'note' is missing, unknown"),
        ({"status": "nearly"}, "field 'status' is 'nearly'; expected done, altered, missing"),
        ({"where": " "}, "field 'where' is empty"),
        ({"status": "altered"}, "field 'terms' is empty"),
        ({"where": "results-gpipe.md"}, "names results-gpipe.md, which is no file"),
        ({"where": "results-mtpp.md#table-9"}, "results-mtpp.md has no heading #table-9"),
    ],
)
def test_what_is_wrong_is_named(tmp_path: Path, changes: dict[str, str], message: str) -> None:
    """With the file, the entry and the field."""
    path = written(tmp_path, **changes)
    with pytest.raises(ValueError, match=f"{path}: .*{message}"):
        paper_items.items(path)


def test_what_is_missing_is_nowhere(tmp_path: Path) -> None:
    """Its terms say why."""
    path = written(tmp_path, where="", status="missing", terms="not published")
    assert "| – | missing | not published |" in paper_items.sections(paper_items.items(path))
