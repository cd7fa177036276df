"""Methods that learn: Table 2 of [HSDAG24] with certified gaps, and curves over evaluations."""

from typing import TYPE_CHECKING, Any

import pandas as pd

from boundmark.reports.dictionary import columns_of
from boundmark.reports.pages.page import Cell, Group, Section, Table
from boundmark.reports.plots import Panels, Plot, distinct_names, looks, plain_log_ticks
from boundmark.reports.problem_report import ProblemResults, Tables
from boundmark.reports.sections.page_tables import PageColumn, page_table
from boundmark.reports.tables.parameters import json_object
from boundmark.reports.text import MISSING, gap_percent, percent, seconds

if TYPE_CHECKING:
    from matplotlib.axes import Axes


# A model with all that its instance depends on: other parameters, such as fusion, are another one.
MODEL = ["dataset", "instance", "device", "parameters"]

# What everything on the first device is; where that is a processor, it is "CPU-only".
BASE = ("preferred-device", "first", 0)

# Methods that learn; they are compared with all others.
LEARNED = frozenset({"hsdag", "placeto", "rnn-seq2seq"})

# Parameters that limit how many placements a method tries.
LIMITS = ("evaluations", "samples")


def learned_table(tasks: pd.DataFrame, certified: pd.DataFrame) -> pd.DataFrame:
    """Return the latency of each method on each model for which a placement was learned."""
    found = _placed(tasks)
    found = found[found.groupby(MODEL)["is_learned"].transform("any").astype(bool)]
    if not len(found):
        return pd.DataFrame(columns=columns_of("placement/learned"))
    table = _over_seeds(found, ["method", "is_learned"], certified)
    on_first = found[found["is_base"]].groupby(MODEL)["objective"].min().rename("base")
    table = table.join(on_first, on=MODEL)
    table["speedup"] = 1 - table["makespan"] / table["base"]
    return table[columns_of("placement/learned")]


def curve_table(tasks: pd.DataFrame, certified: pd.DataFrame) -> pd.DataFrame:
    """Return how good placements are by the number of evaluations, for methods run with several."""
    found = _placed(tasks).dropna(subset=["evaluations"])
    found = found.assign(curve=_curves(found))
    several = found.groupby([*MODEL, "curve"])["evaluations"].transform("nunique") > 1
    found = found[several.astype(bool)]
    if not len(found):
        return pd.DataFrame(columns=columns_of("placement/curves"))
    table = _over_seeds(found, ["curve", "evaluations"], certified)
    table = table.rename(columns={"curve": "method"}).astype({"evaluations": "int64"})
    return table[columns_of("placement/curves")]


def matches(table: pd.DataFrame) -> pd.DataFrame:
    """Return each model's best learned placement, and the quickest other method that is as good."""
    rows = []
    for _, part in table.groupby(MODEL, sort=True):
        best = part[part["is_learned"]].sort_values(["makespan", "seconds"]).iloc[0]
        others = part[~part["is_learned"] & (part["makespan"] <= best["makespan"])]
        row = {**best.to_dict(), "other": None, "other_makespan": None, "other_seconds": None}
        if len(others):
            first = others.sort_values(["seconds", "makespan"]).iloc[0]
            row["other"] = first["method"]
            row["other_makespan"], row["other_seconds"] = first["makespan"], first["seconds"]
        rows.append(row)
    return pd.DataFrame(rows)


def _placed(tasks: pd.DataFrame) -> pd.DataFrame:
    """Return the tasks that found a placement, with columns from their methods' parameters."""
    found = tasks[tasks["objective"].notna()]
    name = found["method"].str.split(" (", n=1, regex=False).str[0]
    params = [json_object("params", text) for text in found["params"]]
    return found.assign(
        objective=found["objective"].astype("float64"),
        name=name,
        is_learned=name.isin(LEARNED),
        is_base=[_is_base(*pair) for pair in zip(name, params, strict=True)],
        evaluations=[_limit(given) for given in params],
    )


def _curves(found: pd.DataFrame) -> list[str]:
    """Return each task's method, with the parameters that differ and are no limits."""
    names = found["name"].tolist()
    given = [json_object("params", text) for text in found["params"]]
    values: dict[tuple[str, str], set[str]] = {}
    for name, params in zip(names, given, strict=True):
        for key, value in params.items():
            values.setdefault((name, key), set()).add(str(value))
    curves = []
    for name, params in zip(names, given, strict=True):
        others = [key for key in sorted(params) if key not in LIMITS]
        told = [f"{key}={params[key]}" for key in others if len(values[name, key]) > 1]
        curves.append(f"{name} ({', '.join(told)})" if told else name)
    return curves


def _is_base(name: str, params: dict[str, Any]) -> bool:
    return name == BASE[0] and params.get(BASE[1]) == BASE[2]


def _limit(params: dict[str, Any]) -> float:
    """Return how many placements a method may try; NaN if that is unknown."""
    given = [params[name] for name in LIMITS if params.get(name)]
    return float(given[0]) if given else float("nan")


def _over_seeds(found: pd.DataFrame, by: list[str], certified: pd.DataFrame) -> pd.DataFrame:
    """Return makespans and seconds over seeds, with each model's best certified bound and gap."""
    table = (
        found.groupby([*MODEL, *by], sort=True)
        .agg(
            seeds=("seed", "nunique"),
            makespan=("objective", "median"),
            least=("objective", "min"),
            most=("objective", "max"),
            seconds=("cpu_seconds", "median"),
        )
        .reset_index()
    )
    known = certified.assign(bound=certified["bound"].astype("float64"))
    table = table.join(known.groupby(MODEL)["bound"].max(), on=MODEL)
    table["gap"] = table["makespan"] / table["bound"].where(table["bound"] > 0) - 1
    return table


MILLION = 1e6


def learned_section(results: ProblemResults, tables: Tables) -> Section | None:
    """Return latencies and speedups of learned and other placements; None without any."""
    found = tables["learned"]
    if not len(found):
        return None
    found = found.assign(
        is_best=found["makespan"] == found.groupby(MODEL)["makespan"].transform("min")
    )
    groups = []
    for key, part in found.groupby(MODEL, sort=True):
        ordered = part.sort_values(["makespan", "seconds"])
        groups.append(((Cell(_model(key)),), (row for _, row in ordered.iterrows()), ""))
    table = page_table(
        "Latency and speedup over the first device alone",
        PAGE_COLUMNS,
        groups,
        (
            "Makespan: median over seeds in millions of ticks (milliseconds if a tick is a "
            "nanosecond), then the least and the most. Speedup: 1 - makespan / makespan with "
            "everything on the first device. Gap: to the best certified lower bound. CPU seconds: "
            "median, for the whole task.",
        ),
    )
    sentences = tuple(_sentence(row) for _, row in matches(found).iterrows())
    return Section("Learned placement", (table,), (), sentences)


def _makespan(row: "pd.Series[Any]") -> Cell:
    return Cell(f"{row['makespan'] / MILLION:.3f}", best=bool(row["is_best"]))


def _spread(row: "pd.Series[Any]") -> str:
    if row["least"] == row["most"]:
        return MISSING
    return f"{row['least'] / MILLION:.3f} to {row['most'] / MILLION:.3f}"


PAGE_COLUMNS = (
    PageColumn("method", lambda row: str(row["method"]), is_text=True),
    PageColumn("makespan", _makespan),
    PageColumn("over seeds", _spread),
    PageColumn("speedup (%)", lambda row: percent(row["speedup"])),
    PageColumn("gap (%)", lambda row: gap_percent(row["gap"])),
    PageColumn("CPU seconds", lambda row: seconds(row["seconds"])),
    PageColumn("seeds", lambda row: str(row["seeds"])),
)


def curve_section(results: ProblemResults, tables: Tables) -> Section | None:
    """Return how placements improve with evaluations; None without methods run with several."""
    curves = tables["curves"]
    if not len(curves):
        return None
    plot = Plot(
        "learning_curves",
        "Makespan over evaluations",
        "Best makespan by number of placements tried: median over seeds, and a band from the "
        "least to the most. Each number of evaluations is a separate run.",
        curves.assign(model=_panels(curves)),
        draw_curves,
        Panels("model", str, has_common_x=True),
    )
    limits = sorted(set(curves["evaluations"]))
    groups = []
    for key, part in curves.groupby(MODEL, sort=True):
        rows = []
        for method, own in part.groupby("method", sort=True):
            by_limit = {int(row["evaluations"]): row for _, row in own.iterrows()}
            cells = (
                Cell(f"{by_limit[n]['makespan'] / MILLION:.3f}", gap_percent(by_limit[n]["gap"]))
                if n in by_limit
                else Cell(MISSING)
                for n in limits
            )
            rows.append((Cell(str(method)), *cells))
        groups.append(Group((Cell(_model(key)),), tuple(rows)))
    table = Table(
        "Makespan by number of evaluations",
        ("method", *(f"{n:,}" for n in limits)),
        tuple(groups),
        ("Median over seeds in millions of ticks. The small number is the certified gap (%).",),
    )
    return Section("Learning curves", (table,), (plot,))


def _panels(curves: pd.DataFrame) -> list[str]:
    """Return the title of each row's curves: the model, and parameters if they differ."""
    key = ["dataset", "instance"]
    several = curves.groupby(key)[["device", "parameters"]].transform("nunique").max(axis=1)
    return [
        _model(model) if number > 1 else name
        for model, number, name in zip(
            curves[MODEL].itertuples(index=False, name=None),
            several,
            distinct_names(curves),
            strict=True,
        )
    ]


def draw_curves(data: pd.DataFrame, axes: "Axes") -> None:
    """Draw a line and a band for each method."""
    for method, look in looks(sorted(set(data["method"]))).items():
        part = data[data["method"] == method].sort_values("evaluations")
        axes.plot(part["evaluations"], part["makespan"] / MILLION, label=method, **look._asdict())
        axes.fill_between(
            part["evaluations"], part["least"] / MILLION, part["most"] / MILLION,
            color=look.color, alpha=0.15, linewidth=0,
        )  # fmt: skip
    axes.set_xscale("log")
    plain_log_ticks(axes.xaxis)
    axes.set(xlabel="evaluations", ylabel="makespan (million ticks)")


def _sentence(row: "pd.Series[Any]") -> str:
    """Return a sentence on the best learned placement of a model, and on other methods."""
    learned = (
        f"{row['instance']}: the best learned placement is by {row['method']}, "
        f"{row['makespan'] / MILLION:.3f} after {seconds(row['seconds'])} s"
    )
    if row["other"] is None or pd.isna(row["other"]):
        return f"{learned}; no method without learning is as good in this run."
    return (
        f"{learned}; {row['other']}, which does not learn, has "
        f"{row['other_makespan'] / MILLION:.3f} after {seconds(row['other_seconds'])} s."
    )


def _model(key: Any) -> str:
    _, *told = key
    return ", ".join(str(part) for part in told if part)
