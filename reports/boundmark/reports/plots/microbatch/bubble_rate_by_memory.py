"""Bubble rate over memory, a line a layout (the form of papers/tessel, Figure 12)."""

import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from boundmark.reports.natural_order import natural_order
from boundmark.reports.plots.style import legend_columns, looks, new_figure

# Distance between lines as a fraction of the axis, so that they do not cover each other.
OFFSET = 0.008


def bubble_rate_by_memory_data(best: pd.DataFrame) -> pd.DataFrame:
    """Return the best periods' bubble rates, of layouts with at least two memories.

    Layouts that keep nothing in memory are left out.
    """
    shown = best[(best["micro_batches"] == 0) & best["bubble_rate"].notna()]
    shown = shown[shown["keeps_memory"].fillna(False).astype(bool) & shown["memory"].notna()]
    several = shown.groupby(["dataset", "instance"])["memory"].transform("nunique") > 1
    columns = ["dataset", "instance", "devices", "memory", "bubble_rate", "optimal"]
    return shown[several][columns].reset_index(drop=True)


def draw_bubble_rate_by_memory(data: pd.DataFrame) -> Figure:
    """Draw lines, hollow marks where the period is not proven optimal; a panel a device count."""
    counts = sorted({int(devices) for devices in data["devices"]})
    names = natural_order(data["instance"])
    figure = new_figure(height=3.4 + 0.18 * -(-len(names) // 4))
    panels = figure.subplots(1, len(counts), sharey=True, squeeze=False)[0]
    styles = looks(names)
    for axes, devices in zip(panels, counts, strict=True):
        part = data[data["devices"] == devices]
        reach = float(part["memory"].max() - part["memory"].min())
        lines = natural_order(part["instance"])
        for at, name in enumerate(lines):
            line = part[part["instance"] == name].sort_values("memory")
            look = styles[name]
            shift = (at - (len(lines) - 1) / 2) * OFFSET * reach
            memory = line["memory"].astype("float64") + shift
            axes.plot(
                memory, 100 * line["bubble_rate"],
                color=look.color, linestyle=look.linestyle, label=name,
                marker=look.marker, markevery=list(line["optimal"].to_numpy().nonzero()[0]),
            )  # fmt: skip
            unproven = ~line["optimal"].astype(bool)
            axes.plot(
                memory[unproven], 100 * line["bubble_rate"][unproven],
                color=look.color, linestyle="none", marker=look.marker, markerfacecolor="none",
            )  # fmt: skip
        axes.set(xlabel="memory of a device", title=f"{devices} devices")
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    panels[0].set_ylim(bottom=-0.03 * panels[0].get_ylim()[1])
    panels[0].set_ylabel("bubble rate (%)")
    figure.legend(loc="outside lower center", ncols=legend_columns(figure, names))
    return figure
