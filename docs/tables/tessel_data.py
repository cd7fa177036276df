"""Collect the data of docs/results-tessel.md into `docs/tables/tessel`, from runs and searches.

Used by tessel.py, which makes tables of them.
"""

import json
import statistics
import time
from collections import Counter
from dataclasses import dataclass, fields, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pandas as pd
import runs
from results_page import DOCS

from boundmark.benchmarks.running.environment import describe_environment
from boundmark.datasets.microbatch import models, shapes
from boundmark.heuristics.microbatch.repetend import RepetendSearch, longest_path
from boundmark.heuristics.microbatch.tessel import search, shorter_repetends
from boundmark.heuristics.microbatch.time_optimal import OutOfTimeError, finder
from boundmark.problems.errors import BoundmarkError
from boundmark.problems.method import Budget
from boundmark.problems.microbatch import BlockLayout, MicrobatchInstance, Schedule
from boundmark.problems.microbatch.runtime import Simulation, program_of, simulate
from boundmark.problems.microbatch.schedule import left_shifted, steady_bubble_rate
from boundmark.reports.stored.store import ResultStore, read_parsed

DATA = DOCS / "tables" / "tessel"

# Parts of suite paper-tessel, in the order in which their results folders are given.
SUITES = ("models", "small", "full", "time-optimal")

FOUR = ("v", "x", "m", "nn", "k")
TABLE_2_SHAPES = ("m", "nn", "k")
MODELS = ("gpt", "mt5")
GPUS = (4, 8, 16, 32)
SAMPLES = models.BATCH

# Label, shape by model, method and micro-batches of Figures 13 and 14.
TRAINING = (
    ("Tessel", {"gpt": "m", "mt5": "nn"}, "tessel", 128),
    ("1F1B+", {"gpt": "m", "mt5": "nn"}, "1f1b-plus", 128),
    ("1F1B", {"gpt": "v", "mt5": "v"}, "1f1b", 128),
    ("1F1B, Piper", {"gpt": "piper", "mt5": "piper"}, "1f1b", 128),
    ("GPipe", {"gpt": "v", "mt5": "v"}, "gpipe", 128),
    ("Chimera", {"gpt": "x", "mt5": "x"}, "chimera-direct", 64),
    ("tensor parallel", {"gpt": "tp", "mt5": "tp"}, "gpipe", 128),
)

# Figure 10: seconds of a whole search, of which there are so many unless one takes all its time,
# and memory of a device.
PHASES_SECONDS = 10
PHASES_REPEATS = 3
PHASES_MEMORY = 16

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
    on_models, small, full, at_once = results
    frames = {
        "rates": bubble_rates(small),
        "by_members": rates_by_members(),
        "by_memory": rates_by_memory(),
        "all_at_once": times_of_searches(at_once),
        "devices": periods(small, full),
        "training": training(on_models),
        "inference": inference(on_models),
        "sensitivity": sensitivity(),
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
    for shape in TABLE_2_SHAPES:
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


def times_of_searches(at_once: Results) -> pd.DataFrame:
    """Return seconds, makespans and bounds of searches for all blocks at once and of Tessel's.

    Of Figure 3, whose backward blocks are shorter, and of Figure 9. 0 micro-batches are any number,
    for which Tessel has a period in place of a makespan.
    """
    rows = []
    known = at_once.rows
    searches = known[known["method"].isin(("time-optimal", "tessel")) & known["objective"].notna()]
    for _, row in searches.iterrows():
        same = known[known["instance_sha256"] == row["instance_sha256"]]
        rows.append(
            (
                row["instance"].removesuffix("-train"), int(row["micro_batches"]), row["method"],
                *_seconds(row), int(row["objective"]), row["bound_claimed"],
                int(same["bound_certified"].max()),
            )
        )  # fmt: skip
    columns = [
        "shape", "micro_batches", "method", "seconds", "is_limited", "objective", "claimed",
        "certified",
    ]  # fmt: skip
    return pd.DataFrame(rows, columns=columns).sort_values(columns[:3])


def _seconds(row: "pd.Series") -> tuple[float, bool]:
    """Return the wall time of a task, and whether it ended with its limit."""
    return float(row["wall_seconds"]), bool(row["wall_seconds"] >= 0.98 * row["time_limit_seconds"])


class Stopwatch:
    """Adds up the seconds between calls, each of which names what begins."""

    def __init__(self) -> None:
        self.seconds: Counter[str] = Counter()
        self._phase, self._since = "", time.perf_counter()

    def __call__(self, phase: str) -> None:
        """End the present phase and begin another."""
        now = time.perf_counter()
        self.seconds[self._phase] += now - self._since
        self._phase, self._since = phase, now


def measure_phases() -> None:
    """Write how long `tessel` searches for each part of a schedule, for Figure 10.

    With and without lazy completion; medians of several searches. To be run on a machine that does
    nothing else.
    """
    environment, start = describe_environment(), datetime.now(UTC)
    rows, limited = [], 0
    for shape in FOUR:
        sample = MicrobatchInstance.of(shapes.load(f"{shape}-4-train"), memory=PHASES_MEMORY)
        for is_lazy in (True, False):
            found, is_limited = [], False
            while len(found) < PHASES_REPEATS and not is_limited:
                watch, is_limited = _watched(sample, is_lazy=is_lazy, seed=len(found) + 1)
                found.append(watch.seconds)
            limited += is_limited
            times = (
                statistics.median(one[phase] for one in found)
                for phase in ("repetend", "warm-up", "cool-down")
            )
            whole = statistics.median(one.total() for one in found)
            rows.append((shape, is_lazy, len(found), *times, whole, is_limited))
    columns = [
        "shape", "is_lazy", "searches", "repetend", "warm_up", "cool_down", "whole", "is_limited"
    ]  # fmt: skip
    table = pd.DataFrame(rows, columns=columns)
    end = datetime.now(UTC)
    searches = int(table["searches"].sum())
    ran = {
        "suite": "Figure 10",
        **runs.facts_of_records([environment], "tessel.py phases", start, end, ["z3-solver"]),
        "tasks": searches,
        "limit": PHASES_SECONDS,
        "statuses": {"ok": searches},
        "wall_minutes": round((end - start).total_seconds() / 60, 1),
        "cpu_minutes": round(time.process_time() / 60, 1),
    }
    table.round(6).to_csv(DATA / "phases.csv", index=False)
    (DATA / "phases.json").write_text(json.dumps(ran, indent=1) + "\n")


def _watched(sample: MicrobatchInstance, *, is_lazy: bool, seed: int) -> tuple[Stopwatch, bool]:
    """Return the seconds by phase, and whether the search took all its time."""
    watch, budget, is_limited = Stopwatch(), Budget(PHASES_SECONDS), False
    sizes = range(1, longest_path(sample.dag) + 1)
    find = finder(budget, seed, "pairs")
    try:
        for _ in search(sample, sizes, budget, find, lazy=is_lazy, enter=watch):
            pass
    except OutOfTimeError:
        is_limited = True
    watch("end")
    return watch, is_limited


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
    """Return seconds of 128 samples and of the busiest device, for Figures 13, 14, 16 and 17.

    With the floating-point operations of 128 samples, in 10^15.
    """
    tick = models.TICK_SECONDS
    rows = []
    for model in MODELS:
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
                work = models.training_flops(name) * SAMPLES / 1e15
                rows.append(
                    (model, gpus, label, done.makespan * tick, busy, slow.makespan * tick, work)
                )
    columns = ["model", "gpus", "schedule", "seconds", "busiest", "blocking_seconds", "operations"]
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


@dataclass(frozen=True)
class OtherCosts(models.Costs):
    """Costs of Flava under other assumptions about layers that GPUs share.

    Attributes
    ----------
    speed
        Of a kernel on a GPU's part of the work, in that of a kernel on all of the work.
    link
        Bandwidth between GPUs, in that of the datasheet.
    is_launched
        Whether each GPU launches all kernels, whatever its part of their work is.
    """

    speed: float = 1.0
    link: float = 1.0
    is_launched: bool = False

    def shared_seconds(self, part: models.Part, gpus: int) -> float:
        """Return the time of a layer whose products GPUs share, with two exchanges."""
        exchanges = super().shared_seconds(part, gpus) - part.seconds / gpus
        launches = part.launches if self.is_launched else 0.0
        return launches + (part.seconds - launches) / gpus / self.speed + exchanges / self.link


# What Figure 15 may depend on: assumptions, whether texts are as long as images, and changes.
ASSUMPTIONS: tuple[tuple[str, bool, dict[str, Any]], ...] = (
    ("as in the table above", False, {}),
    ("each GPU launches all kernels of a shared layer", False, {"is_launched": True}),
    ("a quarter of the bandwidth between GPUs", False, {"link": 0.25}),
    ("kernels of shared layers at 0.8 of the speed", False, {"speed": 0.8}),
    ("texts as long as images", True, {}),
    ("texts as long, and kernels at 0.8 of the speed", True, {"speed": 0.8}),
    (
        "texts as long, all launches and a quarter of the bandwidth", True,
        {"is_launched": True, "link": 0.25},
    ),
    ("all four", True, {"is_launched": True, "link": 0.25, "speed": 0.8}),
)  # fmt: skip


def sensitivity() -> pd.DataFrame:
    """Return Tessel's throughput over others' on Flava under other assumptions, for Figure 15.

    Periods are the load of the busiest GPU: each has one block besides those on all GPUs at most,
    and nothing is kept, so that a schedule without bubbles exists.
    """
    rows = []
    for samples in (1, 4, 16, 64):
        name = f"flava-k-4-infer{'' if samples == 1 else f'-s{samples}'}"
        given = models.costs_of(name)
        for assumption, is_long, changes in ASSUMPTIONS:
            parts = given.parts
            if is_long:
                image, _, joint = parts
                longer = 2 * image.kept / joint.kept
                joint = replace(joint, seconds=longer * joint.seconds, kept=longer * joint.kept)
                parts = (image, image, joint)
            same = {field.name: getattr(given, field.name) for field in fields(given)}
            costs = OtherCosts(**{**same, "parts": parts}, **changes)
            k, tensor_parallel = (max(models.DRAW[shape](costs, 4).loads) for shape in ("k", "tp"))
            rows.append((assumption, samples, tensor_parallel / k))
    return pd.DataFrame(rows, columns=["assumption", "samples", "over_tp"])
