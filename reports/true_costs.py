"""Say what costs have been off by: partitions that are optimal on them, at measured times.

The figures are written by docs/tables/true_costs.py; docs/true-costs.md explains them.
"""

import json
from collections.abc import Mapping
from functools import cache
from math import exp, log
from pathlib import Path
from typing import Any, NamedTuple

ROOFLINE, CALIBRATED, MEASURED = "roofline", "calibrated", "measured"

FILE = Path(__file__).with_name("true_costs.json")

# Predicted over real cost of a partition that counts as close.
CLOSE = (0.75, 1.33)


class Row(NamedTuple):
    """A partition of a model that is optimal on some costs.

    Attributes
    ----------
    model
        Member of the data set `measured`.
    costs
        ``"roofline"`` or ``"calibrated"``; calibrated without models of the same family.
    k
        Number of stages.
    predicted, bound
        Nanoseconds that the slowest stage takes on these costs, and a certified bound.
    real
        Nanoseconds that it takes at measured times.
    optimum
        Certified bound of what any partition takes at measured times.
    """

    model: str
    costs: str
    k: int
    predicted: int
    bound: int
    real: int
    optimum: int

    @property
    def ratio(self) -> float:
        """Predicted over real cost."""
        return self.predicted / self.real

    @property
    def excess(self) -> float:
        """How far the partition is above the optimum at measured times."""
        return self.real / self.optimum - 1


class Summary(NamedTuple):
    """The rows of some costs and number of stages.

    Attributes
    ----------
    least, most
        Of predicted over real cost.
    close
        Number of models for which that is in `CLOSE`.
    excess
        Of the geometric mean of real cost over optimum.
    worst, worst_model
        The largest excess, and whose.
    """

    costs: str
    k: int
    models: int
    least: float
    most: float
    close: int
    excess: float
    worst: float
    worst_model: str


class Total(NamedTuple):
    """All operators of a model, in nanoseconds.

    Attributes
    ----------
    model
        Member of the data set `measured`.
    roofline, calibrated
        The sum of the operators' times on these costs.
    measured
        The sum of their measured times.
    whole
        What the whole model takes in one piece.
    """

    model: str
    roofline: int
    calibrated: int
    measured: int
    whole: int


@cache
def _content() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8"))
    return found


@cache
def rows() -> tuple[Row, ...]:
    """Return all rows."""
    return tuple(Row(*row) for row in _content()["partitions"])


@cache
def totals() -> tuple[Total, ...]:
    """Return the totals of all models."""
    return tuple(Total(*row) for row in _content()["totals"])


@cache
def layer_ratios() -> Mapping[str, tuple[float, ...]]:
    """Return by phase what `layers` predicts for a layer over what it takes when compiled."""
    return {phase: tuple(ratios) for phase, ratios in _content()["of_layers"].items()}


@cache
def summary() -> tuple[Summary, ...]:
    """Return a summary for each costs and number of stages."""
    found = []
    for costs, k in dict.fromkeys((row.costs, row.k) for row in rows()):
        own = [row for row in rows() if (row.costs, row.k) == (costs, k)]
        worst = max(own, key=lambda row: row.excess)
        mean = exp(sum(log(1 + row.excess) for row in own) / len(own))
        ratios = [row.ratio for row in own]
        close = sum(CLOSE[0] <= ratio <= CLOSE[1] for ratio in ratios)
        found.append(
            Summary(
                costs, k, len(own), min(ratios), max(ratios), close, mean - 1, worst.excess,
                worst.model.split("/")[-1],
            )
        )  # fmt: skip
    return tuple(sorted(found, key=lambda one: (one.costs != ROOFLINE, one.k)))


def source_of(device: str) -> str:
    """Return the source of the costs on a device: roofline, calibrated or measured.

    Examples
    --------
    >>> source_of("nvidia-h100+calibrated"), source_of("measured:times"), source_of("nvidia-t4")
    ('calibrated', 'measured', 'roofline')
    """
    if "measured:" in device:
        return MEASURED
    return CALIBRATED if CALIBRATED in device else ROOFLINE


def accuracy(source: str, k: int | None = None) -> str:
    """Return what costs have been off by, as a sentence.

    Parameters
    ----------
    source
        As `source_of` returns it.
    k
        Number of stages, for which the nearest one that was measured stands; None for all of them.
    """
    if source == MEASURED:
        return total_accuracy(source)
    known = [one for one in summary() if one.costs == source]
    if k is not None:
        known = [min(known, key=lambda one: abs(log(one.k / max(1, k))))]
    *most, last = [f"{100 * one.excess:.0f}" for one in known]
    excess = f"{', '.join(most)} and {last}" if most else last
    stages = ", ".join(str(one.k) for one in known)
    worst = max(known, key=lambda one: one.worst)
    of = "the roofline" if source == ROOFLINE else "calibrated costs"
    return (
        f"at times measured on an H100, partitions that are optimal on {of} were {excess} % above "
        f"the optimum (k = {stages}, {worst.models} models, worst {100 * worst.worst:.0f} %: "
        f"{worst.worst_model}); `boundmark profile` measures those of your model"
    )


def total_accuracy(source: str) -> str:
    """Return what the operators of a model add up to on some costs, as a sentence."""
    if source == MEASURED:
        shares = [one.measured / one.whole for one in totals()]
        return (
            f"operators, timed one by one in eager mode, took {min(shares):.2f} to "
            f"{max(shares):.2f} times as long as the whole model in one piece "
            f"({len(shares)} models on an H100)"
        )
    shares = [getattr(one, source) / one.measured for one in totals()]
    return (
        f"operators added up to {min(shares):.2f} to {max(shares):.2f} of their measured times "
        f"({len(shares)} models on an H100)"
    )


def layer_accuracy(phase: str) -> str:
    """Return what `layers` has been off by in a phase, as a sentence; empty if nobody knows."""
    ratios = layer_ratios().get(phase, ())
    if not ratios:
        return ""
    return (
        f"compiled layers of Llama-3-8B's and 70B's shape took {1 / max(ratios):.2f} to "
        f"{1 / min(ratios):.2f} times as long on an H100 ({phase}, {len(ratios)} workloads)"
    )
