"""Draw Figures 4 and 9 of the Moirai paper from the cost model: times of operators, and bandwidths.

`python docs/tables/moirai_figures.py` draws docs/moirai-operator-times.svg and
docs/moirai-bandwidths.svg; with `collect`, it first computes the times of operators anew.
"""

import sys
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import numpy.typing as npt
import pandas as pd

from boundmark.benchmarks.solving.model import named_instance
from boundmark.problems.devices import shipped

mpl.use("svg")

DOCS = Path(__file__).resolve().parents[1]
DATA = DOCS / "tables" / "moirai" / "operator_times.csv"
TIMES = DOCS / "moirai-operator-times.svg"
BANDWIDTHS = DOCS / "moirai-bandwidths.svg"

# The paper has GoogLeNet, Inception v4, YOLOv5x and a Transformer; ours are the nearest of the zoo.
MODELS = ("googlenet", "inception-v3", "detr-resnet-50", "t5-base")
CLUSTERS = ("moirai-inter-server", "moirai-intra-server")
COLOURS = ("#1a73e8", "#9aa0a6", "#f29900", "#188038")


def quantiles(nanoseconds: npt.NDArray[Any]) -> dict[str, float]:
    """Return mean and quantiles of operators' times in microseconds; free ones do not count."""
    times = nanoseconds[nanoseconds > 0] / 1e3
    found = {f"p{at}": round(float(np.percentile(times, at)), 3) for at in (0, 25, 50, 75, 100)}
    return {"operators": len(times), "mean": round(float(times.mean()), 3), **found}


def collect() -> None:
    """Write the quantiles of each model on each device of the paper's servers."""
    rows = []
    for model in MODELS:
        graph = named_instance(f"zoo/{model}", {}, "placement", CLUSTERS[0]).instance.graph
        rows += [
            {"model": model, "device": device, **quantiles(graph.duration[:, at])}
            for at, device in enumerate(kinds(CLUSTERS[0]))
        ]
    pd.DataFrame(rows).to_csv(DATA, index=False)


def kinds(cluster: str) -> list[str]:
    """Return what the devices of a cluster are, in its order."""
    return [device.name for device in shipped().clusters[cluster].devices]


def draw_times(found: pd.DataFrame) -> None:
    """Draw a box for each device on each model: quartiles, the extremes, median and mean."""
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(1, len(MODELS), figsize=(9, 3), sharey=True)
    for model, one in zip(MODELS, axes, strict=True):
        rows = found[found["model"] == model]
        boxes = [
            {
                "whislo": row["p0"], "q1": row["p25"], "med": row["p50"], "q3": row["p75"],
                "whishi": row["p100"], "mean": row["mean"], "fliers": [],
                "label": row["device"].removeprefix("nvidia-"),
            }
            for _, row in rows.iterrows()
        ]  # fmt: skip
        one.bxp(boxes, showmeans=True, meanprops={"marker": "^", "markersize": 4})
        one.set_yscale("log")
        one.set_title(f"{model} ({rows['operators'].iloc[0]} operators)", fontsize=8)
        one.tick_params(axis="x", rotation=30, labelsize=7)
    axes[0].set_ylabel("time of an operator [µs]", fontsize=8)
    save(figure, TIMES)


def draw_bandwidths() -> None:
    """Draw the bandwidth from each device of the paper's clusters to each other one."""
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(1, len(CLUSTERS), figsize=(9, 2.6))
    for name, one in zip(CLUSTERS, axes, strict=True):
        table = bandwidths(name)
        for target, colour in enumerate(COLOURS):
            at = np.arange(len(table)) + 0.2 * (target - 1.5)
            one.bar(at, table[:, target], 0.2, color=colour, label=f"to {'ABCD'[target]}")
        marks = [f"from {letter}\n{kind.removeprefix('nvidia-')}"
                 for letter, kind in zip("ABCD", kinds(name), strict=True)]  # fmt: skip
        one.set_xticks(range(len(table)), marks, fontsize=7)
        one.set_title(name, fontsize=9, loc="left")
        one.set_ylabel("Gbit/s", fontsize=8)
    axes[0].legend(fontsize=7, frameon=False, ncols=4, loc="upper left")
    axes[0].set_ylim(0, 58)
    save(figure, BANDWIDTHS)


def bandwidths(cluster: str) -> npt.NDArray[np.float64]:
    """Return Gbit/s from each device (rows) to each other one; 0 to itself."""
    table = np.array(shipped().clusters[cluster].bandwidth) * 8 / 1e9
    np.fill_diagonal(table, 0.0)
    return table


def save(figure: Any, path: Path) -> None:
    """Write a picture whose bytes depend on nothing but its contents."""
    mpl.rcParams["svg.hashsalt"] = "boundmark"
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})


if __name__ == "__main__":
    if sys.argv[1:2] == ["collect"]:
        collect()
    draw_times(pd.read_csv(DATA))
    draw_bandwidths()
