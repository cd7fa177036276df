"""Make docs/results-tessel.md from the data in `docs/tables/tessel`.

`python docs/tables/tessel.py` makes the tables of the page anew, and `docs/tables/tessel/tables.md`
with all that the page leaves out. With `collect MODELS SMALL FULL`, it first takes the data from
results folders of the suites `paper-tessel/models`, `/small` and `/full`, and searches repetends
for Figures 11 and 12.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import runs
from results_page import DOCS, NONE, all_tables, make_page, markdown

from boundmark.datasets.microbatch import models, shapes
from boundmark.heuristics.microbatch.repetend import RepetendSearch, longest_path
from boundmark.heuristics.microbatch.tessel import shorter_repetends
from boundmark.heuristics.microbatch.time_optimal import OutOfTimeError
from boundmark.problems.errors import BoundmarkError
from boundmark.problems.method import Budget
from boundmark.problems.microbatch import BlockLayout, MicrobatchInstance, Schedule
from boundmark.problems.microbatch.runtime import Simulation, program_of, simulate
from boundmark.problems.microbatch.schedule import left_shifted, steady_bubble_rate
from boundmark.reports.stored.store import ResultStore, read_parsed
from boundmark.reports.text import count

DATA = DOCS / "tables" / "tessel"
PAGE = DOCS / "results-tessel.md"
TABLES_FILE = DATA / "tables.md"

SUITES = ("models", "small", "full")

CROSS = "×"

# Numbers that [TESSEL24] prints in Table II: bubble rates in percent.
TABLE_2 = {
    "m": ("0", "20", "25", "0"),
    "nn": ("0", "20", "20", "0"),
    "k": ("0", "20", CROSS, "0"),
}
FOUR = ("v", "x", "m", "nn", "k")
NAMES = {"gpt": "GPT", "mt5": "mT5"}
GPUS = (4, 8, 16, 32)
SAMPLES = 128

# Label, shape by model, method and micro-batches of Figures 13 and 14.
TRAINING = (
    ("Tessel", {"gpt": "m", "mt5": "nn"}, "tessel", 128),
    ("1F1B+", {"gpt": "m", "mt5": "nn"}, "1f1b-plus", 128),
    ("1F1B", {"gpt": "v", "mt5": "v"}, "1f1b", 128),
    ("GPipe", {"gpt": "v", "mt5": "v"}, "gpipe", 128),
    ("Chimera", {"gpt": "x", "mt5": "x"}, "chimera-direct", 64),
    ("tensor parallel", {"gpt": "tp", "mt5": "tp"}, "gpipe", 128),
)

# Seconds and decisions of a search for a repetend of some numbers of micro-batches.
SEARCH_SECONDS = 20
SEARCH_STEPS = 10**6


class Results:
    """Verified rows of a results folder, with their parameters as columns."""

    def __init__(self, folder: Path) -> None:
        self.store = ResultStore.open(folder)
        rows = runs.results_in(folder)
        given = [json.loads(text) for text in rows["instance_params"]]
        self.rows = rows.assign(
            memory=[one.get("memory", 0) for one in given],
            micro_batches=[one.get("micro_batches", 0) for one in given],
        )
        self.traces = self.store.traces()

    def row(self, instance: str, method: str, **wanted: object) -> pd.Series | None:
        """Return the row of a method on an instance, None if there is none with an objective."""
        chosen = self.rows[(self.rows["instance"] == instance) & (self.rows["method"] == method)]
        wanted = {"params": "{}", **wanted}
        for column, value in wanted.items():
            fitting = [_same(column, one, value) for one in chosen[column]]
            chosen = chosen[pd.Series(fitting, index=chosen.index, dtype=bool)]
        chosen = chosen[chosen["objective"].notna()]
        return None if chosen.empty else chosen.iloc[0]

    def schedule(self, row: pd.Series) -> Schedule:
        """Return the stored schedule of a row."""
        found = read_parsed(self.store.solutions, row["solution_sha256"], Schedule.from_json)
        assert found is not None
        return found

    def seconds_to_best(self, row: pd.Series) -> float:
        """Return when the objective of a row was first reported."""
        own = self.traces[self.traces["task_id"] == row["task_id"]]
        own = own[(own["kind"] == "solution") & (own["value"] == row["objective"])]
        return float(own["seconds"].min())


def _same(column: str, found: object, wanted: object) -> bool:
    if column != "params":
        return bool(found == wanted)
    given = json.loads(str(found))
    return all(given.get(key) == value for key, value in json.loads(str(wanted)).items())


def collect(folders: list[Path]) -> None:
    """Write what the page's tables are made from, as CSV, and what the runs were, as JSON."""
    results = [Results(folder) for folder in folders]
    ran = [
        {
            "suite": f"paper-tessel/{suite}",
            **runs.machine_facts([folder], one.rows, ["z3-solver"]),
            **runs.task_facts(one.rows),
        }
        for suite, folder, one in zip(SUITES, folders, results, strict=True)
    ]
    on_models, small, full = results
    frames = {
        "rates": bubble_rates(small),
        "by_members": rates_by_members(),
        "by_memory": rates_by_memory(),
        "all_at_once": times_of_searches(small),
        "lazy": times_of_completion(full),
        "devices": periods(small, full),
        "training": training(on_models),
        "inference": inference(on_models),
    }
    DATA.mkdir(exist_ok=True)
    for name, frame in frames.items():
        frame.round(6).to_csv(DATA / f"{name}.csv", index=False)
    runs.store_run(DATA, ran)


def bubble(layout: BlockLayout, period: int) -> float:
    """Return the bubble rate while a schedule repeats, in percent."""
    return 100 * float(steady_bubble_rate(layout, period))


def bubble_rates(small: Results) -> pd.DataFrame:
    """Return the bubble rates of Table II, empty where a schedule does not exist."""
    rows = []
    for shape in TABLE_2:
        for drawn, method in (
            ("v", "1f1b"), ("x", "chimera-direct"), (shape, "1f1b-plus"), (shape, "tessel")
        ):  # fmt: skip
            name = f"{drawn}-4-train"
            row = small.row(name, method, memory=8, micro_batches=0)
            rate = None if row is None else bubble(shapes.load(name), int(row["objective"]))
            rows.append((shape, method, rate))
    return pd.DataFrame(rows, columns=["shape", "method", "bubble"])


def least_period(layout: BlockLayout, memory: int, sizes: range) -> tuple[int | None, bool]:
    """Return the shortest period of repetends of some numbers of micro-batches.

    Returns
    -------
    tuple[int | None, bool]
        The period, None if one micro-batch does not fit; and whether no shorter one exists, since
        it is the load of a device or the search has refuted all others.
    """
    try:
        sample = MicrobatchInstance.of(layout, memory=memory)
    except BoundmarkError:
        return None, True
    period = None
    try:
        found = shorter_repetends(sample, sizes, Budget(SEARCH_SECONDS))
        for repetend in found:
            period = repetend.period
    except OutOfTimeError:
        pass
    if period is None or period == max(layout.loads):
        return period, period is not None
    search = RepetendSearch(layout, sample.capacity)
    verdicts = [search.find(size, period - 1, SEARCH_STEPS)[0] for size in sizes]
    return period, all(verdict == "refuted" for verdict in verdicts)


def rates_by_members() -> pd.DataFrame:
    """Return the bubble rate by the most micro-batches of a repetend, for Figure 11."""
    rows = []
    for shape in FOUR:
        layout = shapes.load(f"{shape}-4-train")
        for most in range(1, 9):
            period, is_proven = least_period(layout, 100, range(1, most + 1))
            assert period is not None
            rows.append((shape, most, bubble(layout, period), is_proven))
    return pd.DataFrame(rows, columns=["shape", "micro_batches", "bubble", "is_proven"])


def rates_by_memory() -> pd.DataFrame:
    """Return the bubble rate by memory, for Figure 12, with the micro-batches of Figure 11."""
    rows = []
    for shape in FOUR:
        layout = shapes.load(f"{shape}-4-train")
        enough = next(
            most for most in range(1, 100)
            if least_period(layout, 100, range(1, most + 1))[0] == max(layout.loads)
        )  # fmt: skip
        for memory in range(1, 9):
            for most in sorted({enough, longest_path(layout.dag)}):
                period, is_proven = least_period(layout, memory, range(1, most + 1))
                rate = None if period is None else bubble(layout, period)
                rows.append((shape, most == enough, most, memory, rate, is_proven))
    columns = ["shape", "is_papers", "micro_batches", "memory", "bubble", "is_proven"]
    return pd.DataFrame(rows, columns=columns)


def times_of_searches(small: Results) -> pd.DataFrame:
    """Return seconds and makespans of the search for all blocks at once, for Figure 9."""
    rows = []
    for shape in ("v", "m", "k"):
        for batches in (2, 4):
            for method in ("time-optimal", "tessel"):
                row = small.row(f"{shape}-4-train", method, memory=4, micro_batches=batches)
                if row is not None:
                    rows.append((shape, batches, method, *_seconds(row), int(row["objective"])))
    columns = ["shape", "micro_batches", "method", "seconds", "is_limited", "makespan"]
    return pd.DataFrame(rows, columns=columns)


def _seconds(row: pd.Series) -> tuple[float, bool]:
    """Return the wall time of a task, and whether it ended with its limit."""
    return float(row["wall_seconds"]), bool(row["wall_seconds"] >= 0.98 * row["time_limit_seconds"])


def times_of_completion(full: Results) -> pd.DataFrame:
    """Return how long `tessel` takes with and without lazy completion, for Figure 10."""
    rows = []
    for shape in FOUR:
        for is_lazy in (True, False):
            wanted = json.dumps({"lazy": is_lazy, "only_repetend": 0})
            row = full.row(f"{shape}-4-train", "tessel", memory=16, params=wanted)
            if row is not None:
                rows.append((shape, is_lazy, full.seconds_to_best(row), *_seconds(row)))
    columns = ["shape", "is_lazy", "to_repetend", "seconds", "is_limited"]
    return pd.DataFrame(rows, columns=columns)


def periods(small: Results, full: Results) -> pd.DataFrame:
    """Return periods on 4, 8 and 16 devices, with the best certified bound of all methods."""
    rows = []
    for results, size, memories in ((small, 4, (4, 8)), (full, 8, (8, 16)), (full, 16, (16, 32))):
        for memory in memories:
            known = results.rows[
                (results.rows["memory"] == memory) & (results.rows["micro_batches"] == 0)
            ]
            names = [n for n in dict.fromkeys(known["instance"]) if f"-{size}-train" in n]
            for name in sorted(names):
                row = results.row(name, "tessel", memory=memory, micro_batches=0)
                best = results.row(name, "modulo", memory=memory, micro_batches=0)
                if row is None or best is None:
                    continue
                layout = shapes.load(name)
                members = results.schedule(row).repetend
                assert members is not None
                bounds = known[known["instance"] == name]["bound_certified"]
                rows.append(
                    (
                        name.removesuffix("-train"), memory, int(bounds.max()),
                        int(best["objective"]), int(row["objective"]),
                        bubble(layout, int(row["objective"])),
                        int(members.members.max()) + 1, results.seconds_to_best(row),
                        *_seconds(row),
                    )
                )  # fmt: skip
    columns = [
        "shape", "memory", "bound", "modulo", "tessel", "bubble", "micro_batches", "to_period",
        "seconds", "is_limited",
    ]  # fmt: skip
    return pd.DataFrame(rows, columns=columns)


def simulated(results: Results, row: pd.Series, *, blocking: bool = False) -> Simulation:
    """Simulate the stored schedule of 128 samples, with transfers."""
    layout = models.load(row["instance"])
    starts = results.schedule(row).starts_for(int(row["micro_batches"]))
    ticks = [models.transfer_ticks(row["instance"])] * len(layout.blocks)
    return simulate(layout, program_of(layout, starts, is_blocking=blocking), ticks)


def training(results: Results) -> pd.DataFrame:
    """Return seconds of 128 samples and of the busiest device, for Figures 13, 14, 16 and 17."""
    tick = models.TICK_SECONDS
    rows = []
    for model in NAMES:
        for gpus in GPUS:
            for label, shape, method, batches in TRAINING:
                name = f"{model}-{shape[model]}-{gpus}-train"
                row = results.row(name, method, micro_batches=batches)
                if row is None:
                    continue
                done, slow = (
                    simulated(results, row, blocking=is_slow) for is_slow in (False, True)
                )
                busy = max(done.busy) * tick
                rows.append((model, gpus, label, done.makespan * tick, busy, slow.makespan * tick))
    columns = ["model", "gpus", "schedule", "seconds", "busiest", "blocking_seconds"]
    return pd.DataFrame(rows, columns=columns)


def inference(results: Results) -> pd.DataFrame:
    """Return the latency of one micro-batch alone and samples a second, for Figure 15."""
    tick = models.TICK_SECONDS
    rows = []
    for samples in (1, 4, 16, 64):
        for shape in ("k", "v", "tp"):
            name = f"flava-{shape}-4-infer{'' if samples == 1 else f'-s{samples}'}"
            layout = models.load(name)
            row = results.row(name, "tessel", micro_batches=0)
            assert row is not None
            alone = results.schedule(row).starts[:1]
            ticks = [models.transfer_ticks(name)] * len(layout.blocks)
            done = simulate(layout, program_of(layout, left_shifted(layout, alone)), ticks)
            speed = samples / (int(row["objective"]) * tick)
            rows.append((samples, shape, done.makespan * tick * 1000, speed))
    return pd.DataFrame(rows, columns=["samples", "shape", "milliseconds", "samples_per_second"])


def run_text(ran: Sequence[Mapping[str, Any]]) -> str:
    """Return a table of the runs: commit, machine, load, tasks and time."""
    lines = [
        [
            f"`{run['suite']}`",
            # What was measured before such code was refused.
            ", ".join(run["commits"])
            + (" and uncommitted changes" if run.get("has_uncommitted_changes") else ""),
            f"{run['from']} to {run['to'][-5:]} UTC", f"{run['limit']:g} s",
            runs.told(run["statuses"]),
            f"{run['wall_minutes']}, {run['cpu_minutes']}", str(max(run["loads"])),
        ]
        for run in ran
    ]  # fmt: skip
    head = [
        "suite", "commit", "time", "limit", "tasks", "minutes: wall, processor", "load at start"
    ]  # fmt: skip
    return f"{_machine(ran[0])}.\n\n" + markdown(head, lines, 5)


def machine_text(ran: Sequence[Mapping[str, Any]]) -> str:
    """Return a sentence on the machine and each run."""
    suites = ", ".join(
        f"`{run['suite']}` ({count(run['tasks'], 'task')} of {run['limit']:g} s at most)"
        for run in ran
    )
    wall, processor = (sum(run[f"{name}_minutes"] for run in ran) for name in ("wall", "cpu"))
    return (
        f"{_machine(ran[0])}, {ran[0]['from'][:10]}: {suites}, {wall:.1f} minutes of wall-clock "
        f"time and {processor:.1f} of processor time."
    )


def _machine(run: Mapping[str, Any]) -> str:
    solver = run["versions"]["z3-solver"]
    return f'"{run["cpu"]}", {run["cores"]} cores, one task at a time, Z3 {solver}'


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


def figure_9(times: pd.DataFrame) -> str:
    """Return times and makespans of both searches."""
    lines = []
    for (shape, batches), part in times.groupby(["shape", "micro_batches"], sort=False):
        cells = []
        for method in ("time-optimal", "tessel"):
            own = part[part["method"] == method]
            cells += [_time(own.iloc[0]), str(own["makespan"].iloc[0])] if len(own) else [NONE] * 2
        lines.append((str(shape).upper(), str(batches), *cells))
    return markdown(["shape", "N", "TO (s)", "makespan", "Tessel (s)", "makespan"], lines)


def figure_10(times: pd.DataFrame) -> str:
    """Return how long the parts of the search take with and without lazy completion."""
    lines = []
    for shape, part in times.groupby("shape", sort=False):
        cells = []
        for _, row in part.sort_values("is_lazy", ascending=False).iterrows():
            cells += [f"{row['to_repetend']:.3f}", _time(row)]
        lines.append((str(shape).upper(), *cells))
    head = ["shape", "lazy: repetend (s)", "whole (s)", "not lazy: repetend (s)", "whole (s)"]
    return markdown(head, lines)


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
    """Return samples a second, and Tessel's over them."""
    own = rows[rows["model"] == model].set_index(["gpus", "schedule"])["seconds"]
    labels = [label for label, *_ in TRAINING]
    lines = []
    for gpus in GPUS:
        seconds = [own.get((gpus, label)) for label in labels]
        cells = []
        for at, value in enumerate(seconds):
            if value is None:
                cells.append(CROSS)
                continue
            over = f" ({value / seconds[0]:.2f})" if at and seconds[0] is not None else ""
            cells.append(f"{SAMPLES / value:.2f}{over}")
        lines.append((str(gpus), *cells))
    return markdown(["GPUs", *labels], lines)


def figure_16(rows: pd.DataFrame) -> str:
    """Return seconds of the busiest device, and for which part of the whole it waits."""
    chosen = rows[rows["schedule"].isin(("Tessel", "1F1B+", "1F1B"))]
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
    """Return times with blocking transfers over those with non-blocking ones."""
    lines = [
        (f"{NAMES[row.model]}, {row.gpus} GPUs", f"{row.blocking_seconds / row.seconds:.2f}")
        for row in rows[rows["schedule"] == "Tessel"].itertuples()
    ]
    return markdown(["layout", "blocking over non-blocking"], lines)


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
    "figure 9": ("all_at_once", figure_9),
    "figure 10": ("lazy", figure_10),
    "figure 11": ("by_members", figure_11),
    "figure 12": ("by_memory", figure_12),
    "devices": ("devices", device_table),
    "figure 13": ("training", lambda rows: speed_table(rows, "gpt")),
    "figure 14": ("training", lambda rows: speed_table(rows, "mt5")),
    "figure 15": ("inference", figure_15),
    "figure 16": ("training", figure_16),
    "figure 17": ("training", figure_17),
}


# Tables that the page leaves out.
LONG = ("figure 10", "figure 12", "devices", "figure 16", "figure 17")


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
    return frames, json.loads((DATA / "run.json").read_text())


if __name__ == "__main__":
    make_page(PAGE, parts, collect, (TABLES_FILE, tables))
