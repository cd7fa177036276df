"""Make docs/results-hsdag.md from the data in `docs/tables/hsdag`.

`python docs/tables/hsdag.py` makes the tables of the page anew, and `docs/tables/hsdag/tables.md`
with what the page leaves out. With `collect RESULTS`, it first takes the data from a results folder
of the parts `small`, `curves`, `ablations` and `zoo` of suite `paper-hsdag`; `hsdag_graphs.py`
counts the graphs, and `hsdag_groups.py` makes groups. `outputs.csv` has what `boundmark split`
printed for each placement.
"""

import json
from pathlib import Path
from typing import Any

import pandas as pd
import runs
from results_page import DOCS, NONE, all_tables, make_page, markdown

from boundmark.problems.catalog import methods
from boundmark.reports.text import count

DATA = DOCS / "tables" / "hsdag"
PAGE = DOCS / "results-hsdag.md"
TABLES = DATA / "tables.md"

MODELS = ("inception-v3", "resnet-50", "bert-base")
TITLES = ("Inception-v3", "ResNet-50", "BERT base")
PARTS = ("small", "curves", "ablations", "zoo")

# Label, and method with its parameters; what [HSDAG24], Table 2, prints as speedup over CPU-only
# in percent for the three models, None for out of memory.
TABLE_2: dict[str, tuple[str, tuple[float | None, ...]]] = {
    "GPU-only": ("preferred-device first=1", (6.25, 51.2, 56.5)),
    "OpenVINO-CPU": ("preferred-device first=0", (0.0, -46.3, -2.98)),
    "OpenVINO-GPU": ("preferred-device first=1", (-7.81, 45.3, 55.5)),
    "Placeto": ("placeto", (9.38, 41.8, -2.04)),
    "RNN-based": ("rnn-seq2seq", (0.0, 45.3, None)),
    "HSDAG": ("hsdag", (17.9, 52.1, 58.2)),
}
# What the paper does not have, below its rows.
NOT_IN_PAPER = {
    "`hsdag-advantage`": "hsdag-advantage",
    "chance (`random-sets`)": "random-sets",
    "`heft`": "heft",
    "`placement-search`": "placement-search evaluations=2000",
    "`placement-certify`": "placement-certify",
}

# Table 3: speedup over CPU-only in percent of the variants; seconds of a search from Table 5.
TABLE_3: dict[str, tuple[str, tuple[float, ...]]] = {
    "all features": ("", (17.9, 52.1, 58.2)),
    "without output shapes": ("shapes", (8.59, 52.0, 56.4)),
    "without node ID (`positions`)": ("positions", (8.59, 52.0, 56.4)),
    "without graph structural features": ("structure", (14.8, 52.1, 58.2)),
}
TABLE_5: dict[str, tuple[int | None, ...]] = {
    "placeto": (2808, 1162, 4512),
    "rnn-seq2seq": (3706, 1212, None),
    "hsdag": (2454, 1047, 2765),
}

# Table 4: mean squared error and Euclidean distance between outputs of BERT.
TABLE_4 = {
    "CPU and GPU": ("3.0e-5", "0.432"),
    "CPU and HSDAG's placement": ("6.8e-7", "0.064"),
    "GPU and HSDAG's placement": ("3.2e-5", "0.441"),
}

# Nodes and edges of the graphs in Table 1.
TABLE_1 = {"inception-v3": (728, 764), "resnet-50": (396, 411), "bert-base": (1009, 1071)}

SHOWN = (
    ("CPU-only, OpenVINO-CPU", "preferred-device first=0"),
    ("GPU-only, OpenVINO-GPU", "preferred-device first=1"),
    ("`m-etf`", "m-etf"),
    ("`random-devices`, 2,000", "random-devices samples=2000"),
    ("`random-sets`, 2,000", "random-sets"),
    ("`placeto`", "placeto"),
    ("`rnn-seq2seq`", "rnn-seq2seq"),
    ("`hsdag`", "hsdag"),
    ("`hsdag-advantage`", "hsdag-advantage"),
    ("`heft`", "heft"),
    ("`placement-search`, 2,000", "placement-search evaluations=2000"),
    ("`placement-certify`", "placement-certify"),
)
CURVES = ("hsdag", "hsdag-advantage", "random-sets", "placement-search")
OF_ZOO = (
    "placement-search evaluations=500", "heft", "single-device", "hsdag-advantage evaluations=500",
    "hsdag evaluations=500", "random-sets samples=500", "preferred-device first=0",
)  # fmt: skip


def collect(folders: list[Path]) -> None:
    """Write a row for each task, and what ran."""
    (folder,) = folders
    rows = runs.results_in(folder)
    run = runs.machine_facts(folders, rows, ["jax"]) | runs.task_facts(rows)
    given = [json.loads(text) for text in rows["params"]]
    tasks = pd.DataFrame(
        {
            "part": rows["suite"].str.removeprefix("paper-hsdag/"),
            "model": rows["instance"],
            "method": [_named(name, own) for name, own in zip(rows["method"], given, strict=True)],
            "kind": rows["method_kind"],
            "seed": rows["seed"],
            "makespan": rows["objective"],
            "bound": rows["bound_certified"],
            "cpu_seconds": rows["cpu_seconds"].round(3),
            "status": rows["status"],
        }
    )
    tasks = tasks.sort_values(["part", "model", "method", "seed"])
    DATA.mkdir(exist_ok=True)
    tasks.to_csv(DATA / "tasks.csv", index=False)
    runs.store_run(DATA, run)


# A parameter that is said even with its default, and one that tells no variants apart.
SAID, HIDDEN = "first", "known_cost"


def _named(method: str, params: dict[str, object]) -> str:
    """Return a method with its parameters that are not the defaults as one text."""
    usual = methods("placement")[method].params
    shown = {
        key: value
        for key, value in sorted(params.items())
        if key == SAID or (key != HIDDEN and value != usual.get(key))
    }
    return " ".join([method, *(f"{key}={value}" for key, value in shown.items())])


def of_paper(tasks: pd.DataFrame) -> pd.DataFrame:
    """Return the tasks on the paper's three models."""
    return tasks[tasks["model"].isin(MODELS)]


def bounds_of(tasks: pd.DataFrame) -> "pd.Series[float]":
    """Return the best certified bound of each model, which has one instance in all parts."""
    return tasks.groupby("model")["bound"].max()


def _speedup(makespan: float, base: float) -> str:
    return f"{100 * (1 - makespan / base):.1f} %"


def _milliseconds(found: "pd.Series[float]") -> str:
    """Return median, least and most of some costs."""
    middle, least, most = (found.median() / 1e6, found.min() / 1e6, found.max() / 1e6)
    if least == most:
        return f"{middle:.3f}" + ("" if len(found) == 1 else f" (all {len(found)})")
    return f"{middle:.3f} ({least:.3f} to {most:.3f})"


def _cell(found: "pd.Series[float]", base: float, bound: float) -> str:
    """Return costs, and below the median's speedup over CPU-only and its gap."""
    if found.empty:
        return NONE
    gap = found.median() / bound - 1
    said = "0 %: optimal" if gap == 0 else f"{100 * gap:.3g} %"
    return f"{_milliseconds(found)} <br> {_speedup(found.median(), base)}, {said}"


def machine_text(tasks: pd.DataFrame, run: dict[str, Any]) -> str:
    """Return what ran, on which machine, and how it ended."""
    parts = [one for one in PARTS if one in set(tasks["part"])]
    numbers = ", ".join(f"`{one}` {(tasks['part'] == one).sum()}" for one in parts)
    return (
        f"{runs.machine(run)}, load {min(run['loads'])} to {max(run['loads'])} at the start of the "
        f"parts, one task at a time with one thread, JAX {run['versions']['jax']}. "
        f"{count(len(tasks), 'task')} ({numbers}) of {run['limit']:g} s at most "
        f"({runs.told(tasks['status'].value_counts().to_dict())}); {runs.minutes(run)}."
    )


def measured(tasks: pd.DataFrame) -> str:
    """Return the paper's three models by method: costs, speedups over CPU-only, gaps, seconds."""
    own = of_paper(tasks)
    bounds = bounds_of(of_paper(tasks))
    bases = own[own["method"] == "preferred-device first=0"].set_index("model")["makespan"]
    lines = [
        ["certified lower bound", *(f"{bounds[model] / 1e6:.3f}" for model in MODELS), "", ""],
    ]
    for label, method in SHOWN:
        part = own[own["method"] == method]
        cells, seconds = [], []
        for model in MODELS:
            rows = part[part["model"] == model]
            found = rows["makespan"].dropna()
            cells.append(_cell(found, bases[model], bounds[model]))
            seconds.append(f"{rows['cpu_seconds'].median():.3g}" if len(rows) else NONE)
        seeds = int(part.groupby("model")["makespan"].count().max()) if len(part) else 0
        lines.append([label, *cells, ", ".join(seconds), str(seeds)])
    return markdown(["method", *TITLES, "processor seconds", "n"], lines, 5)


def table_2(tasks: pd.DataFrame) -> str:
    """Return speedups over CPU-only, the paper's and the median of ours, and our gap."""
    own = of_paper(tasks)
    middle = own.groupby(["method", "model"])["makespan"].median()
    bounds = bounds_of(own)
    lines = []
    rows: list[tuple[str, str, tuple[float | None, ...] | None]] = [
        *((label, method, printed) for label, (method, printed) in TABLE_2.items()),
        *((label, method, None) for label, method in NOT_IN_PAPER.items()),
    ]
    for label, method, printed in rows:
        cells = []
        for at, model in enumerate(MODELS):
            said = NONE if printed is None else _printed(printed[at])
            found = middle.get((method, model))
            if found is None:
                cells += [said, NONE, NONE]
                continue
            speedup = _speedup(found, middle["preferred-device first=0", model])
            cells += [said, speedup, _gap(found / bounds[model] - 1)]
        lines.append([label, *cells])
    head = [f"{title}: {column}" for title in TITLES for column in ("paper", "ours", "gap")]
    return markdown(["", *head], lines)


def _printed(value: float | None) -> str:
    return "out of memory" if value is None else f"{value:.3g} %"


def _gap(gap: float) -> str:
    return "optimal" if gap == 0 else f"{100 * gap:.3g} %"


def table_4(outputs: pd.DataFrame) -> str:
    """Return how far outputs of placed models are from those of the whole model."""
    rows = [
        [f"paper: BERT, {pair}", NONE, NONE, f"{error} mean squared, {distance} Euclidean"]
        for pair, (error, distance) in TABLE_4.items()
    ]
    rows += [
        [
            f"here: {TITLES[MODELS.index(str(row.model))]}, CPU and `{row.method}`'s placement",
            f"{row.on_cpu}, {row.on_gpu}", str(row.parts),
            f"{row.largest_difference}, values up to {row.largest_value}",
        ]
        for row in outputs.itertuples()
    ]  # fmt: skip
    return markdown(["outputs of", "operators on CPU, GPU.1", "parts", "difference"], rows)


def table_5(tasks: pd.DataFrame) -> str:
    """Return seconds of a search, the paper's and the median of ours."""
    own = of_paper(tasks)
    lines = []
    for method, printed in TABLE_5.items():
        seconds = own[own["method"] == method].groupby("model")["cpu_seconds"].median()
        cells = []
        for model, value in zip(MODELS, printed, strict=True):
            ours = seconds.get(model)
            cells.append("out of memory" if value is None else f"{value:,}")
            cells.append(NONE if ours is None else f"{ours:.1f}")
        lines.append([f"`{method}`", *cells])
    head = [f"{title}: {column}" for title in TITLES for column in ("paper", "ours")]
    return markdown(["seconds", *head], lines)


def curves(tasks: pd.DataFrame) -> str:
    """Return the median cost after so many evaluations on Inception-v3, and its gap."""
    own = tasks[(tasks["model"] == "inception-v3") & tasks["makespan"].notna()]
    bound = bounds_of(of_paper(tasks))["inception-v3"]
    sizes = (100, 300, 1000, 3000)
    lines = []
    for name in CURVES:
        key = "samples" if name == "random-sets" else "evaluations"
        cells = []
        for size in sizes:
            found = own[own["method"] == f"{name} {key}={size}"]["makespan"]
            if found.empty:
                cells.append(NONE)
                continue
            middle = found.median()
            cells.append(f"{middle / 1e6:.3f}, {100 * (middle / bound - 1):.1f} %")
        lines.append([f"`{name}`", *cells])
    return markdown(["method", *(f"{size:,}" for size in sizes)], lines)


def ablations(tasks: pd.DataFrame) -> str:
    """Return costs without some features, by model, beside Table 3."""
    everything = of_paper(tasks)
    own, bounds = everything[everything["makespan"].notna()], bounds_of(everything)
    bases = own[own["method"] == "preferred-device first=0"]
    base_of = bases.groupby("model")["makespan"].min()
    lines = []
    for label, (switch, printed) in TABLE_3.items():
        for at, (model, title) in enumerate(zip(MODELS, TITLES, strict=True)):
            cells = []
            for method in ("hsdag", "hsdag-advantage"):
                name = f"{method} {switch}=False" if switch else method
                found = own[(own["method"] == name) & (own["model"] == model)]["makespan"]
                shown = NONE if found.empty else _cell(found, base_of[model], bounds[model])
                cells.append(shown + (f" <br> n = {len(found)}" if len(found) else ""))
            if cells != [NONE, NONE]:
                lines.append([label, title, f"{printed[at]:.3g} %", *cells])
    head = ["", "model", "paper", "`hsdag`", "`hsdag-advantage`"]
    return markdown(head, lines, 3)


def zoo(tasks: pd.DataFrame) -> str:
    """Return gaps over the zoo's other graphs, and how often one device is as good."""
    own = tasks[tasks["part"] == "zoo"]
    bounds = bounds_of(own)
    costs = own[own["makespan"].notna()].pivot_table("makespan", "model", "method")
    single = costs["single-device"]
    lines = []
    for name in OF_ZOO:
        if name not in costs:
            continue
        found = costs[name].dropna()
        gaps = 100 * (found / bounds[found.index] - 1)
        seconds = own[own["method"] == name]["cpu_seconds"].median()
        lines.append(
            [
                f"`{name}`", str(len(found)), f"{gaps.mean():.1f}",
                f"{gaps.max():.0f} ({gaps.idxmax()})", str(int((found <= single).sum())),
                str(int((found < single).sum())), f"{seconds:.2f}",
            ]
        )  # fmt: skip
    head = [
        "method", "graphs", "mean gap (%)", "worst gap (%)", "as good as the best single device",
        "better", "processor seconds, median",
    ]  # fmt: skip
    return markdown(head, lines)


def table_1(graphs: pd.DataFrame) -> str:
    """Return nodes and edges of the graphs, the paper's beside those that we make."""
    lines = []
    for row in graphs.itertuples():
        nodes, edges = TABLE_1[str(row.model)]
        lines.append(
            [
                TITLES[MODELS.index(str(row.model))], f"{nodes:,}, {edges:,}",
                f"{edges / nodes:.2f}", f"{row.nodes:,}, {row.edges:,}",
                f"{row.edges / row.nodes:.2f}", str(row.types), str(row.constants),
                str(row.conversions), str(row.operators),
            ]
        )  # fmt: skip
    head = [
        "model", "nodes, edges in [HSDAG24]", "edges per node", "in IR made here", "edges per node",
        "types", "constants", "conversions", "operators that are placed",
    ]  # fmt: skip
    return markdown(head, lines)


def group_table(groups: dict[str, dict[str, dict[str, Any]]]) -> str:
    """Return how many scores and groups trained policies have, by model."""
    lines = []
    for method, found in groups.items():
        cells = [
            f"{one['scores']} on {len(one['edges'])} edges, {len(set(one['group']))}"
            for one in (found[model] for model in MODELS)
        ]
        lines.append([f"`{method}`", *cells])
    return markdown(["different scores, groups", *TITLES], lines)


def parts() -> dict[str, str]:
    """Return each generated part of the page by the name in its marks."""
    tasks, run = _data()
    return {
        "machine": machine_text(tasks, run),
        "table 1": table_1(pd.read_csv(DATA / "graphs.csv")),
        "table 2": table_2(tasks),
        "table 3": ablations(tasks),
        "table 4": table_4(pd.read_csv(DATA / "outputs.csv", dtype=str)),
        "table 5": table_5(tasks),
        "figure 2": group_table(json.loads((DATA / "groups.json").read_text())),
        "curves": curves(tasks),
        "zoo": zoo(tasks),
    }


def tables() -> str:
    """Return the file of tables that the page leaves out: each method with its spread."""
    tasks, run = _data()
    made = {"machine": machine_text(tasks, run), "all methods": measured(tasks)}
    return all_tables("Results in the form of the HSDAG paper: all methods", made)


def _data() -> tuple[pd.DataFrame, dict[str, Any]]:
    """Return all tasks, and what ran."""
    run = json.loads((DATA / "run.json").read_text())
    return pd.read_csv(DATA / "tasks.csv"), run


if __name__ == "__main__":
    make_page(PAGE, parts, collect, (TABLES, tables))
