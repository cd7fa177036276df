"""Draw the picture of the README: `python docs/tables/readme_gaps.py results/demo docs`.

A row for each problem of the demo: how far every solution is above the best certified bound of its
instance, and the best solution of each instance on top.
"""

import sys
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from page import results_in

# Of text, of solutions and of best solutions, on a light and on a dark page.
COLOURS = {
    "light": ("#1f2328", "#8c959f", "#0550ae"),
    "dark": ("#e6edf3", "#6e7681", "#58a6ff"),
}


def solution_gaps(rows: pd.DataFrame) -> pd.DataFrame:
    """Return one row per solution: its problem, its gap in percent, and whether it is the best."""
    by_instance = rows.groupby("instance_sha256")
    bound = by_instance["bound_certified"].transform("max")
    least = by_instance["objective"].transform("min")
    found = rows.assign(
        gap=100.0 * (rows["objective"] / bound - 1), best=rows["objective"] <= least
    )
    return found.loc[found["objective"].notna() & (bound > 0), ["problem", "gap", "best"]]


def draw(gaps: pd.DataFrame, colours: tuple[str, str, str]) -> Figure:
    """Draw a row per problem, most instances first, over a logarithmic axis that begins at 0."""
    text, plain, strong = colours
    order = gaps[gaps["best"]]["problem"].value_counts().index
    figure = Figure(figsize=(8, 3.1), layout="constrained")
    ax = figure.subplots()
    ax.set_xscale("symlog", linthresh=1)
    # Dots of a row are spread so that equal ones are seen, always the same way.
    spread = np.random.default_rng(1)
    for row, problem in enumerate(order):
        of_problem = gaps[gaps["problem"] == problem]
        for is_best, colour, size in ((False, plain, 9), (True, strong, 22)):
            x = of_problem.loc[of_problem["best"] == is_best, "gap"]
            y = row + spread.uniform(-0.27, 0.27, len(x))
            ax.scatter(x, y, s=size, color=colour, alpha=0.85 if is_best else 0.55, linewidths=0)
    ax.set_yticks(range(len(order)), order)
    ax.set_ylim(len(order) - 0.5, -0.5)
    ticks = [0, 1, 10, 100, 1000]
    ax.set_xticks(ticks, [f"{tick:,} %" for tick in ticks])
    ax.set_xlim(-0.15, max(200.0, gaps["gap"].max() * 1.2))
    ax.set_xlabel("above the certified lower bound", color=text)
    ax.grid(axis="x", color=plain, alpha=0.25, linewidth=0.8)
    ax.tick_params(colors=text, length=0)
    for spine in ax.spines.values():
        spine.set_visible(False)
    for colour, label in ((strong, "best solution of an instance"), (plain, "other methods")):
        ax.scatter([], [], color=colour, s=22, label=label)
    legend = figure.legend(loc="outside upper right", ncols=2, frameon=False, fontsize=9)
    for label in legend.get_texts():
        label.set_color(text)
    return figure


def main(results: str, folder: str) -> None:
    """Draw the picture for light and for dark pages."""
    gaps = solution_gaps(results_in(results))
    mpl.rcParams["svg.hashsalt"] = "boundmark"
    for name, colours in COLOURS.items():
        path = Path(folder) / f"demo-gaps-{name}.svg"
        draw(gaps, colours).savefig(path, transparent=True, metadata={"Date": None})


if __name__ == "__main__":
    main(*sys.argv[1:])
