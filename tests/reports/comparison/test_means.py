"""What is judged in the mean: results that depend on the clock, by BASE's repeats, and times."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from selection import examples

from boundmark.reports.comparison.compare import (
    SAME,
    Comparison,
    compare_runs,
    render_comparison,
    render_summary,
)
from boundmark.reports.comparison.means import machine_change, paired_ratios
from boundmark.reports.comparison.recorded_run import RecordedRun, keep_as_baseline, read_run
from boundmark.reports.stored.run_records import reference_seconds, write_reference_seconds
from boundmark.reports.stored.store import ResultStore

INSTANCES = 8


@pytest.fixture(scope="module")
def recorded() -> dict[str, RecordedRun]:
    """Keep the run that all others are made of."""
    return {}


@pytest.fixture
def run_of(recorded: dict[str, RecordedRun], stored: Any, make_row: Any, tmp_path: Any) -> Any:
    """Return the function that makes baselines of one method on eight instances, repeated or not.

    Each factor is a repeat, whose costs are so many times those of the first.
    """
    if not recorded:
        costs = {f"i{at}": 1000 + 100 * at for at in range(INSTANCES)}
        rows = [make_row(name, instance=name, objective=cost) for name, cost in costs.items()]
        recorded["run"] = read_run(stored("run", rows))
    run = recorded["run"]

    def make(
        name: str, *factors: float, machine: float | None = None, **values: Any
    ) -> RecordedRun:
        seconds = () if machine is None else (0.1 * machine, 0.1 * machine, 9.0 * machine)
        runs = []
        for number, factor in enumerate(factors):
            values["objective"] = (factor * run.tasks["objective"]).round().astype("Int64")
            values["started_at"] = pd.Timestamp(2026, 1, 1 + number, tz="UTC")
            rows = run.tasks.assign(**values)
            runs.append(replace(run, tasks=rows, repeats=rows, reference_seconds=seconds))
        keep_as_baseline(runs, tmp_path / f"{name}.parquet")
        return read_run(tmp_path / f"{name}.parquet")

    return make


# A tenth of a second of ten, and all ten.
EARLY, LATE = {"wall_seconds": 0.1}, {"wall_seconds": 10.0}


def says_same(found: Comparison) -> bool:
    """Whether any text or the exit code says that NEW is the same or better."""
    texts = render_comparison(found), render_summary(found)
    assert len({found.exit_code == SAME, *("same or better" in text for text in texts)}) == 1
    return found.exit_code == SAME


@pytest.mark.parametrize("before", [EARLY, LATE])
def test_worse_and_slower_is_worse(run_of: Any, before: dict[str, float]) -> None:
    """Costs 1.11 times as high count, whether BASE needed its time or not."""
    found = compare_runs(run_of("base", 1.0, **before), run_of("new", 1.11, **LATE))
    assert not says_same(found)
    assert [one.gate for one in found.findings] == (
        ["objective"] * INSTANCES if before == EARLY else ["clock"]
    )


@pytest.mark.parametrize("before", [EARLY, LATE])
def test_a_new_version_that_is_worse_and_slower_is_worse(run_of: Any, before: Any) -> None:
    """It is judged by the mean of all its results, by one finding."""
    new = run_of("new", 1.11, method_version=2, **LATE)
    found = compare_runs(run_of("base", 1.0, **before), new)
    assert not says_same(found)
    assert [one.gate for one in found.of("worse")] == ["version"]
    assert "0 better, 8 worse; verified cost: 1.11" in found.of("worse")[0].sentence


def test_the_clock_cannot_hide_a_single_instance(stored: Any, make_row: Any) -> None:
    """Nor can a suite of one task, which has no interval over instances."""
    row = make_row("a", instance="a", objective=100, **LATE)
    base, new = (read_run(stored(n, [row | {"objective": x}])) for n, x in (("b", 100), ("n", 111)))
    found = compare_runs(base, new)
    assert not says_same(found)
    assert found.findings[0].sentence == (
        "verified cost: 1.110 times that of BASE (over 1 instance; BASE itself varies by 1.0 % by "
        "assumption)"
    )


def test_what_base_itself_varies_by_is_not_worse(run_of: Any) -> None:
    """Runs of 1, 1.06 and 1.12 times allow for 1.12 times their mean, and for no more."""
    base = run_of("base", 1.0, 1.06, 1.12, **LATE)
    found = compare_runs(base, run_of("new", 1.15, **LATE))
    assert says_same(found)
    (ratio,) = found.ratios
    assert (ratio.repeats, ratio.instances) == (3, INSTANCES)
    assert ratio.spread == pytest.approx(1.12)
    assert ratio.ratio == pytest.approx(1.15 / 1.06, rel=1e-3)
    assert not says_same(compare_runs(base, run_of("newer", 1.25, **LATE)))


def test_early_results_that_differ_when_repeated_are_not_repeatable(run_of: Any) -> None:
    """A method that shares its time out by the clock needs no list of such methods."""
    base, new = run_of("base", 1.0, 1.06, 1.12, **EARLY), run_of("new", 1.1, **EARLY)
    found = compare_runs(base, new)
    assert (says_same(found), found.repeatable, found.findings) == (True, 0, ())
    same = compare_runs(run_of("steady", 1.0, 1.0, 1.0, **EARLY), new)
    assert (says_same(same), same.repeatable) == (False, INSTANCES)


def test_what_base_always_ends_in_time_is_no_chance(run_of: Any) -> None:
    """A task that used much of its time and now runs out of it fails if no repeat of BASE did."""
    gone = run_of("new", 1.0, status="timeout", wall_seconds=11.0)
    assert not says_same(compare_runs(run_of("base", 1.0, 1.0, **LATE), gone))
    assert says_same(compare_runs(run_of("once", 1.0, **LATE), gone))


def test_a_run_named_twice_is_not_repeated(run_of: Any, tmp_path: Any) -> None:
    """Its results are kept once; those of other runs are kept, too, the latest as the tasks."""
    run = run_of("base", 1.0, 1.12)
    keep_as_baseline([run, run], tmp_path / "twice.parquet")
    kept = read_run(tmp_path / "twice.parquet")
    assert (len(kept.tasks), len(kept.repeats)) == (INSTANCES, 2 * INSTANCES)
    assert sorted(kept.tasks["objective"])[0] == 1120


@pytest.fixture
def late(run_of: Any) -> RecordedRun:
    """Return a run whose tasks all used their time."""
    run: RecordedRun = run_of("base", 1.0, bound_certified=500, **LATE)
    return run


def test_same_is_never_said_beside_an_interval_that_is_worse(late: RecordedRun) -> None:
    """Whatever the values of NEW and of BASE's repeats are."""
    values = st.lists(st.integers(900, 1100), min_size=INSTANCES, max_size=INSTANCES)

    @settings(max_examples=examples(40))
    @given(values, st.lists(values, max_size=2), values)
    def check(costs: Sequence[int], again: Sequence[Sequence[int]], bounds: Sequence[int]) -> None:
        rows = late.tasks.assign(objective=1000)
        days = pd.Timedelta(1, "D")
        repeats = [rows.assign(objective=one) for one in again]
        repeats = [one.assign(started_at=rows["started_at"] + days) for one in repeats]
        base = replace(late, tasks=rows, repeats=pd.concat([*repeats, rows]))
        new = rows.assign(objective=costs, bound_certified=[one - 500 for one in bounds])
        found = compare_runs(base, replace(late, tasks=new, repeats=new))
        worse = [
            one.low > 1 if one.what == "verified cost" else one.high < 1 for one in found.ratios
        ]
        assert len(worse) == 2
        assert says_same(found) != any(worse)

    check()


def test_slower_alone_counts_if_asked(run_of: Any) -> None:
    """A method that sleeps uses no CPU, and is slower; by more than the percent given."""
    base = run_of("base", 1.0, machine=1.0, wall_seconds=0.1)
    new = run_of("new", 1.0, machine=1.0, wall_seconds=0.2)
    assert says_same(compare_runs(base, new))
    assert says_same(compare_runs(base, new, slower=101.0))
    found = compare_runs(base, new, slower=99.0)
    assert not says_same(found)
    assert [(one.gate, one.sentence) for one in found.findings] == [
        (
            "slower",
            "time: 2.000 times that of BASE (95 % interval 2.000 to 2.000, over 8 instances)",
        )
    ]


def test_one_time_is_no_slower_method(run_of: Any) -> None:
    """Of one instance, times vary as they like: only repeats of BASE tell by how much."""
    base, new = (
        replace(run, tasks=run.tasks.head(1), repeats=run.repeats.head(1))
        for run in (run_of("base", 1.0, wall_seconds=0.1), run_of("new", 1.0, wall_seconds=0.9))
    )
    assert says_same(compare_runs(base, new, slower=10.0))
    repeated = run_of("repeated", 1.0, 1.0, wall_seconds=0.1)
    two = repeated.repeats[repeated.repeats["task_id"] == base.tasks["task_id"].iloc[0]]
    again = replace(base, repeats=two)
    assert not says_same(compare_runs(again, new, slower=10.0))


def test_a_slower_machine_is_no_slower_method(run_of: Any) -> None:
    """The ratio is divided by that of the reference task's medians, if both runs took it."""
    base = run_of("base", 1.0, machine=1.0, wall_seconds=0.1)
    new = run_of("new", 1.0, machine=2.0, wall_seconds=0.2)
    assert machine_change(base, new) == pytest.approx(2.0)
    found = compare_runs(base, new, slower=10.0)
    assert says_same(found)
    assert any("took 2 times as long" in note for note in found.notes)
    unknown = compare_runs(run_of("unknown", 1.0, wall_seconds=0.1), new, slower=10.0)
    assert not says_same(unknown)
    assert any("speed of the machine is not known" in note for note in unknown.notes)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({"wall_seconds": 9.9}, {"wall_seconds": 19.0}),
        ({"status": "unsupported", "wall_seconds": 0.1}, {"wall_seconds": 1.0}),
        ({"wall_seconds": 0.01}, {"wall_seconds": 0.04}),
    ],
)
def test_times_that_say_nothing_are_left_out(run_of: Any, before: Any, after: Any) -> None:
    """Of tasks that used their whole limit, failed, or were too short to be measured."""
    found = compare_runs(run_of("base", 1.0, **before), run_of("new", 1.0, **after), slower=0.0)
    assert says_same(found)


def test_seeds_are_averaged_before_instances_are(stored: Any, make_row: Any) -> None:
    """Seeds of 1 and 3 count as 2; a ratio over one instance is its own interval."""
    tasks = pd.DataFrame(
        {
            "problem": "p", "method": "m", "instance_sha256": "a",
            "task_id_base": ["1", "2"], "objective_new": [4, 4],
        }
    )  # fmt: skip
    repeats = pd.DataFrame({"task_id": ["1", "2"], "started_at": 0, "objective": [1, 3]})
    (one,) = paired_ratios(tasks, repeats, "objective", "verified cost")
    assert (one.instances, one.repeats, one.ratio) == (1, 1, pytest.approx(2.0))
    assert one.low == one.high == one.ratio
    assert replace(one, low=float("nan")).to_json()["low"] is None


def test_a_verdict_is_about_the_whole_interval(stored: Any) -> None:
    """Up or down, by more than the tolerance, for values that should be small or large."""
    tasks = pd.DataFrame(
        {
            "problem": "p", "method": "m", "instance_sha256": ["a"],
            "task_id_base": ["1"], "objective_new": [100],
        }
    )  # fmt: skip
    repeats = pd.DataFrame({"task_id": ["1"], "started_at": 0, "objective": [100]})
    (one,) = paired_ratios(tasks, repeats, "objective", "verified cost")
    made = [
        replace(one, low=low, high=high)
        for low, high in ((1.2, 1.3), (1.05, 1.3), (0.7, 0.8), (0.7, 0.95), (0.5, 2.0))
    ]
    up, down = (
        [one.verdict(worse_up=worse_up, tolerance=0.1) for one in made]
        for worse_up in (True, False)
    )
    assert up == ["worse", None, "better", None, None]
    assert down == ["better", None, "worse", None, None]


def test_reference_seconds_are_what_was_written(stored: Any, run_rows: Any) -> None:
    """All files of a folder count."""
    store = ResultStore.open(stored("a", run_rows))
    write_reference_seconds(store, [0.5])
    write_reference_seconds(store, [0.25, 0.125])
    assert sorted(reference_seconds(store)) == [0.125, 0.25, 0.5]
