"""Make docs/results-moirai.md from the data in `docs/tables/moirai`.

`python docs/tables/moirai.py` makes the tables of the page anew, and `docs/tables/moirai/tables.md`
with all that the page leaves out. With `collect RESULTS`, it first takes the data from a results
folder of suite `paper-moirai/cells-short` or `paper-moirai/cells`.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import runs
from results_page import DOCS, NONE, all_tables, make_page, markdown

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

# What [MOIRAI24], Section IV-B, says in words of Figure 10: how many times as fast Moirai's
# placements are at most, over Placeto's, m-SCT's and GETF's.
FASTER = {
    ("inter-server", NO_FUSION): (2.98, 1.77, 1.33),
    ("intra-server", NO_FUSION): (4.12, 1.70, 1.35),
    ("inter-server", FUSED): (3.15, 1.90, 1.25),
    ("intra-server", FUSED): (4.28, 1.74, 1.34),
}

# Seconds of Table V by model: m-SCT, GETF and Moirai on the original graph, then on the fused one.
TABLE_V = {
    "swin-1.8b": (17.63, 120, 129, 15.24, 94.8, 98.4),
    "swin-6.6b": (64.32, 744, 796.8, 58.57, 583.2, 630.6),
    "swin-13b": (148.25, 1185, 1352.4, 142.9, 897, 927.6),
    "gpt-3-330m": (15.92, 75, 82.8, 14.4, 58.04, 62.4),
    "gpt-3-1.3b": (39.82, 519, 541.2, 37.39, 317.4, 412.8),
    "gpt-3-2.7b": (54.17, 649.2, 688.8, 51.52, 470.4, 510.6),
    "gpt-3-13b": (125.53, 942, 990, 117.48, 655.2, 664.2),
    "evoformer-87m": (20.18, 106.8, 114, 18.62, 74.4, 82.8),
    "evoformer-930m": (56.62, 663, 772.2, 53.71, 477, 525),
    "evoformer-2.4b": (226.34, 1350, 1434.6, 215.48, 1075.2, 1081.2),
    "evoformer-3.2b": (507.65, 2145, 2305.2, 485.35, 1290, 1330.8),
}
TIMED = ("m-sct", "getf", "moirai-milp")


def collect(folders: list[Path]) -> None:
    """Write a row for each task, with the best certified bound of its graph, and what ran."""
    (folder,) = folders
    rows = runs.results_in(folder)
    run = runs.machine_facts(folders, rows, ["highspy"]) | runs.task_facts(rows)
    given = [json.loads(text) for text in rows["instance_params"]]
    bounds = rows.groupby("instance_sha256")["bound_certified"].max()
    tasks = pd.DataFrame(
        {
            "model": rows["instance"],
            "cluster": rows["device"].str.removeprefix("moirai-"),
            "fusion": [one.get("fusion", NO_FUSION) for one in given],
            "operators": rows["nodes"],
            "method": rows["method"],
            "kind": rows["method_kind"],
            "seed": rows["seed"],
            "makespan": rows["objective"],
            "bound": rows["instance_sha256"].map(bounds),
            "seconds": rows["wall_seconds"].round(3),
            "status": rows["status"],
            "detail": rows["status_detail"],
        }
    )
    order = {name: at for at, name in enumerate(TABLE_IV)}
    tasks = tasks.sort_values(
        ["cluster", "fusion", "model", "method", "seed"],
        key=lambda column: column.map(order) if column.name == "model" else column,
    )
    DATA.mkdir(exist_ok=True)
    tasks.to_csv(DATA / "tasks.csv", index=False)
    runs.store_run(DATA, run)


def latencies(tasks: pd.DataFrame) -> pd.DataFrame:
    """Return the mean makespan over seeds of each method on each graph, and what is beside it.

    Returns
    -------
    pandas.DataFrame
        Columns `model`, `cluster`, `fusion`, `operators`, `method`, `makespan` and `bound`; `base`
        is the makespan of the first of `BASES` that placed the original graph.
    """
    key = ["model", "cluster", "fusion", "operators", "method"]
    solved = tasks[tasks["makespan"].notna()]
    found = solved.groupby(key, sort=False).agg(
        makespan=("makespan", "mean"), bound=("bound", "max")
    )
    found = found.reset_index()
    original = found[(found["fusion"] == NO_FUSION) & found["method"].isin(BASES)]
    ranked = original.assign(rank=original["method"].map(BASES.index)).sort_values("rank")
    base = ranked.drop_duplicates(["model", "cluster"]).set_index(["model", "cluster"])["makespan"]
    return found.join(base.rename("base"), on=["model", "cluster"])


def machine_text(run: Mapping[str, Any]) -> str:
    """Return what ran: commit, machine, load, tasks, and how they ended."""
    return (
        f"{runs.machine(run)}, load {max(run['loads'])} at the start, one task at a time with one "
        f"thread, highspy {run['versions']['highspy']}. {count(run['tasks'], 'task')} of "
        f"{run['limit']:g} s at most ({runs.told(run['statuses'])}); {runs.minutes(run)}."
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


def _percent(share: float) -> str:
    """Return a share in percent, with a digit where it is small."""
    return f"{100 * share:.1f} %" if share < 10 else f"{100 * share:,.0f} %"


def claims(found: pd.DataFrame) -> str:
    """Return how many times as fast `moirai-milp` is as others at most, the paper's beside ours."""
    names = ("placeto", "m-sct", "getf", "placement-search")
    lines = []
    for (cluster, fusion), printed in FASTER.items():
        own = found[(found["cluster"] == cluster) & (found["fusion"] == fusion)]
        table = own.pivot_table(index="model", columns="method", values="makespan")
        cells = []
        for at, name in enumerate(names):
            ratios = (table[name] / table["moirai-milp"]).dropna() if name in table else []
            said = f"{printed[at]:.2f}, " if at < len(printed) else ""
            if len(ratios):
                mean = geometric_mean(ratios)
                cells.append(f"{said}**{max(ratios):.2f}** ({mean:.3f}, n = {len(ratios)})")
            else:
                cells.append(f"{said}{NONE}")
        lines.append([cluster, "original" if fusion == NO_FUSION else "fused", *cells])
    return markdown(["cluster", "graph", *names], lines, 2)


def table_iv(tasks: pd.DataFrame) -> str:
    """Return operators before and after coarsening, the paper's beside ours."""
    sizes = tasks.groupby(["model", "fusion"])["operators"].max()
    lines = []
    for model, (before, after) in TABLE_IV.items():
        if (model, NO_FUSION) not in sizes.index:
            continue
        own, fused = int(sizes[model, NO_FUSION]), sizes.get((model, FUSED))
        shown = [NONE, NONE] if fused is None else [f"{int(fused):,}", f"{fused / own - 1:.0%}"]
        lines.append(
            [model, f"{before:,}", f"{after:,}", f"{after / before - 1:.0%}", f"{own:,}", *shown]
        )
    head = ["model", "paper: original", "coarsened", "", "here: original", "fused", ""]
    return markdown(head, lines)


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
            cells.append(f"{printed[at]:,.0f}, {NONE if own is None else f'{own:.1f}'}")
        lines.append([model, *cells])
    head = [f"{name}, {graph}" for graph in ("original", "fused") for name in TIMED]
    return markdown(["model", *head], lines)


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


def parts() -> dict[str, str]:
    """Return each generated part of the page by the name in its marks."""
    tasks, run = _data()
    found = latencies(tasks)
    chosen = ("moirai-milp", "placement-search", BOUND)
    return {
        "machine": machine_text(run),
        "claims": claims(found),
        "figure 10, original graphs": best_table(found, NO_FUSION),
        "figure 10, fused graphs": best_table(found, FUSED),
        "missing": missing_text(tasks),
        "table iv": table_iv(tasks),
        "fusion": fusion_table(found, chosen),
    }


def tables() -> str:
    """Return the file of all tables, cell by cell."""
    tasks, run = _data()
    found = latencies(tasks)
    made = {
        f"figure 10, {cluster}, {fusion}": figure_10(found, cluster, fusion)
        for fusion in (NO_FUSION, FUSED)
        for cluster in CLUSTERS
    }
    return all_tables(
        "All tables of the Moirai paper's cells",
        {
            "machine": machine_text(run),
            "claims": claims(found),
            **made,
            "missing": missing_table(tasks),
            "table iv": table_iv(tasks),
            "fusion": fusion_table(found, (*METHODS, BOUND)),
            "table v": table_v(tasks),
        },
    )


def _data() -> tuple[pd.DataFrame, dict[str, Any]]:
    tasks = pd.read_csv(DATA / "tasks.csv", keep_default_na=False, na_values=[""])
    return tasks, json.loads((DATA / "run.json").read_text())


if __name__ == "__main__":
    make_page(PAGE, parts, collect, (TABLES, tables))
