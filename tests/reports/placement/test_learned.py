"""Tables about what was learned, by hand."""

import json
from typing import Any

import pandas as pd
import pytest

from boundmark.reports.placement.learned import (
    curve_section,
    curve_table,
    learned_section,
    learned_table,
    matches,
)


def task(
    method: str, objective: int | None, seconds: float = 1.0, seed: int = 1, **params: Any
) -> dict:
    """Return a row of tasks, as far as it is read."""
    return {
        "dataset": "made", "instance": "net", "device": "pair", "parameters": "transfers=per-edge",
        "method": method, "method_kind": "heuristic", "objective": objective,
        "cpu_seconds": seconds, "params": json.dumps(params), "seed": seed,
    }  # fmt: skip


TASKS = pd.DataFrame(
    [
        task("preferred-device (first=0)", 40_000_000, first=0),
        task("preferred-device (first=1)", 20_000_000, first=1),
        task("heft", 10_000_000, 0.5),
        task("slow", 9_000_000, 50.0),
        task("hsdag (evaluations=10)", 30_000_000, 2.0, evaluations=10),
        task("hsdag (evaluations=90)", 12_000_000, 8.0, evaluations=90),
        task("hsdag (evaluations=90)", 10_000_000, 9.0, 2, evaluations=90),
        task("hsdag (evaluations=90)", 14_000_000, 7.0, 3, evaluations=90),
        task("random-sets", 25_000_000, samples=90),
        task("placeto", None),
        {**task("heft", 7_000_000), "instance": "unlearned"},
    ]
)
CERTIFIED = pd.DataFrame([{**task("", 0), "bound": 8_000_000}])


def test_medians_speedups_and_gaps() -> None:
    """A row per method of each model that was learned on; the first device is the base."""
    table = learned_table(TASKS, CERTIFIED)
    assert set(table["instance"]) == {"net"}
    row = table.set_index("method").loc["hsdag (evaluations=90)"]
    assert (row["seeds"], row["makespan"], row["least"], row["most"]) == (3, 12e6, 10e6, 14e6)
    assert (row["speedup"], row["gap"], row["seconds"]) == (
        pytest.approx(0.7), pytest.approx(0.5), 8.0,
    )  # fmt: skip
    assert table.set_index("method")["speedup"]["preferred-device (first=1)"] == pytest.approx(0.5)


def test_fused_and_unfused_graphs_do_not_mix() -> None:
    """One seed on each is one seed, beside the bound of that graph."""
    fused = {"parameters": "fusion=moirai, transfers=per-edge"}
    tasks = pd.DataFrame(
        [
            *(task(f"hsdag (evaluations={n})", n * 10**6, evaluations=n) for n in (10, 90)),
            *({**task(f"hsdag (evaluations={n})", n * 10**5, evaluations=n), **fused}
              for n in (10, 90)),
        ]
    )  # fmt: skip
    known = pd.DataFrame(
        [{**task("", 0), "bound": 8_000_000}, {**task("", 0), **fused, "bound": 500_000}]
    )
    for table in (learned_table(tasks, known), curve_table(tasks, known)):
        assert table["seeds"].tolist() == [1] * 4
        rows = table.set_index(["parameters", "makespan"])["gap"]
        assert rows["transfers=per-edge", 10e6] == pytest.approx(0.25)
        assert rows["fusion=moirai, transfers=per-edge", 1e6] == pytest.approx(1.0)


def test_what_matches_soonest() -> None:
    """Of what does not learn and is as good, the fastest, which need not be the best."""
    (row,) = matches(learned_table(TASKS, CERTIFIED)).to_dict("records")
    assert (row["method"], row["other"], row["other_seconds"]) == (
        "hsdag (evaluations=90)", "heft", 0.5,
    )  # fmt: skip
    worse = TASKS[~TASKS["method"].isin(["heft", "slow"])]
    (row,) = matches(learned_table(worse, CERTIFIED)).to_dict("records")
    assert row["other"] is None


def test_curves_of_methods_with_several_limits() -> None:
    """`random-sets` has one limit only; parameters are no part of the name."""
    table = curve_table(TASKS, CERTIFIED)
    found = table[["method", "evaluations", "makespan", "least", "most", "seeds"]].values.tolist()
    assert found == [["hsdag", 10, 30e6, 30e6, 30e6, 1], ["hsdag", 90, 12e6, 10e6, 14e6, 3]]
    assert table["gap"].tolist() == pytest.approx([2.75, 0.5])


def test_curves_of_methods_with_other_parameters() -> None:
    """What was trained before is a curve of its own; one limit is none."""
    more = [
        task("hsdag (evaluations=10, load=policy)", 11_000_000, evaluations=10, load="policy"),
        task("hsdag (evaluations=90, load=policy)", 9_000_000, evaluations=90, load="policy"),
        task("hsdag (evaluations=10)", 30_000_000, evaluations=10, load=""),
        task("hsdag (evaluations=90)", 12_000_000, evaluations=90, load=""),
        task("random-sets (odd=1)", 9_000_000, samples=10, odd=1),
        task("random-sets (odd=2)", 9_000_000, samples=90, odd=2),
    ]
    table = curve_table(pd.DataFrame(more), CERTIFIED)
    assert table[["method", "evaluations", "makespan"]].values.tolist() == [
        ["hsdag (load=)", 10, 30e6],
        ["hsdag (load=)", 90, 12e6],
        ["hsdag (load=policy)", 10, 11e6],
        ["hsdag (load=policy)", 90, 9e6],
    ]


def test_sections() -> None:
    """Sorted by makespan, with a sentence on what matches."""
    tables = {"learned": learned_table(TASKS, CERTIFIED), "curves": curve_table(TASKS, CERTIFIED)}
    section = learned_section(None, tables)  # type: ignore[arg-type]
    assert section is not None
    (group,) = section.tables[0].groups
    assert [cell.text for cell in group.rows[2]] == [
        "hsdag (evaluations=90)", "12.000", "10.000 to 14.000", "70.0", "50.0", "8.000", "3",
    ]  # fmt: skip
    assert section.paragraphs == (
        "net: the best learned placement is by hsdag (evaluations=90), 12.000 after 8.000 s; heft, "
        "which does not learn, has 10.000 after 0.500 s.",
    )
    curves = curve_section(None, tables)  # type: ignore[arg-type]
    assert curves is not None
    assert curves.tables[0].columns == ("method", "10", "90")


def test_without_anything_learned() -> None:
    """No tables, no sections."""
    tasks = TASKS[TASKS["instance"] == "unlearned"]
    tables = {"learned": learned_table(tasks, CERTIFIED), "curves": curve_table(tasks, CERTIFIED)}
    assert not len(tables["learned"])
    assert not len(tables["curves"])
    assert learned_section(None, tables) is None  # type: ignore[arg-type]
    assert curve_section(None, tables) is None  # type: ignore[arg-type]
