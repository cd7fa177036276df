"""What the page about Tessel says in words holds for its stored tasks."""

import re

import pytest
import tessel


def test_bubble_rates_equal_the_papers() -> None:
    """Rates of Table II are those that the paper prints, for all schedules that exist."""
    cells = re.findall(r"([\d.]+|×) \(([\d.]+|×)\)", tessel.table_2())
    rates = [(own, paper) for own, paper in cells if paper != "×"]
    assert len(rates) == 11
    assert [float(own) for own, _ in rates] == [float(paper) for _, paper in rates]
    assert {own for own, paper in cells if paper == "×"} == {"×"}


@pytest.mark.parametrize("memory", [4, 6, 8])
def test_searches_for_all_blocks_are_proven_when_they_end(memory: int) -> None:
    """A makespan is no less than a certified bound, and what has ended claims that it is least."""
    found = tessel.searches(memory)
    whole, ours, claimed, bound = (
        found[name].astype(int)
        for name in ("TO's makespan", "Tessel's makespan", "TO's claimed bound", "certified bound")
    )
    assert (whole >= bound).all()
    assert (ours >= bound).all()
    ended = ~found["TO (s)"].str.startswith(">")
    assert ended.any()
    assert (whole[ended] == claimed[ended]).all()
    assert (ours[ended] >= whole[ended]).all()


def test_the_page_names_the_proven_layouts() -> None:
    """With a memory of 4, TO reaches certified bounds on some, and Tessel takes longer on some."""
    found = tessel.searches(4).set_index(["shape", "N"])
    whole, ours, bound = (
        found[name].astype(int)
        for name in ("TO's makespan", "Tessel's makespan", "certified bound")
    )
    proven = {("V", 2), ("V", 4), ("V", 6), ("K", 2), ("K", 4), ("X", 2)}
    assert set(found.index[whole == bound]) == proven
    longer = {("V", 2), ("X", 2), ("M", 2), ("NN", 2), ("X", 4), ("M", 4), ("M", 6)}
    assert set(found.index[ours > whole]) == longer


def test_periods_are_no_less_than_bounds() -> None:
    """Neither search has a period below the certified bound, on any number of devices."""
    found = tessel.periods()
    assert found.groupby("devices").size().to_dict() == {4: 10, 8: 18, 16: 18}
    assert (found[["tessel", "modulo"]].min(axis="columns") >= found["bound"]).all()


def test_without_other_assumptions_throughputs_are_those_of_stored_periods() -> None:
    """Loads of the busiest GPU give the ratios of the periods that searches have found."""
    found = tessel.inference().pivot_table("speed", "samples", "shape")
    assumed = tessel.assumptions()
    plain = assumed.loc["as in the table above"]
    assert plain.tolist() == pytest.approx((found["k"] / found["tp"]).tolist(), rel=1e-3)
    assert (assumed.loc["all three"] > assumed.drop(index="all three").max()).all()


@pytest.mark.parametrize("lazy", [True, False])
def test_phases_add_up_to_a_whole_search(lazy: bool) -> None:
    """X needs Z3 for warm-up and cool-down, and the rest of the time is the repetends'."""
    pytest.importorskip("z3")
    sample = tessel.MicrobatchInstance.of(tessel.shapes.load("x-4-train"), memory=16)
    seconds = tessel._seconds_by_phase(sample, lazy, seed=1)
    parts = [seconds[name] for name in tessel.PHASES[:3]]
    assert min(parts) > 0
    assert sum(parts) == pytest.approx(seconds["whole"])
