"""Headline figures on the pages of problems are those of the tables that scripts make."""

import json
import re
from pathlib import Path

DOCS = Path(__file__).resolve().parents[2] / "docs"


def page(name: str) -> str:
    """Return a page's text, each run of white space as one space."""
    return re.sub(r"\s+", " ", (DOCS / f"{name}.md").read_text())


def rows(name: str, table: str) -> dict[str, list[str]]:
    """Return the rows of a table between its marks, by their first cell."""
    text = (DOCS / f"{name}.md").read_text()
    found = text.partition(f"<!-- {table} -->")[2].partition("<!-- end of")[0]
    cells = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in found.splitlines()
        if line.startswith("|")
    ]
    return {first: rest for first, *rest in cells}


def test_cells_of_the_zoo() -> None:
    """How many are proven optimal, and of how many."""
    proven = rows("how-far-from-optimal", "zoo")["proven optimal"][1:]
    optimal, of = (sum(int(cell.split(" of ")[i]) for cell in proven) for i in (0, 1))
    assert f"{optimal} of {of} cells of the zoo" in page("problems/pipeline")


def test_placements() -> None:
    """Optima and mean gap of all pairs of a model and a cluster, and of small modules."""
    table = rows("how-far-from-optimal", "placements")
    pairs, optimal, mean, _ = table["all"]
    text = page("problems/placement")
    assert f"{pairs} pairs of a model and a cluster" in text
    assert f"{optimal} are proven optimal, and the mean gap is {mean}" in text
    small, _, mean, _ = table["models that fall into modules of at most 40 operators"]
    assert f"It is {mean} for the {small} whose modules" in text


def test_learned_placements() -> None:
    """Gaps of HSDAG on the paper's models."""
    _, _, inception, _, _, resnet, _, _, bert = rows("results-hsdag", "table 2")["HSDAG"]
    gaps = [float(cell.rstrip(" %")) for cell in (inception, resnet, bert)]
    text = page("problems/placement")
    assert f"{gaps[1]:.1f} and {gaps[2]:.1f} % above the certified optimum" in text
    assert f"On Inception-v3 it is {round(gaps[0] + 1e-9)} % above it" in text


def test_periods() -> None:
    """How many are certified optimal on 4, and on 8 and 16 devices, and after how long."""
    table = rows("results-tessel", "devices")
    text = page("problems/microbatch")
    of, tessel, _, _, seconds = table["4"]
    assert (of, tessel) == ("10", "10")
    assert f"all ten instances within {seconds} s" in text
    more = table["8"], table["16"]
    optimal, instances = (sum(int(row[i]) for row in more) for i in (3, 0))
    assert f"{optimal} of {instances} are" in text
    assert f"after {max(float(row[4]) for row in more)} s at most" in text


def test_library() -> None:
    """How many instances it has, and how many are proven optimal."""
    folder = DOCS.parent / "library"
    status = [json.loads(path.read_text())["status"] for path in folder.glob("*/*.json")]
    optimal = status.count("optimal")
    assert f"{len(status)} instances of all six problems" in page("library")
    assert f"{optimal} are proven optimal" in page("library")
    assert f"{len(status)} instances, {optimal} proven optimal" in page("library")
