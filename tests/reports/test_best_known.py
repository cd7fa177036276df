import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from boundmark.reports.best_known import (
    best_known_section,
    improvements,
    of_results,
    shipped,
    with_best_known,
)
from boundmark.reports.method_statistics import method_gaps
from boundmark.reports.sections.gaps import gap_sentence, is_known_better
from boundmark.reports.tables.parameters import ALL


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


def test_gaps_to_the_best_known_bounds() -> None:
    """The record's bound counts where it is higher, or the only one; other columns stay."""
    own = {"a": (12, 4), "b": (7, 5), "c": (6, None), "d": (9, 9)}
    certified = pd.DataFrame(
        {
            "instance_sha256": [f"hash of {name}" for name in own],
            "dataset": "made-up", "instance": list(own), "parameters": "k=2",
            "objective": [cost for cost, _ in own.values()],
            "bound": [bound for _, bound in own.values()],
            "gap": [2.0, 0.4, None, 0.0],
        }
    ).astype({"objective": "Int64", "bound": "Int64"})  # fmt: skip
    record = records(
        task("a", "deep", bound=9), task("c", "deep", bound=6), task("d", "x", bound=1)
    )
    found = with_best_known(certified, record)
    assert found["best_known_bound"].tolist() == [9, 5, 6, 9]
    assert found["gap_to_best_known"].tolist() == pytest.approx([1 / 3, 0.4, 0.0, 0.0])
    pd.testing.assert_frame_equal(found[certified.columns], certified)
    assert is_known_better(found).tolist() == [True, False, True, False]
    assert gap_sentence("pipeline", found).replace("\N{NO-BREAK SPACE}", " ") == (
        "pipeline: 3 instances, 1 proven optimal; best solutions are at most 61.3 % above the "
        "optimum in the geometric mean, and 200.0 % at the worst (made-up/a, k=2). By the best "
        "known bounds, of the library, which are not checked again here: 4 instances, 2 proven "
        "optimal; best solutions are at most 16.9 % above the optimum in the geometric mean, and "
        "40.0 % at the worst (made-up/b, k=2)."
    )


def test_methods_have_their_gap_to_the_best_known_bounds(rows: Any, known: Any) -> None:
    """In a column of its own, which no other number depends on."""
    tasks, certified = known(rows)
    bounds = certified.assign(best_known_bound=certified["bound"] * 2)
    found = method_gaps(tasks, bounds)
    own = found[(found["dataset"] == ALL) & (found["comparison"] == 0)].set_index("method")
    # On b, another method ran out of memory.
    assert own.loc["brkga", "known"] == 1
    assert own.loc["brkga", "mean_gap_to_best_known"] == pytest.approx(25 / 20 - 1)
    others = [name for name in found if name not in ("known", "mean_gap_to_best_known")]
    pd.testing.assert_frame_equal(found[others], method_gaps(tasks, certified)[others])


def test_records_are_those_of_the_library() -> None:
    """Cost and bound of every entry."""
    lines = (Path(__file__).parents[2] / "library" / "entries.jsonl").read_text().splitlines()
    entries = {
        one["instance_sha256"]: (one["objective"], one["bound"]) for one in map(json.loads, lines)
    }
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
