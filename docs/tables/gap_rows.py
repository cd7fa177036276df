"""Make the CSV files in `docs/tables/gaps`: `python docs/tables/gap_rows.py KIND [RESULTS]`.

docs/how-far-from-optimal.md, which `page.py` makes of these files, names kinds and what was run for
their results. Only the newest version of a method counts. A cell has a gap to the best certified
bound in percent, or LB/UB, as text; "optimal" is a cost that equals its bound.
"""

import json
import math
import sys
from collections.abc import Mapping
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import pandas as pd
from gaps import TOOLS
from page import TABLES, by_stages, newest_versions, results_in

import boundmark
from boundmark.bounds import checker
from boundmark.bounds.checker.placement.paths import OUTSIDE, Network
from boundmark.bounds.placement.series.method import parts_along_chain
from boundmark.datasets.layers.language_models import published
from boundmark.datasets.zoo import index
from boundmark.problems.errors import BoundmarkError
from boundmark.problems.layers import LayerAssignment
from boundmark.problems.placement import PlacementInstance
from boundmark.reports.statistics import geometric_mean
from boundmark.reports.stored.store import ResultStore
from boundmark.reports.text import OPTIMAL, gap_percent

Frames = Mapping[str, pd.DataFrame]


def gap_text(cost: float, bound: float, digits: int = 2) -> str:
    """Return how far a cost is above a bound, "none" if there is no bound or no cost."""
    if pd.isna(cost) or pd.isna(bound) or not bound:
        return "none"
    return gap_percent(cost / bound - 1, " %", digits)


def ratio_text(ratio: float) -> str:
    """Return a bound over the best cost, rounded down; empty for none."""
    if math.isnan(ratio):
        return ""
    return OPTIMAL if ratio == 1 else f"{math.floor(10_000 * ratio) / 10_000:.4f}"


def with_k(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the newest rows of each method, with their number of stages."""
    rows = newest_versions(rows)
    return rows.assign(k=[json.loads(text)["k"] for text in rows["instance_params"]])


def models(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the gap of each graph and number of stages.

    Graphs of the zoo come first, in the order of its index, then others by their number of nodes.
    """
    best = with_k(rows).groupby(["instance", "k"]).agg(
        cost=("objective", "min"), bound=("bound_certified", "max")
    )  # fmt: skip
    cells = pd.Series([gap_text(*one) for one in best.itertuples(index=False)], best.index)
    table = cells.unstack("k").fillna("not measured")
    nodes = rows.groupby("instance")["nodes"].first()
    others = nodes.drop(list(index()), errors="ignore").sort_values(kind="stable").index
    table = table.loc[[*(one for one in index() if one in nodes), *others]]
    table.columns = pd.Index(by_stages(table.columns))
    table.insert(0, "nodes", [f"{nodes[one]:,}" for one in table.index])
    return table.rename_axis("graph").reset_index()


DATASET, PLAIN = "regal-style", "-plain"

# Up to so many nodes, a held-out graph counts as small.
SMALL = 150


def ratios(rows: pd.DataFrame) -> pd.DataFrame:
    """Return LB/UB of each bound of a random graph, where UB is the best verified cost."""
    rows = with_k(rows[rows["dataset"] == DATASET])
    best = rows.groupby("instance_sha256")["objective"].min().astype("float64")
    claimed = rows["bound_claimed"].astype("float64").clip(lower=0)
    bound = rows["bound_certified"].astype("float64").fillna(claimed)
    table = rows[["instance", "nodes", "k", "method"]].rename(columns={"instance": "graph"})
    table["is_certified"] = rows["bound_certified"].notna()
    table["ratio"] = bound / rows["instance_sha256"].map(best)
    return table.dropna(subset=["ratio"])


def by_method(found: pd.DataFrame) -> pd.DataFrame:
    """Return geometric means of each method by number of stages, where it has all bounds."""
    graphs = found.groupby("k")["graph"].nunique()
    found = found.assign(ratio=found["ratio"].where(found["ratio"] > 0, 1e-300))
    of_cells = found.groupby(["method", "k"])["ratio"]
    means = of_cells.agg(geometric_mean).unstack("k").where(of_cells.size().unstack("k") == graphs)
    means = means.loc[means.sum(axis=1).sort_values(kind="stable").index]
    certified = found.groupby("method")["is_certified"].all()
    kinds = ["certified" if certified[method] else "claimed" for method in means.index]
    lines = [
        [f"`{method}`", kind, *("" if math.isnan(one) else f"{one:.4f}" for one in row)]
        for method, kind, row in zip(means.index, kinds, means.to_numpy(), strict=True)
    ]
    lines.append(["graphs", "", *map(str, graphs)])
    return pd.DataFrame(lines, columns=["method", "bound", *by_stages(graphs.index)])


def by_graph(found: pd.DataFrame) -> pd.DataFrame:
    """Return the best certified LB/UB of each graph."""
    best = found[found["is_certified"]].pivot_table("ratio", ["graph", "nodes"], "k", "max")
    lines = [[graph, str(n), *map(ratio_text, row)] for (graph, n), row in best.iterrows()]
    return pd.DataFrame(lines, columns=["graph", "n", *by_stages(best.columns)])


def random_graphs(rows: pd.DataFrame) -> Frames:
    """Return means by method and cells by graph, of weighted and of plain graphs."""
    found = ratios(rows)
    is_plain = found["graph"].str.endswith(PLAIN)
    return {
        f"{name}-{what}": table(part)
        for name, part in (("random", found[~is_plain]), ("plain", found[is_plain]))
        for what, table in (("methods", by_method), ("graphs", by_graph))
    }


def held_out(rows: pd.DataFrame) -> Frames:
    """Return how near bounds of `certify` come: by weighting and size, then by graph.

    A mean stands only where every graph of the class has a bound.
    """
    found = ratios(rows)
    found = found[found["method"] == "certify"]
    is_plain, stages = found["graph"].str.endswith(PLAIN), sorted(set(found["k"]))
    lines = []
    for (plain, _), part in found.groupby([is_plain, found["nodes"] > SMALL]):
        cells = part.pivot_table("ratio", "graph", "k").reindex(columns=stages)
        means = (
            f"{geometric_mean(cells[k]):.3f}" if cells[k].notna().all() else "" for k in stages
        )
        nodes = f"{part['nodes'].min()} to {part['nodes'].max()}"
        lines.append(["plain" if plain else "weighted", nodes, str(len(cells)), *means])
    head = ["weights", "nodes", "graphs", *by_stages(stages)]
    return {
        "held-out": pd.DataFrame(lines, columns=head),
        "held-out-weighted": by_graph(found[~is_plain]),
        "held-out-plain": by_graph(found[is_plain]),
    }


def modules_of(instance: PlacementInstance) -> tuple[int, int]:
    """Return operators of the largest module into which `series` divides it, and those in none."""
    read = checker.check_instance(instance.to_json())
    parts = parts_along_chain(instance, read, Network(read))
    inside = {v for part in parts for v in [*part.body, part.last]} - {OUTSIDE}
    return max(len(part.body) for part in parts), instance.nodes - len(inside)


def placements(rows: pd.DataFrame, modules: Mapping[str, tuple[int, int]]) -> pd.DataFrame:
    """Return the best schedule of each instance, its gap, and how its model falls into modules."""
    lines = []
    by_place = rows.assign(device=rows["device"].replace("", "its own"))
    for (cluster, name), found in by_place.groupby(["device", "instance"], dropna=False):
        cost, bound = found["objective"].min(), found["bound_certified"].max()
        best = [*found[found["objective"] == cost].sort_values("wall_seconds")["method"], ""][0]
        seconds = found.loc[found["method"] == "placement-certify", "cpu_seconds"].max()
        sizes = (found["nodes"].iloc[0], *modules[found["instance_sha256"].iloc[0]])
        numbers = ["" if pd.isna(one) else f"{round(one):,}" for one in (cost, bound, seconds)]
        shape = [name, cluster, *(f"{one:,}" for one in sizes), best]
        lines.append([*shape, *numbers[:2], gap_text(cost, bound), numbers[2]])
    head = ["model", "cluster", "n", "largest", "outside", "best schedule by", "makespan", "LB"]
    return pd.DataFrame(lines, columns=[*head, "gap", "CPU, s"])


def stored_modules(folder: Path, rows: pd.DataFrame) -> dict[str, tuple[int, int]]:
    """Return how the instances of a folder fall into modules."""
    instances = ResultStore.open(folder).instances
    return {
        sha256: modules_of(
            PlacementInstance.from_json(json.loads((instances / f"{sha256}.json").read_text()))
        )
        for sha256 in rows["instance_sha256"].unique()
    }


def defaults(rows: pd.DataFrame) -> Frames:
    """Return gaps of each tool's default split, by tool and by instance."""
    given = [json.loads(text) for text in rows["instance_params"]]
    of_instance = rows.groupby("instance_sha256")
    bound = of_instance["bound_certified"].transform("max").astype("float64")
    is_proven = of_instance["objective"].transform("min") == bound
    data = pd.DataFrame(
        {
            "model": rows["instance"],
            "devices": [one["devices"] for one in given],
            "phase": [one["phase"] for one in given],
            "tool": rows["method"].map(TOOLS),
            "gap": 100 * (rows["objective"].astype("float64") / bound - 1),
            "cell": [gap_text(*one, 1) for one in zip(rows["objective"], bound, strict=True)],
        }
    )
    data["devices"] += is_proven.map({True: "", False: " (bound)"})
    data = data[data["tool"].notna()]
    tools = [tool for tool in TOOLS.values() if tool in set(data["tool"])]
    lines = []
    for tool in tools:
        own = data[data["tool"] == tool]["gap"]
        fits = own.dropna()
        ends = (fits.median(), fits.max()) if len(fits) else ()
        most = [gap_percent(one / 100, " %") for one in ends] or ["", ""]
        lines.append([tool, len(own), len(fits), int((fits == 0).sum()), *most])
    head = ["tool", "instances", "splits that fit", OPTIMAL, "median gap", "largest gap"]
    is_training = data["phase"] == "training"
    tables = {}
    for name, part in (("serving", data[~is_training]), ("training", data[is_training])):
        cells = part.pivot(index=["model", "devices", "phase"], columns="tool", values="cell")
        tables[f"defaults-{name}"] = cells[[one for one in tools if one in cells]].reset_index()
    return {"defaults-by-tool": pd.DataFrame(lines, columns=head), **tables}


# Method, what of ours is switched off in it, and what it is called in tables.
PARTITIONERS = {
    ("uniform", ""): "equal numbers of operators",
    ("pippy", ""): "equal parameters (PiPPy)",
    ("balanced-work", ""): "equal work",
    ("pipedream", ""): "PipeDream's planner",
    ("metis", "recut"): "METIS, repaired only",
    ("mt-kahypar", "recut"): "Mt-KaHyPar, repaired only",
    ("metis", "improve"): "METIS, with our cuts",
    ("mt-kahypar", "improve"): "Mt-KaHyPar, with our cuts",
    ("metis", ""): "METIS, with our cuts and moves",
    ("mt-kahypar", ""): "Mt-KaHyPar, with our cuts and moves",
    ("memetic", ""): "`memetic`",
}
SCHEDULES = {
    "gpipe": "GPipe",
    "1f1b": "1F1B",
    "interleaved-1f1b": "interleaved 1F1B",
    "chimera-direct": "Chimera",
    "zb-h1": "ZB-H1",
    "zb-v": "ZB-V",
    "dualpipe-v": "DualPipeV",
}


def tools(rows: pd.DataFrame) -> Frames:
    """Return the gap of each tool's partitions and schedules, by instance."""
    partitions, schedules = [], []
    ordered = rows.sort_values(["dataset", "instance", "instance_params"], kind="stable")
    for _, group in ordered.groupby("instance_sha256", sort=False):
        first, given = group.iloc[0], json.loads(group["instance_params"].iloc[0])
        bound = group["bound_certified"].max()
        if first["problem"] == "pipeline":
            without = [
                next((name for name in ("recut", "improve") if one.get(name) is False), "")
                for one in map(json.loads, group["params"])
            ]
            found = {
                (method, left_out): gap_text(cost, bound)
                for method, left_out, cost in zip(
                    group["method"], without, group["objective"], strict=True
                )
                # The data set does not say how large an operator's parameters are.
                if method != "pippy" or first["dataset"] != "measured"
            }
            costs = "measured" if first["dataset"] == "measured" else "roofline"
            cells = [found.get(tool, "none") for tool in PARTITIONERS]
            partitions.append([costs, first["instance"], given["k"], f"{bound:,.0f}", *cells])
            continue
        shape, devices, *_ = first["instance"].split("-")
        ratio = "1 : 2" if first["instance"].endswith("-f1-b2") else "1 : 3"
        for method, title in SCHEDULES.items():
            for cost in group.loc[group["method"] == method, "objective"]:
                cells = [f"{cost:,.0f}", f"{bound:,.0f}", gap_text(cost, bound)]
                schedules.append([title, shape, devices, given["micro_batches"], ratio, *cells])
    head = ["schedule", "layout", "devices", "micro-batches", "F : B", "makespan", "bound", "gap"]
    columns = ["costs", "graph", "k", "bound", *PARTITIONERS.values()]
    return {
        "tools-partitions": pd.DataFrame(partitions, columns=columns),
        "tools-schedules": pd.DataFrame(schedules, columns=head),
    }


# Rules for layers and experts on the host.
ON_HOST = {
    "llama-cpp-fit": "llama.cpp's fit",
    "llama-cpp-cpu-moe": "all experts",
    "llama-cpp-ngl": "most layers",
}


def hosts(rows: pd.DataFrame, split: Mapping[str, int]) -> pd.DataFrame:
    """Return how many layers have their experts on the host, its speed, and what rules do."""
    lines = []
    given = rows["instance_params"].map(json.loads)
    rows = rows.assign(context=[one["context"] for one in given])
    for _, group in rows.sort_values(["instance", "context"]).groupby(
        "instance_sha256", sort=False
    ):
        first, params = group.iloc[0], json.loads(group["instance_params"].iloc[0])
        bound, costs = group["bound_certified"].max(), group.set_index("method")["objective"]
        best = group.loc[group["method"] == "layer-choices", "solution_sha256"].iloc[0]
        bits = params.get("weight_bits", "file's")
        shape = [first["instance"], params["devices"], str(bits), f"{params['context']:,}"]
        gaps = [gap_text(costs[method], bound, 1) for method in ON_HOST]
        speed = f"{1e9 / float(costs['layer-choices']):.1f}"
        lines.append(
            [*shape, str(split[best]), speed, gap_text(costs["layer-choices"], bound), *gaps]
        )
    head = ["model", "devices", "bits", "context", "N", "tokens a second", "proof"]
    return pd.DataFrame(lines, columns=[*head, *ON_HOST.values()])


def stored_splits(folder: Path, rows: pd.DataFrame) -> dict[str, int]:
    """Return how many layers each solution of a folder splits."""
    solutions = ResultStore.open(folder).solutions
    read = {
        sha: json.loads((solutions / f"{sha}.json").read_text()) for sha in rows["solution_sha256"]
    }
    return {sha: one["configuration"][0] for sha, one in read.items()}


def measured() -> pd.DataFrame:
    """Return gaps on measured times of kernels, for what `aiconfigurator-core` covers.

    The certified optimum, how far above it vLLM's even split is, the same on the roofline, and what
    the roofline's optimum costs on measured times.
    """
    lines = []
    clusters = ("2xH100,4xA100-80GB@25", "4xH100,4xA100-80GB@25")
    workloads = (("decode", 8, 4096), ("prefill", 4, 1024))
    for model, devices, workload in product(published(), clusters, workloads):
        given = dict(zip(("phase", "batch", "context"), workload, strict=True))
        name = f"language-models/{model}"
        solve = partial(boundmark.solve, name, "layers", devices=devices, quiet=True, **given)
        try:
            best = solve(methods="layer-reach", costs="measured")
        except BoundmarkError:
            continue
        assumed = solve(methods="layer-reach")
        assert best.is_optimal
        assert assumed.is_optimal
        other: Any = best.instance
        costs = (
            (solve(methods="vllm-even", costs="measured").cost, best.cost),
            (solve(methods="vllm-even").cost, assumed.cost),
            (other.objective(LayerAssignment.from_json(assumed.record.solution)), best.cost),
        )
        gaps = (gap_text(*one, 1) for one in costs)
        lines.append([model, devices, workload[0], f"{best.cost / 1e6:,.2f}", *gaps])
    head = ["model", "devices", "phase", "optimum, ms", "vLLM, measured", "vLLM, roofline"]
    return pd.DataFrame(lines, columns=[*head, "the roofline's optimum"])


def made(kind: str, folder: Path) -> Frames:
    """Return the tables of a kind, by the names of their files."""
    if kind == "measured":
        return {kind: measured()}
    rows = results_in(folder)
    if kind == "placements":
        return {kind: placements(rows, stored_modules(folder, rows))}
    if kind == "tools-hosts":
        return {kind: hosts(rows, stored_splits(folder, rows))}
    if kind in ("zoo", "nasnet"):
        return {kind: models(rows)}
    several = {"random": random_graphs, "held-out": held_out, "defaults": defaults, "tools": tools}
    return several[kind](rows)


if __name__ == "__main__":
    for name, table in made(sys.argv[1], Path(sys.argv[-1])).items():
        table.to_csv(TABLES / "gaps" / f"{name}.csv", index=False)
