"""What costs have been off by: summaries by hand, and sentences from the stored rows."""

import pytest

from boundmark.reports.true_costs import (
    Hardware,
    Row,
    accuracy,
    engine_steps,
    layer_accuracy,
    rows,
    source_of,
    summary,
    summary_of,
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


def test_summaries_are_geometric_means() -> None:
    """Of 1.21 and 1, 1.1; one of two ratios is close."""
    (one,) = summary_of(
        [
            Row("h100/a", "roofline", 4, 50, 50, 121, 100),
            Row("h100/b", "roofline", 4, 90, 90, 100, 100),
        ]
    )
    assert one.excess == pytest.approx(0.1)
    assert (one.worst_model, one.close, one.models) == ("a", 1, 2)
    assert one.most == pytest.approx(0.9)


H100 = Hardware(("nvidia-h100",), "float16")


@pytest.mark.parametrize("source", ["roofline", "calibrated"])
def test_sentences_have_the_figures_of_their_row(source: str) -> None:
    """For a number of stages, those of the nearest that was measured; for none, all."""
    of = {one.k: one for one in summary() if one.costs == source}
    for k, nearest in ((2, 2), (4, 4), (5, 4), (8, 8)):
        text, row = accuracy(source, k, H100), of[nearest]
        assert text.startswith("on nvidia-h100 in float16 and eager mode, partitions")
        assert f"were {100 * row.excess:.0f} % above the optimum" in text
        assert f"worst {100 * row.worst:.0f} %: {row.worst_model}" in text
        assert f"took {1 / row.most:.1f} to {1 / row.least:.1f} times as long as predicted" in text
        assert f"(k = {nearest}, 13 models)" in text
        assert "yours" not in text
    assert "(k = 2, 4, 8, 13 models" in accuracy(source)


@pytest.mark.parametrize("source", ["roofline", "calibrated"])
def test_nothing_is_said_of_what_nobody_knows(source: str) -> None:
    """One stage has one partition; others were measured in neither so many stages nor there."""
    assert accuracy(source, 1, H100) == ""
    assert accuracy(source, 64, H100) == "nobody has measured what they are off by in 64 stages"
    for device, dtype in (
        ("raspberry-pi-5", "float32"), ("google-tpu-v5e", "bfloat16"), ("nvidia-h100", "float32"),
    ):  # fmt: skip
        of = Hardware.of([device], dtype)
        expected = f"nobody has measured what they are off by on {device} in {dtype}"
        for text in (accuracy(source, 4, of), total_accuracy(source, of)):
            assert text.startswith(expected)


@pytest.mark.parametrize(
    ("names", "dtype", "expected"),
    [
        (["nvidia-a100"], "float16", "nvidia-a100 in float16"),
        (["nvidia-h100+calibrated"], "bfloat16", "nvidia-h100 in bfloat16"),
        (["nvidia-h100+fusion"], "float16", "nvidia-h100 in float16, fused"),
        (["nvidia-t4#0", "nvidia-p4#0", "nvidia-t4#1"], "float16", "nvidia-t4 and nvidia-p4 in f"),
        ([f"nvidia-{at}" for at in "abcde"], "", "nvidia-a, nvidia-b, nvidia-c and 2 more"),
    ],
)
def test_what_differs_is_said(names: list[str], dtype: str, expected: str) -> None:
    """Device, type or mode."""
    of = Hardware.of(names, dtype)
    assert f"; yours are for {expected}" in accuracy("roofline", 4, of)
    assert f"; yours are for {expected}" in total_accuracy("roofline", of)
    assert f"; yours are for {expected}"[:26] in layer_accuracy("decode", of)


def test_sums_are_said_of_measured_times_and_others() -> None:
    """The least and the largest share of what operators add up to."""
    shares = sorted(one.measured / one.whole for one in totals())
    assert f"{shares[0]:.2f} to {shares[-1]:.2f} times" in total_accuracy("measured")
    assert total_accuracy("measured") == accuracy("measured", 4) == accuracy("measured", 1)
    shares = sorted(one.roofline / one.measured for one in totals())
    assert f"{shares[0]:.2f} to {shares[-1]:.2f} of" in total_accuracy("roofline", H100)


def test_operators_add_up() -> None:
    """Views take no time, so that the sum is .96 to 1.14 of the whole model in one CUDA graph."""
    shares = [one.measured / one.whole for one in totals()]
    assert (round(min(shares), 2), round(max(shares), 2)) == (0.96, 1.14)


def test_layers_are_said_by_phase() -> None:
    """Decoding was measured with engines and without; training was not."""
    of = Hardware.of(["nvidia-h100#0"])
    ratios = sorted(one.published / one.predicted for one in engine_steps())
    text = layer_accuracy("decode", of)
    assert f"took {ratios[0]:.2f} to {ratios[-1]:.2f} times as long, half of them up to" in text
    assert f"({len(ratios)} on H200, H100, L40S and A100-80GB); without an engine" in text
    assert "decode, 8 workloads" in text
    assert "engines" not in layer_accuracy("prefill", of)
    assert "prefill, 6 workloads" in layer_accuracy("prefill", of)
    assert layer_accuracy("training", of) == ""
    assert layer_accuracy("decode", Hardware.of(["google-tpu-v5e#0"])) == (
        "nobody has measured what they are off by on google-tpu-v5e"
    )


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
