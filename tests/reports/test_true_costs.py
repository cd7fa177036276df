"""What costs have been off by: summaries by hand, and sentences from the stored rows."""

import pytest

from boundmark.reports import true_costs
from boundmark.reports.true_costs import (
    Row,
    accuracy,
    layer_accuracy,
    rows,
    source_of,
    summary,
    total_accuracy,
    totals,
)


def test_rows_are_partitions_that_were_bounded() -> None:
    """No partition is below the certified optimum, on its own costs and at measured times."""
    assert {(row.costs, row.k) for row in rows()} == {
        (costs, k) for costs in ("roofline", "calibrated") for k in (2, 4, 8)
    }
    for row in rows():
        assert row.bound <= row.predicted, row
        assert row.optimum <= row.real, row


def test_a_row_says_ratio_and_excess() -> None:
    """A stage that was to take 50 takes 110, where 100 is the optimum."""
    row = Row("h100/x", "roofline", 4, 50, 50, 110, 100)
    assert row.ratio == pytest.approx(50 / 110)
    assert row.excess == pytest.approx(0.1)


def test_summaries_are_geometric_means(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 1.21 and 1, 1.1; one of two ratios is close."""
    own = (
        Row("h100/a", "roofline", 4, 50, 50, 121, 100),
        Row("h100/b", "roofline", 4, 90, 90, 100, 100),
    )
    monkeypatch.setattr(true_costs, "rows", lambda: own)
    (one,) = true_costs.summary.__wrapped__()
    assert one.excess == pytest.approx(0.1)
    assert (one.worst_model, one.close, one.models) == ("a", 1, 2)
    assert one.most == pytest.approx(0.9)


@pytest.mark.parametrize("source", ["roofline", "calibrated"])
def test_sentences_have_the_figures_of_their_row(source: str) -> None:
    """For a number of stages, those of the nearest that was measured; for none, all."""
    of = {one.k: one for one in summary() if one.costs == source}
    for k, nearest in ((1, 2), (4, 4), (5, 4), (64, 8)):
        text = accuracy(source, k)
        assert f"were {100 * of[nearest].excess:.0f} % above the optimum (k = {nearest}," in text
        assert of[nearest].worst_model in text
    assert "(k = 2, 4, 8, 13 models" in accuracy(source)


def test_sums_are_said_of_measured_times_and_others() -> None:
    """The least and the largest share of what operators add up to."""
    shares = sorted(one.measured / one.whole for one in totals())
    assert f"{shares[0]:.2f} to {shares[-1]:.2f} times" in total_accuracy("measured")
    assert total_accuracy("measured") == accuracy("measured", 4)
    shares = sorted(one.roofline / one.measured for one in totals())
    assert f"{shares[0]:.2f} to {shares[-1]:.2f} of" in total_accuracy("roofline")


def test_layers_are_said_by_phase() -> None:
    """Training was not measured, and nothing is said of it."""
    assert "decode, 8 workloads" in layer_accuracy("decode")
    assert layer_accuracy("training") == ""


@pytest.mark.parametrize(
    ("device", "expected"),
    [
        ("nvidia-h100", "roofline"),
        ("nvidia-h100+fusion+calibrated", "calibrated"),
        ("measured:times", "measured"),
        ("hsdag-server+CPU=measured:times", "measured"),
    ],
)
def test_sources_are_read_from_devices(device: str, expected: str) -> None:
    """As results name them."""
    assert source_of(device) == expected
