"""The report of `slicing`: latency, loads of devices, searches over seeds, and least memory."""

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pandas as pd

from boundmark.problems.slicing import SlicingInstance, SlicingPlan
from boundmark.problems.slicing.latency import device_loads
from boundmark.reports.default import DEFAULT, default_tables
from boundmark.reports.dictionary import columns_of
from boundmark.reports.methods import method_section
from boundmark.reports.pages.page import Cell, Group, Section, Table
from boundmark.reports.plots import COLOURS, Panels, Plot, distinct_names, integer_ticks
from boundmark.reports.problem_report import Grouping, ProblemResults, Tables
from boundmark.reports.sections.gaps import bound_section, gap_section, solution_section
from boundmark.reports.sections.instances import instance_section
from boundmark.reports.sections.page_tables import PageColumn, page_table
from boundmark.reports.sections.runtime import runtime_section
from boundmark.reports.statistics import geometric_mean, geometric_mean_interval
from boundmark.reports.stored.store import ResultStore, parsed_pair
from boundmark.reports.tables.parameters import json_object
from boundmark.reports.tables.rows import best_rows, rows
from boundmark.reports.text import MISSING, count, gap_percent, integer, percent

if TYPE_CHECKING:
    from matplotlib.axes import Axes


INSTANCE = ["dataset", "instance", "device", "parameters", "instance_sha256"]

# [MEMORIANOVA24]'s genetic algorithm, the same after its search for an order, and ours.
SEARCHES = ("geneflow", "memorianova", "slice-search")

MEMORY = "memory_percent"

# The models of a sweep over memory.
SWEEP = ["dataset", "instance", "device", "edge_devices"]


def search_table(tasks: pd.DataFrame, certified: pd.DataFrame) -> pd.DataFrame:
    """Return the results of each search on each instance, over its seeds."""
    solved = tasks[tasks["objective"].notna()]
    solved = solved.assign(device=solved["device"].fillna(""))
    found = solved[solved["method"].isin(SEARCHES)]
    if found.empty:
        return pd.DataFrame(columns=columns_of("slicing/searches"))
    found = found.assign(objective=found["objective"].astype("float64"))
    table = (
        found.groupby([*INSTANCE, "method"], sort=True)
        .agg(
            seeds=("seed", "nunique"),
            latency=("objective", "mean"),
            least=("objective", "min"),
            most=("objective", "max"),
        )
        .reset_index()
    )
    single = solved[solved["method"] == "one-device"].groupby("instance_sha256")["objective"].min()
    table["one_device"] = table["instance_sha256"].map(single).astype("Int64")
    known = certified.set_index("instance_sha256")["bound"]
    table["bound"] = table["instance_sha256"].map(known).astype("Int64")
    table["saved"] = 1 - table["latency"] / _positive(table["one_device"])
    table["gap"] = table["latency"] / _positive(table["bound"]) - 1
    return table[columns_of("slicing/searches")]


def _positive(values: "pd.Series[Any]") -> "pd.Series[Any]":
    numbers = values.astype("float64")
    return numbers.where(numbers > 0)


def memory_table(tasks: pd.DataFrame, certified: pd.DataFrame) -> pd.DataFrame:
    """Return the least memory with which each method finds plans, where several were tried."""
    solved = tasks[tasks["objective"].notna()]
    given = [json_object("instance_params", text) for text in solved["instance_params"]]
    solved = solved.assign(
        device=solved["device"].fillna(""),
        memory=[int(one.get(MEMORY, 0)) for one in given],
        edge_devices=[int(one.get("edge_devices", 0)) for one in given],
        latency=solved["objective"].astype("int64"),
    )
    solved = solved[solved["memory"] > 0]
    several = solved.groupby(SWEEP)["memory"].transform("nunique") > 1
    solved = solved[several.astype(bool)].sort_values([*SWEEP, "method", "memory", "latency"])
    if solved.empty:
        return pd.DataFrame(columns=columns_of("slicing/least_memory"))
    least = solved.groupby([*SWEEP, "method"], sort=True).first().reset_index()
    largest = solved.groupby([*SWEEP, "method"])["memory"].transform("max")
    most = solved[solved["memory"] == largest].groupby([*SWEEP, "method"]).first()
    most = most.rename(columns={"memory": "most_memory", "latency": "most_latency"})
    table = least.join(most[["most_memory", "most_latency"]], on=[*SWEEP, "method"])
    known = certified.set_index("instance_sha256")["bound"]
    table["bound"] = table["instance_sha256"].map(known).astype("Int64")
    return table[columns_of("slicing/least_memory")]


SEARCH_NOTES = (
    "Saved: 1 - latency / that of `one-device`, in percent; the mean latency over seeds, and below "
    "it the range from the worst seed to the best. At most: what the certified bound leaves to be "
    "saved. Gap: mean latency / certified bound - 1. `geneflow` and `memorianova` are those of "
    "Zhang et al., MemoriaNova (2024).",
)

MEAN_NOTES = (
    "1 - the geometric mean of latencies over those of `one-device`, seeds averaged first, over "
    "the n instances, or fewer where it says so; below it, the 95 % bootstrap interval over "
    "instances. At most: the same of certified bounds. Gap: geometric mean of the best latency of "
    "these searches over the bound, minus 1.",
)


def search_section(results: ProblemResults, tables: Tables) -> Section | None:
    """Return the tables of all searches, their means first; None if none was run."""
    found = tables["searches"]
    if found.empty:
        return None
    found = found.assign(at_most=1 - found["bound"] / _positive(found["one_device"]))
    methods = [name for name in SEARCHES if (found["method"] == name).any()]
    clusters = list(found.groupby(["device", "parameters"], sort=False))
    columns = (*HEAD, *(column for name in methods for column in _columns(name)), AT_MOST)
    groups = [
        (", ".join(str(one) for one in key if one), _lines(part), "") for key, part in clusters
    ]
    heads = ("cluster", "parameters", "n", *methods, "at most", "gap of the best (%)")
    means = tuple(_means(key, part, methods) for key, part in clusters)
    return Section(
        "The paper's search and ours",
        (
            Table("Saved by searches, in percent", heads, (Group((), means),), MEAN_NOTES, 2),
            page_table("Searches over seeds", columns, groups, SEARCH_NOTES),
        ),
    )


HEAD = (
    PageColumn("instance", lambda line: _name(line[0]), is_text=True),
    PageColumn("one device", lambda line: integer(line[0].one_device)),
    PageColumn("bound", lambda line: integer(line[0].bound)),
)
AT_MOST = PageColumn("at most %", lambda line: percent(line[0].at_most))


def _name(row: Any) -> str:
    """Return an instance's name without its cluster, which the heading has."""
    return f"{row.dataset}/{str(row.instance).removesuffix(f' on {row.device}')}"


def _lines(part: pd.DataFrame) -> list[tuple[Any, dict[str, Any]]]:
    """Return for each instance one of its rows, and all by method."""
    return [
        (next(iter(rows(own))), {row.method: row for row in rows(own)})
        for _, own in part.groupby("instance_sha256", sort=False)
    ]


def _columns(method: str) -> tuple[PageColumn, ...]:
    def shown(cell: Any) -> Any:
        return lambda line: cell(line[1][method]) if method in line[1] else MISSING

    return (
        PageColumn(method, shown(lambda row: integer(round(row.latency)))),
        PageColumn(f"{method}: saved %", shown(_saved)),
        PageColumn(f"{method}: gap (%)", shown(lambda row: gap_percent(row.gap))),
    )


def _saved(row: Any) -> Cell | str:
    if pd.isna(row.saved):
        return MISSING
    ends = [_signed(1 - latency / row.one_device) for latency in (row.most, row.least)]
    seeds = "" if ends[0] == ends[1] else f"{ends[0]} to {ends[1]}, {count(row.seeds, 'seed')}"
    return Cell(_signed(row.saved), seeds)


def _signed(share: float) -> str:
    """Return a share in percent; a search may find less than one device alone."""
    return percent(share) if share >= 0 else f"-{percent(-share)}"


def _means(key: tuple[Any, ...], part: pd.DataFrame, methods: list[str]) -> tuple[Cell, ...]:
    device, parameters = key
    each = part.groupby("instance_sha256")
    cells = [Cell(device or MISSING), Cell(parameters), Cell(f"{len(each)}")]

    def of(several: "pd.Series[Any]") -> list[str]:
        return [f"n = {len(several)}"] if len(several) < len(each) else []

    for method in methods:
        own = part[(part["method"] == method) & (part["latency"] > 0)]
        ratios = 1 - own["saved"].dropna().astype("float64")
        low, high = geometric_mean_interval(ratios)
        within = [f"{_signed(1 - high)} to {_signed(1 - low)}"] if low == low else []
        detail = ", ".join([*of(ratios), *within])
        cells.append(Cell(_signed(1 - geometric_mean(ratios)), detail))
    limits = 1 - each["at_most"].first().dropna().astype("float64")
    best = (each["least"].min() / _positive(each["bound"].first())).dropna()
    return (
        *cells,
        Cell(percent(1 - geometric_mean(limits)), ", ".join(of(limits))),
        Cell(gap_percent(geometric_mean(best) - 1), ", ".join(of(best))),
    )


MEMORY_NOTES = (
    "Memory: the least memory per device, of those tried, with which the method found a plan, in "
    "percent of what the model takes on one device alone. Longer: its best latency with this "
    "memory over that with the most memory, minus 1. Gap: that latency over the certified bound "
    "with this memory, minus 1.",
)


def memory_section(results: ProblemResults, tables: Tables) -> Section | None:
    """Return the table of the least memory that suffices; None if only one amount was tried."""
    found = tables["least_memory"]
    if found.empty:
        return None
    groups = [
        (_memory_heading(next(iter(rows(part)))), rows(part), "")
        for _, part in found.groupby(SWEEP, sort=False)
    ]
    title = "Least memory with which plans were found"
    return Section("Least memory", (page_table(title, MEMORY_COLUMNS, groups, MEMORY_NOTES),))


def _memory_heading(row: Any) -> str:
    on = f" of {row.device}" if row.device else ""
    return f"{row.dataset}/{row.instance}, {count(row.edge_devices, 'device')}{on}"


def _longer(latency: Any, reference: Any) -> str:
    return MISSING if pd.isna(reference) or not reference else percent(latency / reference - 1)


def _gap(latency: Any, bound: Any) -> str:
    return MISSING if pd.isna(bound) or not bound else gap_percent(latency / bound - 1)


MEMORY_COLUMNS = (
    PageColumn("method", lambda row: row.method, is_text=True),
    PageColumn("least memory %", lambda row: integer(row.memory)),
    PageColumn("latency there", lambda row: integer(row.latency)),
    PageColumn("longer %", lambda row: _longer(row.latency, row.most_latency)),
    PageColumn("bound", lambda row: integer(row.bound)),
    PageColumn("gap (%)", lambda row: _gap(row.latency, row.bound)),
)


PARTS = (("computing", COLOURS[0]), ("communicating", COLOURS[1]))


def load_data(loads: pd.DataFrame) -> pd.DataFrame:
    """Return instance, place, and both parts as fractions of the latency.

    Instances are named without their cluster, which the title has.
    """
    latency = loads["latency"].astype("float64").clip(lower=1.0)
    shares = {name: loads[name].astype("float64") / latency for name, _ in PARTS}
    names = [
        str(name).removesuffix(f" on {device}")
        for name, device in zip(loads["instance"], loads["device"], strict=True)
    ]
    return loads[["place"]].assign(instance=names, **shares).reset_index(drop=True)


def draw_loads(data: pd.DataFrame, axes: "Axes") -> None:
    """Draw a bar for each device of one instance, communication on top of computation."""
    bottom = data["computing"] * 0.0
    for name, color in PARTS:
        axes.bar(data["place"], 100 * data[name], 0.8, bottom=100 * bottom, color=color, label=name)
        bottom = bottom + data[name]
    axes.set(xlabel="device", ylabel="part of the latency (%)", ylim=(0, 100))
    integer_ticks(axes.xaxis)


# Methods that stand for what one would do without optimising.
REFERENCES = {"one_device": "one-device", "equal_slices": "equal-slices"}


def latency_table(tasks: pd.DataFrame, certified: pd.DataFrame) -> pd.DataFrame:
    """Return the best verified plan of each instance, with its latency."""
    solved = tasks[tasks["objective"].notna()]
    best = best_rows(solved, "objective")[[*INSTANCE, "method", "objective", "solution_sha256"]]
    best = best.rename(columns={"objective": "latency"})
    for column, method in REFERENCES.items():
        found = solved[solved["method"] == method].groupby("instance_sha256")["objective"].min()
        best[column] = best["instance_sha256"].map(found).astype("Int64")
    # Instances that come with costs have none, and are a group of their own.
    best["device"] = best["device"].fillna("")
    known = certified[["instance_sha256", "bound", "optimal"]]
    merged = best.merge(known, on="instance_sha256", how="left")
    return merged.sort_values(INSTANCE, kind="stable").reset_index(drop=True)


def load_table(latency: pd.DataFrame, store: ResultStore) -> pd.DataFrame:
    """Return one row per device of each instance whose best plan is stored."""
    found = []
    for row in rows(latency):
        pair = parsed_pair(store, row, SlicingInstance.from_json, SlicingPlan.from_json)
        if pair is None:
            continue
        head = {name: getattr(row, name) for name in (*INSTANCE, "latency")}
        found += [head | load for load in plan_loads(*pair)]
    return pd.DataFrame(found, columns=columns_of("slicing/device_loads"))


def plan_loads(instance: SlicingInstance, plan: SlicingPlan) -> list[dict[str, int]]:
    """Return `place`, from 0 up, and the loads of each device, as in `load_table`."""
    loads = device_loads(instance, plan)
    return [
        {"place": place, **{name: values[place] for name, values in loads.items()}}
        for place in range(len(loads["computing"]))
    ]


def tables(results: ProblemResults) -> Tables:
    """Return all tables of the report, by the names of their files."""
    latency = latency_table(results.tasks, results.certified)
    return {
        **default_tables(results),
        "latency": latency,
        "device_loads": load_table(latency, results.store),
        "searches": search_table(results.tasks, results.certified),
        "least_memory": memory_table(results.tasks, results.certified),
    }


NOTES = (
    "Latency in ticks of the best verified plan; gap: latency over certified bound, minus 1. "
    "Saved: 1 minus the latency over that of `one-device` or `equal-slices`; the mean is 1 minus "
    "the geometric mean of these ratios, over the n instances for which both were found.",
)


def latency_section(results: ProblemResults, tables: Tables) -> Section | None:
    """Return the table of latencies; None without plans."""
    latency = tables["latency"]
    if len(latency) == 0:
        return None
    groups = [
        (_heading(str(device), str(parameters), part), rows(part), "")
        for (device, parameters), part in latency.groupby(["device", "parameters"], sort=False)
    ]
    table = page_table(
        "Latency against one device and equal slices", LATENCY_COLUMNS, groups, NOTES
    )
    return Section("Latency", (table,))


def saved(latency: "pd.Series[Any]", reference: "pd.Series[Any]") -> tuple[float, int]:
    """Return the mean saving, and over how many instances that is."""
    known = latency.notna() & reference.notna() & (latency > 0) & (reference > 0)
    ratios = (latency[known] / reference[known]).astype("float64")
    return 1 - geometric_mean(ratios), len(ratios)


def _heading(device: str, parameters: str, part: pd.DataFrame) -> tuple[Cell, ...]:
    means = [saved(part["latency"], part[column]) for column in ("one_device", "equal_slices")]
    heading = [Cell("all of them"), Cell(device or MISSING), Cell(parameters), *[Cell("")] * 8]
    for place, (mean, number) in zip((7, 9), means, strict=True):
        heading[place] = Cell(percent(mean), f"n = {number}")
    return tuple(heading)


def _saving(latency: Any, reference: Any) -> str:
    return MISSING if pd.isna(reference) or not reference else percent(1 - latency / reference)


LATENCY_COLUMNS = (
    PageColumn("instance", lambda row: f"{row.dataset}/{row.instance}", is_text=True),
    PageColumn("cluster", lambda row: row.device or MISSING, is_text=True),
    PageColumn("parameters", lambda row: row.parameters, is_text=True),
    PageColumn("best latency", lambda row: integer(row.latency)),
    PageColumn("bound", lambda row: integer(row.bound)),
    PageColumn("gap (%)", lambda row: _gap(row.latency, row.bound)),
    PageColumn("one device", lambda row: integer(row.one_device)),
    PageColumn("saved %", lambda row: _saving(row.latency, row.one_device)),
    PageColumn("equal slices", lambda row: integer(row.equal_slices)),
    PageColumn("saved %", lambda row: _saving(row.latency, row.equal_slices)),
    PageColumn("by", lambda row: row.method, is_text=True),
)


CAPTION = (
    "The best verified plan of each instance: time that each device computes and waits for the "
    "router, as parts of the latency. The rest is waiting for the slowest device."
)


def load_section(results: ProblemResults, tables: Tables) -> Section | None:
    """Return a plot for each cluster; None without any stored plan."""
    loads = tables["device_loads"]
    if len(loads) == 0:
        return None
    plots = []
    for number, ((device, parameters), part) in enumerate(
        loads.groupby(["device", "parameters"], sort=False), 1
    ):
        data = load_data(part.assign(instance=distinct_names(part)))
        plots.append(
            Plot(
                f"device_loads_{number}",
                f"Load of each device, {device or 'costs of the instance'}, {parameters}",
                CAPTION,
                data,
                draw_loads,
                Panels("instance", str, has_common_x=False),
                width=max(7.4, 1.6 * data["instance"].nunique() + 1.0),
            )
        )
    return Section("Load of devices", plots=tuple(plots))


REPORT = replace(
    DEFAULT,
    grouping=Grouping("edge_devices", "number of devices"),
    tables=tables,
    baselines=("one-device", "equal-slices"),
    sections=(
        latency_section,
        search_section,
        memory_section,
        gap_section,
        bound_section,
        solution_section,
        load_section,
        runtime_section,
        method_section,
        instance_section,
    ),
)

__all__ = ["REPORT"]
