"""Make docs/results-tessel.md from the data in `docs/tables/tessel`.

`python docs/tables/tessel.py` makes the tables of the page anew, and `docs/tables/tessel/tables.md`
with all that the page leaves out. With `collect MODELS SMALL FULL TIME-OPTIMAL`, it first takes the
data from results folders of the suites `paper-tessel/models` and so on, and searches repetends for
Figures 11 and 12. With `phases`, it first measures how long searches take, for Figure 10.
"""

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pandas as pd
import runs
from results_page import DOCS, NONE, all_tables, make_page, markdown
from tessel_data import DATA, GPUS, SAMPLES, TRAINING, collect, measure_phases

from boundmark.reports.text import count

PAGE = DOCS / "results-tessel.md"
TABLES_FILE = DATA / "tables.md"

CROSS = "×"

# Numbers that [TESSEL24] prints in Table II: bubble rates in percent.
TABLE_2 = {
    "m": ("0", "20", "25", "0"),
    "nn": ("0", "20", "20", "0"),
    "k": ("0", "20", CROSS, "0"),
}
NAMES = {"gpt": "GPT", "mt5": "mT5"}
SHAPES = ("v-4", "x-4", "m-4", "nn-4", "k-4")
FIGURE_3_SHAPE = "v-4-train-b2"


def run_text(ran: Sequence[Mapping[str, Any]]) -> str:
    """Return a table of the runs: commit, machine, load, tasks and time."""
    lines = [
        [
            _name(run),
            ", ".join(run["commits"]),
            f"{run['from']} to {run['to'][-5:]} UTC", f"{run['limit']:g} s",
            runs.told(run["statuses"]),
            f"{run['wall_minutes']}, {run['cpu_minutes']}", str(max(run["loads"])),
        ]
        for run in ran
    ]  # fmt: skip
    head = [
        "suite", "commit", "time", "limit", "tasks", "minutes: wall, processor", "load at start"
    ]  # fmt: skip
    return "; ".join(dict.fromkeys(map(_machine, ran))) + ".\n\n" + markdown(head, lines, 5)


def machine_text(ran: Sequence[Mapping[str, Any]]) -> str:
    """Return a sentence on the machine and each run."""
    told = []
    for machine in dict.fromkeys(map(_machine, ran)):
        own = [run for run in ran if _machine(run) == machine]
        suites = ", ".join(
            f"{_name(run)} ({count(run['tasks'], 'task')} of {run['limit']:g} s at most, "
            f"{run['from'][:10]}, commit {', '.join(run['commits'])})"
            for run in own
        )
        told.append(f"{machine}: {suites}.")
    wall, processor = (sum(run[f"{name}_minutes"] for run in ran) for name in ("wall", "cpu"))
    return " ".join(told) + (
        f" {wall:.1f} minutes of wall-clock time and {processor:.1f} of processor time."
    )


def _name(run: Mapping[str, Any]) -> str:
    return f"`{run['suite']}`" if "/" in run["suite"] else f"the searches of {run['suite']}"


def _machine(run: Mapping[str, Any]) -> str:
    solver = run["versions"]["z3-solver"]
    return f'"{run["cpu"]}", {run["cores"]} cores, up to two tasks at a time, Z3 {solver}'


def table_2(rates: pd.DataFrame) -> str:
    """Return Table II, the paper's rates in brackets."""
    lines = []
    for label, shape in (("GPT (M)", "m"), ("mT5 (NN)", "nn"), ("Flava (K)", "k")):
        own = rates[rates["shape"] == shape]["bubble"]
        cells = [
            f"{CROSS if pd.isna(rate) else f'{rate:.1f}'} ({printed})"
            for rate, printed in zip(own, TABLE_2[shape], strict=True)
        ]
        lines.append((label, *cells))
    return markdown(["model", "1F1B", "Chimera-direct", "1F1B+", "Tessel"], lines)


def _rate(row: "pd.Series") -> str:
    """Return a bubble rate, with a star where a smaller one is not excluded."""
    if pd.isna(row["bubble"]):
        return NONE
    return f"{row['bubble']:.1f}" + ("" if row["is_proven"] else "*")


def figure_11(rates: pd.DataFrame) -> str:
    """Return bubble rates by micro-batches of a repetend."""
    lines = [
        (str(shape).upper(), *(_rate(row) for _, row in part.iterrows()))
        for shape, part in rates.groupby("shape", sort=False)
    ]
    return markdown(["shape", *map(str, rates["micro_batches"].unique())], lines)


def figure_12(rates: pd.DataFrame) -> str:
    """Return bubble rates by memory, with more micro-batches in brackets where that differs."""
    lines = []
    for shape, part in rates.groupby("shape", sort=False):
        enough = part[part["is_papers"]]["micro_batches"].iloc[0]
        cells = []
        for _, own in part.groupby("memory", sort=True):
            papers = own[own["is_papers"]].iloc[0]
            more = own.loc[own["micro_batches"].idxmax()]
            is_equal = papers["bubble"] == more["bubble"] or pd.isna(more["bubble"])
            better = "" if is_equal else f" ({_rate(more)})"
            cells.append(_rate(papers) + better)
        lines.append((f"{str(shape).upper()}, {enough}", *cells))
    return markdown(["shape, N_R", *map(str, rates["memory"].unique())], lines)


def _time(row: "pd.Series", digits: int = 2) -> str:
    return ("> " if row["is_limited"] else "") + f"{row['seconds']:.{digits}f}"


def _of_shapes(times: pd.DataFrame) -> pd.DataFrame:
    """Return the searches of Figure 9, without Figure 3's."""
    return times[times["shape"] != FIGURE_3_SHAPE]


def figure_3(times: pd.DataFrame) -> str:
    """Return times, makespans and bounds of the search for all blocks at once, by micro-batches."""
    lines = [
        (
            str(row.micro_batches), _time(row), str(row.objective), f"{row.claimed:.0f}",
            str(row.certified),
        )
        for _, row in times[times["shape"] == FIGURE_3_SHAPE].iterrows()
    ]  # fmt: skip
    return markdown([">N", "TO (s)", "makespan", "its claimed bound", "certified bound"], lines, 0)


def figure_9(times: pd.DataFrame) -> str:
    """Return times of the search for all blocks at once over those of Tessel's for any number."""
    found = _of_shapes(times).set_index(["shape", "micro_batches", "method"])
    lines = []
    for shape in SHAPES:
        tessel = found.loc[(shape, 0, "tessel")]
        for batches in found.loc[shape].index.unique("micro_batches"):
            if not batches:
                continue
            own = found.loc[(shape, batches, "time-optimal")]
            beside = found.loc[(shape, batches, "tessel")]
            lines.append(
                (
                    shape.removesuffix("-4").upper(), str(batches), _time(own), _time(tessel),
                    _ratio(own, tessel), str(own["objective"]), str(beside["objective"]),
                    f"{own['claimed']:.0f}", str(own["certified"]),
                )
            )  # fmt: skip
    head = [
        "shape", ">N", "TO (s)", "Tessel (s)", "TO over Tessel", "TO's makespan",
        "Tessel's makespan", "TO's claimed bound", "certified bound",
    ]  # fmt: skip
    return markdown(head, lines)


def _ratio(one: "pd.Series", other: "pd.Series") -> str:
    """Return how many times as long a search took, nothing if both ended with their limits."""
    if one["is_limited"] and other["is_limited"]:
        return NONE
    sign = "> " if one["is_limited"] else "< " if other["is_limited"] else ""
    ratio = one["seconds"] / other["seconds"]
    return sign + (f"{ratio:,.0f}" if ratio >= 10 else f"{ratio:.1f}")


def figure_10(times: pd.DataFrame) -> str:
    """Return how long each part of a schedule is searched for, with and without lazy completion."""
    lines = []
    for shape, part in times.groupby("shape", sort=False):
        lazy = part[part["is_lazy"]].iloc[0]
        for _, row in part.sort_values("is_lazy", ascending=False).iterrows():
            seconds = [row[phase] for phase in ("repetend", "warm_up", "cool_down")]
            shares = [f"{one:.3f} ({100 * one / sum(seconds):.0f} %)" for one in seconds]
            whole = ("> " if row["is_limited"] else "") + f"{row['whole']:.3f}"
            over = NONE
            if not row["is_lazy"]:
                over = _ratio(row.rename({"whole": "seconds"}), lazy.rename({"whole": "seconds"}))
            kind = "lazily" if row["is_lazy"] else "each time"
            lines.append((str(shape).upper(), kind, *shares, whole, over))
    head = [
        "shape", "completed", "repetend (s)", "warm-up (s)", "cool-down (s)", "whole (s)",
        "over lazily",
    ]  # fmt: skip
    return markdown(head, lines, 2)


def device_table(found: pd.DataFrame) -> str:
    """Return periods by layout and memory, beside the certified bound."""
    lines = [
        (
            str(row.shape_), str(row.memory), str(row.bound), str(row.modulo), str(row.tessel),
            f"{row.bubble:.1f}", str(row.micro_batches), f"{row.to_period:.2f}",
        )
        for row in found.rename(columns={"shape": "shape_"}).itertuples()
    ]  # fmt: skip
    head = [
        "shape", "memory", "certified bound", "modulo", "tessel", "bubble (%)", "N_R",
        "seconds to it",
    ]  # fmt: skip
    return markdown(head, lines)


def device_summary(found: pd.DataFrame) -> str:
    """Return how many periods are proven shortest, by number of devices."""
    sizes = found["shape"].str.rpartition("-")[2].astype("int64")
    lines = []
    for size, own in found.groupby(sizes, sort=True):
        proven = {name: int((own[name] == own["bound"]).sum()) for name in ("tessel", "modulo")}
        either = int((own[["tessel", "modulo"]].min(axis="columns") == own["bound"]).sum())
        lines.append(
            (
                str(size), str(len(own)), str(proven["tessel"]), str(proven["modulo"]),
                str(either), f"{own['to_period'].max():.2f}",
            )
        )  # fmt: skip
    head = [
        "devices", "instances", "`tessel` proven optimal", "`modulo` proven optimal",
        "best of both", "seconds to `tessel`'s period, at most",
    ]  # fmt: skip
    return markdown(head, lines)


def speed_table(rows: pd.DataFrame, model: str) -> str:
    """Return PFLOPS, and Tessel's over them."""
    own = rows[rows["model"] == model].set_index(["gpus", "schedule"])
    labels = [label for label, *_ in TRAINING]
    lines = []
    for gpus in GPUS:
        found = [own.loc[(gpus, label)] if (gpus, label) in own.index else None for label in labels]
        tessel = found[0]
        cells = []
        for at, row in enumerate(found):
            if row is None:
                cells.append(CROSS)
                continue
            is_over = at and tessel is not None
            over = f" ({row['seconds'] / tessel['seconds']:.2f})" if is_over else ""
            cells.append(f"{row['operations'] / row['seconds']:.3f}{over}")
        lines.append((str(gpus), *cells))
    return markdown(["GPUs", *labels], lines)


def samples_table(rows: pd.DataFrame) -> str:
    """Return samples a second of all schedules."""
    labels = [label for label, *_ in TRAINING]
    speed = (SAMPLES / rows.set_index(["model", "gpus", "schedule"])["seconds"]).unstack()
    lines = [
        (
            f"{NAMES[model]}, {gpus} GPUs",
            *(CROSS if pd.isna(row[label]) else f"{row[label]:.2f}" for label in labels),
        )
        for (model, gpus), row in speed.sort_index().iterrows()
    ]
    return markdown(["samples/s", *labels], lines)


def figure_16(rows: pd.DataFrame) -> str:
    """Return seconds of the busiest device, and for which part of the whole it waits."""
    chosen = rows[rows["schedule"].isin(("Tessel", "1F1B+", "1F1B", "1F1B, Piper"))]
    lines = [
        (
            f"{NAMES[row.model]}, {row.gpus} GPUs, {row.schedule}",
            f"{row.busiest:.1f}",
            f"{100 * (1 - row.busiest / row.seconds):.1f}",
        )
        for row in chosen.itertuples()
    ]
    return markdown(["layout", "busiest device (s)", "of the whole, it waits (%)"], lines)


def figure_17(rows: pd.DataFrame) -> str:
    """Return PFLOPS with blocking and non-blocking transfers."""
    lines = [
        (
            f"{NAMES[row.model]}, {row.gpus} GPUs",
            f"{row.operations / row.blocking_seconds:.3f}",
            f"{row.operations / row.seconds:.3f}",
            f"{row.blocking_seconds / row.seconds:.2f}",
        )
        for row in rows[rows["schedule"] == "Tessel"].itertuples()
    ]
    return markdown(["layout", "blocking", "non-blocking", "times as fast"], lines)


def sensitivity_table(rows: pd.DataFrame) -> str:
    """Return Tessel's throughput over tensor parallelism's under each assumption."""
    table = rows.pivot_table("over_tp", "assumption", "samples", sort=False)
    lines = [(str(name), *(f"{value:.2f}" for value in row)) for name, row in table.iterrows()]
    return markdown(["assumption", *(f"{n} samples" for n in table.columns)], lines)


def figure_15(rows: pd.DataFrame) -> str:
    """Return latencies and throughputs by samples in a micro-batch."""
    lines = []
    for samples, part in rows.groupby("samples", sort=True):
        cells = []
        for row in part.itertuples():
            cells += [f"{row.milliseconds:.1f}", f"{row.samples_per_second:.0f}"]
        lines.append((str(samples), *cells))
    head = [f"{shape} ({unit})" for shape in ("K", "V", "TP") for unit in ("ms", "samples/s")]
    return markdown(["samples", *head], lines)


def claims(frames: dict[str, pd.DataFrame]) -> str:
    """Return what the paper claims of times beside the largest of ours."""
    rows = frames["training"]
    tessel = rows[rows["schedule"] == "Tessel"].set_index(["model", "gpus"])
    blocking = tessel["blocking_seconds"] / tessel["seconds"]

    def most(model: str, schedule: str) -> str:
        own = rows[(rows["schedule"] == schedule) & (rows["model"] == model)]
        ratios = own.set_index(["model", "gpus"])["seconds"] / tessel["seconds"]
        ratios = ratios.dropna()
        return f"{ratios.max():.1f} ({ratios.idxmax()[1]} GPUs)"

    def both(schedule: str) -> str:
        return f"GPT {most('gpt', schedule)}, mT5 {most('mt5', schedule)}"

    flava = frames["inference"].set_index(["samples", "shape"])
    sizes = sorted(frames["inference"]["samples"].unique())
    less = [
        1 - flava.loc[(n, "k"), "milliseconds"] / flava.loc[(n, "v"), "milliseconds"] for n in sizes
    ]
    faster = [
        flava.loc[(n, "k"), "samples_per_second"] / flava.loc[(n, "tp"), "samples_per_second"]
        for n in sizes
    ]
    found = frames["devices"]
    is_small = found["shape"].str.endswith("-4")
    four, most_of_all = found[is_small], found["to_period"].max()
    lines = [
        (
            "time of a search", "147.3 s in the mean, warm-up and cool-down included",
            f"{four['seconds'].mean():.1f} s in the mean on 4 devices, "
            f"{four['to_period'].max():.2f} s at most to the period; on 8 and 16, the period after "
            f"{most_of_all:.1f} s at most; {found['is_limited'].sum()} of {len(found)} searches "
            "ended by the limit",
        ),
        ("training, over 1F1B", "up to 4.8 (GPT, 16 GPUs), 5.5 (mT5)", both("1F1B")),
        ("training, over 1F1B on Piper's stages", "the same: its 1F1B has them",
         both("1F1B, Piper")),
        ("training, over tensor parallelism on all GPUs", "is its 1F1B beyond a server",
         both("tensor parallel")),
        ("training, over 1F1B+", "up to 1.4", both("1F1B+")),
        ("non-blocking over blocking (Figure 17)", "up to 1.9", f"up to {blocking.max():.1f}"),
        ("inference latency of Flava, less than 1F1B's", "up to 38 %",
         f"{100 * min(less):.0f} to {100 * max(less):.0f} %"),
        ("inference throughput of Flava over tensor parallelism's", "1.5",
         f"{min(faster):.2f} to {max(faster):.2f}"),
    ]  # fmt: skip
    return markdown(["claim", "paper", "here, simulated"], lines, 3)


TABLES: dict[str, tuple[str, Callable[[pd.DataFrame], str]]] = {
    "table 2": ("rates", table_2),
    "figure 3": ("all_at_once", figure_3),
    "figure 9": ("all_at_once", figure_9),
    "figure 10": ("phases", figure_10),
    "figure 11": ("by_members", figure_11),
    "figure 12": ("by_memory", figure_12),
    "devices": ("devices", device_table),
    "figure 13": ("training", lambda rows: speed_table(rows, "gpt")),
    "figure 14": ("training", lambda rows: speed_table(rows, "mt5")),
    "samples": ("training", samples_table),
    "figure 15": ("inference", figure_15),
    "sensitivity": ("sensitivity", sensitivity_table),
    "figure 16": ("training", figure_16),
    "figure 17": ("training", figure_17),
}


# Tables that the page leaves out.
LONG = ("figure 12", "devices", "samples", "figure 16")


def parts() -> dict[str, str]:
    """Return each generated part of the page by the name in its marks."""
    frames, ran = _data()
    made = {name: make(frames[frame]) for name, (frame, make) in TABLES.items() if name not in LONG}
    return {
        "machine": machine_text(ran),
        "claims": claims(frames),
        **made,
        "devices": device_summary(frames["devices"]),
    }


def tables() -> str:
    """Return the file of all tables."""
    frames, ran = _data()
    made = {name: make(frames[frame]) for name, (frame, make) in TABLES.items()}
    return all_tables(
        "All tables of the Tessel paper",
        {"runs": run_text(ran), "claims": claims(frames), **made},
    )


def _data() -> tuple[dict[str, pd.DataFrame], list[dict[str, Any]]]:
    frames = {path.stem: pd.read_csv(path) for path in sorted(DATA.glob("*.csv"))}
    ran = json.loads((DATA / "run.json").read_text())
    return frames, [*ran, json.loads((DATA / "phases.json").read_text())]


if __name__ == "__main__":
    if sys.argv[1:2] == ["phases"]:
        measure_phases()
    make_page(PAGE, parts, collect, (TABLES_FILE, tables))
