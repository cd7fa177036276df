"""Make docs/results-hsdag.md from the data in `docs/tables/hsdag`.

`python docs/tables/hsdag.py` makes the tables of the page anew, and `docs/tables/hsdag/tables.md`
with what the page leaves out. With `collect RESULTS...`, it first adds the data of results folders
of suite `paper-hsdag`; they replace those of the same part and model. `hsdag_graphs.py` counts the
graphs, `hsdag_groups.py` makes groups and readings, and `hsdag_outputs.py` compares outputs.
"""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pandas as pd
import runs
from results_page import DOCS, NONE, all_tables, make_page, markdown

from boundmark.problems.catalog import methods

DATA = DOCS / "tables" / "hsdag"
PAGE = DOCS / "results-hsdag.md"
TABLES = DATA / "tables.md"
OUTPUTS = DATA / "outputs.csv"

MODELS = ("inception-v3", "resnet-50", "bert-base")
TITLES = ("Inception-v3", "ResNet-50", "BERT base")
# All parts but this one are on two devices.
THREE = "three-devices"

# Milliseconds, and speedup over CPU-only in percent; None if it ran out of memory.
Printed = tuple[str, float] | None

# Label, and method with its parameters; what [HSDAG24], Table 2, prints for the three models.
TABLE_2: dict[str, tuple[str, tuple[Printed, ...]]] = {
    "CPU-only": ("preferred-device first=0", (("12.8", 0), ("16.0", 0), ("6.38", 0))),
    "GPU-only": ("preferred-device first=1", (("12.0", 6.25), ("7.81", 51.2), ("2.77", 56.5))),
    "OpenVINO-CPU": (
        "preferred-device first=0", (("12.8", 0), ("23.4", -46.3), ("6.57", -2.98)),
    ),
    "OpenVINO-GPU": (
        "preferred-device first=1", (("13.8", -7.81), ("8.76", 45.3), ("2.84", 55.5)),
    ),
    "Placeto": ("placeto", (("11.6", 9.38), ("9.32", 41.8), ("6.51", -2.04))),
    "RNN-based": ("rnn-seq2seq", (("12.8", 0), ("8.75", 45.3), None)),
    "HSDAG": ("hsdag", (("10.5", 17.9), ("7.66", 52.1), ("2.67", 58.2))),
}  # fmt: skip
# What the paper does not have, below its rows.
NOT_IN_PAPER = {
    "chance (`random-sets`)": "random-sets",
    "`heft`": "heft",
    "`placement-search`": "placement-search evaluations=2000",
    "`placement-certify`": "placement-certify",
}

# Table 3: the variants, of each what is left out; seconds of a search from Table 5.
TABLE_3: dict[str, tuple[str, tuple[Printed, ...]]] = {
    "all features": ("", TABLE_2["HSDAG"][1]),
    "without output shapes": ("shapes", (("11.7", 8.59), ("7.68", 52.0), ("2.78", 56.4))),
    "without node ID (`positions`)": (
        "positions", (("11.7", 8.59), ("7.68", 52.0), ("2.79", 56.4)),
    ),
    "without graph structural features": (
        "structure", (("10.9", 14.8), ("7.66", 52.1), ("2.68", 58.2)),
    ),
}  # fmt: skip
TABLE_5: dict[str, tuple[int | None, ...]] = {
    "placeto": (2808, 1162, 4512),
    "rnn-seq2seq": (3706, 1212, None),
    "hsdag": (2454, 1047, 2765),
}

# Table 4: mean squared error, cosine similarity and Euclidean distance between outputs of BERT.
TABLE_4 = {
    "CPU and GPU": ("3.049e-05", "0.999", "0.432"),
    "CPU and HSDAG's placement": ("6.819e-07", "0.999", "0.064"),
    "GPU and HSDAG's placement": ("3.174e-05", "0.999", "0.441"),
}

# Section 3.5: accuracy on images of Samoyed dogs in percent, on the CPU, the GPU, and as placed.
ACCURACIES = {"Inception-v3": (82.33, 82.72, 82.77), "ResNet-50": (45.44, 45.37, 45.37)}

# Table 6: the parameter's name and value there, and which parameter of `hsdag` it is, or what the
# code fixes.
TABLE_6: dict[str, tuple[str, str]] = {
    "num_devices": ("2", "the instance's"),
    "hidden_channel": ("128", "hidden"),
    "layer_trans": ("2", "2"),
    "layer_gnn": ("2", "2"),
    "layer_parsingnet": ("2", "2"),
    "gnn_model": ("GCN", "GCN"),
    "dropout_network": ("0.2", "dropped_edges"),
    "dropout_parsing": ("0.0", "0.0"),
    "link_ignore_self_loop": ("True", "graphs have none"),
    "activation_final": ("True", "True, of features and convolutions"),
    "learning_rate": ("0.0001", "learning_rate"),
    "max_episodes": ("100", "evaluations / steps"),
    "update_timestep": ("20", "steps"),
    "K_epochs": ("4", "updates"),
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
    ("`heft`", "heft"),
    ("`placement-search`, 2,000", "placement-search evaluations=2000"),
    ("`placement-certify`", "placement-certify"),
)
# On three devices, of which GPU.1 is the last.
SHOWN_ON_THREE = tuple((label, method.replace("first=1", "first=2")) for label, method in SHOWN)
CURVES = ("hsdag", "random-sets", "placement-search")
OF_ZOO = (
    "placement-search evaluations=500", "heft", "single-device", "hsdag evaluations=500",
    "random-sets samples=500", "preferred-device first=0",
)  # fmt: skip


def collect(folders: list[Path]) -> None:
    """Add a row for each task, and what ran."""
    rows = pd.concat(map(runs.results_in, folders), ignore_index=True)
    rows = runs.newest_versions(rows)
    run = runs.machine_facts(folders, rows, ["jax"]) | {"parts": runs.part_facts(rows)}
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
    DATA.mkdir(exist_ok=True)
    order = ["part", "model", "method", "seed"]
    runs.add_rows(DATA / "tasks.csv", tasks, ["part", "model"], order)
    runs.add_run(DATA, run)


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


def of_paper(tasks: pd.DataFrame, first: str = "small") -> pd.DataFrame:
    """Return the tasks on the paper's models and its two devices, each once.

    Parts have tasks in common: those of the part `first` count before others. A search that its
    limit ended has fewer placements than others, and does not count.
    """
    own = tasks[tasks["model"].isin(MODELS) & (tasks["part"] != THREE)]
    own = own[(own["status"] != "timeout") | (own["kind"] == "bound")]
    own = own.sort_values("part", key=lambda part: part != first, kind="stable")
    return own.drop_duplicates(["model", "method", "seed"])


def on_three(tasks: pd.DataFrame) -> pd.DataFrame:
    """Return the tasks on three devices."""
    return tasks[tasks["part"] == THREE]


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


def measured(own: pd.DataFrame, shown: Iterable[tuple[str, str]]) -> str:
    """Return the paper's three models by method: costs, speedups over CPU-only, gaps, seconds."""
    bounds = bounds_of(own)
    bases = own[own["method"] == "preferred-device first=0"].set_index("model")["makespan"]
    lines = [
        [
            "certified lower bound",
            *(f"{bounds[model] / 1e6:.3f}" if model in bounds else NONE for model in MODELS),
            "", "",
        ],
    ]  # fmt: skip
    for label, method in shown:
        part = own[own["method"] == method]
        cells, seconds = [], []
        for model in MODELS:
            rows = part[part["model"] == model]
            found = rows["makespan"].dropna()
            has_bound = not found.empty and model in bounds
            cells.append(_cell(found, bases[model], bounds[model]) if has_bound else NONE)
            seconds.append(f"{rows['cpu_seconds'].median():.3g}" if len(rows) else NONE)
        counts = part.groupby("model")["makespan"].count().reindex(MODELS, fill_value=0)
        seeds = ", ".join(
            dict.fromkeys(map(str, counts)) if counts.nunique() == 1 else map(str, counts)
        )
        lines.append([label, *cells, ", ".join(seconds), seeds])
    return markdown(["method", *TITLES, "processor seconds", "n"], lines, 5)


def table_2(tasks: pd.DataFrame) -> str:
    """Return latency and speedup over CPU-only, the paper's and the median of ours, and our gap."""
    own = of_paper(tasks)
    middle = own.groupby(["method", "model"])["makespan"].median()
    bounds = bounds_of(own)
    lines = []
    rows: list[tuple[str, str, tuple[Printed, ...]]] = [
        *((label, method, printed) for label, (method, printed) in TABLE_2.items()),
    ]
    for label, method, printed in [
        *rows, *((label, method, ()) for label, method in NOT_IN_PAPER.items())
    ]:  # fmt: skip
        cells = []
        for at, model in enumerate(MODELS):
            said = _printed(printed[at]) if printed else NONE
            found = middle.get((method, model))
            if found is None:
                cells += [said, NONE, NONE]
                continue
            speedup = _speedup(found, middle["preferred-device first=0", model])
            ours = f"{found / 1e6:.3g} ms <br> {speedup}"
            cells += [said, ours, _gap(found / bounds[model] - 1)]
        lines.append([label, *cells])
    head = [f"{title}: {column}" for title in TITLES for column in ("paper", "ours", "gap")]
    return markdown(["", *head], lines)


def _printed(value: Printed) -> str:
    return "out of memory" if value is None else f"{value[0]} ms <br> {value[1]:.3g} %"


def _gap(gap: float) -> str:
    return "optimal" if gap == 0 else f"{100 * gap:.3g} %"


def table_4(outputs: pd.DataFrame) -> str:
    """Return how far outputs of placed models are from those of the whole model."""
    rows = [[f"paper: BERT, {pair}", NONE, NONE, *said, NONE] for pair, said in TABLE_4.items()]
    rows += [
        [
            f"here: {TITLES[MODELS.index(str(row.model))]}, CPU and `{row.method}`'s placement",
            f"{row.on_cpu}, {row.on_gpu}", str(row.parts), f"{row.mean_squared:.3g}",
            f"{row.cosine:.3f}", f"{row.euclidean:.3g}", f"{100 * row.same_class:.3g} %",
        ]
        for row in outputs.itertuples()
    ]  # fmt: skip
    head = [
        "outputs of", "operators on CPU, GPU.1", "parts", "mean squared error",
        "cosine similarity", "Euclidean distance", "same class",
    ]  # fmt: skip
    return markdown(head, rows)


def accuracies() -> str:
    """Return the paper's accuracies on images; we have no trained weights."""
    lines = [
        [title, *(f"{share:.2f} %" for share in shares), "not measured"]
        for title, shares in ACCURACIES.items()
    ]
    return markdown(["accuracy", "paper: CPU", "paper: GPU", "paper: HSDAG", "ours"], lines)


def table_6() -> str:
    """Return the paper's hyper-parameters beside ours."""
    ours = methods("placement")["hsdag"].params
    lines = [[name, said, _setting(own, ours)] for name, (said, own) in TABLE_6.items()]
    return markdown(["parameter", ">paper", ">`hsdag`"], lines)


def _setting(own: str, params: Mapping[str, Any]) -> str:
    """Return a parameter's name and value, or what is fixed."""
    if own == "evaluations / steps":
        return f"`{own}` = {params['evaluations'] // params['steps']}"
    return f"`{own}` = {params[own]:g}" if own in params else own


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
    own = of_paper(tasks, "curves")
    own = own[(own["model"] == "inception-v3") & own["makespan"].notna()]
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
    everything = of_paper(tasks, "ablations")
    own, bounds = everything[everything["makespan"].notna()], bounds_of(everything)
    bases = own[own["method"] == "preferred-device first=0"]
    base_of = bases.groupby("model")["makespan"].min()
    lines = []
    for label, (switch, printed) in TABLE_3.items():
        for at, (model, title) in enumerate(zip(MODELS, TITLES, strict=True)):
            name = f"hsdag {switch}=False" if switch else "hsdag"
            found = own[(own["method"] == name) & (own["model"] == model)]["makespan"]
            if not found.empty:
                shown = _cell(found, base_of[model], bounds[model])
                cells = [_printed(printed[at]), f"{shown} <br> n = {len(found)}"]
                lines.append([label, title, *cells])
    return markdown(["", "model", "paper", "`hsdag`"], lines, 3)


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


def group_table(readings: pd.DataFrame, tasks: pd.DataFrame) -> str:
    """Return how many groups trained policies form by each reading of the paper, and latencies."""
    bounds = bounds_of(of_paper(tasks))
    lines = []
    for label, found in readings.groupby("reading", sort=False):
        cells = []
        for model in MODELS:
            own = found[found["model"] == model]
            if own.empty:
                cells.append(NONE)
                continue
            middle = own["makespan"].median()
            cells.append(
                f"{_range(own['scores'])} of {own['edges'].iloc[0]} <br> "
                f"{_range(own['groups_before'])}, {_range(own['groups'])}, "
                f"{own['groups_drawn'].mean():.1f} <br> "
                f"{middle / 1e6:.3f} ms, {_gap(middle / bounds[model] - 1)} <br> n = {len(own)}"
            )
        lines.append([str(label), *cells])
    table = markdown(["reading", *TITLES], lines)
    return f"{table}\n\nReadings: commit {', '.join(sorted(set(readings['commit'])))}."


def _range(counts: "pd.Series[int]") -> str:
    least, most = counts.min(), counts.max()
    return str(least) if least == most else f"{least} to {most}"


def parts() -> dict[str, str]:
    """Return each generated part of the page by the name in its marks."""
    tasks, ran = _data()
    return {
        "machine": runs.machine_text(ran),
        "table 1": table_1(pd.read_csv(DATA / "graphs.csv")),
        "table 2": table_2(tasks),
        "table 3": ablations(tasks),
        "table 4": table_4(pd.read_csv(OUTPUTS) if OUTPUTS.exists() else pd.DataFrame()),
        "accuracies": accuracies(),
        "table 5": table_5(tasks),
        "table 6": table_6(),
        "figure 2": group_table(pd.read_csv(DATA / "readings.csv"), tasks),
        "three devices": measured(on_three(tasks), SHOWN_ON_THREE),
        "curves": curves(tasks),
        "zoo": zoo(tasks),
    }


def tables() -> str:
    """Return the file of tables that the page leaves out: each method with its spread."""
    tasks, ran = _data()
    made = {"machine": runs.machine_text(ran), "all methods": measured(of_paper(tasks), SHOWN)}
    return all_tables("Results in the form of the HSDAG paper: all methods", made)


def _data() -> tuple[pd.DataFrame, list[dict[str, Any]]]:
    """Return all tasks, and what ran."""
    return pd.read_csv(DATA / "tasks.csv"), json.loads((DATA / "run.json").read_text())


if __name__ == "__main__":
    make_page(PAGE, parts, collect, (TABLES, tables))
