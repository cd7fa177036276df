"""Fill the page about Tessel; `save` keeps the rows of results folders that it shows.

`tessel.csv` has the tasks of `paper-tessel`. `tessel_phases.csv` has the searches of Figure 10 of
[TESSEL24], and `tessel_training.csv` a row for each schedule of its Figures 13, 14, 16 and 17 and
each number of samples in a micro-batch, simulated from stored schedules: seconds of 128 samples
with transfers, of the busiest device, and with blocking transfers. Rows that were made again are
replaced.
"""

import json
import sys
from collections import Counter, deque
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

import numpy as np
import page
import pandas as pd
from page import TABLES, Filling, markdown, results_in, runs_of, word

from boundmark.benchmarks.running.environment import describe_environment
from boundmark.datasets.microbatch import models, shapes
from boundmark.heuristics.microbatch.repetend import longest_path
from boundmark.heuristics.microbatch.tessel import search
from boundmark.heuristics.microbatch.time_optimal import OutOfTimeError, Question, finder
from boundmark.problems.method import Budget
from boundmark.problems.microbatch import MicrobatchInstance, Schedule
from boundmark.problems.microbatch.runtime import program_of, simulate
from boundmark.problems.microbatch.schedule import earliest_starts, steady_bubble_rate
from boundmark.reports.stored.store import ResultStore, read_parsed

FILE = TABLES / "tessel_training.csv"

# Label of a schedule, by method and shape.
SCHEDULES = {
    ("tessel", "m"): "Tessel", ("tessel", "nn"): "Tessel", ("1f1b-plus", "m"): "1F1B+",
    ("1f1b-plus", "nn"): "1F1B+", ("1f1b", "v"): "1F1B", ("1f1b", "piper"): "1F1B, Piper",
    ("gpipe", "v"): "GPipe", ("chimera-direct", "x"): "Chimera", ("gpipe", "tp"): "tensor parallel",
}  # fmt: skip

KEY = ["model", "gpus", "schedule", "samples"]

# Longest time of a search of Figure 10, and memory of each device.
PHASES_SECONDS, PHASES_MEMORY = 10, 16
PHASES = ("repetend", "warm_up", "cool_down", "whole")
PHASES_FILE = TABLES / "tessel_phases.csv"


def simulated(folder: Path) -> pd.DataFrame:
    """Return a row for each schedule of a results folder."""
    store, rows = ResultStore.open(folder), results_in(folder)
    found = []
    for row in rows[rows["objective"].notna()].itertuples():
        batches = json.loads(row.instance_params).get("micro_batches", 0)
        model, shape, gpus, mode, *size = row.instance.split("-")
        if mode != "train" or not batches or (row.method, shape) not in SCHEDULES:
            continue
        layout = models.load(row.instance)
        schedule = read_parsed(store.solutions, row.solution_sha256, Schedule.from_json)
        assert schedule is not None
        ticks = [models.transfer_ticks(row.instance)] * len(layout.blocks)
        starts = schedule.starts_for(batches)
        done, slow = (
            simulate(layout, program_of(layout, starts, is_blocking=is_slow), ticks)
            for is_slow in (False, True)
        )
        seconds = [one * models.TICK_SECONDS for one in (done.makespan, max(done.busy))]
        samples = int(size[0].removeprefix("s")) if size else 1
        found.append(
            (
                model, int(gpus), SCHEDULES[row.method, shape], samples, *seconds,
                slow.makespan * models.TICK_SECONDS,
            )
        )  # fmt: skip
    columns = [*KEY, "seconds", "busiest", "blocking_seconds"]
    return pd.DataFrame(found, columns=columns)


def save(folder: Path) -> None:
    """Keep tasks of a folder, and simulations if they are of training."""
    page.save("tessel", [str(folder)])
    if folder.name in ("models", "micro-batch-sizes"):
        rows = pd.concat([pd.read_csv(FILE), simulated(folder)]).drop_duplicates(KEY, keep="last")
        rows.sort_values(KEY).round(6).to_csv(FILE, index=False)


@cache
def tasks() -> pd.DataFrame:
    """Return the stored tasks, with their parameters, best certified bound, and limited times."""
    rows = pd.read_csv(TABLES / "tessel.csv")
    given = [json.loads(text) for text in rows["instance_params"]]
    bounds = rows.groupby(["suite", "instance", "instance_params"])["bound_certified"]
    return rows.assign(
        memory=[one.get("memory", 0) for one in given],
        micro_batches=[one.get("micro_batches", 0) for one in given],
        bound=bounds.transform("max"),
        is_limited=rows["wall_seconds"] >= 0.98 * rows["time_limit_seconds"],
    )


def solved(suite: str, *key: str) -> pd.DataFrame:
    """Return the tasks of a suite that have a schedule, by columns."""
    rows = tasks()
    rows = rows[(rows["suite"] == f"paper-tessel/{suite}") & rows["objective"].notna()]
    return rows.set_index(list(key)).sort_index()


SHAPES = ("v", "x", "m", "nn", "k")

# As printed in Table II, for 1F1B, Chimera-direct, 1F1B+ and Tessel.
TABLE_2 = {
    "GPT (M)": ("m", (0, 20, 25, 0)), "mT5 (NN)": ("nn", (0, 20, 20, 0)),
    "Flava (K)": ("k", (0, 20, "×", 0)),
}  # fmt: skip


def table_2() -> str:
    """Return the bubble rates while schedules repeat, with a memory of 8."""
    rows = solved("small", "instance", "method", "memory", "micro_batches")
    lines = []
    for name, (shape, printed) in TABLE_2.items():
        line = [name]
        drawn = (("v", "1f1b"), ("x", "chimera-direct"), (shape, "1f1b-plus"), (shape, "tessel"))
        for (own, method), rate in zip(drawn, printed, strict=True):
            key = (f"{own}-4-train", method, 8, 0)
            period = rows.loc[key, "objective"] if key in rows.index else None
            line.append(f"{'×' if period is None else _bubble(key[0], period)} ({rate})")
        lines.append(line)
    return markdown(["model", "1F1B", "Chimera-direct", "1F1B+", "Tessel"], lines)


def _bubble(shape: str, period: float | None) -> str:
    if period is None:
        return "–"
    return f"{100 * float(steady_bubble_rate(shapes.load(shape), int(period))):.1f}"


def rates(column: str) -> str:
    """Return bubble rates by the most micro-batches of a repetend, or by memory."""
    rows = solved("repetends", "instance", "method").xs("tessel", level="method")
    limits = [json.loads(text)["largest_repetend"] for text in rows["params"]]
    rows = rows.assign(largest_repetend=limits)
    rows = rows[(rows["largest_repetend"] > 0) == (column == "largest_repetend")]
    lines = []
    for shape in SHAPES:
        own = rows.loc[[f"{shape}-4-train"]].set_index(column)["objective"]
        cells = (_bubble(f"{shape}-4-train", own.get(n)) for n in range(1, 9))
        lines.append([shape.upper(), *cells])
    return markdown(["shape", *map(str, range(1, 9))], lines)


def _seconds(row: Any) -> str:
    return f"{'> ' if row['is_limited'] else ''}{row['wall_seconds']:.2f}"


def figure_3() -> tuple[str, str]:
    """Return times, makespans and bounds of the search for all blocks at once, and a sentence."""
    rows = solved("time-optimal", "instance").loc["v-4-train-b2"].sort_values("micro_batches")
    rows = rows[rows["method"] == "time-optimal"]
    lines = [
        [
            str(row["micro_batches"]), _seconds(row),
            *(f"{row[one]:.0f}" for one in ("objective", "bound_claimed", "bound")),
        ]
        for _, row in rows.iterrows()
    ]  # fmt: skip
    ended = rows[~rows["is_limited"]]
    assert (ended["objective"] == ended["bound"]).all()
    return markdown(
        ["N", "TO (s)", "makespan", "its claimed bound", "certified bound"], lines, 0
    ), (
        f"Up to {ended['micro_batches'].max()} micro-batches it ends within "
        f"{ended['wall_seconds'].max():.1f} s"
    )


def searches(memory: int) -> pd.DataFrame:
    """Return for each shape and number of micro-batches what both searches found, and times.

    Times of TO, the search for all blocks at once, are divided by those of Tessel's search for any
    number of micro-batches.
    """
    rows = solved("time-optimal", "memory", "method", "instance", "micro_batches").loc[memory]
    found = []
    for shape in SHAPES:
        whole, ours = (rows.loc[(one, f"{shape}-4-train")] for one in ("time-optimal", "tessel"))
        for n in (2, 4, 6):
            own, other = whole.loc[n], ours.loc[0]
            found.append(
                (
                    shape.upper(), n, _seconds(own), _seconds(other), _ratio(own, other),
                    *(f"{one['objective']:.0f}" for one in (own, ours.loc[n])),
                    f"{own['bound_claimed']:.0f}", f"{own['bound']:.0f}",
                )
            )  # fmt: skip
    names = (
        "shape", "N", "TO (s)", "Tessel (s)", "TO over Tessel", "TO's makespan",
        "Tessel's makespan", "TO's claimed bound", "certified bound",
    )  # fmt: skip
    return pd.DataFrame(found, columns=names)


def _ratio(one: Any, other: Any) -> str:
    """Return how many times as long a search took; nothing if both ended with their limits."""
    if one["is_limited"] and other["is_limited"]:
        return "–"
    sign = "> " if one["is_limited"] else "< " if other["is_limited"] else ""
    ratio = one["wall_seconds"] / other["wall_seconds"]
    return sign + f"{ratio:,.{0 if ratio >= 10 else 1 if ratio >= 0.1 else 2}f}"


def _table(found: pd.DataFrame) -> str:
    head = ["shape", *(f">{name}" for name in found.columns[1:])]
    return markdown(head, found.astype(str).to_numpy().tolist())


def figure_9() -> tuple[dict[str, str], list[str]]:
    """Return both searches with a memory of 4, makespans with more, and sentences."""
    first, *others = (searches(memory) for memory in (4, 6, 8))
    more = first[["shape", "N"]]
    for memory, found in zip((6, 8), others, strict=True):
        shown = found[["TO (s)", "TO's makespan", "Tessel's makespan"]]
        more = more.join(shown.add_suffix(f", memory {memory}"))
    ended = first[~first["TO (s)"].str.startswith(">")]
    over = ended["TO over Tessel"].str.removeprefix("< ").str.replace(",", "").astype(float)
    layout = shapes.load("nn-4-train")
    nn = [
        100 * (1 - 6 * sum(layout.loads) / (layout.devices * int(own["Tessel's makespan"])))
        for found in (others[-1], first)
        for _, own in found[(found["shape"] == "NN") & (found["N"] == 6)].iterrows()
    ]
    return {"figure 9": _table(first), "figure 9 by memory": _table(more)}, [
        f"TO ends within the limit on {len(ended)} of {len(first)} layouts, up to {over.max():.0f} "
        "times as slowly as Tessel",
        f"ends with a bubble rate of {nn[0]:.0f} %**, as the paper has it, and {nn[1]:.1f} % with "
        "a memory of 4",
    ]


def search_phases() -> None:
    """Search with and without lazy completion, and store the seconds of each phase (Figure 10).

    To be run on a machine that does nothing else. Numbers are medians of three searches, or of one
    that takes all its time.
    """
    made = describe_environment()
    if made["dirty"] or not made["commit"]:
        sys.exit("This code is not committed; commit it, and search again.")
    found = []
    # The first search of a process also loads Z3.
    for number, shape in enumerate((SHAPES[0], *SHAPES)):
        sample = MicrobatchInstance.of(shapes.load(f"{shape}-4-train"), memory=PHASES_MEMORY)
        for lazy in (True, False):
            times: list[Counter[str]] = []
            while len(times) < 3 and not any(one["whole"] >= PHASES_SECONDS for one in times):
                times.append(_seconds_by_phase(sample, lazy, seed=len(times) + 1))
            medians = [median(one[name] for one in times) for name in PHASES]
            if number:
                found.append((shape, lazy, len(times), *medians))
    date = f"{datetime.now(UTC):%Y-%m-%d}"
    table = pd.DataFrame(found, columns=["shape", "lazy", "searches", *PHASES])
    table = table.assign(commit=made["commit"][:10], date=date)
    table.round(6).to_csv(PHASES_FILE, index=False)


def _seconds_by_phase(sample: MicrobatchInstance, lazy: bool, seed: int) -> Counter[str]:
    """Return the seconds that one search takes for each phase, and in all.

    Z3 is asked for warm-ups, which begin with all memory of the devices, and for cool-downs, which
    begin with less. The time without Z3 is that of the search for repetends.
    """
    budget, seconds = Budget(PHASES_SECONDS), Counter[str]()
    ask, begin = finder(budget, seed, "pairs"), perf_counter()

    def find(question: Question) -> list[int] | None:
        phase = "warm_up" if question.room == tuple(sample.capacity) else "cool_down"
        since = perf_counter()
        try:
            return ask(question)
        finally:
            seconds[phase] += perf_counter() - since

    sizes = range(1, longest_path(sample.layout.dag) + 1)
    with suppress(OutOfTimeError):
        deque(search(sample, sizes, budget, find, lazy=lazy), maxlen=0)
    seconds["whole"] = perf_counter() - begin
    seconds["repetend"] = seconds["whole"] - seconds["warm_up"] - seconds["cool_down"]
    return seconds


def figure_10() -> tuple[str, list[str]]:
    """Return seconds by phase, with and without lazy completion, and what ran."""
    rows, lines = pd.read_csv(PHASES_FILE, dtype={"commit": str}), []
    for shape, own in rows.groupby("shape", sort=False):
        lazily = own.loc[own["lazy"], "whole"].item()
        for row in own.to_dict("records"):
            whole, is_lazy = row["whole"], row["lazy"]
            is_limited = whole >= PHASES_SECONDS
            lines.append(
                [
                    shape.upper(), "lazily" if is_lazy else "each time",
                    *(f"{row[name]:.3f} ({100 * row[name] / whole:.0f} %)" for name in PHASES[:3]),
                    f"{'> ' if is_limited else ''}{whole:.3f}",
                    "–" if is_lazy or is_limited else f"{whole / lazily:.1f}",
                ]
            )  # fmt: skip
    head = [
        "shape", "completed", "repetend (s)", "warm-up (s)", "cool-down (s)", "whole (s)",
        "over lazily",
    ]  # fmt: skip
    lazy, each = (own.set_index("shape") for _, own in rows.groupby("lazy", sort=False))
    shares = [100 * lazy[name] / lazy["whole"] for name in PHASES[:2]]
    ended = each["whole"] < PHASES_SECONDS
    over = (each["whole"] / lazy["whole"])[ended]
    made = f"(Run of {rows['date'].max()}, commit {rows['commit'].max()}.)"
    return f"{markdown(head, lines, 2)}\n\n{made}", [
        f"take {shares[0].min():.1f} to {shares[0].max():.0f} % of the time of lazy searches, and "
        f"warm-ups {_range(shares[1], 0)} %",
        f"each time takes {_range(over, 1)} times as long",
    ]


def periods() -> pd.DataFrame:
    """Return periods on 4, 8 and 16 devices, each with little and with twice that memory."""
    found = []
    for size, suite in ((4, "small"), (8, "full"), (16, "full")):
        rows = solved(suite, "method", "instance", "memory", "micro_batches")
        for _, name, memory, n in rows.loc[["tessel"]].index:
            if f"-{size}-train" in name and memory in (size, 2 * size) and not n:
                ours, other = (rows.loc[(one, name, memory, 0)] for one in ("tessel", "modulo"))
                found.append(
                    (
                        size, ours["objective"], other["objective"], ours["bound"],
                        ours["seconds_to_objective"], ours["wall_seconds"], ours["is_limited"],
                    )
                )  # fmt: skip
    names = ["devices", "tessel", "modulo", "bound", "to_period", "seconds", "is_limited"]
    return pd.DataFrame(found, columns=names)


def period_table() -> str:
    """Return how many periods are proven optimal, by number of devices."""
    lines = []
    for size, own in periods().groupby("devices"):
        best = own[["tessel", "modulo"]].min(axis="columns")
        proven = [int((one == own["bound"]).sum()) for one in (own["tessel"], own["modulo"], best)]
        counts = (size, len(own), *proven)
        lines.append([*map(str, counts), f"{own['to_period'].max():.2f}"])
    head = [
        "devices", "instances", "`tessel` proven optimal", "`modulo` proven optimal",
        "best of both", "seconds to `tessel`'s period, at most",
    ]  # fmt: skip
    return markdown(head, lines, 0)


# Floating-point operations of 128 samples in 10^15, without logits, by model and GPUs.
OPERATIONS = {
    "gpt": {4: 14.677, 8: 40.187, 16: 84.569, 32: 140.949},
    "mt5": {4: 0.904, 8: 7.144, 16: 36.785, 32: 81.011},
}

COLUMNS = ("Tessel", "1F1B+", "1F1B", "1F1B, Piper", "GPipe", "Chimera", "tensor parallel")


def best_samples() -> pd.DataFrame:
    """Return the fastest schedule of each sort over the numbers of samples in a micro-batch."""
    rows = pd.read_csv(FILE).sort_values("seconds", kind="stable")
    return rows.drop_duplicates(["model", "gpus", "schedule"])


def training(model: str) -> str:
    """Return PFLOPS at the best number of samples, and how many times as fast Tessel is."""
    best = best_samples().set_index(["model", "gpus", "schedule"]).loc[model]
    lines = []
    for gpus, operations in OPERATIONS[model].items():
        line = [str(gpus)]
        for name in COLUMNS:
            if (gpus, name) not in best.index:
                line.append("×")
                continue
            row = best.loc[(gpus, name)]
            is_over = name != "Tessel" and (gpus, "Tessel") in best.index
            over = row["seconds"] / best.loc[(gpus, "Tessel")]["seconds"] if is_over else 0
            times = f" ({over:.2f})" if is_over else ""
            line.append(f"{operations / row['seconds']:.3f}{times}, {int(row['samples'])}")
        lines.append(line)
    return markdown(["GPUs", *COLUMNS], lines)


def most(schedule: str) -> tuple[str, ...]:
    """Return the most times that Tessel is as fast as a schedule, and the GPUs, on GPT and mT5."""
    seconds = best_samples().pivot_table("seconds", ["model", "gpus"], "schedule")
    ratios = (seconds[schedule] / seconds["Tessel"]).dropna()
    found = [ratios.loc[model] for model in OPERATIONS]
    return tuple(text for one in found for text in (f"{one.max():.1f}", f"{one.idxmax()}"))


def one_sample() -> pd.DataFrame:
    """Return the schedules with one sample in a micro-batch."""
    rows = pd.read_csv(FILE)
    return rows[rows["samples"] == 1].assign(
        wait=lambda one: 100 * (1 - one["busiest"] / one["seconds"]),
        slower=lambda one: one["blocking_seconds"] / one["seconds"],
    )


def figure_17() -> str:
    """Return PFLOPS of Tessel's schedules with blocking and with non-blocking transfers."""
    rows = one_sample()
    lines = []
    for row in rows[rows["schedule"] == "Tessel"].itertuples():
        operations = OPERATIONS[row.model][row.gpus]
        name = {"gpt": "GPT", "mt5": "mT5"}[row.model]
        rates = (operations / one for one in (row.blocking_seconds, row.seconds))
        lines.append(
            [f"{name}, {row.gpus} GPUs", *(f"{one:.3f}" for one in rates), f"{row.slower:.2f}"]
        )
    return markdown(["layout", "blocking", "non-blocking", "times as fast"], lines)


# Numbers of samples in a micro-batch of Figure 15.
SAMPLES = (1, 4, 16, 64)


def inference() -> pd.DataFrame:
    """Return milliseconds of one micro-batch alone, and samples a second, of Flava's layouts."""
    rows = solved("models", "instance", "method")
    found = []
    for samples in SAMPLES:
        for shape in ("k", "v", "tp"):
            name = f"flava-{shape}-4-infer{f'-s{samples}' if samples > 1 else ''}"
            layout = models.load(name)
            starts = earliest_starts(layout, ((0, i) for i in layout.dag.topological_order))
            alone = np.array([[starts[0, i] for i in range(len(layout.blocks))]])
            ticks = [models.transfer_ticks(name)] * len(layout.blocks)
            done = simulate(layout, program_of(layout, alone), ticks).makespan
            period = rows.loc[(name, "tessel"), "objective"] * models.TICK_SECONDS
            found.append((samples, shape, done * models.TICK_SECONDS * 1000, samples / period))
    return pd.DataFrame(found, columns=["samples", "shape", "ms", "speed"])


def figure_15(found: pd.DataFrame) -> str:
    """Return latencies and throughputs by samples in a micro-batch."""
    lines = [
        [
            str(samples),
            *(x for one in own.itertuples() for x in (f"{one.ms:.1f}", f"{one.speed:.0f}")),
        ]
        for samples, own in found.groupby("samples")
    ]
    head = [f"{shape} ({unit})" for shape in ("K", "V", "TP") for unit in ("ms", "samples/s")]
    return markdown(["samples", *head], lines)


@dataclass(frozen=True)
class OtherCosts(models.Costs):
    """Costs under other assumptions about layers that GPUs share.

    Attributes
    ----------
    speed
        Speed of a kernel on a GPU's part of the work, over that of a kernel on all of the work.
    link
        Bandwidth between GPUs, over that of the data sheet.
    """

    speed: float = 1.0
    link: float = 1.0

    def shared_seconds(self, part: models.Part, gpus: int) -> float:
        """Return the time of a layer whose products GPUs share, with two exchanges."""
        products = part.seconds / gpus
        exchanges = super().shared_seconds(part, gpus) - products
        return products / self.speed + exchanges / self.link


# Whether texts are as long as images, and what `OtherCosts` assume.
ASSUMPTIONS: dict[str, tuple[bool, dict[str, float]]] = {
    "as in the table above": (False, {}),
    "a quarter of the bandwidth between GPUs": (False, {"link": 0.25}),
    "kernels of shared layers at 0.8 of the speed": (False, {"speed": 0.8}),
    "texts as long as images": (True, {}),
    "texts as long, and kernels at 0.8 of the speed": (True, {"speed": 0.8}),
    "texts as long, and a quarter of the bandwidth": (True, {"link": 0.25}),
    "all three": (True, {"link": 0.25, "speed": 0.8}),
}


def assumptions() -> pd.DataFrame:
    """Return Tessel's throughput over tensor parallelism's on Flava, by assumption and samples.

    Periods are the load of the busiest GPU: each has one block besides those on all GPUs at most,
    and nothing is kept, so that a schedule without bubbles exists.
    """
    found: dict[int, list[float]] = {}
    for samples in SAMPLES:
        given = models.costs_of(f"flava-k-4-infer-s{samples}")
        image, text, joint = given.parts
        # The layers that join both read twice an image's tokens if texts are as long.
        longer = 2 * image.kept / joint.kept
        wide = replace(joint, seconds=longer * joint.seconds, kept=longer * joint.kept)
        for is_long, changes in ASSUMPTIONS.values():
            parts = (image, image, wide) if is_long else (image, text, joint)
            costs = OtherCosts(**{**vars(given), "parts": parts}, **changes)
            k, tensor_parallel = (max(models.DRAW[shape](costs, 4).loads) for shape in ("k", "tp"))
            found.setdefault(samples, []).append(tensor_parallel / k)
    return pd.DataFrame(found, index=list(ASSUMPTIONS))


def figure_15_assumed(found: pd.DataFrame) -> str:
    """Return ratios of throughputs under assumptions, by samples in a micro-batch."""
    lines = [[name, *(f"{one:.2f}" for one in row)] for name, row in found.iterrows()]
    head = [f"{n} sample{'s' if n > 1 else ''}" for n in found.columns]
    return markdown(["assumption", *head], lines)


def _range(values: "pd.Series[float]", digits: int) -> str:
    return f"{values.min():.{digits}f} to {values.max():.{digits}f}"


def tessel() -> Filling:
    """Return Table II, Figures 3, 9 to 15 and 17, periods, and what the paper claims."""
    all_at_once, of_figure_3 = figure_3()
    by_phase, of_figure_10 = figure_10()
    by_memory, sentences = figure_9()
    flava, assumed = inference(), assumptions()
    ms, speed = (flava.pivot_table(one, "samples", "shape") for one in ("ms", "speed"))
    seconds, own = one_sample().set_index("schedule"), periods()
    assert own["seconds"][own["devices"] > 4].median() >= 9.8
    four, more = own[own["devices"] == 4], own[own["devices"] > 4]
    ratio = seconds.loc["Tessel", "slower"]
    limited = [word(int(four["is_limited"].sum())), str(int(more["is_limited"].sum()))]
    return Filling(
        {
            "runs": runs_of("tessel"),
            "table 2": table_2(),
            "figure 11": rates("largest_repetend"),
            "figure 12": rates("memory"),
            "figure 3": all_at_once,
            **by_memory,
            "figure 10": by_phase,
            "periods": period_table(),
            "figure 13": training("gpt"),
            "figure 14": training("mt5"),
            "figure 17": figure_17(),
            "figure 15": figure_15(flava),
            "figure 15, assumptions": figure_15_assumed(assumed),
        },
        [
            of_figure_3,
            *sentences,
            *of_figure_10,
            f"Medians: {four['seconds'].median():.2f} s on 4 devices ({len(four)} searches, "
            f"{limited[0]} ended by the limit of 30 s), more than 10 s on 8 and 16 ({limited[1]} "
            f"of {len(more)} ended by the limit of 10 s); to the period, "
            f"{four['to_period'].max():.2f} s at most on 4 and {more['to_period'].max():.1f} s on "
            "8 and 16",
            "GPT {} ({} GPUs), mT5 {} ({} GPUs) | | training, over 1F1B on Piper's".format(
                *most("1F1B")
            ),
            "is its 1F1B beyond a server | GPT {} ({} GPUs), mT5 {} ({} GPUs)".format(
                *most("tensor parallel")
            ),
            "its 1F1B has them | GPT {} ({} GPUs), mT5 {} ({} GPUs)".format(*most("1F1B, Piper")),
            "up to 1.4 | GPT {} ({} GPUs), mT5 {} ({} GPUs)".format(*most("1F1B+")),
            f"up to 1.9 | up to {ratio.max():.1f}",
            f"up to 38 % | {_range(100 * (1 - ms['k'] / ms['v']), 0)} %",
            f"but all three give {_range(assumed.loc['all three'], 2)}",
            f"tensor parallelism's | 1.5 | {_range(speed['k'] / speed['tp'], 2)}",
            f"busiest device waits {_range(seconds.loc['Tessel', 'wait'], 1)} % of the time, that "
            f"of 1F1B+ {_range(seconds.loc['1F1B+', 'wait'], 1)} % (Figure 16)",
            f"schedules {_range(ratio, 2)} times as long (Figure 17",
        ],
    )


def microbatch_page() -> Filling:
    """Return what the problem's page says of periods and of training."""
    own = periods()
    four, more = own[own["devices"] == 4], own[own["devices"] > 4]
    best = more[["tessel", "modulo"]].min(axis="columns")
    rows = best_samples()
    is_shown = (rows["model"] == "gpt") & (rows["gpus"] == 8)
    seconds = rows[is_shown].set_index("schedule")["seconds"]
    over = seconds / seconds["Tessel"]
    return Filling(
        {},
        [
            f"all {word(len(four))} instances within {four['to_period'].max():.2f} s",
            f"{(best == more['bound']).sum()} of {len(more)} are certified optimal (limit 10 s), "
            f"after {more['to_period'].max():.2f} s at most",
            f"{over['1F1B']:.1f} times that of 1F1B, and {over['1F1B+']:.2f} times that of 1F1B+",
        ],
    )


PAGES = {"docs/results-tessel.md": tessel, "docs/problems/microbatch.md": microbatch_page}
