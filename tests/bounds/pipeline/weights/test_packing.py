"""Tests of `packing`: every certificate is accepted and none exceeds the optimum."""

import json
import re
from collections.abc import Callable

import pytest
from brute_force import instance, optimum
from certified import pipeline
from recording import Recorder

from boundmark.bounds import checker
from boundmark.bounds.best import Best
from boundmark.bounds.pipeline import PACKING
from boundmark.bounds.pipeline.flows.fractional_load import share_table
from boundmark.bounds.pipeline.weights import packing as method
from boundmark.bounds.pipeline.weights.packing import PackingSettings
from boundmark.problems.certificate import Certificate
from boundmark.problems.errors import InvalidInputError, UnsupportedError
from boundmark.problems.method import Budget
from boundmark.problems.pipeline import PipelineInstance
from boundmark.problems.pipeline.graph import PipelineGraph

# Seconds that are never needed, also on a machine that is busy: the method ends by itself.
LONG = 600.0


def run(sample: PipelineInstance, seconds: float = 20) -> list[Certificate]:
    """Return what the method reports: better and better, and accepted."""
    reports = Recorder()
    PACKING.run(sample, Budget(seconds), 0, reports)
    bounds = [report.bound for report in reports.bounds]
    assert bounds == sorted(set(bounds))
    for report in reports.bounds:
        stored = json.loads(json.dumps(report.to_json()))
        assert checker.check_certificate(sample.to_json(), stored) == report.bound
    return reports.bounds


@pytest.mark.parametrize(
    ("name", "share", "best", "is_loaded"),
    [
        ("packing", 19, 22, 0),
        ("packing, parameters as work", 17, 24, 1),
        ("packing, overflow of each part", 23, 32, 0),
    ],
)
def test_reaches_the_optimum(name: str, share: int, best: int, is_loaded: int) -> None:
    """Where shares do not, whichever way of counting overflow that takes."""
    _, sample = pipeline.TIGHT[name]
    reports = run(sample)
    assert (reports[0].kind, reports[0].bound) == ("fractional-load/1", share)
    assert (reports[-1].kind, reports[-1].bound) == ("packing/2", best)
    assert optimum(sample) == best
    assert reports[-1].to_json()["payload"]["loaded"] == is_loaded


def test_precision_saves_proofs(random_graph: Callable[..., PipelineGraph]) -> None:
    """The last bound is as far below what weights prove as it may be, in fewer certificates."""
    sample = PipelineInstance(random_graph(20, seed=2), 8)
    all_reports, reports = run(sample, LONG), Recorder()
    method.run(sample, Budget(LONG), 0, reports, precision=0.05)
    assert len(reports.bounds) < len(all_reports)
    # Where weights end is known up to half a percent before proofs begin.
    least = all_reports[-1].bound / 1.055
    assert least <= reports.bounds[-1].bound < all_reports[-1].bound


@pytest.mark.parametrize("precision", [-0.1, -1.0, float("nan")])
def test_precision_is_not_negative(precision: float) -> None:
    """Bad values are named, and nothing is begun."""
    sample, reports = instance([1, 1], [(0, 1)], 2), Recorder()
    with pytest.raises(InvalidInputError, match=f"precision is {precision}; expected 0 or more"):
        method.run(sample, Budget(LONG), 0, reports, precision=precision)
    assert not reports.bounds


def test_searches_too_long_to_check_are_unsupported(
    random_graph: Callable[..., PipelineGraph],
) -> None:
    """With the estimate, and never a certificate that the checker refuses; shares still count."""
    sample = PipelineInstance(random_graph(20, seed=1), 4)
    reports = Recorder()
    with pytest.raises(UnsupportedError) as caught:
        method.run(sample, Budget(LONG), 0, reports, settings=PackingSettings(most_steps=300))
    numbers = re.search(
        r"refuting (\d+) takes .* more than 300 steps, of about ([\d,]+)", str(caught.value)
    )
    assert numbers
    assert int(numbers[1]) >= share_table(sample.graph).bound(4)
    assert int(numbers[2].replace(",", "")) > 300
    assert [report.kind for report in reports.bounds] == ["fractional-load/1"]


def test_begins_above_what_is_proven(random_graph: Callable[..., PipelineGraph]) -> None:
    """A bound of another method is not proven again, and a known cost ends the search."""
    sample = PipelineInstance(random_graph(20, seed=1), 8)
    shares, most = share_table(sample.graph).bound(8), run(sample, LONG)[-1].bound
    known, reports = (shares + 3 * most) // 4, Recorder()
    method.run(sample, Budget(LONG), 0, Best(sample, reports, certified=known))
    assert all(report.bound > known for report in reports.bounds)
    assert reports.bounds[-1].bound > known
    below, reports = (shares + most) // 2, Recorder()
    method.run(sample, Budget(LONG), 0, Best(sample, reports, objective=below))
    assert reports.bounds[-1].bound == below
