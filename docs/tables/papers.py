"""Fill the pages about five papers from stored results, by sections of reports; see `page.py`."""

import gzip
import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np
import pandas as pd
from page import ROOT, TABLES, Filling, by_stages, markdown, runs_of, section_table, stored, word
from page import results as results_of

from boundmark.benchmarks.library import Library
from boundmark.datasets.readers import openvino
from boundmark.reports import ordering, slicing
from boundmark.reports.methods import method_section, method_table
from boundmark.reports.pages.page import Section
from boundmark.reports.placement import REPORT as PLACEMENT
from boundmark.reports.placement import latencies, learned
from boundmark.reports.problem_report import ProblemResults
from boundmark.reports.statistics import geometric_mean
from boundmark.reports.text import decimal, gap_percent

INCEPTION, RESNET, BERT = "inception-v3", "resnet-50", "bert-base"


def _range(values: Iterable[float], digits: int = 1) -> str:
    found = sorted(values)
    return f"{found[0]:.{digits}f} to {found[-1]:.{digits}f}"


@cache
def placements_of(name: str) -> pd.DataFrame:
    """Return the stored rows of placements of a paper's suite."""
    return stored(name, "placement")


def of_suite(name: str, *parts: str) -> "pd.Series[bool]":
    """Return which of these rows are of some parts of the suite."""
    suites = placements_of(name)["suite"].str.partition("/")[2]
    return suites.isin(parts)


def _hsdag(chosen: "pd.Series[bool]") -> tuple[ProblemResults, pd.DataFrame]:
    shown = results_of(PLACEMENT, placements_of("hsdag"), chosen)
    return shown, learned.learned_table(shown.tasks, shown.certified)


def _has_all_features() -> "pd.Series[bool]":
    """Return which tasks leave out no feature, as those of the paper's Table 2."""
    params = placements_of("hsdag")["params"]
    return ~params.str.contains('"(?:positions|shapes|structure)": false')


# Milliseconds of Inception-v3, ResNet-50 and BERT, as printed in Table 2, and our method.
HSDAG_TABLE_2 = {
    "CPU-only": ((12.8, 16.0, 6.38), "preferred-device (first=0)"),
    "GPU-only": ((12.0, 7.81, 2.77), "preferred-device (first=1)"),
    "Placeto": ((11.6, 9.32, 6.51), "placeto"),
    "RNN-based": ((12.8, 8.75, "out of memory"), "rnn-seq2seq"),
    "HSDAG": ((10.5, 7.66, 2.67), "hsdag"),
    "`random-sets`": ((None,) * 3, "random-sets"),
    "`heft`": ((None,) * 3, "heft"),
    "`placement-search`": ((None,) * 3, "placement-search"),
    "`placement-certify`": ((None,) * 3, "placement-certify"),
}


def _on_the_papers_scale() -> tuple[dict[str, str], list[str]]:
    """Return tables where one device alone takes what the paper measured, and sentences."""
    rows = placements_of("hsdag")
    of_scale = of_suite("hsdag", "scaled")
    shown = results_of(PLACEMENT, rows, of_scale & _has_all_features())
    costs = shown.tasks.dropna(subset="objective").astype({"objective": "float64"})
    known = costs.groupby(["method", "instance"])["objective"].median()
    tasks = shown.tasks.assign(is_oom=shown.tasks["status"] == "oom")
    failed = tasks.groupby(["method", "instance"])["is_oom"].all()
    bounds = shown.certified.set_index("instance")["bound"].astype("float64")
    models = ("inception-v3", "resnet-50", "bert-base")
    lines = []
    for name, (printed, method) in HSDAG_TABLE_2.items():
        line = [name]
        for model, ms in zip(models, printed, strict=True):
            if isinstance(ms, float):
                line.append(f"{ms:g} ({_above(1e6 * ms, bounds[model])})")
            else:
                line.append(ms or "")
            ours = known.get((method, model))
            told = "" if ours is None else f"{ours / 1e6:.2f} ({_above(ours, bounds[model])})"
            line.append("out of memory" if failed.get((method, model)) else told)
        lines.append(line)
    lines.append(
        ["certified bound", *(x for model in models for x in ("", f"{bounds[model] / 1e6:.2f}"))]
    )
    head = ["ms", *(f"{model}, {of}" for model in models for of in ("paper", "ours"))]
    whole = known["preferred-device (first=0)", BERT]
    own, other = (100 * (1 - known[method, BERT] / whole) for method in ("hsdag", "placeto"))
    is_shown = (rows["method"] == "hsdag") | rows["params"].str.contains('"first": 0')
    variants = results_of(PLACEMENT, rows, of_scale & is_shown)
    found = learned.learned_table(variants.tasks, variants.certified)
    gpu = {model: known["preferred-device (first=1)", model] for model in models}
    mine = {model: known["hsdag", model] for model in models}
    medians = found.pivot_table("makespan", "method", "instance", sort=False)
    full = "hsdag (positions=True, shapes=True, structure=True)"
    less = medians[medians.index.str.startswith("hsdag (") & (medians.index != full)]
    change = 100 * (less / medians.loc[full] - 1)
    of_bert = costs[costs["instance"] == BERT].groupby("method")["objective"]
    seeds = 100 * (of_bert.get_group("hsdag") / gpu[BERT] - 1)
    *some, last = (f"{one / 1e6:.2f}" for one in sorted(of_bert.get_group("placeto")))
    return {
        "scaled": markdown(head, lines),
        "scaled features": section_table(learned.learned_section(variants, {"learned": found})),
        "scaled methods": section_table(
            method_section(shown, {"methods": method_table(shown.tasks, shown.certified)}),
            only=("method", "UB/LB", "CPU seconds"),
        ),
    }, [
        f"Here `hsdag` saves {own:.1f} % of CPU-only on BERT and `placeto` {other:.1f} %, "
        f"{own - other:.1f} points less",
        f"In the median of five seeds it is {100 * (1 - mine[RESNET] / gpu[RESNET]):.1f} % below "
        f"GPU-only on ResNet-50, at {mine[INCEPTION] / 1e6:.1f} ms on Inception-v3",
        f"and at {mine[BERT] / 1e6:.2f} ms on BERT, {100 * (mine[BERT] / gpu[BERT] - 1):.0f} % "
        f"above GPU-only; its best seed is {-seeds.min():.0f} % below GPU-only there, its worst "
        f"{seeds.max():.0f} % above",
        f"between GPU-only and CPU-only: on BERT at {', '.join(some)} and {last} ms",
        f"without one sort of features are {change[RESNET].min():.0f} to "
        f"{change[RESNET].max():.0f} % above those with all on ResNet-50, "
        f"{-change[INCEPTION].max():.0f} to {-change[INCEPTION].min():.0f} % below on Inception-v3",
    ]


def _above(cost: float, bound: float) -> str:
    return gap_percent(cost / bound - 1, " %")


# As printed in Table 1: nodes and edges.
HSDAG_TABLE_1 = {INCEPTION: (728, 764), RESNET: (396, 411), BERT: (1009, 1071)}


def _graphs() -> str:
    """Return sizes of the paper's graphs, and of those that the data set `hsdag` is made of."""
    lines = []
    for model, printed in HSDAG_TABLE_1.items():
        packed = files("boundmark.datasets.placement") / "data" / f"hsdag-{model}.xml.gz"
        layers, edges = openvino.parts(gzip.decompress(packed.read_bytes()))
        kinds = Counter(layer.kind for layer in layers)
        pairs = {(reader, port[0]) for (reader, _), port in edges.items()}
        counts = (len(kinds), kinds["Const"], kinds["Convert"])
        line = [model]
        for nodes, several in (printed, (len(layers), len(pairs))):
            line += [f"{nodes:,}, {several:,}", f"{several / nodes:.2f}"]
        placed = len(openvino.graph_of(layers, edges).names)
        lines.append([*line, *map(str, counts), str(placed)])
    head = (
        "model", "nodes, edges in [HSDAG24]", "edges per node", "in IR made here", "edges per node",
        "types", "constants", "conversions", "operators that are placed",
    )  # fmt: skip
    return markdown(head, lines)


@cache
def hsdag() -> Filling:
    """Return Tables 1, 2, 3 and 5, curves, and placements on three devices."""
    rows = placements_of("hsdag")
    features = of_suite("hsdag", "ablations")
    curves = results_of(PLACEMENT, rows, of_suite("hsdag", "curves"))
    tables = {"curves": learned.curve_table(curves.tasks, curves.certified)}
    parts = {
        name: section_table(learned.learned_section(shown, {"learned": found}))
        for name, (shown, found) in {
            "latencies": _hsdag(of_suite("hsdag", "small")),
            "features": _hsdag(features & (rows["method_kind"] != "bound")),
            "three devices": _hsdag(of_suite("hsdag", "three-devices")),
        }.items()
    }
    found = _hsdag(of_suite("hsdag", "small"))[1].set_index(["method", "instance"])
    own, exact = found.loc["hsdag"], found.loc["placement-certify"]
    gpu = found.loc["preferred-device (first=1)", "makespan"]
    assert (own["makespan"] == gpu)[[RESNET, BERT]].all()
    below = 100 * (1 - own["makespan"] / gpu)[INCEPTION]
    gaps = 100 * own["gap"]
    zoo = results_of(PLACEMENT, rows, of_suite("hsdag", "zoo"))
    methods = {"methods": method_table(zoo.tasks, zoo.certified)}
    scaled, of_scale = _on_the_papers_scale()
    parts |= scaled | {"runs": runs_of("hsdag"), "graphs": _graphs()}
    parts["curves"] = section_table(learned.curve_section(curves, tables))
    parts["zoo"] = section_table(
        method_section(zoo, methods), only=("method", "UB/LB", "CPU seconds")
    )
    return Filling(
        parts,
        [
            f"finds and proves it within {np.ceil(exact['seconds'].max()):.0f} seconds of "
            "processor time",
            f"BERT base, {gaps[RESNET]:.1f} and {gaps[BERT]:.1f} % above the optimum",
            f"its latency is {below:.0f} % below GPU-only, and {gaps[INCEPTION]:.0f} % above the "
            "optimum",
            *of_scale,
        ],
    )


def placement_page() -> Filling:
    """Return how far `hsdag` is from the optimum."""
    return Filling({}, hsdag().sentences[1:3])


def moirai() -> Filling:
    """Return Figure 10 in both models of transfers, what the paper claims, fusion, and times."""
    shown, edges = (
        results_of(PLACEMENT, placements_of("moirai"), of_suite("moirai", part))
        for part in ("cells-short", "cells-per-edge")
    )
    found, found_edges = (
        latencies.latency_table(one.tasks, one.certified) for one in (shown, edges)
    )
    tables = {"latencies": found, "fusion": latencies.fusion_table(found)}
    own = latencies.latency_section(shown, tables)
    per_edge = latencies.latency_section(edges, {"latencies": found_edges})
    times = found[found["device"] == "moirai-inter-server"]
    timed = ("model", "placeto", "m-sct", "getf", "moirai-milp")
    whole, of_whole = _whole()
    return Filling(
        {
            "runs": runs_of("moirai"),
            "claims": section_table(own, "Latency over"),
            "claims per edge": section_table(per_edge, "Latency over"),
            "figure 10": _in_windows(
                section_table(own, "Latency speed", ("model", *timed[4:], *BESIDE))
            ),
            "figure 10 per edge": _in_windows(
                section_table(
                    per_edge, "Latency speed", ("model", *timed[2:], BESIDE[1]), details=False
                )
            ),
            "fusion": section_table(latencies.fusion_section(shown, tables)),
            "whole": whole,
            "more training": _more_training(),
            "times": _in_windows(
                section_table(latencies.time_section(shown, {"latencies": times}), only=timed)
            ),
        },
        [*_moirai_sentences(shown, found, found_edges), *_times(shown), of_whole],
    )


def _more_training() -> str:
    """Return what an hour of training is worth, beside the same methods in seconds."""
    rows = placements_of("moirai")
    short = rows[of_suite("moirai", "cells-short")]
    lines = []
    for task in rows[of_suite("moirai", "placeto")].to_dict("records"):
        same = short[short["instance_sha256"] == task["instance_sha256"]]
        costs = same.set_index("method")["objective"]
        ticks = (
            costs["placeto"], task["objective"], costs["moirai-milp"],
            same["bound_certified"].max(),
        )  # fmt: skip
        cells = (f"{one / 1e6:.1f}" for one in ticks)
        where = task["device"].removeprefix("moirai-")
        lines.append([task["instance"], where, *cells, f"{task['wall_seconds'] / 60:.1f}"])
    head = ("10 s", "more training", "moirai-milp, in windows", "certified bound", "minutes")
    return markdown(["model", "cluster", *head], lines, 2)


def _whole() -> tuple[str, str]:
    """Return what the program of a whole model finds and claims beside windows, and a sentence."""
    every = pd.read_csv(TABLES / "moirai.csv")
    rows = every[every["suite"] == "paper-moirai/whole"]
    own = rows[rows["method"] == "moirai-milp"].to_dict("records")
    of = {(one["whole"], one["solver"]): row for row in own for one in [json.loads(row["params"])]}
    windows, whole, scip = (of[one] for one in ((False, "highs"), (True, "highs"), (True, "scip")))
    lines = [
        [
            program, solver,
            *(decimal(row[name] / 60, 1) for name in ("wall_seconds", "seconds_to_objective")),
            *(decimal(row[name] / 1e6, 3) for name in ("objective", "bound_claimed")),
        ]
        for program, solver, row in (
            ("in windows", "HiGHS", windows), ("whole", "HiGHS", whole), ("whole", "SCIP", scip),
        )
    ]  # fmt: skip
    best, certified = rows["objective"].min(), rows["bound_certified"].max()
    lines.append(["certified bound", "", "", "", "", f"{certified / 1e6:.3f}"])
    assert best == whole["objective"] < windows["objective"] < scip["objective"]
    # What the page says of the same graph in the other cells, and of this bound.
    cells = every[
        (every["instance"] == "gpt-3-330m") & every["instance_params"].str.contains("moirai")
    ].set_index(["suite", "device"])
    for suite, device in (
        ("cells-short", "inter"), ("cells-short", "intra"), ("cells-per-edge", "intra"),
    ):  # fmt: skip
        cell = cells.loc[(f"paper-moirai/{suite}", f"moirai-{device}-server")]
        in_windows = cell.loc[cell["method"] == "moirai-milp", "objective"].item()
        assert in_windows == cell["bound_certified"].max()
        assert (suite, device) != ("cells-short", "inter") or in_windows == certified
    faster, claimed = (
        100 * (1 - one / windows["objective"]) for one in (best, whole["bound_claimed"])
    )
    head = ("program", "solver", "minutes", "to its best", "makespan, ms", "bound, ms")
    return (
        markdown(head, lines, 2),
        f"finds a placement that is {faster:.2f} % faster than that in windows, and claims that "
        f"none is more than {claimed:.1f} % faster; SCIP finds none as good. The certified bound "
        f"is {100 * (1 - certified / best):.1f} % below the best placement",
    )


BESIDE = ("best", "at most")
CELL = ["device", "fusion", "instance"]


def _in_windows(table: str) -> str:
    """Return a table that says how the program is solved: all of these graphs are too large."""
    return table.replace("| moirai-milp |", "| moirai-milp, in windows |")


def _moirai_sentences(
    shown: ProblemResults, found: pd.DataFrame, found_edges: pd.DataFrame
) -> list[str]:
    known = shown.certified
    optimal = known.loc[known["optimal"], "instance"].str.partition("-")[0]
    assert set(optimal) == {"gpt", "swin"}
    costs = found.pivot_table("makespan", CELL, "method")
    ratio = costs["placement-search"] / costs["moirai-milp"]
    better = [100 * (1 - geometric_mean(group)) for _, group in ratio.groupby(level=[0, 1])]
    slow = (costs["getf"] / costs["moirai-milp"]).loc["moirai-inter-server", "none"]
    missing, slow = int(slow.isna().sum()), slow[slow > 2]
    edges = found_edges.pivot_table("makespan", CELL, "method")
    most = edges[["m-sct", "getf"]].div(edges["moirai-milp"], axis=0).groupby("device").max()
    within, between = most.loc["moirai-intra-server"], most.loc["moirai-inter-server"]
    best = found[found["fusion"] == "none"].drop_duplicates(CELL)
    limit = best["speedup"] * (1 + best["gap"])
    limit = limit[~best["instance"].str.startswith("evoformer")]
    plain = found_edges[found_edges["fusion"] == "none"]
    plain = plain[~plain["instance"].str.startswith("evoformer")]
    fast = plain.groupby(["device", "instance"])["speedup"].max()
    assert fast.idxmax()[0] == "moirai-inter-server"
    bounds = found.groupby(CELL)["bound"].first().unstack("fusion")
    saved = {
        round(100 * (1 - geometric_mean(group)))
        for _, group in (bounds["moirai"] / bounds["none"]).groupby(level=0)
    }
    return [
        f"is optimal on {len(optimal)} of the {len(known)} graphs, {(optimal == 'gpt').sum()} of "
        f"GPT and {word((optimal == 'swin').sum())} of Swin, and "
        f"{100 * known['gap'].median():.1f} % above the bound in the median",
        f"is {_range(better)} % better than Moirai's program in windows in the mean, and worse on "
        f"{(ratio > 1).sum()} of {len(ratio)} graphs",
        f"it is {_range(slow)} times slower on {word(len(slow))} models and has no placement of "
        f"{word(missing)} others in ten seconds",
        f"is more than {np.ceil(100 * limit.max()) / 100:.2f} times as fast as one device in our "
        f"transfer model; in the paper's, {fast.idxmax()[1].partition(' on ')[0]}, which fits on "
        f"no device then, is {fast.max():.2f} times as fast as with devices filled one after "
        "another",
        f"and m-SCT takes up to {within['m-sct']:.1f} times as long; between servers, GETF takes "
        f"up to {between['getf']:.0f} times as long",
        f"Our effect is larger, {' to '.join(map(str, sorted(saved)))} % of the certified bounds",
    ]


def _times(shown: ProblemResults) -> list[str]:
    tasks = shown.tasks.assign(model=shown.tasks["instance"].str.partition(" on ")[0])
    tasks = tasks.fillna({"param_fusion": "none"})
    key = ["param_fusion", "model", "device"]
    seconds = tasks.pivot_table("wall_seconds", key, "method", "max")
    slower = seconds.loc["none"].groupby("model").max()
    sct, getf, own = (slower[one] for one in ("m-sct", "getf", "moirai-milp"))
    ratio = seconds.loc["moirai"] / seconds.loc["none"]
    shares = [100 * geometric_mean(ratio[one]) for one in ("m-sct", "getf")]
    return [
        f"`m-sct` takes {sct.min():.2f} to {sct.max():.1f} seconds, `getf` {getf.min():.2f} to "
        f"{getf.max():.1f}, and `moirai-milp` {_range(own)}.",
        f"fusion reduces those of `m-sct` to {shares[0]:.0f} % and of `getf` to {shares[1]:.0f} %",
    ]


# The other ways of `btsearch` are in the table of proofs.
OF_DEFAULT = (
    "instance", "default", "bfs-order", "greedy-order", "btsearch (hashing=True, marking=prefix)",
    "btsearch (hashing=True, marking=remainder)", "downset-dp", "at most",
)  # fmt: skip


@cache
def _slices() -> tuple[Section, pd.DataFrame]:
    """Return the section on searches for slices, and each search on each instance."""
    shown = results_of(slicing.REPORT, stored("memorianova", "slicing"))
    found = slicing.search_table(shown.tasks, shown.certified)
    section = slicing.search_section(shown, {"searches": found})
    assert section is not None
    return section, found


def _saved(network: str, devices: int) -> list[str]:
    """Return what `geneflow`, `memorianova`, `slice-search` and bounds save, and the best gap."""
    cells = {row[0].text + row[1].text: row for row in _slices()[0].tables[0].groups[0].rows}
    return [cell.text for cell in cells[f"{network}edge_devices={devices}"][3:]]


GIGABIT, FAST, MIXED = (
    "raspberry-pi-4-gigabit", "raspberry-pi-4-fast-ethernet", "raspberry-pi-mixed-gigabit",
)  # fmt: skip


# Both switches of `btsearch`, and its two readings.
SEARCHES = {
    "plain": ("none", False), "hashing": ("none", True), "marking": ("remainder", False),
    "both": ("remainder", True), "prefix": ("prefix", False), "prefix, both": ("prefix", True),
}  # fmt: skip


def _order_results(metric: str) -> ProblemResults:
    """Return the tasks that minimise one metric, which may be of different runs."""
    rows = stored("memorianova", "ordering")
    return results_of(ordering.REPORT, rows[rows["instance_params"].str.contains(metric)])


@cache
def _orders() -> tuple[pd.DataFrame, "pd.Series[Any]"]:
    """Return the tasks that minimise sums, with a column `search`, and the optima by instance."""
    rows = stored("memorianova", "ordering")
    rows = rows[rows["instance_params"].str.contains('"sum"')]
    params = rows["params"].map(json.loads)
    own = {tuple(pair): name for name, pair in SEARCHES.items()}
    searches = [
        own[one["marking"], one["hashing"]] if method == "btsearch" else method
        for method, one in zip(rows["method"], params, strict=True)
    ]
    costs = rows[["objective", "bound_certified"]].astype("float64")
    rows = rows.assign(search=searches, **costs)
    return rows, rows.groupby("instance")["bound_certified"].max()


def _proofs() -> tuple[str, pd.DataFrame]:
    """Return the table of `btsearch` with and without each improvement, and its cells' numbers."""
    rows, optima = _orders()
    rows = rows.assign(
        above=rows["objective"] / rows["instance"].map(optima) - 1,
        proven=rows["bound_certified"] == rows["instance"].map(optima),
    ).set_index(["instance", "search"])
    names = [*SEARCHES, "downset-dp"]
    lines = []
    for model in _random_orders().index:
        cells = [rows.loc[(model, name)] for name in names]
        lines.append([model, *(_proof(cell) for cell in cells)])
    proven = rows["proven"].groupby("search").sum()
    lines.append(["proven", *(str(proven[name]) for name in names)])
    return markdown(["model", *(f"`{name}`" for name in names)], lines), rows


@cache
def _random_orders() -> "pd.Series[float]":
    """Return the mean memory of 1,000 random orders of each model, summed over operators."""
    means: pd.Series[float] = pd.read_csv(TABLES / "random_orders.csv").set_index("model")["mean"]
    return means


def _proof(cell: "pd.Series[Any]") -> str:
    if cell["proven"]:
        return f"{cell['cpu_seconds']:.2f}"
    return "optimal, not proven" if cell["above"] == 0 else f"{100 * cell['above']:.1f} % above"


def _saved_of_random() -> tuple[str, pd.DataFrame]:
    """Return the table of memory saved relative to the mean of random orders, and its numbers."""
    rows, optima = _orders()
    random = _random_orders()
    names = ["default-order", "greedy-order", "both", "prefix, both", "downset-dp"]
    costs = rows.pivot_table("objective", "instance", "search")[names]
    saved = 1 - costs.div(random, axis=0)
    assert (costs["downset-dp"] == optima).all()
    sizes = rows.groupby("instance")["nodes"].first()
    lines = [
        [model, str(sizes[model]), f"{random[model] / 2**20:,.2f}",
         *(f"{100 * one:.1f} %" for one in saved.loc[model])]
        for model in random.index
    ]  # fmt: skip
    means = 1 - np.exp(np.log1p(-saved).mean())
    lines.append(["geometric mean", "", "", *(f"{100 * one:.1f} %" for one in means)])
    lines.append(["most", "", "", *(f"{100 * one:.1f} %" for one in saved.max())])
    heads = [f"`{name}`" for name in ("default-order", "greedy-order", "btsearch")]
    heads += ["`btsearch`, prefix", "`downset-dp`"]
    return markdown(["model", "operators", "random, MiB", *heads], lines), saved


def memorianova() -> Filling:
    """Return what orders save of memory, and slices of latency."""
    section, found = _slices()
    four, mixed = _saved(GIGABIT, 4), _saved(MIXED, 8)
    gaps = [_saved(GIGABIT, devices)[-1] for devices in (2, 4, 8)]
    is_genetic = (found["device"] == MIXED) & (found["method"] == "geneflow")
    genetic = found[is_genetic & found["parameters"].str.endswith("=8")]["saved"]
    slow = found[found["device"] == FAST]
    slow = slow.assign(most=1 - slow["bound"].astype(float) / slow["one_device"].astype(float))
    of_models = slow.groupby("instance")[["saved", "most"]].max()
    little = of_models[of_models["saved"] < 0.0015]["most"].sort_values()
    assert little.index[-1].startswith("densenet121")
    by_model = ("instance", "one device", "geneflow: saved %", "slice-search: saved %", "at most %")
    orders = _order_results("sum")
    savings = ordering.saving_section(orders, {"savings": ordering.saving_table(orders)})
    memory, of_random = _saved_of_random()
    proofs, searches = _proofs()
    best = of_random["both"]
    mean_saved = 1 - np.exp(np.log1p(-best).mean())
    proven = searches["proven"].groupby("search").sum()
    ends = searches.xs("both", level="search")["cpu_seconds"]
    prefix = 100 * searches.xs("prefix, both", level="search")["above"]
    two = _saved(GIGABIT, 2)
    return Filling(
        {
            "runs": runs_of("memorianova"),
            "memory saved": memory,
            "backtracking": proofs,
            "default order": section_table(
                savings, "Memory saved, in percent of the default order: metric sum", OF_DEFAULT
            )
            .replace("btsearch (hashing=True, marking=prefix)", "`btsearch`, prefix")
            .replace("btsearch (hashing=True, marking=remainder)", "`btsearch`"),
            "latency": section_table(section, "Saved by searches"),
            "by model": section_table(section, "Searches over", by_model, details=False),
        },
        [
            f"saves {100 * best.max():.1f} % at most ({best.idxmax()}) and "
            f"{100 * mean_saved:.1f} % in the mean",
            f"proves all {len(best)} optima within {ends.max():.1f} s of processor time",
            f"{word((prefix > 0).sum())} orders {_range(prefix[prefix > 0], 0)} % above the "
            "optimum",
            f"of eleven sums are proven: {proven['plain']} without either, {proven['hashing']} "
            f"with hashing alone, {proven['marking']} with marking alone, {proven['both']} with "
            "both",
            f"with two devices, `memorianova` saves {two[1]} % and `geneflow` {two[0]} %",
            f"GenEFlow saves {four[0]} %**. The bounds allow {four[3]} % at most; `slice-search` "
            f"saves {four[2]} % in the same time",
            f"with the number of devices: {gaps[0]}, {gaps[1]} and {gaps[2]} %",
            f"with eight, `geneflow` saves {mixed[0]} % and nothing at all on "
            f"{word((genetic < 0.0005).sum())} of the nine models, `slice-search` {mixed[2]} %, "
            f"and the bounds allow {mixed[3]} %",
            f"cutting {word(len(little))} of the {word(len(of_models))} models saves nothing or "
            f"0.1 %. The bounds prove that no plan saves more than {100 * little.iloc[-2]:.1f} % "
            f"on {word(len(little) - 1)} of these; densenet121 is open",
        ],
    )


def slicing_page() -> Filling:
    """Return what searches save, by cluster and number of devices."""
    only = ("cluster", "parameters", "n", "geneflow", "memorianova", "slice-search", "at most")
    return Filling({"saved by slicing": section_table(_slices()[0], "Saved by searches", only)})


def ordering_page() -> Filling:
    """Return what is proven of orders, and how much they save."""
    most, left, slowest = {}, {}, 0.0
    for metric in ("sum", "peak"):
        shown = _order_results(metric)
        assert shown.certified["optimal"].all()
        savings = ordering.saving_table(shown)
        best = savings[savings["method"] == "downset-dp"].set_index("instance")["saved"]
        most[metric] = f"{100 * best.max():.1f} % of the {metric} ({best.idxmax()})"
        of_cuts = shown.tasks[shown.tasks["method"] == "live-cut"].set_index("instance_sha256")
        cut = savings.drop_duplicates("instance_sha256").set_index("instance_sha256")
        left[metric] = (cut["bound"] / of_cuts["bound_certified"] - 1).max()
        seconds = shown.tasks.loc[shown.tasks["method"] == "downset-dp", "cpu_seconds"]
        slowest = max(slowest, seconds.max())
    assert left["peak"] == 0
    searches = _proofs()[1]
    own = searches.xs("both", level="search")
    prefix = 100 * searches.xs("prefix, both", level="search")["above"]
    assert own["proven"].all()
    return Filling(
        {},
        [
            f"accepted by the checker, within {slowest:.2f} s of processor time",
            f"saves up to {most['sum']} and up to {most['peak']}",
            f"leaves gaps of up to {100 * left['sum']:.1f} % for the sum, and none for the peak",
            f"proves all {len(own)} optimal sums within {own['cpu_seconds'].max():.1f} s",
            f"orders of {word((prefix > 0).sum())} models are {_range(prefix[prefix > 0], 0)} % "
            "above the optimum",
        ],
    )


STAGES = (2, 4, 8, 16, 32, 64)
# For which Table 1 has all models.
ALL_MODELS = [2, 4, 8, 16]

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


def _by_k(name: str) -> pd.DataFrame:
    return pd.read_csv(TABLES / "mtpp" / f"{name}_by_k.csv", dtype={"commit": str})


def _beside(
    ours: pd.DataFrame,
    name: str,
    printed: Mapping[str, Sequence[float]],
    digits: int,
    more: "Iterable[pd.Series[float]]" = (),
) -> str:
    """Return the paper's means and ours by number of stages, and what only we have."""
    means = ours.pivot_table("mean", name, "param_k", sort=False).reindex(columns=STAGES)
    kinds = ours.drop_duplicates(name).set_index(name)["kind"]
    rows = []
    for row in dict.fromkeys([*printed, *means.index]):
        if row in printed:
            rows.append([row, "paper", *(f"{value:.{digits}f}" for value in printed[row])])
        shown = means.loc[row].where(_is_of_most(ours[ours[name] == row]))
        cells = ("" if pd.isna(mean) else f"{mean:.{digits}f}" for mean in shown)
        rows.append(["" if row in printed else row, f"ours, {kinds[row]}", *cells])
    sizes = ours.groupby("param_k")["instances"].max().to_dict()
    if "optimal" in ours:
        optimal = ours.groupby("param_k")["optimal"].max().to_dict()
        rows.append(["proven optimal", "ours", *(str(optimal.get(k, "")) for k in STAGES)])
    rows.append(["instances", "ours", *(str(sizes.get(k, 0)) for k in STAGES)])
    for row in more:
        cells = (f"{row[k]:.{digits}f}" if k in row.index else "" for k in STAGES)
        rows.append([str(row.name), f"ours, {row.attrs['kind']}", *cells])
    return markdown(["", "", *by_stages(STAGES)], rows, 2)


def _is_of_most(rows: pd.DataFrame) -> "pd.Series[bool]":
    """Return for each number of stages whether most instances have a result of their own."""
    sizes = rows.set_index("param_k")[["delivered", "instances"]].reindex(STAGES)
    return 2 * sizes["delivered"] > sizes["instances"]


def _runs_by_k(**tables: pd.DataFrame) -> str:
    """Return the runs of tables: for which numbers of stages, with their commit and day."""
    lines = [
        [name.replace("_", " "), ", ".join(map(str, sorted(set(rows["param_k"])))), *run]
        for name, table in tables.items()
        for run, rows in table.groupby(["commit", "date"], sort=False)
    ]
    head = ["", "numbers of stages", "commits", "date"]
    return markdown(head, lines, len(head))


def _time_table(times: pd.DataFrame) -> str:
    methods = ("slicegraph", "brkga-10000", "bottleneck", "bottleneck-guess", "exact", "certify")
    most = times.groupby("param_k")["instances"].transform("max")
    means = times[2 * times["instances"] > most].pivot_table("mean_seconds", "method", "param_k")
    rows = [[name, *(decimal(mean, 2) for mean in means.loc[name])] for name in methods]
    return markdown(["seconds", *by_stages(means.columns)], rows)


def mtpp() -> Filling:
    """Return Tables 1 to 3, and times."""
    proven = _by_k("gap")
    proven = proven.drop(columns=["instances", "commit", "date"])
    levels = _by_k("hierarchy").merge(proven, on=["dataset", "param_k"], how="left")
    of_models, of_graphs = (levels[levels["dataset"] == one] for one in ("zoo", "regal-style"))
    times, partitions = _by_k("runtime"), _by_k("solutions")
    partitions = partitions[partitions["method"].isin(TABLE_2)]
    smallest = int(partitions["instances"].max())
    sizes = pd.read_csv(TABLES / "gaps" / "zoo.csv", thousands=",")["nodes"].nsmallest(smallest)
    means = of_models.pivot_table("mean", "level", "param_k")
    certified = means.loc["best certified bound of all methods"]
    gap = 100 * (means.loc["best solution of all methods"] / certified - 1)[ALL_MODELS]
    *some, last = (f"{np.ceil(100 * one) / 100:.2f}" for one in gap)
    exact, simple_of_models = means.loc["exact"], means.loc["simple (Lemma 3.3)"]
    bottleneck = means.loc["bottleneck"]
    took = times[times["dataset"] == "zoo"].pivot_table("mean_seconds", "method", "param_k")
    slower = ["bottleneck-guess", "exact"]
    assert (means.loc[slower] < bottleneck * 1.001)[[32, 64]].all(axis=None)
    assert (took.loc[slower] > 50)[[32, 64]].all(axis=None)
    optimal, size = _models()
    more = of_models[of_models["param_k"].isin([32, 64])].drop_duplicates("param_k")
    small = more.set_index("param_k")[["optimal", "instances"]].astype(int)
    # Table 1 has the simple bound over BRKGA's cost, which a geometric mean allows to turn round.
    of_all = (1 / simple_of_models)[ALL_MODELS].rename(
        f"brkga-10000, all {of_models['instances'].max()} models"
    )
    of_all.attrs["kind"] = "verified"
    random = of_graphs.pivot_table("mean", "level", "param_k")
    best = random.loc["best solution of all methods"]
    left = 100 * (best / random.loc["best certified bound of all methods"] - 1)
    assert left[[2, 64]].max() < 0.005
    *better, least = (f"{100 * (1 - cost):.0f}" for cost in best)
    simple = random.loc["simple (Lemma 3.3)"]
    wide = [f"{np.ceil(left[k]):.0f}" for k in (4, 8, 16, 32)]
    return Filling(
        {
            "runs": _runs_by_k(Table_1=of_models, Table_2=partitions, Table_3=of_graphs)
            + "\n\n"
            + runs_of("mtpp"),
            "table 1": _beside(of_models, "level", TABLE_1, 4),
            "table 3": _beside(of_graphs, "level", TABLE_3, 4),
            "table 2": _beside(partitions.assign(kind="verified"), "method", TABLE_2, 3, [of_all]),
            "worst orders": _worst_orders(),
            "case study": _case_study(),
            "solvers": _solvers(),
            "times": _time_table(times[times["dataset"] == "zoo"]),
            "times of random graphs": _time_table(times[times["dataset"] == "regal-style"]),
        },
        [
            f"Table 2 has the {smallest} smallest, of at most {sizes.max():,} nodes",
            f"(smaller is better), on the {smallest} smallest models",
            f"`exact` is at {exact[4]:.2f} with 4 stages and at {exact[16]:.2f} with 16",
            f"within {', '.join(some)} and {last} % of the best partition in the mean; {optimal} "
            f"of these {size} instances are proven optimal",
            f"With 32 and 64 stages, {small['optimal'][32]} of {small['instances'][32]} and "
            f"{small['optimal'][64]} of {small['instances'][64]} are proven optimal, where the "
            f"simple bound is at {simple_of_models[32]:.2f} and {simple_of_models[64]:.2f}",
            f"`bottleneck` is a quarter to a third above it, at {bottleneck[32]:.2f} and "
            f"{bottleneck[64]:.2f}, after {took.loc['bottleneck', 32]:.0f} and "
            f"{took.loc['bottleneck', 64]:.0f} seconds in the mean",
            f"from {simple[2]:.3f} to {simple[64]:.3f} where the paper has 0.958 to 0.334",
            f"cost {', '.join(better)} and {least} % less than BRKGA's",
            f"within {', '.join(wide[:3])} and {wide[3]} % of it for 4, 8, 16 and 32",
            f"`brkga-10000` is within {np.ceil(1e4 * (1 / certified[16] - 1)) / 100:.2f} % of the "
            "best certified bound",
        ],
    )


# As printed in Section 5, for net10_new_ckpt-4000009 with 4 stages.
CASE_STUDY = {"bottleneck": 0.6570, "bottleneck-guess": 0.9152, "exact": 0.9913, "certify": None}


def _mtpp(part: str, **chosen: Any) -> pd.DataFrame:
    """Return the stored rows of a part of the suite for some instances, by method."""
    rows = pd.read_csv(TABLES / "mtpp.csv")
    rows = rows[rows["suite"] == f"paper-mtpp/{part}"]
    k = rows["instance_params"].map(lambda text: json.loads(text)["k"])
    return rows[(k == chosen.pop("k")) & _has(rows, chosen)].set_index("method")


def _has(rows: pd.DataFrame, chosen: Mapping[str, Any]) -> Any:
    return np.logical_and.reduce([rows[name] == value for name, value in chosen.items()])


def _case_study() -> str:
    """Return bounds of one model with 4 stages over the cost of BRKGA's partition."""
    rows = _mtpp("models-small", instance="segformer-b0", k=4)
    cost = rows.loc["brkga-10000", "objective"]
    simple = rows.loc[["max-work", "mean-work"]]
    mean, seconds = (simple[one].max() for one in ("bound_certified", "cpu_seconds"))
    lines = [["simple (Lemma 3.3)", "certified", "0.2775", f"{mean / cost:.4f}", f"{seconds:.1f}"]]
    for name, printed in CASE_STUDY.items():
        row, kind = rows.loc[name], "certified" if printed is None else "claimed"
        ours = f"{row[f'bound_{kind}'] / cost:.4f}"
        paper = "" if printed is None else f"{printed:.4f}"
        lines.append([name, kind, paper, ours, f"{row['cpu_seconds']:.1f}"])
    head = ("bound", "kind", "net10 (paper)", "segformer-b0, 325 nodes (ours)", "CPU seconds")
    return markdown(head, lines, 2)


def _solvers() -> str:
    """Return claimed bounds of `bottleneck` over the best known cost, by solver."""
    costs = {
        entry.instance: entry.objective
        for entry in Library.open(ROOT / "library").entries()
        if entry.dataset == "regal-style" and entry.parameters == {"k": 8}
    }
    rows = _mtpp("solvers", dataset="regal-style", k=8).loc[["bottleneck"]]
    ratios = rows["bound_claimed"] / rows["instance"].map(costs)
    solver = rows["params"].map(lambda text: json.loads(text)["solver"])
    lines = [
        [name, str(len(own)), f"{geometric_mean(own):.3f}", f"{own.min():.3f}"]
        for name in ("highs", "scip", "gurobi")
        for own in [ratios[(solver == name).to_numpy()]]
    ]
    return markdown(["solver", "graphs", "mean", "smallest"], lines)


# Families of Appendix B, and what the best segmentation of an order costs over the optimum.
WORST_ORDERS: Mapping[str, tuple[str, Callable[[int], float]]] = {
    "Lemma B.2": ("lemma-b2", lambda k: k),
    "Remark B.3": ("remark-b3", lambda k: 2 * k / (k + 1)),
}
ON_WORST_ORDERS = ("slicegraph", "brkga-10000", "memetic", "mla-weighted", "random-100", "certify")


def _worst_orders() -> str:
    """Return costs, and the bound of `certify`, over the optimum of k + 1 ticks."""
    rows = stored("mtpp", "pipeline")
    rows = rows[rows["suite"] == "paper-mtpp/worst-orders"]
    found = rows.set_index(["instance", "method"])[["objective", "bound_certified"]]
    lines = []
    for title, (family, ratio) in WORST_ORDERS.items():
        lines.append([title, "proven", *(f"{ratio(k):.3f}" for k in STAGES)])
        for method in ON_WORST_ORDERS:
            is_bound = method == "certify"
            column = "bound_certified" if is_bound else "objective"
            cells = (found.loc[(f"{family}-{k}", method), column] / (k + 1) for k in STAGES)
            name = f"`{method}` (bound)" if is_bound else f"`{method}`"
            lines.append(["", name, *(f"{one:.3f}" for one in cells)])
    return markdown(["", "", *by_stages(STAGES)], lines, 2)


def _models() -> tuple[int, int]:
    """Return how many instances of models are proven optimal, and of how many."""
    proven = _by_k("gap")
    proven = proven[(proven["dataset"] == "zoo") & proven["param_k"].isin(ALL_MODELS)]
    return int(proven["optimal"].sum()), int(proven["instances"].sum())


def pipeline_page() -> Filling:
    """Return how many instances of the MTPP page are proven optimal."""
    optimal, size = _models()
    return Filling({}, [f"whose local search ends earlier, it is {optimal} of {size}."])


def gap_page() -> Filling:
    """Return how many instances were left open."""
    optimal, size = _models()
    return Filling({}, [f"on the {size - optimal} cells that they left open"])


def readme() -> Filling:
    """Return what slices save."""
    saved = _saved(GIGABIT, 4)
    return Filling(
        {},
        [f"save {saved[2]} % of one device's latency, and {saved[3]} % is the most"],
    )


PAGES = {
    "docs/results-hsdag.md": hsdag,
    "docs/results-memorianova.md": memorianova,
    "docs/results-moirai.md": moirai,
    "docs/results-mtpp.md": mtpp,
    "docs/problems/ordering.md": ordering_page,
    "docs/problems/pipeline.md": pipeline_page,
    "docs/problems/placement.md": placement_page,
    "docs/problems/slicing.md": slicing_page,
    "docs/how-far-from-optimal.md": gap_page,
    "README.md": readme,
}
