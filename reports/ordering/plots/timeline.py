"""Memory over the operators of an order."""

from typing import TYPE_CHECKING

import pandas as pd

from boundmark.reports.plots.style import looks as looks_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MIB = 2**20


def draw_timeline(data: pd.DataFrame, axes: "Axes") -> None:
    """Draw a step line for each order and a dotted one at its peak."""
    names = ["default", "best"]
    for name, look in looks_of(names).items():
        part = data[data["order"] == name].sort_values("step")
        memory = part["memory"] / MIB
        axes.step(
            part["step"] + 1, memory, where="mid", color=look.color, linestyle=look.linestyle,
            label=f"{name} order",
        )  # fmt: skip
        axes.axhline(memory.max(), color=look.color, linestyle=":", linewidth=0.8)
    axes.set(xlabel="operator, in the order in which they run", ylabel="memory (MiB)")
    axes.set_xlim(1, int(data["step"].max()) + 1)
    axes.set_ylim(0, None)
