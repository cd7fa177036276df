"""Times and results that depend on the clock: advice, with the machine's own change taken out."""

from typing import Any

import pytest

from boundmark.reports.comparison.advice import Machine, PairedRatio, time_ratios
from boundmark.reports.comparison.compare import Comparison, compare_runs
from boundmark.reports.comparison.pairs import default_thresholds, pair_tasks
from boundmark.reports.comparison.recorded_run import read_run
from boundmark.reports.stored.run_records import reference_seconds, write_reference_seconds
from boundmark.reports.stored.store import ResultStore


@pytest.fixture
def timed(stored: Any, make_row: Any) -> Any:
    """Return the function that compares runs of eight tasks whose time is some times as long."""

    def compare(factor: float, machine: float | None, **values: Any) -> Comparison:
        runs = []
        for name, times, speed in (("base", 1.0, 1.0), ("new", factor, machine)):
            rows = [
                make_row(
                    str(at), instance=f"i{at}", objective=9,
                    cpu_seconds=times * (1 + at / 10), **values,
                )
                for at in range(8)
            ]  # fmt: skip
            folder = stored(f"{name}", rows)
            if speed is not None:
                store = ResultStore.open(folder)
                write_reference_seconds(store, [0.1 * speed, 0.1 * speed, 9.0 * speed])
            runs.append(read_run(folder))
        return compare_runs(*runs)

    return compare


def test_slower_methods_are_advice(timed: Any) -> None:
    """Twice the time on an equal machine; the exit code stays 0."""
    found = timed(2.0, 1.0)
    (advice,) = found.of("advice")
    assert found.exit_code == 0
    assert advice.gate == "time"
    assert "CPU time: 2.000 times that of BASE (95 % interval 2.000 to 2.000, over 8" in (
        advice.sentence
    )


def test_a_slower_machine_is_no_slower_method(timed: Any) -> None:
    """The ratio is divided by that of the reference task's medians."""
    found = timed(2.0, 2.0)
    assert found.findings == ()
    (ratio,) = found.ratios
    assert ratio.ratio == pytest.approx(1.0)
    assert any("took 2 times as long" in note for note in found.notes)


def test_an_unknown_machine_is_told(timed: Any) -> None:
    """Nothing is corrected then."""
    found = timed(2.0, None)
    assert any("speed of the machine is not known" in note for note in found.notes)
    assert found.ratios[0].ratio == pytest.approx(2.0)


@pytest.mark.parametrize(
    "values",
    [
        {"wall_seconds": 10.0},
        {"status": "timeout"},
        {"cpu_seconds": 0.01},
    ],
)
def test_times_that_say_nothing_are_left_out(timed: Any, values: Any, stored: Any) -> None:
    """Of tasks that used their whole limit, failed, or were too short to be measured."""
    if "cpu_seconds" in values:
        found = timed(0.001, None)
        base_only = [one for one in found.ratios if one.what == "CPU time"]
        assert base_only[0].instances == 8
        return
    assert [one for one in timed(2.0, 1.0, **values).ratios if one.what == "CPU time"] == []


def test_seeds_are_averaged_before_instances_are(stored: Any, make_row: Any) -> None:
    """Seeds of 1 s and 3 s count as 2 s; the ratio over one instance has no interval."""
    rows = [
        make_row(str(seed), seed=seed, objective=1, cpu_seconds=float(seconds))
        for seed, seconds in ((1, 1), (2, 3))
    ]
    base, new = (
        read_run(stored("b", rows)),
        read_run(stored("n", [r | {"cpu_seconds": 4.0} for r in rows])),
    )
    limits = default_thresholds()
    (one,) = time_ratios(pair_tasks(base, new, limits), Machine(1.0, True), limits)
    assert (one.instances, one.ratio) == (1, pytest.approx(2.0))
    assert one.low != one.low
    assert one.to_json()["low"] is None


def test_leaving_one_is_about_the_whole_interval() -> None:
    """Up or down, by more than the tolerance."""
    made = [
        PairedRatio("p", "m", "t", 9, 1.0, low, high)
        for low, high in ((1.2, 1.3), (1.05, 1.3), (0.7, 0.8), (0.7, 0.95), (0.5, 2.0))
    ]
    assert [one.leaves_one(0.1) for one in made] == [True, False, True, False, False]


def test_reference_seconds_are_what_was_written(stored: Any, run_rows: Any) -> None:
    """All files of a folder count, in order; broken ones are named."""
    from boundmark.problems.errors import StoreError

    store = ResultStore.open(stored("a", run_rows))
    write_reference_seconds(store, [0.5])
    write_reference_seconds(store, [0.25, 0.125])
    assert sorted(reference_seconds(store)) == [0.125, 0.25, 0.5]
    for text in ("[-1]", "[1" + 400 * "0" + "]"):
        (store.machine / "3.json").write_text(text)
        with pytest.raises(StoreError, match=r"3\.json holds \[-?1.*; expected a list of seconds"):
            reference_seconds(store)
