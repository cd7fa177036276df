"""The partitions themselves."""

import re
from typing import Any

import pandas as pd

from boundmark.problems.errors import StoreError
from boundmark.problems.pipeline import Partition, PipelineInstance
from boundmark.reports.pages.page import Section
from boundmark.reports.pipeline.plots.partition import (
    draw_partition,
    partition_data,
    partition_size,
)
from boundmark.reports.plots.plot import Plot
from boundmark.reports.problem_report import ProblemResults, Tables
from boundmark.reports.stored.parsed import read_parsed
from boundmark.reports.tables.rows import rows
from boundmark.reports.text.number_text import integer, percent

# Larger graphs are but a cloud of marks.
MOST_NODES, MOST_DRAWINGS = 250, 6

# Few enough stages to tell apart, enough to see how a graph is cut.
USUAL_STAGES = 4

MEANING = (
    "Best verified partitions: producers left of consumers, one colour and mark per stage, with "
    "the stage's cost in ticks: work, tensors that enter and leave, and overflow. Drawn are the "
    f"largest graphs of at most {MOST_NODES} nodes, with about {USUAL_STAGES} stages."
)


def drawing_section(results: ProblemResults, tables: Tables) -> Section | None:
    """Return the drawings of some partitions, and which cannot be read; None without either."""
    chosen = _chosen(results.certified)
    best = results.tasks.merge(chosen[["instance_sha256", "objective"]])
    first = best.drop_duplicates("instance_sha256").set_index("instance_sha256")
    plots, paragraphs = [], [MEANING]
    for row in rows(chosen):
        store, digest = results.store, first["solution_sha256"].get(row.instance_sha256)
        try:
            instance = read_parsed(store.instances, row.instance_sha256, PipelineInstance.from_json)
            partition = read_parsed(store.solutions, digest, Partition.from_json)
        except StoreError:
            # The error names the folder, which the page does not depend on.
            paragraphs.append(
                f"Not drawn, because instance or partition cannot be read: {row.instance}, "
                f"{row.parameters}."
            )
            continue
        if instance is not None and partition is not None:
            plots.append(_plot(row, partition_data(instance, partition)))
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
        known = f"certified bound {integer(row.bound)}, gap {percent(row.gap)}\N{NO-BREAK SPACE}%"
    label = f"{row.instance}, {row.parameters}"
    slug = re.sub(r"[^a-z0-9]+", "_", label.lower()).strip("_")
    width, height = partition_size(data)
    return Plot(
        f"partition_{slug}_{row.instance_sha256[:8]}",
        label,
        f"By {row.objective_method}: slowest stage {integer(row.objective)}, {known}.",
        data,
        draw_partition,
        width=width,
        height=height,
        instance=row.instance_sha256,
    )
