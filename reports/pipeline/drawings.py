"""Solutions over the simple lower bound ([MTPP24], Table 2), and drawings of partitions."""

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from boundmark.problems.errors import StoreError
from boundmark.problems.graph_layout import layered
from boundmark.problems.pipeline import Partition, PipelineInstance
from boundmark.problems.pipeline.instance import in_pipeline_order, stage_costs
from boundmark.reports.pages.page import Section
from boundmark.reports.plots import COLOURS, GREY, MARKERS, Plot, instance_plot
from boundmark.reports.problem_report import ProblemResults, Tables
from boundmark.reports.sections.gaps import Reference, solution_section
from boundmark.reports.stored.store import parsed_pair
from boundmark.reports.tables.parameters import per_instance
from boundmark.reports.tables.rows import best_rows, rows
from boundmark.reports.text import PERCENT, gap_percent, integer

if TYPE_CHECKING:
    from matplotlib.axes import Axes


SIMPLE_METHODS = ("max-work", "mean-work")


def reference_bounds(tasks: pd.DataFrame, certified: pd.DataFrame) -> pd.DataFrame:
    """Return the bound L that solutions are divided by, one row per instance that has one.

    L is the simple lower bound max(max work, mean work), if both of its parts are certified, else
    the best certified bound.
    """
    simple = per_instance(tasks[tasks["method"].isin(SIMPLE_METHODS)], "bound_certified")
    simple = simple.reindex(columns=list(SIMPLE_METHODS))
    parts = simple.max(axis=1).where(simple.notna().all(axis=1))
    best = certified.set_index("instance_sha256")["bound"].astype("float64")
    parts = parts.reindex(best.index)
    bounds = pd.DataFrame({"bound": parts.fillna(best), "is_simple": parts.notna()})
    return bounds[bounds["bound"] > 0].reset_index()


DEFINITION = (
    "the simple lower bound max(max work, mean work) of Archer et al. (ICML 2024), Lemma 3.3"
)

PAPER_FORM = (
    "Costs over a simple lower bound, as in Table 2 of Archer et al. (ICML 2024), for comparison "
    "with the literature. These quotients do not show the distance from the optimum, which may be "
    "far above that bound: solutions that are proven optimal can have quotients of 5."
)


def paper_form_section(results: ProblemResults, tables: Tables) -> Section | None:
    """Return the tables of solutions and their plot; None without solutions."""
    having = results.certified[results.certified[results.grouping.column].notna()]
    bounds = tables["reference_bounds"]
    bounds = bounds[bounds["instance_sha256"].isin(having["instance_sha256"])]
    reference = Reference("the simple lower bound", DEFINITION, _fallback(bounds))
    section = solution_section(results, tables, reference)
    return section and replace(section, title="Paper form of solutions", paragraphs=(PAPER_FORM,))


def _fallback(bounds: pd.DataFrame) -> str:
    other = int((~bounds["is_simple"]).sum())
    if other == 0:
        return "Every one of these instances has both parts of L certified."
    return (
        f"On {other} of {len(bounds)} instances a part of L is not certified, and L is the best "
        "certified bound."
    )


DRAWN_COLUMNS = ["kind", "x", "y", "to_x", "to_y", "stage", "cost"]


def partition_data(instance: PipelineInstance, partition: Partition) -> pd.DataFrame:
    """Return one row per node, with its stage in pipeline order, and one per edge."""
    dag, layout = instance.graph.dag, layered(instance.graph.dag)
    ordered = in_pipeline_order(instance, partition)
    costs = stage_costs(instance.graph, ordered.stages, instance.k)
    places = [(float(x), -y) for x, y in zip(layout.rows, layout.columns, strict=True)]
    edges = [
        ("edge", *places[tail], *places[head], None, None)
        for tail, head in dag.edge_pairs().tolist()
    ]
    nodes = [
        ("node", *places[node], None, None, stage, int(costs[stage]))
        for node, stage in enumerate(ordered.stages.tolist())
    ]
    data = pd.DataFrame([*edges, *nodes], columns=DRAWN_COLUMNS)
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
        part, at = nodes[nodes["stage"] == stage], stage
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


# Larger graphs are but a cloud of marks.
MOST_NODES, MOST_DRAWINGS = 250, 6

# Few enough stages to tell apart, enough to see how a graph is cut.
USUAL_STAGES = 4

MEANING = (
    "Best verified partitions: producers are left of consumers; each stage has a colour and a "
    "mark, and a cost in ticks for work, tensors that enter and leave, and overflow. The drawings "
    f"show the largest graphs of at most {MOST_NODES} nodes, with about {USUAL_STAGES} stages."
)


def drawing_section(results: ProblemResults, tables: Tables) -> Section | None:
    """Return the drawings of some partitions, and which cannot be read; None without either."""
    chosen = _chosen(results.certified)
    best = best_rows(results.tasks, "objective")[["instance_sha256", "solution_sha256"]]
    plots, paragraphs = [], [MEANING]
    for row in rows(chosen.merge(best, how="left")):
        try:
            pair = parsed_pair(results.store, row, PipelineInstance.from_json, Partition.from_json)
        except StoreError:
            # The error names the folder, which the page does not depend on.
            paragraphs.append(
                f"Not drawn, because instance or partition cannot be read: {row.instance}, "
                f"{row.parameters}."
            )
            continue
        if pair is not None:
            plots.append(_plot(row, partition_data(*pair)))
    if not plots and len(paragraphs) == 1:
        return None
    return Section("Partitions", plots=tuple(plots), paragraphs=tuple(paragraphs))


def _chosen(certified: pd.DataFrame) -> pd.DataFrame:
    """Return an instance of each graph to draw, in the order of the certified table."""
    solved = certified[certified["objective"].notna() & (certified["nodes"] <= MOST_NODES)]
    if "param_k" not in solved:
        return solved.iloc[:0]
    by_stages = solved.assign(distance=(solved["param_k"] - USUAL_STAGES).abs())
    ordered = by_stages.sort_values(["distance", "param_k"], kind="stable")
    each = ordered.drop_duplicates(["dataset", "instance"])
    largest = each.sort_values(["nodes", "dataset", "instance"], ascending=[False, True, True])
    return largest.head(MOST_DRAWINGS).sort_index()


def _plot(row: Any, data: pd.DataFrame) -> Plot:
    if row.optimal:
        known = "proven optimal"
    else:
        known = f"certified bound {integer(row.bound)}, gap {gap_percent(row.gap, PERCENT)}"
    width, height = partition_size(data)
    caption = f"By {row.objective_method}: slowest stage {integer(row.objective)}, {known}."
    plot = instance_plot("partition", row, caption, data, draw_partition)
    return replace(plot, width=width, height=height)
