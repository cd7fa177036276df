"""Bars of what each device computes and communicates."""

from typing import TYPE_CHECKING

import pandas as pd

from boundmark.reports.plots.axes import integer_ticks
from boundmark.reports.plots.style import COLOURS

if TYPE_CHECKING:
    from matplotlib.axes import Axes

PARTS = (("computing", COLOURS[0]), ("communicating", COLOURS[1]))


def load_data(loads: pd.DataFrame) -> pd.DataFrame:
    """Return instance, place, and both parts as fractions of the latency.

    Instances are named without their cluster, which the title has.
    """
    latency = loads["latency"].astype("float64").clip(lower=1.0)
    shares = {name: loads[name].astype("float64") / latency for name, _ in PARTS}
    names = [
        str(name).removesuffix(f" on {device}")
        for name, device in zip(loads["instance"], loads["device"], strict=True)
    ]
    return loads[["place"]].assign(instance=names, **shares).reset_index(drop=True)


def draw_loads(data: pd.DataFrame, axes: "Axes") -> None:
    """Draw a bar for each device of one instance, communication on top of computation."""
    bottom = data["computing"] * 0.0
    for name, color in PARTS:
        axes.bar(data["place"], 100 * data[name], 0.8, bottom=100 * bottom, color=color, label=name)
        bottom = bottom + data[name]
    axes.set(xlabel="device", ylabel="part of the latency (%)", ylim=(0, 100))
    integer_ticks(axes.xaxis)
