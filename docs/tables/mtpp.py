"""Make docs/results-mtpp.md: `python docs/tables/mtpp.py` from the data in `docs/tables/mtpp`.

It also makes `docs/tables/mtpp/tables.md`, with all that the page leaves out.
`python docs/tables/mtpp.py collect RESULTS` takes those data from a results folder, of which
`boundmark report RESULTS` has been made; `mtpp_solvers.py` measures those of the solvers.
"""

import json
from collections.abc import Sequence
from pathlib import Path

import pandas as pd
import runs
from results_page import DOCS, all_tables, by_stages, make_page, markdown

from boundmark.reports.best_known import shipped
from boundmark.reports.statistics import geometric_mean
from boundmark.reports.stored.schema import unsupported_by_reason
from boundmark.reports.stored.store import ResultStore
from boundmark.reports.text import count

DATA = DOCS / "tables" / "mtpp"
PAGE = DOCS / "results-mtpp.md"
TABLES = DATA / "tables.md"

# What the licence of gurobipy's wheel covers, in columns and in rows.
LICENCE = 2000

STAGES = (2, 4, 8, 16, 32, 64)

# As printed in [MTPP24]: geometric means over 369 production models and 1,000 random graphs.
TABLE_1 = {
    "simple (Lemma 3.3)": (0.8340, 0.6627, 0.5236, 0.4598, 0.4435, 0.4401),
    "bottleneck": (0.9597, 0.7911, 0.6481, 0.5770, 0.5590, 0.5543),
    "bottleneck-guess": (0.9901, 0.8446, 0.6601, 0.5780, 0.5593, 0.5543),
    "exact": (0.9901, 0.9737, 0.9588, 0.9452, 0.8749, 0.7874),
}
TABLE_3 = {
    "simple (Lemma 3.3)": (0.9579, 0.8795, 0.7911, 0.5821, 0.4087, 0.3336),
    "bottleneck": (0.9794, 0.8818, 0.7918, 0.5824, 0.4090, 0.3338),
    "bottleneck-guess": (0.9804, 0.8826, 0.7918, 0.5824, 0.4090, 0.3338),
    "exact": (0.9804, 0.9579, 0.9407, 0.8929, 0.5910, 0.3810),
}
TABLE_2 = {
    "mla": (1.216, 1.538, 1.950, 2.224, 2.304, 2.326),
    "mla-weighted": (1.206, 1.516, 1.920, 2.182, 2.258, 2.283),
    "random-1": (1.220, 1.551, 1.959, 2.230, 2.309, 2.333),
    "random-100": (1.201, 1.512, 1.916, 2.179, 2.258, 2.282),
    "random-10000": (1.199, 1.509, 1.911, 2.176, 2.256, 2.281),
    "brkga-100": (1.201, 1.516, 1.919, 2.184, 2.263, 2.288),
    "brkga-10000": (1.199, 1.509, 1.910, 2.175, 2.255, 2.272),
}


def beside(ours: pd.DataFrame, name: str, printed: dict[str, Sequence[float]], digits: int) -> str:
    """Return a Markdown table of the paper's numbers and ours, and of what only we have.

    Parameters
    ----------
    ours
        Columns `name`, `kind`, `param_k`, `instances` and `mean`, one data set.
    name
        Column of the rows' names.
    printed
        The paper's numbers by row.
    """
    kinds = {row: str(part["kind"].iloc[0]) for row, part in ours.groupby(name, sort=False)}
    own = ours.set_index([name, "param_k"])["mean"].to_dict()
    sizes = ours.groupby("param_k")["instances"].max().to_dict()
    rows = []
    for row in dict.fromkeys([*printed, *kinds]):
        if row in printed:
            rows.append([row, "paper", *(f"{value:.{digits}f}" for value in printed[row])])
        if row in kinds:
            means = [own.get((row, k)) for k in STAGES]
            cells = ["" if pd.isna(mean) else f"{mean:.{digits}f}" for mean in means]
            rows.append(["" if row in printed else row, f"ours, {kinds[row]}", *cells])
    rows.append(["instances", "ours", *(str(sizes.get(k, 0)) for k in STAGES)])
    return markdown(["", "", *by_stages(STAGES)], rows, 2)


def solver_table(rows: pd.DataFrame) -> str:
    """Return a Markdown table with a line for each program and solver."""
    lines = []
    for row in rows.itertuples():
        shape = f"{row.columns:,} x {row.rows:,}"
        labels = [f"{row.program}, k = {row.k}", row.graph, row.solver, shape]
        if pd.notna(row.reason):
            beyond = "rows" if row.rows > LICENCE else "columns"
            lines.append([*labels, f"more than {LICENCE:,} {beyond}", "", "", "", "", ""])
            continue
        size = f"{row.presolved_columns:,.0f} x {row.presolved_rows:,.0f}"
        claim = f"{row.claimed:,.1f}" + (" (solved)" if row.finished else "")
        ratio = "" if pd.isna(row.best_known) else f"{row.claimed / row.best_known:.3f}"
        nodes, seconds = f"{row.tree_nodes:,.0f}", f"{row.seconds:.1f}"
        lines.append([*labels, size, claim, ratio, nodes, seconds, str(row.threads)])
    head = [
        "program", "graph", "solver", "columns x rows", "after presolve", "claimed bound",
        "over best known", "nodes", "seconds", "threads",
    ]  # fmt: skip
    return markdown(head, lines, text_columns=3)


def mean_solver_table(rows: pd.DataFrame) -> str:
    """Return the geometric means of `bottleneck`'s claims over the best known cost, by solver."""
    chosen = rows[(rows["program"] == "bottleneck") & rows["claimed"].notna()]
    ratios = chosen["claimed"] / chosen["best_known"]
    means = ratios.groupby(chosen["solver"], sort=False)
    lines = [
        [solver, str(len(values)), f"{geometric_mean(values):.3f}", f"{values.min():.3f}"]
        for solver, values in means
    ]
    return markdown(["solver", "graphs", "mean", "smallest"], lines, text_columns=1)


def collect(folders: list[Path]) -> None:
    """Write the tables of a results folder's report, and what the run was, as CSV and JSON.

    What the solvers claim gets the best known costs of today beside it.
    """
    (folder,) = folders
    rows = ResultStore.open(folder).results()
    run = runs.task_facts(rows)
    run |= runs.machine_facts(folders, rows, ["highspy", "pyscipopt", "gurobipy"])
    tables = folder / "tables" / "pipeline"
    for name in ("hierarchy_by_k", "solutions_by_k", "runtime_by_k"):
        frame = pd.read_parquet(tables / f"{name}.parquet")
        frame = frame[frame["dataset"] != "all data sets"]
        kept = [one for one in KEPT[name] if one in frame]
        frame[kept].round(6).to_csv(DATA / f"{name}.csv", index=False)
    unsupported = rows[rows["status"] == "unsupported"]
    reasons = unsupported_by_reason(
        zip(unsupported["method"], unsupported["status_detail"], strict=True)
    )
    run["unsupported"] = [one.sentence for one in reasons]
    solvers = pd.read_csv(DATA / "solvers.csv")
    records = shipped()
    costs = {
        (one.instance, json.loads(one.instance_params)["k"]): one.objective
        for one in records[records["dataset"] == "regal-style"].itertuples()
    }
    solvers["best_known"] = [costs.get((one.graph, one.k)) for one in solvers.itertuples()]
    solvers.to_csv(DATA / "solvers.csv", index=False)
    runs.store_run(DATA, run)


KEPT = {
    "hierarchy_by_k": ["dataset", "level", "kind", "param_k", "instances", "delivered", "mean"],
    "solutions_by_k": ["dataset", "method", "param_k", "instances", "delivered", "mean"],
    "runtime_by_k": ["dataset", "method", "param_k", "instances", "mean_seconds", "timeout"],
}


def time_table(times: pd.DataFrame) -> str:
    """Return the mean seconds of SliceGraph's methods and of the programs on models."""
    methods = ("slicegraph", "brkga-10000", "bottleneck", "bottleneck-guess", "exact", "certify")
    own = times[times["dataset"] == "zoo"].set_index(["method", "param_k"])["mean_seconds"]
    rows = [
        [method, *(f"{own[method, k]:.2f}" for k in STAGES)]
        for method in methods
        if (method, STAGES[0]) in own.index
    ]
    return markdown(["seconds", *by_stages(STAGES)], rows)


def every_part() -> dict[str, str]:
    """Return all generated tables by their names."""
    frames = {name: pd.read_csv(DATA / f"{name}.csv") for name in KEPT}
    levels, costs = frames["hierarchy_by_k"], frames["solutions_by_k"].assign(kind="verified")
    costs = costs[costs["method"].isin(TABLE_2)]
    solvers = pd.read_csv(DATA / "solvers.csv")
    run = json.loads((DATA / "run.json").read_text())
    versions = ", ".join(f"{name} {version}" for name, version in run["versions"].items())
    failed = {name: n for name, n in run["statuses"].items() if name not in ("ok", "unsupported")}
    ran = (
        f"{runs.machine(run)}, one task at a time with one thread, {versions}. "
        f"{count(run['tasks'], 'task')} ({runs.told(failed) or 'none failed'}), "
        f"{runs.minutes(run)}."
    )
    return {
        "machine": "\n\n".join([ran, *run["unsupported"]]),
        "table 1": beside(levels[levels["dataset"] == "zoo"], "level", TABLE_1, 4),
        "table 3": beside(levels[levels["dataset"] == "regal-style"], "level", TABLE_3, 4),
        "table 2": beside(costs[costs["dataset"] == "zoo"], "method", TABLE_2, 3),
        "times": time_table(frames["runtime_by_k"]),
        "mean of solvers": mean_solver_table(solvers),
        "solvers": solver_table(solvers),
    }


def parts() -> dict[str, str]:
    """Return each generated part of the page by the name in its marks."""
    return {name: text for name, text in every_part().items() if name != "solvers"}


def tables() -> str:
    """Return the file of all tables."""
    return all_tables("All tables of the MTPP paper", every_part())


if __name__ == "__main__":
    make_page(PAGE, parts, collect, (TABLES, tables))
