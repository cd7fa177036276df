"""Make docs/results-mtpp.md: `python docs/tables/mtpp.py` from the data in `docs/tables/mtpp`.

It also makes `docs/tables/mtpp/tables.md`, with all that the page leaves out, and the pictures
docs/mtpp-times.svg and docs/mtpp-bounds-over-time.svg. `python docs/tables/mtpp.py collect
RESULTS...` takes those data from results folders, one for each suite; `mtpp_solvers.py` measures
those of the solvers.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd
import runs
from results_page import DOCS, all_tables, by_stages, make_page, markdown

from boundmark.reports.best_known import shipped
from boundmark.reports.folder_results import read_folder
from boundmark.reports.pipeline import REPORT
from boundmark.reports.pipeline.drawings import SIMPLE_METHODS
from boundmark.reports.pipeline.hierarchy import (
    PROGRAMS,
    bounds_over_time,
    draw_bounds_over_time,
    hierarchy_table,
    program_times,
)
from boundmark.reports.plots import Panels, Plot, drawing_of, looks
from boundmark.reports.sections.runtime import draw_runtime_scatter
from boundmark.reports.statistics import geometric_mean
from boundmark.reports.stored.store import ResultStore
from boundmark.reports.tables.by_parameter import runtime_by_parameter
from boundmark.reports.tables.parameters import ALL
from boundmark.reports.text import count, natural_order

DATA = DOCS / "tables" / "mtpp"
PAGE = DOCS / "results-mtpp.md"
TABLES = DATA / "tables.md"

MODELS = "paper-mtpp/models"
ORDERS = "paper-mtpp/heuristics"
WORST_ORDERS = "paper-mtpp/worst-orders"
BRKGA = "brkga-10000"

# What the licence of gurobipy's wheel covers, in columns and in rows.
LICENCE = 2000

STAGES = (2, 4, 8, 16, 32, 64)

# Numbers of stages in the pictures, as headings of more columns overlap.
DRAWN = (2, 4, 16)

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


def beside(
    ours: pd.DataFrame, name: str, printed: dict[str, Sequence[float]], digits: int,
    optimal: Mapping[int, int] | None = None,
) -> str:  # fmt: skip
    """Return a Markdown table of the paper's numbers and ours, and of what only we have.

    Numbers of stages that were not measured have empty cells.

    Parameters
    ----------
    ours
        Columns `name`, `kind`, `param_k`, `instances` and `mean`, one data set.
    name
        Column of the rows' names.
    printed
        The paper's numbers by row.
    optimal
        How many instances are proven optimal, by number of stages.
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
    if optimal is not None:
        rows.append(["proven optimal", "ours", *(str(optimal.get(k, "")) for k in STAGES)])
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
    """Add to the data what folders have, each of which holds the results of one suite.

    Where several have the same data set and number of stages, the last one counts.
    What the solvers claim gets the best known costs of today beside it.
    """
    runs_of = json.loads((DATA / "run.json").read_text())
    for folder in folders:
        store = ResultStore.open(folder)
        rows = store.results()
        results = read_folder(store).of_problem("pipeline", REPORT.grouping)
        (suite,) = set(rows["suite"])
        runs_of[suite] = runs.task_facts(rows) | runs.machine_facts([folder], rows, ["highspy"])
        runs_of[suite]["workers"] = runs.most_at_a_time(rows)
        if suite == ORDERS:
            keep("solutions_by_k", REPORT.tables(results)["solutions_by_k"])
            continue
        if suite == WORST_ORDERS:
            keep("worst_orders", worst_orders(results.tasks))
            continue
        keep("hierarchy_by_k", hierarchy_table(results))
        keep("optimal_by_k", optimal_by_k(results.certified))
        keep("runtime_by_k", runtime_by_parameter(results.tasks, "param_k"))
        drawn = replace(results, tasks=results.tasks[results.tasks["param_k"].isin(DRAWN)])
        keep("bounds_over_time", bounds_over_time(drawn))
        keep("program_times", program_times(drawn))
        if suite == MODELS:
            keep("case_study", case_study(results.tasks))
    solvers = pd.read_csv(DATA / "solvers.csv")
    records = shipped()
    costs = {
        (one.instance, json.loads(one.instance_params)["k"]): one.objective
        for one in records[records["dataset"] == "regal-style"].itertuples()
    }
    solvers["best_known"] = [costs.get((one.graph, one.k)) for one in solvers.itertuples()]
    solvers.to_csv(DATA / "solvers.csv", index=False)
    runs.store_run(DATA, runs_of)


def keep(name: str, found: pd.DataFrame) -> None:
    """Put rows in the place of those that a file has of the same data set and number of stages."""
    path = DATA / f"{name}.csv"
    found = found.loc[found["dataset"] != ALL, KEPT.get(name, list(found))].round(6)
    if path.exists():
        old = pd.read_csv(path)
        parts = pd.MultiIndex.from_frame(found[["dataset", "param_k"]])
        is_new = pd.MultiIndex.from_frame(old[["dataset", "param_k"]]).isin(parts)
        found = pd.concat([old[~is_new], found]).sort_values(["dataset", "param_k"], kind="stable")
    found.to_csv(path, index=False)


def optimal_by_k(certified: pd.DataFrame) -> pd.DataFrame:
    """Return on how many instances the best solution costs as much as the best certified bound."""
    is_optimal = certified["objective"].eq(certified["bound"]).fillna(False).astype(bool)
    found = certified.assign(optimal=is_optimal).groupby(["dataset", "param_k"])["optimal"]
    return found.sum().reset_index()


def worst_orders(tasks: pd.DataFrame) -> pd.DataFrame:
    """Return the cost and the certified bound of each method on each instance."""
    columns = ["dataset", "instance", "param_k", "method", "objective", "bound_certified"]
    return tasks[columns].sort_values(["instance", "param_k", "method"])


# Of the case study, as in the paper.
CASE_STAGES = 4


def case_study(tasks: pd.DataFrame) -> pd.DataFrame:
    """Return what each method found on the model whose simple bound is the weakest.

    That is, with `CASE_STAGES` stages, over the cost of BRKGA's best partition, and among the
    models on which all programs are solved in the time given.
    """
    chosen = tasks[tasks["param_k"] == CASE_STAGES]
    is_solved = chosen["wall_seconds"] < chosen["time_limit_seconds"]
    of_programs = chosen[chosen["method"].isin(PROGRAMS) & is_solved]
    programs = of_programs.groupby("instance")["method"].nunique()
    having_all = programs.index[programs == len(PROGRAMS)]
    chosen = chosen[chosen["instance"].isin(having_all)]
    simple = chosen[chosen["method"].isin(SIMPLE_METHODS)]
    bound = simple.groupby("instance")["bound_certified"].max().astype("float64")
    genetic = chosen[chosen["method"] == BRKGA].set_index("instance")["objective"]
    weakest = (bound / genetic.astype("float64")).idxmin()
    columns = ["dataset", "instance", "nodes", "param_k", "method", "objective"]
    columns += ["bound_certified", "bound_claimed", "wall_seconds"]
    return chosen[chosen["instance"] == weakest][columns]


KEPT = {
    "hierarchy_by_k": ["dataset", "level", "kind", "param_k", "instances", "delivered", "mean"],
    "solutions_by_k": ["dataset", "method", "param_k", "instances", "delivered", "mean"],
    "runtime_by_k": ["dataset", "method", "param_k", "instances", "mean_seconds", "timeout"],
}


def time_table(times: pd.DataFrame, dataset: str) -> str:
    """Return the mean seconds of SliceGraph's methods and of the programs on a data set."""
    methods = ("slicegraph", BRKGA, "bottleneck", "bottleneck-guess", "exact", "certify")
    own = times[times["dataset"] == dataset].set_index(["method", "param_k"])["mean_seconds"]
    sizes = sorted(set(times[times["dataset"] == dataset]["param_k"]))
    rows = [[method, *(f"{own[method, k]:.2f}" for k in sizes)] for method in methods]
    return markdown(["seconds", *by_stages(sizes)], rows)


# The paper's net10_new_ckpt-4000009, k = 4 ([MTPP24], Section 5).
CASE = {
    "simple (Lemma 3.3)": 0.2775,
    "bottleneck": 0.6570,
    "bottleneck-guess": 0.9152,
    "exact": 0.9913,
}


def case_table(found: pd.DataFrame) -> str:
    """Return each method's bound over the cost of BRKGA's partition, and its seconds."""
    own = found.set_index("method")
    bound = own["bound_certified"].fillna(own["bound_claimed"]) / own.loc[BRKGA, "objective"]
    simple = max(SIMPLE_METHODS, key=lambda name: bound[name])
    rows = []
    for level, printed in CASE.items():
        name = simple if level not in own.index else level
        kind = "certified" if name == simple else "claimed"
        seconds = f"{own.loc[name, 'wall_seconds']:.1f}"
        rows.append([level, kind, f"{printed:.4f}", f"{bound[name]:.4f}", seconds])
    seconds = f"{own.loc['certify', 'wall_seconds']:.1f}"
    rows.append(["certify", "certified", "", f"{bound['certify']:.4f}", seconds])
    title = f">{found['instance'].iloc[0]}, {found['nodes'].iloc[0]:,} nodes (ours)"
    return markdown(["bound", "kind", ">net10 (paper)", title, ">seconds"], rows, 2)


def worst_table(found: pd.DataFrame) -> str:
    """Return the cost of each method over the optimum, K + 1, beside the proven ratio."""
    lines = []
    for where, title in (("lemma-b2", "Lemma B.2"), ("remark-b3", "Remark B.3")):
        part = found[found["instance"].str.startswith(where)]
        own = part.set_index(["method", "param_k"])
        sizes = sorted(set(part["param_k"]))
        proven = {k: k if where == "lemma-b2" else 2 * k / (k + 1) for k in sizes}
        lines.append([title, "proven", *(f"{proven[k]:.3f}" for k in sizes)])
        for method in dict.fromkeys(["slicegraph", *part["method"]]):
            if method not in ("mean-work", "certify"):
                ratios = (f"{own.loc[(method, k), 'objective'] / (k + 1):.3f}" for k in sizes)
                lines.append(["", f"`{method}`", *ratios])
        bounds = (f"{own.loc[('certify', k), 'bound_certified'] / (k + 1):.3f}" for k in sizes)
        lines.append(["", "`certify` (bound)", *bounds])
    return markdown(["", "", *by_stages(sizes)], lines, 2)


def machine_lines(of_runs: Mapping[str, Mapping[str, Any]]) -> str:
    """Return a line for each run: what it was of, and by which code, when and where."""
    lines = []
    for name, run in of_runs.items():
        versions = ", ".join(f"{one} {version}" for one, version in run["versions"].items())
        failed = {one: n for one, n in run["statuses"].items() if one not in ("ok", "unsupported")}
        limit = f", {run['limit']:g} seconds each" if "limit" in run else ""
        loads = f", load {', '.join(map(str, run['loads']))}" if "loads" in run else ""
        lines.append(
            f"- {RUNS[name]}: {runs.machine(run)}{loads}, {runs.at_a_time(run)} with one thread, "
            f"{versions}; {count(run['tasks'], 'task')}{limit} "
            f"({runs.told(failed) or 'none failed'}), {runs.minutes(run)}."
        )
    return "\n".join(lines)


# The parts of the page that show each suite's results.
RUNS = {
    MODELS: "Table 1 and Figure 4",
    "paper-mtpp/sparse": "Table 3 and Figure 5",
    WORST_ORDERS: "Worst orders",
    ORDERS: "Table 2",
}


def every_part() -> dict[str, str]:
    """Return all generated tables by their names."""
    frames = {name: pd.read_csv(DATA / f"{name}.csv") for name in KEPT}
    levels, costs = frames["hierarchy_by_k"], frames["solutions_by_k"].assign(kind="verified")
    costs = costs[costs["method"].isin(TABLE_2)]
    times = frames["runtime_by_k"]
    solvers = pd.read_csv(DATA / "solvers.csv")
    of_runs = json.loads((DATA / "run.json").read_text())
    proven = pd.read_csv(DATA / "optimal_by_k.csv").set_index("param_k")
    optimal = {name: dict(part["optimal"]) for name, part in proven.groupby("dataset")}
    models, graphs = (levels[levels["dataset"] == name] for name in ("zoo", "regal-style"))
    return {
        "machine": machine_lines({name: of_runs[name] for name in RUNS}),
        "table 1": beside(models, "level", TABLE_1, 4, optimal["zoo"]),
        "table 3": beside(graphs, "level", TABLE_3, 4, optimal["regal-style"]),
        "table 2": beside(costs[costs["dataset"] == "zoo"], "method", TABLE_2, 3),
        "times": time_table(times, "zoo"),
        "times of random graphs": time_table(times, "regal-style"),
        "case study": case_table(pd.read_csv(DATA / "case_study.csv")),
        "worst orders": worst_table(pd.read_csv(DATA / "worst_orders.csv")),
        "mean of solvers": mean_solver_table(solvers),
        "solvers": solver_table(solvers),
    }


def draw_pictures() -> None:
    """Draw Figures 4 and 5, and bounds over time, with a row for each data set."""
    for name, data_name, draw in (
        ("mtpp-times", "program_times", draw_runtime_scatter),
        ("mtpp-bounds-over-time", "bounds_over_time", draw_bounds_over_time),
    ):
        data = pd.read_csv(DATA / f"{data_name}.csv")
        drawn = partial(draw, looks=looks(natural_order(data["method"])))
        panels = Panels("param_k", lambda k: f"k = {k}", rows="dataset")
        plot = Plot(name, "", "", data, drawn, panels, height=2.8)
        (DOCS / f"{name}.svg").write_text(drawing_of(plot, name).svg)


def parts() -> dict[str, str]:
    """Return each generated part of the page by the name in its marks."""
    return {name: text for name, text in every_part().items() if name != "solvers"}


def tables() -> str:
    """Return the file of all tables."""
    return all_tables("All tables of the MTPP paper", every_part())


if __name__ == "__main__":
    make_page(PAGE, parts, collect, (TABLES, tables))
    draw_pictures()
