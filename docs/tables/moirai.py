"""Make docs/results-moirai.md from the data in `docs/tables/moirai`.

`python docs/tables/moirai.py` makes the tables of the page anew, and `docs/tables/moirai/tables.md`
with all that the page leaves out. With `collect RESULTS...`, it first takes the data from results
folders of the suites in `FILES`; methods that a folder of the cells lacks keep their rows, as long
as their version is today's. With `operators`, it first counts operators before and after fusion.
"""

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import runs
from results_page import DOCS, NONE, all_tables, make_page, markdown

from boundmark.benchmarks.solving.model import named_instance
from boundmark.problems.catalog import methods
from boundmark.problems.placement.fusion import RULE_SETS, TABLE_I, coarsen
from boundmark.reports.placement.latencies import BASES, NO_FUSION, TABLE_IV
from boundmark.reports.statistics import geometric_mean
from boundmark.reports.text import count

DATA = DOCS / "tables" / "moirai"
PAGE = DOCS / "results-moirai.md"
TABLES = DATA / "tables.md"

METHODS = (
    "single-device", "fill-devices", "m-etf", "m-sct", "getf", "heft", "placeto", "moirai-milp",
    "placement-search", "placement-certify",
)  # fmt: skip
CLUSTERS = ("inter-server", "intra-server")
FUSED = "moirai"
BOUND = "certified bound"

# Where the rows of each suite go.
FILES = {
    "paper-moirai/cells-short": "tasks",
    "paper-moirai/cells": "tasks",
    "paper-moirai/cells-per-edge": "per_edge",
    "paper-moirai/placeto": "placeto",
}
STATIC = "parameters+outputs"

# A model with convolutions, for which Table I's rules are.
CONVOLUTIONS = "resnet-50"

# What [MOIRAI24], Section IV-B, says in words of Figure 10: how many times as fast Moirai's
# placements are at most, over Placeto's, m-SCT's and GETF's.
FASTER = {
    ("inter-server", NO_FUSION): (2.98, 1.77, 1.33),
    ("intra-server", NO_FUSION): (4.12, 1.70, 1.35),
    ("inter-server", FUSED): (3.15, 1.90, 1.25),
    ("intra-server", FUSED): (4.28, 1.74, 1.34),
}

# Seconds of Table V by model: Placeto (its HRL, in hours), m-SCT, GETF and Moirai on the original
# graph, then on the fused one.
TABLE_V = {
    "swin-1.8b": (14400, 17.63, 120, 129, 14400, 15.24, 94.8, 98.4),
    "swin-6.6b": (18000, 64.32, 744, 796.8, 17280, 58.57, 583.2, 630.6),
    "swin-13b": (18000, 148.25, 1185, 1352.4, 18000, 142.9, 897, 927.6),
    "gpt-3-330m": (12600, 15.92, 75, 82.8, 10800, 14.4, 58.04, 62.4),
    "gpt-3-1.3b": (14400, 39.82, 519, 541.2, 13860, 37.39, 317.4, 412.8),
    "gpt-3-2.7b": (18000, 54.17, 649.2, 688.8, 17100, 51.52, 470.4, 510.6),
    "gpt-3-13b": (19800, 125.53, 942, 990, 18000, 117.48, 655.2, 664.2),
    "evoformer-87m": (12600, 20.18, 106.8, 114, 11880, 18.62, 74.4, 82.8),
    "evoformer-930m": (18000, 56.62, 663, 772.2, 17352, 53.71, 477, 525),
    "evoformer-2.4b": (20700, 226.34, 1350, 1434.6, 18000, 215.48, 1075.2, 1081.2),
    "evoformer-3.2b": (25200, 507.65, 2145, 2305.2, 23400, 485.35, 1290, 1330.8),
}
TIMED = ("placeto", "m-sct", "getf", "moirai-milp")


def collect(folders: list[Path]) -> None:
    """Write a row for each task of the folders, by suite, and what ran.

    Raises
    ------
    ValueError
        If rows that would be kept are of another version of their method.
    """
    facts = _facts()
    for folder in folders:
        rows = runs.results_in(folder)
        name = FILES[rows["suite"].iloc[0]]
        tasks = _whole(_tasks(rows)) if name == "tasks" else _tasks(rows)
        run = runs.machine_facts([folder], rows, ["highspy"])
        run |= {"methods": sorted(tasks["method"].unique())}
        run["workers"] = runs.most_at_a_time(rows)
        facts[name] = [*(_kept(name, facts, run) if name == "tasks" else ()), run]
        if name == "tasks":
            old = _table(name)
            tasks = pd.concat([tasks, old[_stays(old, run)]])
            bounds = tasks.groupby(CELL)["certified"].max()
            tasks["bound"] = pd.MultiIndex.from_frame(tasks[CELL]).map(bounds)
        order = {model: at for at, model in enumerate(TABLE_IV)}
        tasks = tasks.sort_values(
            ["cluster", "fusion", "model", "method", "seed"],
            key=lambda column: column.map(order) if column.name == "model" else column,
        )
        tasks.to_csv(DATA / f"{name}.csv", index=False)
    runs.store_run(DATA, facts)


# What names a graph.
CELL = ["model", "cluster", "fusion"]


def _tasks(rows: pd.DataFrame) -> pd.DataFrame:
    """Return a row for each task, `bound` being the best certified one of its graph."""
    given = [json.loads(text) for text in rows["instance_params"]]
    params = [json.loads(text) for text in rows["params"]]
    return pd.DataFrame(
        {
            "model": rows["instance"],
            "cluster": rows["device"].str.removeprefix("moirai-"),
            "fusion": [one.get("fusion", NO_FUSION) for one in given],
            "transfers": [one["transfers"] for one in given],
            "memory": [one.get("memory", STATIC) for one in given],
            "operators": rows["nodes"],
            "method": rows["method"],
            "version": rows["method_version"],
            "evaluations": [one.get("evaluations") or None for one in params],
            "kind": rows["method_kind"],
            "seed": rows["seed"],
            "makespan": rows["objective"],
            "certified": rows["bound_certified"],
            "bound": rows["instance_sha256"].map(
                rows.groupby("instance_sha256")["bound_certified"].max()
            ),
            "seconds": rows["wall_seconds"].round(3),
            "limit": rows["time_limit_seconds"],
            "status": rows["status"],
            "detail": rows["status_detail"],
        }
    )


def _whole(tasks: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of methods that ran on all graphs: a run may have been stopped."""
    graphs = len(tasks[CELL].drop_duplicates())
    often = tasks.groupby("method")["model"].transform("size")
    return tasks[often % graphs == 0]


def _stays(old: pd.DataFrame, run: Mapping[str, Any]) -> "pd.Series[bool]":
    """Whether rows stay beside those of a run: of methods that it lacks, and that are today's."""
    stays = ~old["method"].isin(run["methods"]) & (old["kind"] != "bound")
    today = {name: one.version for name, one in methods("placement").items()}
    for name, version in old.loc[stays, ["method", "version"]].drop_duplicates().to_numpy():
        if today[name] != version:
            raise ValueError(
                f"{DATA}/tasks.csv: its rows of {name} are of version {version} and the method is "
                f"of version {today[name]}; expected a folder with this method, too."
            )
    return stays


def _kept(
    name: str, facts: Mapping[str, list[dict[str, Any]]], run: Mapping[str, Any]
) -> list[dict[str, Any]]:
    """Return earlier runs without the methods of a new one; those without any are gone."""
    bounds = {one for one, method in methods("placement").items() if method.kind == "bound"}
    earlier = [
        one | {"methods": sorted({*one["methods"]} - {*run["methods"]} - bounds)}
        for one in facts.get(name, [])
    ]
    return [one for one in earlier if one["methods"]]


def count_operators() -> None:
    """Write how many operators each model has before and after fusion by each set of rules."""
    rows = []
    for model in (*TABLE_IV, CONVOLUTIONS):
        graph = named_instance(f"zoo/{model}", {}, "placement", "dgx-h100").instance.graph
        fused = {
            name: coarsen(graph, rules, "per-tensor").graph.nodes
            for name, rules in (("table_i", TABLE_I), (FUSED, RULE_SETS[FUSED]))
        }
        rows.append({"model": model, "operators": graph.nodes, **fused})
    pd.DataFrame(rows).to_csv(DATA / "operators.csv", index=False)


def latencies(tasks: pd.DataFrame) -> pd.DataFrame:
    """Return the mean makespan over seeds of each method on each graph, and what is beside it.

    Returns
    -------
    pandas.DataFrame
        Columns `model`, `cluster`, `fusion`, `operators`, `method`, `makespan` and `bound`; `base`
        is the makespan of the first of `BASES` that placed the original graph.
    """
    key = [*CELL, "memory", "operators", "method"]
    solved = tasks[tasks["makespan"].notna()]
    found = solved.groupby(key, sort=False).agg(
        makespan=("makespan", "mean"), bound=("bound", "max")
    )
    found = found.reset_index()
    original = found[(found["fusion"] == NO_FUSION) & found["method"].isin(BASES)]
    ranked = original.assign(rank=original["method"].map(BASES.index)).sort_values("rank")
    base = ranked.drop_duplicates(["model", "cluster"]).set_index(["model", "cluster"])["makespan"]
    return found.join(base.rename("base"), on=["model", "cluster"])


def per_edge(tasks: pd.DataFrame, certified: pd.DataFrame) -> pd.DataFrame:
    """Return tasks with a transfer for each edge, bounded also by what is certified without.

    A schedule with a transfer for each edge, or with all outputs in memory, is one without, too:
    so what bounds the graphs with shared transfers bounds these.

    Parameters
    ----------
    certified
        Tasks on the same graphs with shared transfers.
    """
    # The program runs last: a graph without its row is one at which the run was stopped.
    whole = pd.MultiIndex.from_frame(tasks.loc[tasks["method"] == "moirai-milp", CELL])
    tasks = tasks[pd.MultiIndex.from_frame(tasks[CELL]).isin(whole)]
    shared = certified.groupby(CELL)[["operators", "bound"]].max()
    beside = shared.reindex(pd.MultiIndex.from_frame(tasks[CELL]))
    if (beside["operators"].to_numpy() != tasks["operators"].to_numpy()).any():
        raise ValueError(f"{DATA}: graphs of tasks.csv and per_edge.csv differ; expected the same.")
    return tasks.assign(bound=np.fmax(tasks["bound"], beside["bound"].to_numpy()))


def machine_text(name: str, tasks: pd.DataFrame) -> str:
    """Return what ran: commit, machine, load, tasks, and how they ended, for each run of a file."""
    lines = []
    for run in _facts()[name]:
        rows = tasks[tasks["method"].isin(run["methods"])]
        often = {str(how): int(n) for how, n in rows["status"].value_counts().items()}
        names = ", ".join(f"`{one}`" for one in run["methods"])
        lines.append(
            f"- {names}: {runs.machine(run)}, load {max(run['loads'])} at the start, "
            f"{runs.at_a_time(run)}, highspy {run['versions']['highspy']}. "
            f"{count(len(rows), 'task')} of {rows['limit'].max():,g} s at most "
            f"({runs.told(often)}); {rows['seconds'].sum() / 60:.1f} minutes in all."
        )
    return "\n".join(lines)


def run_text(edges: pd.DataFrame, tasks: pd.DataFrame) -> str:
    """Return on how many graphs the paper's transfer model was run."""
    ran, graphs = (len(one[CELL].drop_duplicates()) for one in (edges, tasks))
    stars = len(edges.loc[edges["memory"] == STATIC, CELL].drop_duplicates())
    return (
        f"{ran} of the {graphs} graphs were run, {stars} of them with all outputs in memory. Where "
        f"no placement was found, {NONE} stands."
    )


def figure_10(found: pd.DataFrame, cluster: str, fusion: str) -> str:
    """Return how many times as fast as one device each method's placement is, and its gap."""
    own = found[(found["cluster"] == cluster) & (found["fusion"] == fusion)]
    methods = [name for name in METHODS if name in set(own["method"])]
    lines = []
    for model in TABLE_IV:
        part = own[own["model"] == model].set_index("method")
        if part.empty:
            continue
        base, bound = part["base"].iloc[0], part["bound"].iloc[0]
        cells = []
        for name in methods:
            if name not in part.index:
                cells.append(NONE)
                continue
            makespan = part.loc[name, "makespan"]
            gap = "" if pd.isna(bound) else f" ({_percent(makespan / bound - 1)})"
            shown = f"{base / makespan:.3f}{gap}"
            cells.append(f"**{shown}**" if makespan == part["makespan"].min() else shown)
        most = NONE if pd.isna(bound) else f"{base / bound:.3f}"
        lines.append([model, f"{base / 1e6:,.1f}", most, *cells])
    return markdown(["model", "base (ms)", "at most", *methods], lines)


def best_table(found: pd.DataFrame, fusion: str) -> str:
    """Return speedups of `moirai-milp` and of the best placement, beside what the bound leaves."""
    lines = []
    for model in TABLE_IV:
        cells = []
        for cluster in CLUSTERS:
            own = found[(found["cluster"] == cluster) & (found["fusion"] == fusion)]
            part = own[own["model"] == model].set_index("method")
            if part.empty:
                cells += [NONE] * 3
                continue
            base, bound, best = part["base"].iloc[0], part["bound"].iloc[0], part["makespan"].min()
            program = part["makespan"].get("moirai-milp")
            cells += [
                NONE if program is None else f"{base / program:.3f}",
                f"{base / best:.3f} ({_percent(best / bound - 1)})",
                f"{base / bound:.3f}",
            ]
        lines.append([model, *cells])
    heads = [f"{cluster}: moirai-milp" for cluster in CLUSTERS]
    return markdown(["model", heads[0], "best", "at most", heads[1], "best", "at most"], lines)


def per_edge_table(found: pd.DataFrame, fusion: str) -> str:
    """Return speedups of the paper's methods with a transfer for each edge, and what bounds leave.

    Graphs whose outputs are all in memory bear a star.
    """
    names = ("m-sct", "getf", "moirai-milp")
    lines = []
    for model in TABLE_IV:
        cells = []
        for cluster in CLUSTERS:
            own = found[(found["cluster"] == cluster) & (found["fusion"] == fusion)]
            part = own[own["model"] == model].set_index("method")
            if part.empty:
                cells += [NONE] * (len(names) + 1)
                continue
            base, star = part["base"].iloc[0], "*" * (part["memory"].iloc[0] == STATIC)
            makespans = [part["makespan"].get(name) for name in names]
            cells += [NONE if one is None else f"{base / one:.3f}" for one in makespans]
            cells.append(f"{base / part['bound'].iloc[0]:.3f}{star}")
        if set(cells) != {NONE}:
            lines.append([model, *cells])
    head = [f"{cluster}: {names[0]}" if at == 0 else name for cluster in CLUSTERS
            for at, name in enumerate((*names, "at most"))]  # fmt: skip
    return markdown(["model", *head], lines)


def _percent(share: float) -> str:
    """Return a share in percent, with a digit where it is small."""
    return f"{100 * share:.1f} %" if share < 10 else f"{100 * share:,.0f} %"


RIVALS = ("placeto", "m-sct", "getf", "placement-search")


def claims(found: pd.DataFrame, names: Sequence[str] = RIVALS) -> str:
    """Return how many times as fast `moirai-milp` is as others at most, the paper's beside ours."""
    lines = []
    for (cluster, fusion), printed in FASTER.items():
        own = found[(found["cluster"] == cluster) & (found["fusion"] == fusion)]
        table = own.pivot_table(index="model", columns="method", values="makespan")
        cells = []
        for name in names:
            ratios = (table[name] / table["moirai-milp"]).dropna() if name in table else []
            at = RIVALS.index(name)
            said = f"{printed[at]:.2f}, " if at < len(printed) else ""
            if len(ratios):
                mean = geometric_mean(ratios)
                cells.append(f"{said}**{max(ratios):.2f}** ({mean:.3f}, n = {len(ratios)})")
            else:
                cells.append(f"{said}{NONE}")
        lines.append([cluster, "original" if fusion == NO_FUSION else "fused", *cells])
    return markdown(["cluster", "graph", *names], lines, 2)


def table_iv(operators: pd.DataFrame) -> str:
    """Return operators before and after coarsening, the paper's beside ours."""
    lines = []
    for model, own, *fused in operators[["model", "operators", "table_i", FUSED]].to_numpy():
        before, after = TABLE_IV.get(model, (None, None))
        printed = [NONE] * 3
        if before is not None and after is not None:
            printed = [f"{before:,}", f"{after:,}", f"{after / before - 1:.0%}"]
        cells = [text for one in fused for text in (f"{one:,}", f"{one / own - 1:.0%}")]
        lines.append([model, *printed, f"{own:,}", *cells])
    head = ["model", "paper: original", "coarsened", "", "here: original"]
    return markdown([*head, "Table I's rules", "", "all rules", ""], lines)


def fusion_table(found: pd.DataFrame, methods: Sequence[str]) -> str:
    """Return how long fused graphs take over original ones, by cluster and method."""
    lines = []
    for cluster in CLUSTERS:
        own = found[found["cluster"] == cluster]
        table = own.pivot_table(index=["model", "method"], columns="fusion", values="makespan")
        ratios = (table[FUSED] / table[NO_FUSION]).dropna()
        bounds = own.pivot_table(index="model", columns="fusion", values="bound")
        proven = (bounds[FUSED] / bounds[NO_FUSION]).dropna()
        for name in methods:
            if name == BOUND:
                lines.append([cluster, name, *_spread(proven)])
            elif name in ratios.index.get_level_values("method"):
                lines.append([cluster, name, *_spread(ratios.xs(name, level="method"))])
    return markdown(["cluster", "method", "models", "mean", "least", "most"], lines, 2)


def _spread(ratios: "pd.Series[float]") -> list[str]:
    return [
        str(len(ratios)), f"{geometric_mean(ratios):.3f}", f"{ratios.min():.3f}",
        f"{ratios.max():.3f}",
    ]  # fmt: skip


def table_v(tasks: pd.DataFrame) -> str:
    """Return seconds of each search, the longer one of the two clusters, beside the paper's."""
    seconds = tasks.groupby(["model", "fusion", "method"])["seconds"].max()
    lines = []
    for model, printed in TABLE_V.items():
        cells = []
        for at, (fusion, name) in enumerate(
            (fusion, name) for fusion in (NO_FUSION, FUSED) for name in TIMED
        ):
            own = seconds.get((model, fusion, name))
            text = NONE if own is None else f"**{short_seconds(own)}**"
            cells.append(f"{printed[at]:,.0f}, {text}")
        lines.append([model, *cells])
    head = [f"{name}, {graph}" for graph in ("original", "fused") for name in TIMED]
    return markdown(["model", *head], lines)


def short_seconds(seconds: float) -> str:
    """Return seconds with a digit after the point, or two below a second."""
    return f"{seconds:.{1 if seconds >= 1 else 2}f}"


def missing_text(tasks: pd.DataFrame) -> str:
    """Return how many graphs each method did not place."""
    gone = tasks[tasks["makespan"].isna() & (tasks["kind"] != "bound")]
    if gone.empty:
        return "Every method placed every graph."
    told = [f"`{name}` {n}" for name, n in gone["method"].value_counts(sort=False).items()]
    graphs = len(tasks.groupby(["model", "cluster", "fusion"]))
    return f"Of {graphs} graphs, these were not placed: {', '.join(sorted(told))}."


def missing_table(tasks: pd.DataFrame) -> str:
    """Return which placements are missing, and why."""
    gone = tasks[tasks["makespan"].isna() & (tasks["kind"] != "bound")]
    if gone.empty:
        return "Every method placed every graph."
    reasons = gone["detail"].fillna(gone["status"]).map(_in_words)
    lines = []
    for (method, reason), part in gone.groupby(["method", reasons], sort=True):
        where = [
            f"{model} ({', '.join(sorted(own['cluster'] + ' ' + own['fusion']))})"
            for model, own in part.groupby("model", sort=False)
        ]
        lines.append([str(method), str(reason), str(len(part)), "; ".join(where)])
    return markdown(["method", "reason", "graphs", "which"], lines, 4)


def _in_words(detail: str) -> str:
    """Return a task's last words without what differs from one task to the next."""
    if "Out of memory" in detail:
        return "out of memory"
    if detail.startswith("killed after"):
        return "nothing within the limit"
    return detail.rstrip(".")


def placeto_table(trained: pd.DataFrame, found: pd.DataFrame) -> str:
    """Return makespans of Placeto after more training, beside those of ten seconds and the best."""
    lines = []
    for _, row in trained.iterrows():
        cell = found[(found[CELL] == row[CELL]).all(axis=1)].set_index("method")
        lines.append(
            [
                row["model"],
                row["cluster"],
                *(f"{one / 1e6:,.1f}" for one in (
                    cell.loc["placeto", "makespan"], row["makespan"],
                    cell.loc["moirai-milp", "makespan"], cell["bound"].iloc[0],
                )),
                f"{row['seconds'] / 60:.1f}",
            ]
        )  # fmt: skip
    head = ["model", "cluster", "10 s", "more training", "moirai-milp", BOUND, "minutes"]
    return markdown(head, lines, 2)


def parts() -> dict[str, str]:
    """Return each generated part of the page by the name in its marks."""
    tasks = _table("tasks")
    edges = per_edge(_table("per_edge"), tasks)
    trained = _table("placeto")
    found, papers = latencies(tasks), latencies(edges)
    chosen = ("moirai-milp", "placement-search", BOUND)
    return {
        "machine": machine_text("tasks", tasks),
        "claims": claims(found),
        "claims per edge": claims(papers, ("m-sct", "getf")),
        "figure 10, original graphs": best_table(found, NO_FUSION),
        "figure 10, fused graphs": best_table(found, FUSED),
        "missing": missing_text(tasks),
        "run per edge": run_text(edges, tasks),
        "machine per edge": machine_text("per_edge", edges),
        "figure 10 per edge, original graphs": per_edge_table(papers, NO_FUSION),
        "figure 10 per edge, fused graphs": per_edge_table(papers, FUSED),
        "placeto": placeto_table(trained, found),
        "machine placeto": machine_text("placeto", trained),
        "table iv": table_iv(_table("operators")),
        "fusion": fusion_table(found, chosen),
        "table v": table_v(tasks),
    }


def tables() -> str:
    """Return the file of all tables, cell by cell."""
    tasks = _table("tasks")
    edges = per_edge(_table("per_edge"), tasks)
    found = latencies(tasks)
    made = {
        f"figure 10, {cluster}, {fusion}{words}": figure_10(makespans, cluster, fusion)
        for makespans, words in ((found, ""), (latencies(edges), ", per edge"))
        for fusion in (NO_FUSION, FUSED)
        for cluster in CLUSTERS
    }
    return all_tables(
        "All tables of the Moirai paper's cells",
        {
            **made,
            "missing": missing_table(tasks),
            "missing, per edge": missing_table(edges),
            "fusion": fusion_table(found, (*METHODS, BOUND)),
        },
    )


def _table(name: str) -> pd.DataFrame:
    return pd.read_csv(DATA / f"{name}.csv", keep_default_na=False, na_values=[""])


def _facts() -> dict[str, list[dict[str, Any]]]:
    """Return facts about the runs that the rows of each file are from."""
    found: dict[str, list[dict[str, Any]]] = json.loads((DATA / "run.json").read_text())
    return found


if __name__ == "__main__":
    if sys.argv[1:2] == ["operators"]:
        count_operators()
    make_page(PAGE, parts, collect, (TABLES, tables))
