"""What got worse is found and named, what may be chance is advice, and the page says since when."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from boundmark.problems.errors import StoreError
from boundmark.reports.comparison.compare import (
    Comparison,
    compare_runs,
    read_verdict,
    render_comparison,
    render_summary,
)
from boundmark.reports.comparison.gates import Finding
from boundmark.reports.comparison.pairs import default_thresholds
from boundmark.reports.comparison.recorded_run import read_run


def only(comparison: Comparison, verdict: str) -> Finding:
    """Return the one finding with a verdict."""
    (found,) = comparison.of(verdict)
    return found


def test_the_same_run_is_the_same(compared: Any) -> None:
    """Nothing is found, all tasks are compared, and the exit code is 0."""
    found = compared()
    assert (found.exit_code, found.findings, found.compared, found.repeatable) == (0, (), 6, 6)


def test_a_worse_cost_is_named_with_both_tasks(compared: Any) -> None:
    """One tick is enough where nothing depended on the clock."""
    found = compared(a2={"objective": 23})
    worse = only(found, "worse")
    assert found.exit_code == 1
    assert (worse.gate, worse.method, worse.subject) == (
        "objective",
        "brkga",
        "zoo/a k=2, brkga, seed 2",
    )
    assert worse.sentence == "verified cost: 22 before, 23 now (4.55 % higher)"
    assert worse.base is not None
    assert worse.new is not None
    assert (worse.base.value, worse.new.value) == (22, 23)
    assert worse.base.solution != worse.new.solution


def test_a_weaker_bound_is_named_with_both_certificates(compared: Any) -> None:
    """Both hashes are those of the documents that state the bounds."""
    found = compared(a3={"bound_certified": 9})
    worse = only(found, "worse")
    assert (worse.gate, worse.method) == ("bound", "fractional-load")
    assert worse.base is not None
    assert worse.new is not None
    assert len({worse.base.certificate, worse.new.certificate}) == 2


def test_better_results_are_told_and_pass(compared: Any) -> None:
    """A lower cost and a higher bound; one more optimum is proven by it."""
    found = compared(a1={"objective": 12}, a3={"bound_certified": 12})
    assert found.exit_code == 0
    assert {finding.gate for finding in found.of("better")} == {"objective", "bound", "optimal"}


def test_single_tasks_that_depend_on_the_clock_decide_nothing(compared: Any) -> None:
    """Whether a task used its time is asked of BASE alone; a list of methods overrides it."""
    change = {"objective": 25}
    assert compared(base={"wall_seconds": 9.0}, a1=change).exit_code == 0
    assert compared(a1={**change, "wall_seconds": 9.0}).exit_code == 1
    listed = replace(default_thresholds(), clock_methods=("brkga",))
    assert compared(listed, a1=change).exit_code == 0


def test_tolerances_are_fractions_of_what_was(compared: Any) -> None:
    """At the tolerance a difference is told and passes; beyond it, it counts."""
    limits = replace(default_thresholds(), objective_tolerance=0.05)
    assert compared(limits, a1={"objective": 21}).exit_code == 0
    assert only(compared(limits, a1={"objective": 21}), "advice").gate == "objective"
    assert compared(limits, a2={"objective": 24}).exit_code == 1


@pytest.mark.parametrize("status", ["crashed", "error", "oom", "timeout", "unsupported"])
def test_a_new_failure_counts(compared: Any, status: str) -> None:
    """Also if what the task reported before it failed is as good as ever."""
    found = compared(b1={"status": status, "status_detail": "why"})
    worse = only(found, "worse")
    assert (worse.gate, worse.sentence) == ("failure", f"status: ok before, {status} now (why)")


def test_a_timeout_of_a_task_that_was_slow_is_advice(compared: Any) -> None:
    """It may have run out of time by chance."""
    found = compared(base={"wall_seconds": 9.0}, b1={"status": "timeout", "wall_seconds": 11.0})
    assert found.exit_code == 0
    assert only(found, "advice").gate == "failure"


def test_a_failure_that_is_gone_is_better(compared: Any) -> None:
    """And what it delivers now is too."""
    failed = {"status": "crashed", "objective": None, "bound_certified": None}
    found = compared(base=failed, b1={"status": "ok", "objective": 8})
    assert found.exit_code == 0
    assert {finding.gate for finding in found.of("better")} == {"failure", "solved"}


def test_an_instance_that_no_seed_solves_is_lost(compared: Any) -> None:
    """Losing one seed's solution is not losing the instance, but a worse result of that task."""
    gone = {"objective": None, "wall_seconds": 9.0}
    assert {one.gate for one in compared(b1=gone).of("worse")} == {"objective", "optimal"}
    worse = {one.gate: one.sentence for one in compared(b1=gone, b2=gone).of("worse")}
    assert worse["solved"] == "instances with a verified solution: 2 before, 1 now"
    allowed = replace(default_thresholds(), solved_lost=1)
    assert only(compared(allowed, b1=gone, b2=gone), "advice").gate == "solved"


def test_an_instance_that_was_solved_late_may_be_lost_by_chance(compared: Any) -> None:
    """Tasks that used much of their time before may have run out of it: that is advice."""
    gone = {"objective": None, "wall_seconds": 9.0}
    found = compared(base={"wall_seconds": 9.0}, b1=gone, b2=gone)
    assert found.exit_code == 0
    assert only(found, "advice").gate == "solved"


def test_a_lost_optimum_counts(compared: Any) -> None:
    """Instance b was proven optimal by its cost 8 and its bound 8."""
    gates = {finding.gate for finding in compared(b3={"bound_certified": 7}).of("worse")}
    assert gates == {"bound", "optimal"}


def test_runs_that_contradict_each_other_name_both_rows(compared: Any) -> None:
    """A new cost below an old bound is wrong, though each run agrees with itself."""
    found = compared(b1={"objective": 7}, b3={"bound_certified": 6})
    worse = {finding.gate: finding for finding in found.of("worse")}["consistency"]
    assert "brkga in NEW has a verified cost of 7 (task b1)" in worse.sentence
    assert "certified bound of 8 that fractional-load has in BASE (task b3)" in worse.sentence


def test_a_contradiction_within_the_new_run_names_both_rows(compared: Any) -> None:
    """Where the report refuses to publish, the comparison says which rows."""
    found = compared(b3={"bound_certified": 9})
    worse = {finding.gate: finding for finding in found.of("worse")}["consistency"]
    assert (
        "(task b1), below the certified bound of 9 that fractional-load has in NEW (task b3)"
        in (worse.sentence)
    )


def test_tasks_that_are_gone_are_told_or_count(compared: Any) -> None:
    """As the thresholds say; the rest is compared."""
    found = compared(a3=None)
    assert (found.exit_code, found.compared, found.only_base) == (1, 5, 1)
    assert only(found, "worse").gate == "missing"
    told = compared(replace(default_thresholds(), missing_tasks="told"), a3=None)
    assert told.exit_code == 0
    assert only(told, "advice").gate == "missing"


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"instance_sha256": "5" * 64, "bound_certified": None}, "another instance"),
        ({"params": '{"x": 1}', "seed": 7}, "no such task"),
        ({"time_limit_seconds": 20.0}, "other limits"),
        ({"method": "shares"}, "no such task"),
    ],
)
def test_a_suite_that_changed_is_told_with_what_changed(
    compared: Any, change: dict[str, Any], why: str
) -> None:
    """Neither side is compared with anything else, which counts, and the note says what to do."""
    found = compared(a3=change)
    assert (found.compared, found.only_base, found.only_new, found.exit_code) == (5, 1, 1, 1)
    notes = " ".join(found.notes)
    assert f"Tasks that only BASE has: 1 ({why}: 1)" in notes
    assert "refresh the baseline" in notes


def test_another_default_hides_nothing(compared: Any) -> None:
    """A method that is worse, and whose parameter was changed at once, is compared and is worse."""
    before, after = {"params": '{"rounds":10}'}, {"params": '{"rounds":5}'}
    brkga = dict.fromkeys(("a1", "a2", "b1", "b2"), after)
    same = compared(base=before, **brkga)
    assert (same.exit_code, same.compared, same.only_base, same.only_new) == (0, 6, 0, 0)
    told = only(same, "advice")
    assert (told.gate, told.subject) == ("parameters", "brkga (pipeline)")
    assert told.sentence == "4 tasks compared with other parameters (rounds 10 -> 5: 4)"
    found = compared(base=before, **brkga | {"a1": after | {"objective": 25}})
    worse = only(found, "worse")
    assert found.exit_code == 1
    assert (worse.gate, worse.subject) == ("objective", "zoo/a k=2, brkga, seed 1 (rounds 10 -> 5)")
    failed = compared(base=before, a3=after | {"status": "crashed", "bound_certified": None})
    assert {one.gate for one in failed.of("worse")} == {"failure", "solved"}


def test_another_parameter_hides_nothing(compared: Any) -> None:
    """Nor does one that is new, or gone."""
    for base, new, words in (("{}", '{"x":1}', "not set -> 1"), ('{"x":1}', "{}", "1 -> not set")):
        after = {"params": new}
        found = compared(base={"params": base}, a3=after | {"bound_certified": 9}, b3=after)
        assert only(found, "worse").subject == f"zoo/a k=2, fractional-load (x {words})"


def variants(make_row: Any, **costs: tuple[int, int, int]) -> list[Any]:
    """Return tasks of one method on one instance: sizes, rounds and costs by the tasks' names."""
    return [
        make_row(
            name, instance="a", method="brkga", objective=cost,
            params=f'{{"rounds":{rounds},"size":{size}}}',
        )
        for name, (size, rounds, cost) in costs.items()
    ]  # fmt: skip


def test_variants_are_compared_with_those_most_alike(stored: Any, make_row: Any) -> None:
    """Each with one; with its own parameters if they are there; one too many is missing."""
    base = read_run(stored("base", variants(make_row, p=(10, 8, 30), q=(20, 8, 20), r=(30, 8, 10))))
    rows = variants(make_row, p=(20, 4, 20), q=(10, 4, 31), r=(30, 8, 10))
    found = compare_runs(base, read_run(stored("new", rows)))
    assert (found.compared, found.only_base, found.only_new) == (3, 0, 0)
    assert only(found, "worse").sentence == "verified cost: 30 before, 31 now (3.33 % higher)"
    fewer = compare_runs(base, read_run(stored("fewer", rows[1:])))
    assert (fewer.compared, fewer.only_base) == (2, 1)
    assert {one.gate for one in fewer.of("worse")} == {"objective", "missing"}
    more = compare_runs(read_run(stored("less", rows[2:])), base)
    assert (more.exit_code, more.compared, more.only_new) == (0, 1, 2)


def test_the_summary_is_short(compared: Any, stored: Any, make_row: Any) -> None:
    """It has the verdict, the worst five, and what was compared although it differs."""
    params = {"params": '{"x":1}'}
    base = [make_row(f"t{at}", instance=f"i{at}", method="m", objective=50) for at in range(9)]
    new = [row | params | {"objective": 51 + at} for at, row in enumerate(base)]
    found = compare_runs(read_run(stored("before", base)), read_run(stored("after", new)))
    lines = render_summary(found).splitlines()
    assert lines[:3] == ["## NEW is worse", "", "NEW is worse: m (objective 9)."]
    worst = [line for line in render_comparison(found).splitlines() if "now (" in line][:5]
    told = "9 tasks compared with other parameters (x not set -&gt; 1: 9)"
    last = ["- and 4 more", f"- **parameters**: m (pipeline): {told}"]
    assert [line for line in lines if line.startswith("- ")] == [*worst, *last]
    assert "### Worse" in lines
    assert lines[-1].startswith("BASE is ")
    assert render_summary(compared()).startswith("## NEW is same or better")


def test_single_tasks_of_a_changed_method_do_not_count(compared: Any) -> None:
    """Results were expected to change: they stand under a heading of their own, and pass."""
    change = {"a1": {"objective": 30}, "a2": {}, "b1": {}, "b2": {"objective": 8}}
    found = compared(**{name: {"method_version": 2, **one} for name, one in change.items()})
    assert found.exit_code == 0
    summary, task, *_ = found.of("changed")
    assert (summary.gate, summary.subject) == ("version", "brkga 1 -> 2 (pipeline)")
    assert summary.sentence == (
        "verified cost: 1 better, 1 worse; verified cost: 1.079 times that of BASE "
        "(95 % interval 0.941 to 1.238, over 2 instances); 4 tasks"
    )
    assert (task.gate, task.subject) == ("objective", "zoo/a k=2, brkga, seed 1")
    assert "## Changed on purpose" in render_comparison(found)


def many(make_row: Any, factor: float, version: int) -> list[Any]:
    """Return a run of one method on six instances."""
    return [
        make_row(
            f"t{n}", instance=f"i{n}", method="brkga", method_version=version,
            objective=round(factor * (100 + n)),
        )
        for n in range(6)
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("factor", "verdict", "code"), [(1.1, "worse", 1), (0.9, "better", 0), (1.0, "changed", 0)]
)
def test_a_changed_method_is_judged_in_the_mean(
    stored: Any, make_row: Any, factor: float, verdict: str, code: int
) -> None:
    """Worse beyond what chance explains makes the comparison fail, by one finding."""
    base, new = stored("base", many(make_row, 1.0, 1)), stored("new", many(make_row, factor, 2))
    found = compare_runs(read_run(base), read_run(new))
    assert found.exit_code == code
    (summary,) = [finding for finding in found.findings if finding.gate == "version"]
    assert summary.verdict == verdict
    assert all(one.verdict == "changed" for one in found.findings if one.gate == "objective")


def test_an_optimum_that_only_a_changed_method_has_lost_does_not_count(compared: Any) -> None:
    """It is told; one that a method of the same version has lost counts as before."""
    change = {"a1": {"objective": 11}, "b1": {"objective": 9}}
    found = compared(**{name: {"method_version": 2, **one} for name, one in change.items()})
    assert found.exit_code == 0
    assert {finding.gate for finding in found.of("changed")} == {"version", "objective", "optimal"}


def test_nothing_in_common_is_no_success(stored: Any, run_rows: Any) -> None:
    """Other suites, nothing at all, or failures on both sides: exit code 3."""
    base = read_run(stored("base", run_rows))
    other = [row | {"task_id": f"x{row['task_id']}", "method": "other"} for row in run_rows]
    assert compare_runs(base, read_run(stored("other", other))).exit_code == 3
    empty_run = read_run(stored("empty", []))
    empty = compare_runs(base, empty_run)
    assert empty.exit_code == 3
    assert any("NEW" in note and "holds no results" in note for note in empty.notes)
    assert compare_runs(read_run(stored("none", [])), empty_run).exit_code == 3
    nothing = {"status": "crashed", "objective": None, "bound_certified": None}
    failed = [row | nothing for row in run_rows]
    both = compare_runs(read_run(stored("f1", failed)), read_run(stored("f2", failed)))
    assert (both.compared, both.exit_code) == (0, 3)


def test_all_failed_is_worse_than_before(compared: Any, run_rows: Any) -> None:
    """Each task is a new failure, and no instance is solved or bounded any more."""
    nothing = {"status": "error", "objective": None, "bound_certified": None}
    found = compared(**{row["task_id"]: nothing for row in run_rows})
    assert found.exit_code == 1
    gates = [finding.gate for finding in found.of("worse")]
    assert (gates.count("failure"), gates.count("solved")) == (6, 2)


@pytest.mark.parametrize("fault", ["deleted", "tampered"])
def test_a_certificate_that_is_gone_or_changed_counts(
    stored: Any, run_rows: Any, fault: str
) -> None:
    """The bound that rests on it is no bound, and the file is named."""
    base, new = (read_run(stored(name, run_rows)) for name in ("base", "new"))
    path = next(
        path for path in (new.path / "certificates").iterdir() if b":10" in path.read_bytes()
    )
    if fault == "deleted":
        path.unlink()
    else:
        path.write_bytes(path.read_bytes().replace(b":10", b":11"))
    found = compare_runs(base, read_run(new.path))
    worse = {finding.gate: finding for finding in found.of("worse")}
    assert {"verification", "bound", "solved"} <= set(worse)
    assert path.name in worse["verification"].sentence


def test_a_report_that_the_checker_rejected_counts(compared: Any) -> None:
    """The row says so, whatever the task was before."""
    found = compared(
        base={"status": "error"}, b3={"status_detail": "rejected: it proves 7 and not 8"}
    )
    assert only(found, "worse").gate == "verification"


def test_a_folder_of_another_schema_is_one_sentence(tmp_path: Path) -> None:
    """It says what to do."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    from boundmark.problems.errors import StoreError

    path = tmp_path / "old.parquet"
    pq.write_table(pa.table({"a": [1]}).replace_schema_metadata({"boundmark_schema": "1"}), path)
    with pytest.raises(StoreError, match=r"schema version 1; expected version 2\. Run the suite"):
        read_run(path)
    with pytest.raises(StoreError, match="does not exist; expected a results folder"):
        read_run(tmp_path / "none")


def test_the_last_sentence_names_the_methods_that_are_worst_off(compared: Any) -> None:
    """Those with the most findings first, by gate; of more than five, how many more there are."""
    found = compared(a1={"objective": 21}, a2={"objective": 23}, a3={"bound_certified": 9})
    assert found.sentence == "NEW is worse: brkga (objective 2); fractional-load (bound 1)."
    assert render_comparison(found).splitlines()[-1] == found.sentence
    one = found.findings[0]
    seven = replace(found, findings=tuple(replace(one, method=f"m{at}") for at in range(7)))
    assert seven.sentence.endswith("m4 (bound 1); 2 more methods.")
    assert compared().sentence == "NEW is same or better: none of 6 compared tasks is worse."


@pytest.fixture
def write(tmp_path: Path) -> Any:
    """Return a function that writes a comparison as the command does."""

    def write(found: Comparison) -> Path:
        path = tmp_path / "comparison.json"
        path.write_text(json.dumps(found.to_json()))
        return path

    return write


def nights(*gaps: float) -> pd.DataFrame:
    """Return the history of a method, a night after the other."""
    starts = pd.date_range("2026-11-01", periods=len(gaps), tz="UTC")
    return pd.DataFrame(
        {"problem": "pipeline", "method": "brkga", "started_at": starts, "mean_gap": gaps,
         "commit": [f"{at:040d}" for at in range(len(gaps))]}
    )  # fmt: skip


def test_the_worst_comes_first(compared: Any, write: Any) -> None:
    """With both documents, the commits between, and what has been so since when."""
    found = compared(a1={"objective": 40}, a2={"objective": 23})
    sentence, *lines = read_verdict(write(found), found.new, nights(0.2, 0.1, 0.3, 0.3))
    assert sentence.startswith("NEW is worse: brkga (objective 2).")
    assert "Commits: " in sentence
    assert "40 now" in lines[0]
    assert "23 now (4.55 % higher) (BASE solution " in lines[1]
    assert lines[1].endswith("; its mean gap is 30.0 % since 2026-11-03 00:00, commit 000000000000")


@pytest.mark.parametrize(
    ("gaps", "expected"),
    [
        ((0.1, 0.2), "is 20.0 % since 2026-11-02"),
        ((0.2, 0.2), "since the history begins"),
        ((), ""),
    ],
)
def test_since_when(compared: Any, write: Any, gaps: tuple[float, ...], expected: str) -> None:
    """The first of the last nights that were as bad."""
    found = compared(a2={"objective": 23})
    line = read_verdict(write(found), found.new, nights(*gaps))[1]
    assert expected in line
    assert ("mean gap" in line) == bool(gaps)


def test_nothing_worse_is_one_sentence(compared: Any, write: Any) -> None:
    """Which says so."""
    found = compared()
    assert read_verdict(write(found), found.new, None) == (
        "NEW is same or better: none of 6 compared tasks is worse.",
    )


def test_a_comparison_of_another_run_is_refused(compared: Any, write: Any, tmp_path: Path) -> None:
    """As is a file that is none, or is not there."""
    found = compared()
    path = write(found)
    with pytest.raises(StoreError, match="compares another run; expected one whose NEW is this"):
        read_verdict(path, compared(a1={"suite": "other"}).new, None)
    path.write_text("[]")
    with pytest.raises(StoreError, match=r"is no comparison; expected comparison\.json from"):
        read_verdict(path, found.new, None)
    with pytest.raises(StoreError, match="does not exist"):
        read_verdict(tmp_path / "no.json", found.new, None)
