"""A graph whose nodes have the colour of their stage."""

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from boundmark.problems.graph_layout import layered
from boundmark.problems.pipeline import Partition, PipelineInstance
from boundmark.problems.pipeline.instance import in_pipeline_order
from boundmark.problems.pipeline.objective import stage_costs
from boundmark.reports.plots.style import COLOURS, GREY, MARKERS

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLUMNS = ["kind", "x", "y", "to_x", "to_y", "stage", "cost"]


def partition_data(instance: PipelineInstance, partition: Partition) -> pd.DataFrame:
    """Return one row per node, with its stage in pipeline order, and one per edge.

    Returns
    -------
    pandas.DataFrame
        Columns `kind`, ``"node"`` or ``"edge"``; `x`, the node's level, and `y`; `to_x`, `to_y` of
        an edge's consumer; `stage`, from 1, and `cost` of the node's stage in ticks.
    """
    dag, layout = instance.graph.dag, layered(instance.graph.dag)
    ordered = in_pipeline_order(instance, partition)
    costs = stage_costs(instance.graph, ordered.stages, instance.k)
    places = [(float(x), -y) for x, y in zip(layout.rows, layout.columns, strict=True)]
    edges = [
        ("edge", *places[tail], *places[head], None, None)
        for tail, head in dag.edge_pairs().tolist()
    ]
    nodes = [
        ("node", *places[node], None, None, stage + 1, int(costs[stage]))
        for node, stage in enumerate(ordered.stages.tolist())
    ]
    data = pd.DataFrame([*edges, *nodes], columns=COLUMNS)
    return data.astype({"stage": "Int64", "cost": "Int64", "to_x": "float64", "to_y": "float64"})


def partition_size(data: pd.DataFrame) -> tuple[float, float]:
    """Return a width and a height that suit a drawing, in inches."""
    nodes = data[data["kind"] == "node"]
    across, down = nodes["x"].max() - nodes["x"].min(), nodes["y"].max() - nodes["y"].min()
    return min(15.0, max(7.4, 0.13 * across)), min(7.0, max(1.6, 0.22 * (down + 1)))


def draw_partition(data: pd.DataFrame, axes: "Axes") -> None:
    """Draw all edges as one line, and a mark per node."""
    edges = data[data["kind"] == "edge"]
    gaps = np.full(len(edges), np.nan)
    axes.plot(
        np.column_stack([edges["x"], edges["to_x"], gaps]).ravel(),
        np.column_stack([edges["y"], edges["to_y"], gaps]).ravel(),
        color=GREY,
        linewidth=0.5,
        zorder=1,
    )
    nodes = data[data["kind"] == "node"]
    for stage in sorted({int(value) for value in nodes["stage"]}):
        part, at = nodes[nodes["stage"] == stage], stage - 1
        axes.plot(
            part["x"],
            part["y"],
            linestyle="none",
            marker=MARKERS[at % len(MARKERS)],
            color=COLOURS[at % len(COLOURS)],
            markersize=4.5,
            label=f"stage {stage}: {int(part['cost'].iloc[0]):,}",
        )
    axes.set_axis_off()
