"""Make docs/results-memorianova.md from the data in `docs/tables/memorianova`.

`python docs/tables/memorianova.py` makes the tables of the page anew, the headline figures of
docs/problems/slicing.md, and `docs/tables/memorianova/tables.md` with all that the page leaves out.
With `collect RESULTS...`, it first adds the data of results folders of
`paper-memorianova/ordering`, `paper-memorianova/slicing-short` and bounds of
`paper-memorianova/slicing`; they replace those of the same model on the same devices.
`memorianova_random_orders.py` measures random orders.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd
import runs
from results_page import DOCS, NONE, all_tables, make_page, markdown

from boundmark.reports.statistics import geometric_mean, geometric_mean_interval

DATA = DOCS / "tables" / "memorianova"
PAGE = DOCS / "results-memorianova.md"
PROBLEM_PAGE = DOCS / "problems" / "slicing.md"
TABLES = DATA / "tables.md"

# Order and title of models, of networks and of methods.
ORDERED = (
    "inception-v1", "inception-v2", "inception-v3", "squeezenet", "shufflenet", "densenet121",
    "resnet50", "mobilenet-v2", "regnet-y-16gf", "unet", "bert-base",
)  # fmt: skip
SLICED = (
    "alexnet", "zfnet512", "vgg19", "inception-v1", "inception-v2", "resnet50", "squeezenet",
    "densenet121", "shufflenet",
)  # fmt: skip
NETWORKS = {
    "raspberry-pi-4-gigabit": "Gigabit",
    "raspberry-pi-4-fast-ethernet": "Fast Ethernet",
    "raspberry-pi-mixed-gigabit": "Gigabit, mixed devices",
}
DEVICES = (2, 4, 8)
SIMPLE = ("equal-slices", "speed-slices", "layer-pipeline", "best-response")
SEARCHES = ("geneflow", "memorianova", "slice-search")

# BTSearch with and without the improvements of Sections 3.2.1 and 3.2.2.
FULL = "btsearch marking hashing"
VARIANTS = {
    "btsearch": "plain", "btsearch hashing": "hashing", "btsearch marking": "marking", FULL: "both",
}  # fmt: skip
SHARPEST = "downset-dp"


def collect(folders: list[Path]) -> None:
    """Add a row for each task, those of both problems apart, and what ran."""
    rows = pd.concat(map(runs.results_in, folders), ignore_index=True)
    run = runs.machine_facts(folders, rows, ["pymoo"]) | {"parts": runs.part_facts(rows)}
    given = [json.loads(text) for text in rows["instance_params"]]
    params = [json.loads(text) for text in rows["params"]]
    common = {
        "model": rows["instance"],
        "operators": rows["nodes"],
        "metric": [one.get("metric", "") for one in given],
        "network": rows["device"].fillna(""),
        "devices": [one.get("edge_devices", "") for one in given],
        "method": [_named(name, own) for name, own in zip(rows["method"], params, strict=True)],
        "seed": rows["seed"],
        "objective": rows["objective"],
        "bound": rows["bound_certified"],
        "seconds": rows["cpu_seconds"].round(2),
        "limit": rows["time_limit_seconds"],
        "status": rows["status"],
    }
    tasks = pd.DataFrame(common)
    is_order = rows["problem"] == "ordering"
    DATA.mkdir(exist_ok=True)
    for name, own, left_out in (
        ("orders", tasks[is_order], ["network", "devices", "seed"]),
        ("slices", tasks[~is_order], ["metric"]),
    ):
        if own.empty:
            continue
        kept = own.drop(columns=left_out)
        keys = [one for one in ("model", "metric", "network", "devices") if one in kept.columns]
        order = [one for one in kept.columns if one not in _MEASURED]
        runs.add_rows(DATA / f"{name}.csv", kept, keys, order)
    runs.add_run(DATA, run)


_MEASURED = ("objective", "bound", "seconds", "status")


def _named(method: str, params: Mapping[str, Any]) -> str:
    """Return a method with its improvements that are switched on."""
    return " ".join([method, *(one for one in ("marking", "hashing") if params.get(one) is True)])


def percent(share: float) -> str:
    """Return a share in percent, one digit."""
    return NONE if pd.isna(share) else f"{100 * share + 0.0:.1f} %".replace("-0.0 ", "0.0 ")


def memory_saved(orders: pd.DataFrame, random: pd.DataFrame, metric: str) -> pd.DataFrame:
    """Return the memory of each model by method, and its mean over random orders, by model.

    Returns
    -------
    pandas.DataFrame
        A row for each model, a column for each method with what its order takes; `random`, and
        `bound`, the best certified bound.
    """
    own = orders[orders["metric"] == metric]
    table = own.pivot_table("objective", "model", "method")
    table["random"] = random[random["metric"] == metric].set_index("model")["mean"]
    table["bound"] = own.groupby("model")["bound"].max()
    return table.loc[[model for model in ORDERED if model in table.index]]


def memory_table(orders: pd.DataFrame, random: pd.DataFrame, metric: str) -> str:
    """Return what orders save of the memory that random ones take, model by model."""
    table = memory_saved(orders, random, metric)
    methods = ["default-order", "greedy-order", FULL, SHARPEST]
    sizes = orders.groupby("model")["operators"].first()
    lines = []
    for model, row in table.iterrows():
        saved = [percent(1 - row[name] / row["random"]) for name in methods]
        proven = "optimal" if row[SHARPEST] == row["bound"] else percent(
            row[SHARPEST] / row["bound"] - 1
        )  # fmt: skip
        lines.append(
            [str(model), str(sizes[model]), f"{row['random'] / 2**20:,.2f}", *saved, proven]
        )
    means = [percent(1 - geometric_mean(table[name] / table["random"])) for name in methods]
    most = [percent(1 - (table[name] / table["random"]).min()) for name in methods]
    lines.append(["geometric mean", "", "", *means, ""])
    lines.append(["most", "", "", *most, ""])
    head = ["model", "operators", "random, MiB", *(f"`{name.split()[0]}`" for name in methods)]
    return markdown([*head, "gap"], lines)


def backtracking_table(orders: pd.DataFrame, metric: str) -> str:
    """Return seconds to the proof of each variant of backtracking, or how far its order is off."""
    own = orders[orders["metric"] == metric].set_index(["model", "method"]).sort_index()
    lines, proofs = [], dict.fromkeys((*VARIANTS, SHARPEST), 0)
    for model in ORDERED:
        if model not in own.index.get_level_values("model"):
            continue
        best = own.loc[model]["objective"].min()
        cells = []
        for name in proofs:
            row = own.loc[(model, name)]
            if row["objective"] == row["bound"]:
                proofs[name] += 1
                cells.append(f"{row['seconds']:.2f}")
            elif row["objective"] == best:
                cells.append("optimal, not proven")
            else:
                cells.append(f"{percent(row['objective'] / best - 1)} above")
        lines.append([model, *cells])
    lines.append(["proven", *map(str, proofs.values())])
    heads = [f"`btsearch`, {said}" for said in VARIANTS.values()]
    return markdown(["model", *heads, f"`{SHARPEST}`"], lines)


def latencies(slices: pd.DataFrame) -> pd.DataFrame:
    """Return the mean latency over seeds of each method on each instance, and what is beside it.

    Returns
    -------
    pandas.DataFrame
        `network`, `devices`, `model`, `method`, `latency`, the best one `least` and the worst
        `most`; `single`, that of one device; `bound`, the best certified one; `saved`, 1 - latency
        / single.
    """
    key = ["network", "devices", "model"]
    solved = slices[slices["objective"].notna()]
    found = solved.groupby([*key, "method"], sort=False)["objective"].agg(
        latency="mean", least="min", most="max"
    )
    found = found.reset_index()
    single = found[found["method"] == "one-device"].set_index(key)["latency"].rename("single")
    bound = slices.groupby(key)["bound"].max()
    found = found.join(single, on=key).join(bound, on=key)
    return found.assign(saved=1 - found["latency"] / found["single"])


def saved_table(found: pd.DataFrame) -> str:
    """Return geometric means of saved latency by network and number of devices."""
    methods = ("best-response", *SEARCHES)
    lines = []
    for network, title in NETWORKS.items():
        for devices in DEVICES:
            own = found[(found["network"] == network) & (found["devices"] == devices)]
            if own.empty:
                continue
            cells = [_mean_saved(own[own["method"] == name]) for name in methods]
            limits = own.drop_duplicates("model")
            limits = limits[limits["bound"].notna()]
            most = 1 - geometric_mean(limits["bound"] / limits["single"])
            best = own.groupby("model")["least"].min() / own.groupby("model")["bound"].max()
            best = best.dropna()
            lines.append(
                [
                    title, str(devices), str(own["model"].nunique()), *cells,
                    f"{percent(most)} (n = {len(limits)})",
                    f"{percent(geometric_mean(best) - 1)} (n = {len(best)})",
                ]
            )  # fmt: skip
    head = [
        "network", "devices", "models", *(f"`{name}`" for name in methods),
        "at most", "gap of the best",
    ]  # fmt: skip
    return markdown(head, lines)


def _mean_saved(own: pd.DataFrame) -> str:
    ratios = 1 - own["saved"]
    low, high = geometric_mean_interval(ratios)
    within = "" if pd.isna(low) else f" ({100 * (1 - high):.1f} to {100 * (1 - low):.1f})"
    return percent(1 - geometric_mean(ratios)) + within


def headline(found: pd.DataFrame) -> str:
    """Return what two searches save and what bounds leave, by network and number of devices."""
    lines = []
    for network, title in NETWORKS.items():
        for devices in DEVICES:
            own = found[(found["network"] == network) & (found["devices"] == devices)]
            if own.empty:
                continue
            cells = [_mean_saved(own[own["method"] == name]) for name in _SHOWN]
            limits = own.drop_duplicates("model")
            most = percent(1 - geometric_mean(limits["bound"] / limits["single"]))
            lines.append([title, str(devices), str(len(limits)), *cells, most])
    head = ["network", "devices", "models", *(f"`{name}`" for name in _SHOWN), "at most"]
    return markdown(head, lines)


def by_model(found: pd.DataFrame, network: str) -> str:
    """Return what `geneflow` and our search save of each model's latency, by number of devices."""
    own = found[found["network"] == network]
    lines = []
    for model in SLICED:
        part = own[own["model"] == model]
        if part.empty:
            continue
        cells = []
        for devices in DEVICES:
            here = part[part["devices"] == devices].set_index("method")
            if here.empty:
                cells += [NONE] * 3
                continue
            most = 1 - here["bound"].iloc[0] / here["single"].iloc[0]
            cells += [percent(here["saved"].get(name, float("nan"))) for name in _SHOWN]
            cells.append(percent(most))
        lines.append([model, f"{part['single'].iloc[0] / 1e6:,.2f}", *cells])
    head = [f"{n}: {said}" for n in DEVICES for said in ("geneflow", "slice-search", "at most")]
    return markdown(["model", "one device, ms", *head], lines)


_SHOWN = ("geneflow", "slice-search")


def every_latency(found: pd.DataFrame, network: str, devices: int) -> str:
    """Return the latency of each method on each model, with worst and best seed, and the bound."""
    own = found[(found["network"] == network) & (found["devices"] == devices)]
    methods = ("one-device", *SIMPLE, *SEARCHES)
    lines = []
    for model in SLICED:
        part = own[own["model"] == model].set_index("method")
        if part.empty:
            continue
        bound = part["bound"].iloc[0]
        gap = part["least"].min() / bound - 1
        cells = [_milliseconds(part.loc[name]) if name in part.index else NONE for name in methods]
        shown = NONE if pd.isna(bound) else f"{bound / 1e6:,.2f}"
        lines.append([model, *cells, shown, percent(gap)])
    return markdown(["model", *methods, "certified bound", "gap of the best"], lines)


def _milliseconds(row: "pd.Series[Any]") -> str:
    shown = f"{row['latency'] / 1e6:,.2f}"
    if row["least"] == row["most"]:
        return shown
    return f"{shown} ({row['least'] / 1e6:,.2f} to {row['most'] / 1e6:,.2f})"


def parts() -> dict[str, str]:
    """Return each generated part of the page by the name in its marks."""
    orders, random, slices, ran = _data()
    found = latencies(slices)
    return {
        "machine": runs.machine_text(ran),
        "memory": memory_table(orders, random, "sum"),
        "backtracking": backtracking_table(orders, "sum"),
        "latency": saved_table(found),
        "gigabit": by_model(found, "raspberry-pi-4-gigabit"),
        "fast ethernet": by_model(found, "raspberry-pi-4-fast-ethernet"),
        "mixed devices": by_model(found, "raspberry-pi-mixed-gigabit"),
    }


def headline_part() -> dict[str, str]:
    """Return the headline figures of the problem's own page by the name in their marks."""
    return {"saved by slicing": headline(latencies(_data()[2]))}


def tables() -> str:
    """Return the file of all tables, cell by cell."""
    orders, random, slices, ran = _data()
    found = latencies(slices)
    sliced = {
        f"latency, {title}, {devices} devices": every_latency(found, network, devices)
        for network, title in NETWORKS.items()
        for devices in DEVICES
        if ((found["network"] == network) & (found["devices"] == devices)).any()
    }
    return all_tables(
        "All tables in the form of the MemoriaNova paper",
        {
            "machine": runs.machine_text(ran),
            "memory, sum": memory_table(orders, random, "sum"),
            "memory, peak": memory_table(orders, random, "peak"),
            "backtracking, sum": backtracking_table(orders, "sum"),
            "backtracking, peak": backtracking_table(orders, "peak"),
            **sliced,
        },
    )


def _data() -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame, list[dict[str, Any]]]:
    """Return orders, random orders, slices, and what ran."""
    tables = [pd.read_csv(DATA / f"{name}.csv") for name in ("orders", "random_orders", "slices")]
    orders, random, slices = tables
    return orders, random, slices, json.loads((DATA / "run.json").read_text())


if __name__ == "__main__":
    make_page(PAGE, parts, collect, (TABLES, tables))
    make_page(PROBLEM_PAGE, headline_part)
