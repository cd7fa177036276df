"""Say what costs have been off by: partitions that are optimal on them, at measured times.

The figures are written by docs/tables/true_costs.py; docs/true-costs.md explains them.
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from math import exp, log
from pathlib import Path
from typing import Any, NamedTuple

from boundmark.problems.devices import efficiency_of

ROOFLINE, CALIBRATED, MEASURED = "roofline", "calibrated", "measured"

# The phase of language models of which makers of engines publish steps.
DECODE = "decode"

FILE = Path(__file__).with_name("true_costs.json")

# Predicted over real cost of a partition that counts as close.
CLOSE = (0.75, 1.33)

# Devices that are named in a sentence.
MOST_NAMED = 3


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
        """The fraction by which the partition is above the optimum at measured times."""
        return self.real / self.optimum - 1


class Summary(NamedTuple):
    """The rows of some costs and number of stages.

    Attributes
    ----------
    least, most
        Smallest and largest ratio of predicted over real cost.
    close
        Number of models for which that is in `CLOSE`.
    excess
        Geometric mean of real cost over optimum, less 1.
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
    """Return a summary of all rows for each costs and number of stages."""
    return summary_of(rows())


def summary_of(rows: Sequence[Row]) -> tuple[Summary, ...]:
    """Return a summary of some rows for each costs and number of stages."""
    found = []
    for costs, k in dict.fromkeys((row.costs, row.k) for row in rows):
        own = [row for row in rows if (row.costs, row.k) == (costs, k)]
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


@dataclass(frozen=True)
class Hardware:
    """The devices that costs are for, and those on which others were measured.

    Attributes
    ----------
    devices
        Their names, each once.
    dtype
        Type of arithmetic; empty where nobody knows.
    mode
        How programs run, such as ``"eager"``.
    """

    devices: tuple[str, ...]
    dtype: str = ""
    mode: str = "eager"

    @classmethod
    def of(cls, names: Iterable[str], dtype: str = "") -> "Hardware":
        """Return that of devices, whose costs, numbers and groups may be part of their names.

        Examples
        --------
        >>> str(Hardware.of(["nvidia-t4*4#0", "nvidia-t4*4#1", "nvidia-a10+fusion"], "float16"))
        'nvidia-t4 and nvidia-a10 in float16, fused'
        """
        names = tuple(names)
        mode = "fused" if any("+fusion" in name for name in names) else "eager"
        kinds = dict.fromkeys(re.split(r"[*#+:]", name)[0] for name in names)
        return cls(tuple(kinds), dtype, mode)

    def __str__(self) -> str:
        others = len(self.devices) - MOST_NAMED
        more = [f"{others} more"] if others > 0 else []
        dtype = f" in {self.dtype}" if self.dtype else ""
        mode = "" if self.mode == "eager" else f", {self.mode}"
        return _all([*self.devices[:MOST_NAMED], *more]) + dtype + mode

    @property
    def is_known(self) -> bool:
        """Whether a device of the same maker was measured, in a type of as many bits."""
        tables = [efficiency_of(name) for name in self.devices]
        return all(one is not None and self.dtype in ("", *one.dtypes) for one in tables)


@cache
def measured_on() -> Hardware:
    """Return what the models of all partitions ran on."""
    device, dtype, mode = _content()["measured_on"]
    return Hardware((device,), dtype, mode)


class EngineStep(NamedTuple):
    """A step of decoding that the makers of an engine have published.

    Attributes
    ----------
    engine, source
        The program that ran it, with its version, and the key of the page that says so.
    model, devices, tensor_parallel, batch, context, weight_bits, cache_bits
        As `boundmark solve` takes them; the context is the mean one of all steps.
    published, predicted
        Nanoseconds: as published, and on the roofline.
    """

    engine: str
    source: str
    model: str
    devices: str
    tensor_parallel: int
    batch: int
    context: int
    weight_bits: int
    cache_bits: int
    published: int
    predicted: int

    @property
    def ratio(self) -> float:
        """Published over predicted time."""
        return self.published / self.predicted


@cache
def engine_steps() -> tuple[EngineStep, ...]:
    """Return all published steps."""
    return tuple(EngineStep(*row) for row in _content()["engines"])


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


def accuracy(source: str, k: int | None = None, hardware: Hardware | None = None) -> str:
    """Return what costs have been off by, as a sentence; empty if k is 1."""
    if k == 1 and source != MEASURED:
        return ""
    if source == MEASURED or (hardware and not hardware.is_known):
        return total_accuracy(source, hardware)
    known = [one for one in summary() if one.costs == source]
    if k is not None and k > max(one.k for one in known):
        return f"nobody has measured what they are off by in {k:,} stages"
    if k is not None:
        known = [min(known, key=lambda one: abs(log(one.k / k)))]
    longest = 1 / min(one.least for one in known)
    shortest = 1 / max(one.most for one in known)
    worst = max(known, key=lambda one: one.worst)
    of = "the roofline" if source == ROOFLINE else "calibrated costs"
    return (
        f"{_where()}, partitions that are optimal on {of} were "
        f"{_all(f'{100 * one.excess:.0f}' for one in known)} % above the optimum (worst "
        f"{100 * worst.worst:.0f} %: {worst.worst_model}), and their slowest stage took "
        f"{shortest:.1f} to {longest:.1f} times as long as predicted (k = "
        f"{', '.join(str(one.k) for one in known)}, {worst.models} models){_yours(hardware)}; "
        "`boundmark profile` measures the operators of your model"
    )


def total_accuracy(source: str, hardware: Hardware | None = None) -> str:
    """Return what the operators of a model add up to on some costs, as a sentence."""
    if source == MEASURED:
        shares = [one.measured / one.whole for one in totals()]
        return (
            f"{_where()}, operators that were timed one by one took {min(shares):.2f} to "
            f"{max(shares):.2f} times as long as the whole model in one piece ({len(shares)} "
            "models); `boundmark profile` prints that of your model"
        )
    if hardware and not hardware.is_known:
        return (
            f"nobody has measured what they are off by on {hardware}; `boundmark profile` measures "
            "the operators of your model"
        )
    shares = [getattr(one, source) / one.measured for one in totals()]
    return (
        f"{_where()}, operators added up to {min(shares):.2f} to {max(shares):.2f} of their "
        f"measured times ({len(shares)} models){_yours(hardware)}"
    )


def layer_accuracy(phase: str, hardware: Hardware) -> str:
    """Return what `layers` has been off by in a phase, as a sentence; empty if nobody knows."""
    ratios = layer_ratios().get(phase, ())
    if not ratios:
        return ""
    if not hardware.is_known:
        return f"nobody has measured what they are off by on {hardware}"
    layers = (
        f"compiled layers of Llama-3-8B's and 70B's shape took {1 / max(ratios):.2f} to "
        f"{1 / min(ratios):.2f} times as long (bfloat16, {measured_on().devices[0]}, {phase}, "
        f"{len(ratios)} workloads)"
    )
    if phase != DECODE:
        return f"without an engine, {layers}{_yours(hardware)}"
    steps = sorted(one.ratio for one in engine_steps())
    engines = dict.fromkeys(one.engine.split()[0] for one in engine_steps())
    devices = dict.fromkeys(one.devices.split("x")[1] for one in engine_steps())
    return (
        f"published steps of {_all(engines)} took {steps[0]:.2f} to {steps[-1]:.2f} times as "
        f"long, half of them up to {steps[len(steps) // 2]:.2f} ({len(steps)} on {_all(devices)}); "
        f"without an engine, {layers}{_yours(hardware)}"
    )


def _where() -> str:
    on = measured_on()
    return f"on {on.devices[0]} in {on.dtype} and {on.mode} mode"


def _yours(hardware: Hardware | None) -> str:
    """Return a clause that says what the costs are for, if that is not what was measured."""
    on = measured_on()
    is_same = hardware is None or replace(hardware, dtype=hardware.dtype or on.dtype) == on
    return "" if is_same else f"; yours are for {hardware}"


def _all(names: Iterable[str]) -> str:
    *most, last = names
    return f"{', '.join(most)} and {last}" if most else last
