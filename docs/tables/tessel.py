"""Print the tables of docs/results-tessel.md: `python docs/tables/tessel.py MODELS SMALL FULL`.

The arguments are results folders of the suites `paper-tessel/models`, `/small` and `/full`.
"""

import json
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

import pandas as pd

from boundmark.datasets.microbatch import models, shapes
from boundmark.heuristics.microbatch.repetend import longest_path
from boundmark.heuristics.microbatch.start_times import OutOfTimeError
from boundmark.heuristics.microbatch.tessel import TesselSettings, shorter_repetends
from boundmark.problems.errors import BoundmarkError
from boundmark.problems.method import Budget
from boundmark.problems.microbatch import BlockLayout, MicrobatchInstance, Schedule
from boundmark.problems.microbatch.earliest_starts import left_shifted
from boundmark.problems.microbatch.measures import steady_bubble_rate
from boundmark.problems.microbatch.runtime import Simulation, program_of, simulate
from boundmark.reports.stored.checked_results import checked_results
from boundmark.reports.stored.documents import read_parsed
from boundmark.reports.stored.store import ResultStore

NONE = "–"


class Results:
    """Verified rows of a results folder, with their parameters as columns."""

    def __init__(self, folder: str) -> None:
        self.store = ResultStore.open(Path(folder))
        rows = checked_results(self.store).results
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


def table(title: str, header: Sequence[str], lines: Iterable[Sequence[str]]) -> None:
    """Print a Markdown table."""
    print(f"\n{title}\n")
    print(f"| {' | '.join(header)} |")
    print(f"| --- |{' ---: |' * (len(header) - 1)}")
    for line in lines:
        print(f"| {' | '.join(line)} |")


def bubble(layout: BlockLayout, period: int) -> str:
    """Return the bubble rate while a schedule repeats, in percent."""
    return f"{100 * float(steady_bubble_rate(layout, period)):.1f}"


def table_2(small: Results) -> None:
    """Print Table II, the paper's rates in brackets."""
    paper = {"m": ("0", "20", "25", "0"), "nn": ("0", "20", "20", "0"), "k": ("0", "20", "×", "0")}
    lines = []
    for model, shape in (("GPT", "m"), ("mT5", "nn"), ("Flava", "k")):
        asked = (
            ("v", "1f1b"), ("x", "chimera-direct"), (shape, "1f1b-plus"), (shape, "tessel")
        )  # fmt: skip
        cells = []
        for (drawn, method), printed in zip(asked, paper[shape], strict=True):
            name = f"{drawn}-4-train"
            row = small.row(name, method, memory=8, micro_batches=0)
            own = "×" if row is None else bubble(shapes.load(name), int(row["objective"]))
            cells.append(f"{own} ({printed})")
        lines.append((f"{model} ({shape.upper()})", *cells))
    title = "### Table II: bubble rate (%), the paper's in brackets"
    table(title, ("model", "1F1B", "Chimera-direct", "1F1B+", "Tessel"), lines)


FOUR = ("v", "x", "m", "nn", "k")


def least_period(layout: BlockLayout, memory: int, sizes: range) -> int | None:
    """Return the shortest period of repetends of some numbers of micro-batches."""
    try:
        sample = MicrobatchInstance.of(layout, memory=memory)
    except BoundmarkError:
        return None
    period = None
    try:
        # Where memory is scarce, that there is nothing shorter takes longer than this.
        for repetend in shorter_repetends(sample, sizes, Budget(2), TesselSettings()):
            period = repetend.period
    except OutOfTimeError:
        pass
    return period


def figures_11_and_12() -> None:
    """Print the bubble rate by micro-batches of a repetend, and by memory."""
    layouts = {shape: shapes.load(f"{shape}-4-train") for shape in FOUR}
    numbers = range(1, 9)
    lines, enough = [], {}
    for shape, layout in layouts.items():
        cells = []
        for most in numbers:
            period = least_period(layout, 100, range(1, most + 1))
            assert period is not None
            cells.append(bubble(layout, period))
            if period == max(layout.loads):
                enough.setdefault(shape, most)
        lines.append((shape.upper(), *cells))
    header = ("shape", *map(str, numbers))
    table("### Figure 11: bubble rate (%) by micro-batches of a repetend", header, lines)
    lines = []
    for shape, layout in layouts.items():
        cells = []
        for memory in numbers:
            own, more = (
                least_period(layout, memory, range(1, most + 1))
                for most in (enough[shape], longest_path(layout.dag))
            )
            both = [NONE if one is None else bubble(layout, one) for one in (own, more)]
            cells.append(both[0] if both[0] == both[1] else f"{both[0]} ({both[1]})")
        lines.append((f"{shape.upper()}, {enough[shape]}", *cells))
    table("### Figure 12: bubble rate (%) by memory", ("shape, N_R", *header[1:]), lines)


def search_times(small: Results, full: Results) -> None:
    """Print Figures 9 and 10: the search for all blocks at once, and lazy completion."""
    lines = []
    for shape in ("v", "m", "k"):
        name = f"{shape}-4-train"
        for count in (2, 4):
            cells = []
            for method in ("time-optimal", "tessel"):
                row = small.row(name, method, memory=4, micro_batches=count)
                cells.append(NONE if row is None else _seconds(row))
                cells.append(NONE if row is None else str(int(row["objective"])))
            lines.append((shape.upper(), str(count), *cells))
    header = ("shape", "N", "TO (s)", "makespan", "Tessel (s)", "makespan")
    table("### Figure 9: search time", header, lines)
    lines = []
    for shape in FOUR:
        cells = []
        for lazy in ("true", "false"):
            wanted = f'{{"lazy": {lazy}, "only_repetend": 0}}'
            row = full.row(f"{shape}-4-train", "tessel", memory=16, params=wanted)
            if row is None:
                cells += [NONE, NONE]
            else:
                cells += [f"{full.seconds_to_best(row):.3f}", _seconds(row)]
        lines.append((shape.upper(), *cells))
    header = ("shape", "lazy: repetend (s)", "whole (s)", "not lazy: repetend (s)", "whole (s)")
    table("### Figure 10: search time with lazy search", header, lines)


def _seconds(row: pd.Series) -> str:
    limited = row["wall_seconds"] >= 0.98 * row["time_limit_seconds"]
    return f"{'> ' if limited else ''}{row['wall_seconds']:.2f}"


def devices(small: Results, full: Results) -> None:
    """Print periods on 4, 8 and 16 devices."""
    lines = []
    for results, count, memories in ((small, 4, (4, 8)), (full, 8, (8, 16)), (full, 16, (16, 32))):
        for memory in memories:
            chosen = results.rows[(results.rows["memory"] == memory)]
            names = [n for n in dict.fromkeys(chosen["instance"]) if f"-{count}-train" in n]
            for name in sorted(names):
                row = results.row(name, "tessel", memory=memory, micro_batches=0)
                best = results.row(name, "modulo", memory=memory, micro_batches=0)
                if row is None or best is None:
                    continue
                layout = shapes.load(name)
                members = results.schedule(row).repetend
                assert members is not None
                lines.append(
                    (
                        name.removesuffix("-train"),
                        str(memory),
                        str(max(layout.loads)),
                        str(int(best["objective"])),
                        str(int(row["objective"])),
                        bubble(layout, int(row["objective"])),
                        str(int(members.members.max()) + 1),
                        f"{results.seconds_to_best(row):.2f}",
                    )
                )
    header = (
        "shape", "memory", "load", "modulo", "tessel", "bubble (%)", "N_R", "seconds to it"
    )  # fmt: skip
    table("### 4, 8 and 16 devices", header, lines)


SAMPLES = 128


def simulated(results: Results, row: pd.Series, *, blocking: bool = False) -> Simulation:
    """Simulate the stored schedule of 128 samples, with transfers."""
    layout = models.load(row["instance"])
    starts = results.schedule(row).starts_for(int(row["micro_batches"]))
    ticks = [models.transfer_ticks(row["instance"])] * len(layout.blocks)
    return simulate(layout, program_of(layout, starts, is_blocking=blocking), ticks)


TRAINING = (
    ("Tessel", {"gpt": "m", "mt5": "nn"}, "tessel", 128),
    ("1F1B+", {"gpt": "m", "mt5": "nn"}, "1f1b-plus", 128),
    ("1F1B", {"gpt": "v", "mt5": "v"}, "1f1b", 128),
    ("GPipe", {"gpt": "v", "mt5": "v"}, "gpipe", 128),
    ("Chimera", {"gpt": "x", "mt5": "x"}, "chimera-direct", 64),
    ("all tensor parallel", {"gpt": "tp", "mt5": "tp"}, "gpipe", 128),
)


NAMES = {"gpt": "GPT", "mt5": "mT5"}


def training(results: Results) -> None:
    """Print Figures 13 and 14: samples per second, and how many times those of 1F1B."""
    tick = models.Assumptions().tick_seconds
    speeds: dict[tuple[str, int, str], float] = {}
    waits, sides = [], []
    for model in ("gpt", "mt5"):
        for gpus in (4, 8, 16, 32):
            for label, shape, method, count in TRAINING:
                name = f"{model}-{shape[model]}-{gpus}-train"
                row = results.row(name, method, micro_batches=count)
                if row is None:
                    continue
                done = simulated(results, row)
                speeds[model, gpus, label] = SAMPLES / (done.makespan * tick)
                if label in ("Tessel", "1F1B+", "1F1B"):
                    slowest = max(done.busy)
                    wait = 1 - slowest / done.makespan
                    waits.append(
                        (
                            f"{NAMES[model]}, {gpus} GPUs, {label}",
                            f"{slowest * tick:.1f}",
                            f"{100 * wait:.1f}",
                        )
                    )
                if label == "Tessel":
                    slow = simulated(results, row, blocking=True)
                    sides.append(
                        (f"{NAMES[model]}, {gpus} GPUs", f"{slow.makespan / done.makespan:.2f}")
                    )
    labels = [label for label, *_ in TRAINING]
    for model, number in (("gpt", 13), ("mt5", 14)):
        lines = []
        for gpus in (4, 8, 16, 32):
            own = [speeds.get((model, gpus, label)) for label in labels]
            tessel = own[0]
            cells = [
                "×" if speed is None
                else f"{speed:.2f}" + (f" ({tessel / speed:.2f})" if tessel and at else "")
                for at, speed in enumerate(own)
            ]  # fmt: skip
            lines.append((str(gpus), *cells))
        title = (
            f"### Figure {number}: {NAMES[model]}, samples a second (how many times Tessel's are)"
        )
        table(title, ("GPUs", *labels), lines)
    header = ("layout", "busiest device (s)", "of the whole, it waits (%)")
    table("### Figure 16: seconds of 128 samples", header, waits)
    table("### Figure 17: blocking over non-blocking", ("layout", "ratio of times"), sides)


def inference(results: Results) -> None:
    """Print Figure 15: latency of a micro-batch, and samples a second."""
    tick = models.Assumptions().tick_seconds
    lines = []
    for samples in (1, 4, 16, 64):
        cells = []
        for shape in ("k", "v", "tp"):
            name = f"flava-{shape}-4-infer{'' if samples == 1 else f'-s{samples}'}"
            layout = models.load(name)
            row = results.row(name, "tessel", micro_batches=0)
            assert row is not None
            alone = results.schedule(row).starts[:1]
            ticks = [models.transfer_ticks(name)] * len(layout.blocks)
            done = simulate(layout, program_of(layout, left_shifted(layout, alone)), ticks)
            cells.append(f"{done.makespan * tick * 1000:.1f}")
            cells.append(f"{samples / (int(row['objective']) * tick):.0f}")
        lines.append((str(samples), *cells))
    header = (
        "samples", "K (ms)", "K (samples/s)", "V (ms)", "V (samples/s)", "TP (ms)", "TP (samples/s)"
    )  # fmt: skip
    table("### Figure 15: Flava on 4 GPUs", header, lines)


if __name__ == "__main__":
    given = [Results(folder) for folder in sys.argv[1:]]
    table_2(given[1])
    figures_11_and_12()
    search_times(given[1], given[2])
    devices(given[1], given[2])
    training(given[0])
    inference(given[0])
