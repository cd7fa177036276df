import json
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from boundmark.problems.errors import StoreError
from boundmark.reports.best_known import (
    best_known_section,
    improvements,
    merged,
    of_results,
    read_records,
    shipped,
    write_records,
)


def task(instance: str, method: str, day: int = 1, **values: Any) -> dict[str, Any]:
    """Return a row of results, as far as records need it."""
    return {
        "instance_sha256": f"hash of {instance}",
        "problem": "pipeline",
        "dataset": "made-up",
        "instance": instance,
        "device": None,
        "instance_params": '{"k": 2}',
        "nodes": 3,
        "edges": 2,
        "method": method,
        "wall_seconds": values.get("seconds", 1.0),
        "objective": values.get("objective"),
        "solution_sha256": f"solution of {method}" if "objective" in values else None,
        "bound_certified": values.get("bound"),
        "certificate_sha256": f"certificate of {method}" if "bound" in values else None,
        "started_at": pd.Timestamp(2025, 3, day, tz="UTC"),
    }


def records(*tasks: dict[str, Any]) -> pd.DataFrame:
    """Return what tasks amount to."""
    frame = pd.DataFrame(tasks)
    for column in ("objective", "bound_certified", "nodes", "edges"):
        frame[column] = frame[column].astype("Int64")
    return of_results(frame)


FIRST = records(
    task("a", "slow", 1, objective=12, bound=8, seconds=2.0),
    task("a", "quick", 2, objective=12, seconds=0.5),
    task("a", "deep", 3, bound=9),
    task("b", "quick", objective=7),
)


def test_of_results() -> None:
    """The lowest cost and the highest bound count, of equal ones the fastest."""
    a, b = (row for _, row in FIRST.iterrows())
    assert (a["objective"], a["objective_method"], a["objective_date"]) == (
        12,
        "quick",
        "2025-03-02",
    )
    assert a["solution_sha256"] == "solution of quick"
    assert (a["bound"], a["bound_method"], a["bound_date"]) == (9, "deep", "2025-03-03")
    assert a["certificate_sha256"] == "certificate of deep"
    assert b["objective"] == 7
    assert pd.isna(b["bound"])
    assert b["device"] == ""


def test_round_trip(tmp_path: Path) -> None:
    """What is written is read; a file that is not there holds nothing."""
    path = tmp_path / "best.parquet"
    assert read_records(path).empty
    write_records(path, FIRST)
    pd.testing.assert_frame_equal(read_records(path), FIRST)


def test_merging_keeps_the_better_of_each() -> None:
    """Cost and bound are chosen on their own; what was known first wins ties; order is fixed."""
    later = records(
        task("a", "new", 9, objective=11, bound=9), task("c", "new", 9, objective=5, bound=5)
    )
    best = merged(FIRST, later)
    assert best["instance"].tolist() == ["a", "b", "c"]
    a = best.iloc[0]
    assert (a["objective"], a["objective_method"]) == (11, "new")
    assert (a["bound"], a["bound_method"]) == (9, "deep")
    pd.testing.assert_frame_equal(merged(best, later), best)
    pd.testing.assert_frame_equal(merged(best, FIRST), best)
    assert merged(read_records(Path("nowhere")), FIRST).equals(FIRST)


def test_improvements() -> None:
    """Only instances with a record can be improved; something is better than nothing."""
    later = records(
        task("a", "new", objective=11, bound=8), task("b", "new", objective=7, bound=1),
        task("c", "new", objective=5),
    )  # fmt: skip
    better = improvements(FIRST, later)
    assert (better.known, better.added) == (2, 1)
    assert better.solutions == ("made-up/a k=2",)
    assert better.bounds == ("made-up/b k=2",)
    assert better.sentence.startswith("1 solution (made-up/a")
    assert better.sentence.endswith(") are better than the best known.")
    assert improvements(later, later).sentence == ""


def test_contradictions_are_refused() -> None:
    """A cost below somebody else's bound means that one of them is wrong."""
    with pytest.raises(StoreError, match=r"a cost of 8 .* is below a bound of 9 \(deep\)"):
        merged(FIRST, records(task("a", "new", objective=8)))


def test_the_section_credits_the_record() -> None:
    """Instances that differ are listed with who found what is best known; others are counted."""
    own = records(task("a", "mine", objective=13, bound=10), task("b", "mine", objective=7))
    section = best_known_section(FIRST, own)
    assert section is not None
    assert "2 instances of 2" in section.paragraphs[0]
    assert "1 bound (made-up/" in section.paragraphs[0]
    (table,) = section.tables
    (row,) = table.groups[0].rows
    assert [cell.text for cell in row][2:6] == ["13", "12", "10", "9"]
    assert [cell.best for cell in row][2:6] == [False, False, True, False]
    assert row[-1].text == "quick (2025-03-02); deep (2025-03-03)"
    assert best_known_section(FIRST, records(task("z", "mine", objective=1))) is None


def test_damaged_files(tmp_path: Path) -> None:
    """What is cut off, or of another version, is refused with its name."""
    path = tmp_path / "best.parquet"
    write_records(path, FIRST)
    content = path.read_bytes()
    path.write_bytes(content[:-9])
    with pytest.raises(StoreError, match="cannot be read as Parquet"):
        read_records(path)
    path.write_bytes(content)
    table = pq.read_table(path)
    pq.write_table(table.replace_schema_metadata({b"boundmark_best_known": b"2"}), path)
    with pytest.raises(StoreError, match="no records of version 1"):
        read_records(path)
    pq.write_table(pa.table({"a": [1]}), path)
    with pytest.raises(StoreError, match="no records of version 1"):
        read_records(path)


def test_records_are_those_of_the_library() -> None:
    """Cost and bound of every entry, by recipe or not."""
    entries = {}
    for path in (Path(__file__).parents[2] / "library").glob("*/*.json"):
        entry = json.loads(path.read_text())
        bounds = [entry[name]["value"] for name in ("bound", "beyond") if entry[name]]
        entries[entry["instance_sha256"]] = (entry["solution"]["value"], max(bounds))
    known = shipped().set_index("instance_sha256")
    pairs = zip(known["objective"], known["bound"], strict=True)
    assert dict(zip(known.index, pairs, strict=True)) == entries


def test_what_is_shipped() -> None:
    """Every record has a cost or a bound with a hash, and no cost is below its bound."""
    known = shipped()
    both = known[known["objective"].notna() & known["bound"].notna()]
    assert (both["objective"] >= both["bound"]).all()
    for value, digest in (("objective", "solution_sha256"), ("bound", "certificate_sha256")):
        having = known[known[value].notna()]
        assert having[digest].str.fullmatch("[0-9a-f]{64}").all()
    assert known["instance_sha256"].is_unique
