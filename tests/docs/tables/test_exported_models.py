"""The table of models of timm and transformers that torch exports, and what the page says of it."""

import re
from types import ModuleType

import pytest
from table_scripts import FOLDER, load_script

PAGE = FOLDER.parent / "pytorch.md"


@pytest.fixture(scope="module")
def script() -> ModuleType:
    """Return the script that has made the table."""
    return load_script("exported_models")


def test_all_models_have_a_row(script: ModuleType) -> None:
    """A hundred of each package, in the order of the lists."""
    assert [(row.package, row.model) for row in script.stored()] == script.models()
    assert len(set(script.models())) == 200


def test_the_page_has_the_table(script: ModuleType) -> None:
    """Counts, and models that are not read or have operators without a rule, by name."""
    text = PAGE.read_text()
    assert "\n".join(script.table()) in text
    for row in script.stored():
        if row.outcome != "loads" or row.without_rule:
            assert f"`{row.model}`" in text
        for kind in re.findall(r"[\w.]+(?= \()", row.without_rule):
            assert f"`{kind}`" in text


def test_most_are_read(script: ModuleType) -> None:
    """At least 95 % of what torch exports."""
    exported = [row for row in script.stored() if row.outcome in ("loads", "refused")]
    assert len(exported) >= 190
    assert sum(row.outcome == "loads" for row in exported) >= 0.95 * len(exported)


def test_products_are_those_that_torch_counts(script: ModuleType) -> None:
    """Never more; less only where products depend on no input, which the page says of five."""
    rows = [row for row in script.stored() if row.counted]
    assert len(rows) >= 180
    text = re.sub(r"\s+", " ", PAGE.read_text())
    fewer = []
    for row in rows:
        ours, theirs = int(row.products), int(row.counted)
        assert 0.8 * theirs < ours <= theirs, row
        if ours < theirs:
            fewer.append((ours / theirs, row.model))
    assert f"{len(rows) - len(fewer)} of {len(rows)} models" in text
    for ratio, model in fewer:
        if ratio < 0.99:
            assert f"`{model}` ({ratio:.2f})" in text
