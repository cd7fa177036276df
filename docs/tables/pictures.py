"""Draw the pages' pictures from stored data: `python docs/tables/pictures.py [NAME...]`.

Each is `docs/pictures/NAME.svg`, in the colours of the page that it stands on, with text that can
be read on a phone. Instances and solutions are the library's; other pictures show what tables of
the page show. `page.py` fills captions, which have their figures from the same data.
"""

import io
import sys
import textwrap
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import tuning
from gaps import OPTIMAL, gap_of, read, used_today
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure
from page import DOCS, ROOT, Filling, stored
from page import results as results_of
from papers import STAGES, TABLE_3, of_suite, placements_of

from boundmark.benchmarks.library import Entry, Library
from boundmark.benchmarks.solving.model import named_instance
from boundmark.bounds import checker
from boundmark.problems.catalog import problems
from boundmark.problems.devices import shipped
from boundmark.problems.pipeline.instance import in_pipeline_order, stage_transfer, stage_work
from boundmark.reports import true_costs
from boundmark.reports.microbatch.drawings import KINDS, repetend_spans, schedule_boxes
from boundmark.reports.ordering import order_timelines
from boundmark.reports.pipeline.drawings import draw_partition, partition_data
from boundmark.reports.placement import REPORT as PLACEMENT
from boundmark.reports.placement import latencies
from boundmark.reports.placement.drawings import draw_gantt, schedule_spans
from boundmark.reports.plots import COLOURS, GREY, INK, page_svg, settings
from boundmark.reports.slicing import plan_loads
from boundmark.reports.statistics import geometric_mean
from boundmark.reports.text import gap_percent

FOLDER = DOCS / "pictures"

# A picture is as wide as a phone's page when text of this size, in points, shows with 11 pixels.
WIDTH, TEXT = 4.8, 11.2

# Colours of a picture that is a file; one that is part of a page has the page's own.
THEME = "<style>svg{color:#1c2024}@media (prefers-color-scheme:dark){svg{color:#e4e7ea}}</style>"

BLUE, ORANGE, GREEN, PINK, SKY, YELLOW = COLOURS[:6]
RED = "#D5122A"


class Picture(NamedTuple):
    """A picture, what is read to those who do not see it, and its caption in Markdown."""

    draw: Callable[[], Figure]
    words: str
    caption: Callable[[], str]


def figure(height: float, rows: int = 1, ratios: Sequence[float] = (1,), **options: Any) -> Any:
    """Return a figure and its axes, one below the other."""
    made = Figure(figsize=(WIDTH, height), layout="constrained")
    return made, made.subplots(rows, gridspec_kw={"height_ratios": ratios}, **options)


def legend(of: Figure, axes: Axes, columns: int) -> None:
    """Put the legend above the axes."""
    of.legend(
        *axes.get_legend_handles_labels(), loc="outside upper center", ncols=columns,
        handlelength=1.2, columnspacing=1.2, borderaxespad=0.1,
    )  # fmt: skip


def bare(axes: Axes, *, keep: Sequence[str] = ("bottom",)) -> None:
    """Leave only some of the frame's lines, and no ticks without them."""
    for side in ("left", "right", "top", "bottom"):
        axes.spines[side].set_visible(side in keep)
    axes.tick_params(axis="y", length=0)


# What each problem's picture is of: data set, member, device and parameters, as the library says.
SHOWN = {
    "pipeline": ("onnx-light", "squeezenet", "nvidia-t4", {"k": 4}),
    "placement": (
        "onnx-light", "inception-v1", "moirai-inter-server", {"memory": "parameters+live"}
    ),
    "microbatch": ("shapes", "v-4-train", "", {"memory": 4}),
    "ordering": ("zoo", "shufflenet-v2-2.0", "", {"metric": "peak", "in_place": "no"}),
    "slicing": ("onnx-light", "alexnet", "raspberry-pi-4-gigabit", {"edge_devices": 4}),
    "layers": (
        "language-models", "llama-3-8b", "", {"devices": "2xL4,2xT4@1.25", "phase": "decode"}
    ),
}  # fmt: skip


class Known(NamedTuple):
    """An entry of the library with what its documents hold."""

    entry: Entry
    instance: Any
    solution: Any


@cache
def known(problem: str) -> Known:
    """Return the entry that a problem's picture shows."""
    dataset, member, device, parameters = SHOWN[problem]
    library = Library.open(ROOT / "library")
    (entry,) = (
        one
        for one in library.entries()
        if (one.problem, one.dataset, one.instance, one.device)
        == (problem, dataset, member, device)
        and parameters.items() <= one.parameters.items()
    )
    instance, solution = (
        checker.read_document(library.directory / folder / f"{digest}.json")
        for folder, digest in (
            ("instances", entry.instance_sha256), ("solutions", entry.solution_sha256)
        )
    )  # fmt: skip
    made = problems()[problem]
    return Known(entry, made.instance_from_json(instance), made.solution_from_json(solution))


def proof(entry: Entry) -> str:
    """Return how far from optimal a solution is at most, in words."""
    assert entry.gap is not None
    if entry.is_optimal:
        return "proven optimal"
    return f"at most {gap_percent(entry.gap, ' %')} above the optimum"


def bound_line(axes: Axes, bound: float, *, across: bool = False) -> None:
    """Draw the certified bound as a line that no solution gets below."""
    draw = axes.axhline if across else axes.axvline
    draw(bound, color=RED, linewidth=1.4, linestyle=(0, (4, 2)), label="certified bound")


def draw_pipeline() -> Figure:
    """Draw a graph cut into stages, and below it what each stage takes."""
    entry, instance, partition = known("pipeline")
    stages, k = in_pipeline_order(instance, partition).stages, instance.k
    made, (above, below) = figure(3.7, 2, (1, 1.25))
    draw_partition(partition_data(instance, partition), above)
    sums = stage_work(instance.graph, stages, k), *stage_transfer(instance.graph, stages, k)
    left = np.zeros(k)
    parts = zip(("operators", "tensors in", "tensors out"), sums, (1, 0.6, 0.3), strict=True)
    for name, ticks, alpha in parts:
        below.barh(range(k), ticks / 1000, 0.7, left, color=COLOURS[:k], alpha=alpha, label=name)
        left = left + ticks / 1000
    bound_line(below, entry.bound / 1000)
    below.set_yticks(range(k), [f"stage {at}" for at in range(k)])
    below.invert_yaxis()
    below.set_xlabel("microseconds for one input")
    bare(below)
    below.grid(visible=False)
    for name, alpha in (("operators", 1), ("tensors in", 0.6), ("out", 0.3)):
        above.plot([], [], color=GREY, alpha=alpha, linewidth=8, label=name)
    above.plot([], [], color=RED, linewidth=1.4, linestyle=(0, (4, 2)), label="bound")
    made.legend(
        *_last(above, 4), loc="outside lower center", ncols=4, handlelength=1.1, columnspacing=1.0
    )
    return made


def _last(axes: Axes, number: int) -> tuple[list[Any], list[str]]:
    handles, labels = axes.get_legend_handles_labels()
    return handles[-number:], labels[-number:]


def draw_placement() -> Figure:
    """Draw what each device runs, sends and receives."""
    entry, instance, schedule = known("placement")
    spans = schedule_spans(instance, schedule).assign(count=1)
    spans[["start", "end"]] = spans[["start", "end"]] / 1000
    made, axes = figure(2.9)
    draw_gantt(spans, axes)
    used = sorted(set(spans["device"]))
    axes.set_yticks(range(len(used)), [f"device {one}" for one in used])
    axes.set(xlabel="microseconds", ylabel="")
    bound_line(axes, entry.bound / 1000)
    axes.set_xlim(0, 1.02 * entry.objective / 1000)
    legend(made, axes, 4)
    return made


def draw_microbatch() -> Figure:
    """Draw when devices run which block of which micro-batch, with idle time left blank."""
    _, instance, schedule = known("microbatch")
    boxes = schedule_boxes(instance, schedule)
    made, axes = figure(2.6)
    for kind, part in boxes.groupby("kind", sort=False):
        axes.barh(
            part["device"], part["end"] - part["start"], 0.86, part["start"], color=KINDS[kind],
            edgecolor="#5A636C", linewidth=0.5, label=kind,
        )  # fmt: skip
    for row in boxes.itertuples():
        axes.text(
            (row.start + row.end) / 2, row.device, str(row.micro_batch), ha="center", va="center",
            color="#1C2024",
        )  # fmt: skip
    for at, span in enumerate(repetend_spans(boxes).items()):
        device, ends = span
        axes.vlines(
            ends, device - 0.5, device + 0.5, color=RED, linewidth=2, label="" if at else "period"
        )
    axes.set(xlim=(0, boxes["end"].max()), xlabel="time, in durations of a forward block")
    axes.set_yticks(range(len(instance.capacity)), [f"device {d}" for d in range(4)])
    axes.set_ylim(3.5, -0.5)
    axes.grid(visible=False)
    bare(axes)
    legend(made, axes, 3)
    return made


# Operators that are shown after the last at which orders differ.
SAME_SHOWN = 10


def draw_ordering() -> Figure:
    """Draw the memory from operator to operator, in the default and in the best order."""
    entry, instance, order = known("ordering")
    data = pd.DataFrame(order_timelines(instance, order))
    wide = data.pivot_table("memory", "step", "order")
    # After these, both orders take the same memory.
    shown = int(wide.index[wide["default"] != wide["best"]].max()) + SAME_SHOWN
    data = data[data["step"] < shown]
    made, axes = figure(3.0)
    for name, colour, width in (("default", ORANGE, 1.2), ("best", BLUE, 1.8)):
        part = data[data["order"] == name].sort_values("step")
        axes.step(
            part["step"] + 1, part["memory"] / 2**20, where="mid", color=colour, linewidth=width,
            label=f"{name} order",
        )  # fmt: skip
    bound_line(axes, entry.bound / 2**20, across=True)
    axes.set(xlabel="operators, in the order in which they run", ylabel="memory (MiB)")
    axes.set(xlim=(1, shown), ylim=(0, None))
    legend(made, axes, 3)
    return made


def draw_slicing() -> Figure:
    """Draw which part of each operator each device computes, and what devices do all the time."""
    entry, instance, plan = known("slicing")
    vectors = plan.vectors
    shares = 100 * np.diff(vectors, axis=1) / vectors[:, -1:]
    made, (above, below) = figure(4.0, 2, (1.2, 1))
    bottom = np.zeros(len(shares))
    for device, share in enumerate(shares.T):
        above.bar(
            np.arange(1, len(shares) + 1), share, 0.9, bottom, color=COLOURS[device],
            label=f"device {device}",
        )  # fmt: skip
        bottom = bottom + share
    above.set(xlabel="operators, in order", ylabel="part (%)", xlim=(0.4, len(shares) + 0.6))
    above.grid(visible=False)
    bare(above)
    loads = pd.DataFrame(plan_loads(instance, plan))
    devices = loads["place"] - 1
    left = np.zeros(len(loads))
    for name, colour in (("computing", SKY), ("communicating", YELLOW)):
        below.barh(devices, loads[name] / 1e6, 0.7, left, color=colour, label=name)
        left = left + loads[name] / 1e6
    bound_line(below, entry.bound / 1e6)
    below.set_yticks(devices, [f"device {one}" for one in devices])
    below.invert_yaxis()
    below.set_xlabel("milliseconds")
    below.grid(visible=False)
    bare(below)
    legend(made, above, 4)
    made.legend(
        *below.get_legend_handles_labels(), loc="outside lower center", ncols=3, handlelength=1.2
    )
    return made


def draw_layers() -> Figure:
    """Draw how many layers each card has, how long it takes, and how full its memory is."""
    entry, instance, solution = known("layers")
    kinds = [
        name.partition("@")[0]
        for part in str(entry.parameters["devices"]).split(",")
        for number, name in [part.split("x", 1)]
        for _ in range(int(number))
    ]
    loads, stages = instance.stage_loads(solution), solution.stages
    names = [f"{kinds[one.device]} #{one.device}" for one in stages]
    sizes = [one.end - one.first for one in stages]
    made = Figure(figsize=(WIDTH, 2.7), layout="constrained")
    left, middle, right = made.subplots(1, 3, sharey=True)
    colours = [BLUE if kinds[one.device] == kinds[0] else ORANGE for one in stages]
    places = range(len(stages))
    left.bar_label(left.barh(places, sizes, 0.7, color=colours), padding=2)
    middle.barh(places, [load.total / 1e6 for load in loads], 0.7, color=colours)
    bound_line(middle, entry.bound / 1e6)
    full = [100 * load.memory / load.capacity for load in loads]
    right.barh(places, [100] * len(full), 0.7, color=GREY, alpha=0.25)
    right.barh(places, full, 0.7, color=colours)
    left.set(xlabel="layers", xlim=(0, 1.25 * max(sizes)))
    middle.set_xlabel("ms")
    right.set(xlabel="memory (%)", xlim=(0, 100))
    left.set_yticks(places, names)
    left.invert_yaxis()
    for one in (left, middle, right):
        one.grid(visible=False)
        bare(one)
    return made


def solution_gaps(rows: pd.DataFrame) -> pd.DataFrame:
    """Return for each solution its problem, instance and gap in percent, and if none is better."""
    by_instance = rows.groupby("instance_sha256")
    bound = by_instance["bound_certified"].transform("max")
    found = rows.assign(
        gap=100.0 * (rows["objective"] / bound - 1),
        best=rows["objective"] <= by_instance["objective"].transform("min"),
    )
    return found.loc[
        found["objective"].notna() & (bound > 0), ["problem", "instance_sha256", "gap", "best"]
    ]


@cache
def demo_gaps() -> pd.DataFrame:
    """Return the gaps of the demo's solutions."""
    return solution_gaps(pd.concat([stored("demo", problem) for problem in SHOWN]))


def draw_demo() -> Figure:
    """Draw a dot for each solution in the row of its problem, most instances first."""
    gaps = demo_gaps()
    order = gaps[gaps["best"]]["problem"].value_counts().index
    made, axes = figure(3.4)
    axes.set_xscale("symlog", linthresh=1)
    # Dots of a row are spread so that equal ones are seen, always the same way.
    spread = np.random.default_rng(1)
    for best, colour, size, name in (
        (False, GREY, 9, "other methods"), (True, BLUE, 22, "best of an instance")
    ):  # fmt: skip
        part = gaps[gaps["best"] == best]
        places = order.get_indexer(part["problem"]) + spread.uniform(-0.3, 0.3, len(part))
        axes.scatter(part["gap"], places, s=size, color=colour, linewidths=0, label=name)
    axes.set_yticks(range(len(order)), order)
    axes.set_ylim(len(order) - 0.5, -0.5)
    ticks = [0, 1, 10, 100, 1000]
    axes.set_xticks(ticks, [f"{tick:,}" for tick in ticks])
    axes.set(xlim=(-0.15, 1.2 * gaps["gap"].max()), xlabel="above the certified bound (%)")
    axes.grid(axis="y", visible=False)
    bare(axes, keep=())
    legend(made, axes, 2)
    return made


def demo_caption() -> str:
    """Return what a dot is."""
    gaps = demo_gaps()
    optimal = gaps[gaps["gap"] == 0]["instance_sha256"].nunique()
    return (
        f"How far the {len(gaps)} solutions of the demo are above the certified bound of their "
        "instance. A row is a problem, and a dot a solution; at 0 % it is proven optimal, as the "
        f"best of {optimal} of the {gaps['instance_sha256'].nunique()} instances are. The axis is "
        "logarithmic above 1 %."
    )


def draw_tools() -> Figure:
    """Draw mean gaps of what most people use, with how many of its partitions are optimal."""
    rows = used_today()
    made, axes = figure(4.4)
    for at, (_, *cells) in enumerate(rows):
        for place, (optimal, mean, _), colour in (
            (at - 0.2, cells[:3], BLUE), (at + 0.2, cells[3:], ORANGE)
        ):  # fmt: skip
            if mean:
                value = float(mean.removesuffix(" %"))
                axes.barh(place, value, 0.36, color=colour)
                axes.text(value + 1, place, f"{mean}, {optimal}", va="center")
    axes.set_yticks(range(len(rows)), _wrapped(rows))
    axes.invert_yaxis()
    axes.set(xlabel="mean gap (%), optimal of all", xlim=(0, 135))
    for label, colour in (("roofline", BLUE), ("measured on an H100", ORANGE)):
        axes.barh(0, 0, color=colour, label=label)
    axes.grid(visible=False)
    bare(axes)
    legend(made, axes, 2)
    return made


def _wrapped(rows: Sequence[Sequence[str]]) -> list[str]:
    return ["\n".join(textwrap.wrap(row[0], 19)) for row in rows]


def tool_caption() -> str:
    """Return what a bar is."""
    cells = read("tools-partitions")
    models = cells.groupby("costs")["graph"].nunique()
    return (
        f"How far partitions that people use today are above the certified optimum. A bar is the "
        f"geometric mean over {len(cells) // 2} partitions: {models['roofline']} models of the zoo "
        f"on the roofline of an NVIDIA T4, or {models['measured']} models at operator times "
        "measured on an H100, in 4 and in 8 stages. Beside it: how many of them are optimal. PiPPy "
        "divides parameters, of which measured graphs do not say how many an operator has."
    )


def draw_zoo() -> Figure:
    """Draw the gap of each graph of the zoo and number of stages as a cell of a heat map."""
    table = read("zoo")
    stages = [name for name in table if name.startswith("k = ")]
    nodes = table["nodes"].str.replace(",", "").astype(int)
    cells = table.loc[nodes.sort_values(kind="stable").index, stages].map(gap_of).to_numpy().T
    made, axes = figure(2.4)
    colours = ListedColormap([GREEN, YELLOW, ORANGE, "#A625B8"])
    edges = [0, *ZOO_EDGES, 100]
    kinds = np.digitize(cells, edges[1:-1], right=False)
    axes.pcolormesh(kinds, cmap=colours, vmin=0, vmax=3, edgecolors="face", linewidth=0.3)
    axes.set_yticks(np.arange(len(stages)) + 0.5, stages)
    axes.invert_yaxis()
    axes.set_xlabel(f"{len(table)} graphs, from {nodes.min():,} to {nodes.max():,} operators")
    axes.set_xticks([])
    axes.grid(visible=False)
    bare(axes, keep=())
    names = ["optimal", "< 0.1 %", "< 1 %", f"to {cells.max():.1f} %"]
    for name, colour in zip(names, colours.colors, strict=True):
        axes.bar(0, 0, color=colour, label=name)
    legend(made, axes, 4)
    return made


# Where the colours of the heat map change, in percent; the first is above what is optimal.
ZOO_EDGES = (1e-9, 0.1, 1.0)


def zoo_caption() -> str:
    """Return what a cell is."""
    table = read("zoo")
    cells = table.filter(like="k = ")
    optimal = int((cells == OPTIMAL).to_numpy().sum())
    return (
        f"A cell is a model of the zoo, smaller ones at the left, in 2, 4, 8 or 16 stages (NVIDIA "
        f"T4, 12 GB/s, roofline), coloured by the gap of our best partition: {optimal} of "
        f"{cells.size} are proven optimal."
    )


def draw_ratios() -> Figure:
    """Draw what bounds prove of random graphs, over the number of stages, beside the paper's."""
    means = read("random-methods").set_index("method")
    means = means.loc[[name for name in means.index if name.startswith("`")]]
    made, axes = figure(3.2)
    places = range(len(STAGES))
    shown = (
        ("certify", BLUE, "o"),
        ("fractional-load", GREEN, "s"),
        ("mean-work", PINK, "^"),
    )
    for name, colour, marker in shown:
        values = [float(means.loc[f"`{name}`", f"k = {k}"]) for k in STAGES]
        axes.plot(places, values, color=colour, marker=marker, label=name)
    axes.plot(
        places, TABLE_3["exact"], color=ORANGE, linestyle=(0, (4, 2)), marker="D",
        label="exact, an hour [MTPP24]",
    )  # fmt: skip
    axes.set_xticks(places, [str(k) for k in STAGES])
    axes.set(xlabel="stages", ylabel="lower bound / best cost", ylim=(0.3, 1.02))
    legend(made, axes, 2)
    return made


def ratio_caption() -> str:
    """Return what a line is."""
    graphs = len(read("random-graphs"))
    return (
        f"How much of the best known cost bounds reach on random graphs: geometric means over "
        f"{graphs} graphs with |r| weights at each number of stages; 1 is proven optimal. Ours "
        "are certified and take 12 seconds; the dashed line is Table 3 of [MTPP24], on 1,000 other "
        "graphs."
    )


def draw_figure_10() -> Figure:
    """Draw speedups of Moirai's program and of the best placement, with the bound as a mark."""
    found = figure_10()
    made, axes = figure(4.6)
    places = np.arange(len(found))
    axes.barh(places - 0.2, found["moirai-milp"], 0.36, color=ORANGE, label="Moirai's program")
    axes.barh(places + 0.2, found["best"], 0.36, color=BLUE, label="best of ten methods")
    axes.plot(
        found["at most"], places, linestyle="none", marker="|", markersize=15, markeredgewidth=2,
        color=RED, label="at most",
    )  # fmt: skip
    axes.set_yticks(places, found.index)
    axes.invert_yaxis()
    axes.axvline(1, color=GREY, linewidth=0.8)
    axes.set(xlabel="times as fast as the best single device", xlim=(0, None))
    axes.grid(visible=False)
    bare(axes)
    legend(made, axes, 3)
    return made


# The nearest models of the zoo to the paper's GoogLeNet, Inception v4, YOLOv5x and Transformer.
TIMED = ("googlenet", "inception-v3", "detr-resnet-50", "t5-base")
BETWEEN, WITHIN = "moirai-inter-server", "moirai-intra-server"


def kinds(cluster: str) -> list[str]:
    """Return what the devices of a cluster are, in its order."""
    return [one.name.removeprefix("nvidia-") for one in shipped().clusters[cluster].devices]


@cache
def operator_times() -> Mapping[str, Any]:
    """Return microseconds of each model's operators (rows) by device, without those that are free.

    An operator that is free on one device is free on all.
    """
    times = {}
    for model in TIMED:
        graph = named_instance(f"zoo/{model}", {}, "placement", BETWEEN).instance.graph
        times[model] = graph.duration[graph.duration[:, 0] > 0] / 1e3
    return times


def draw_operator_times() -> Figure:
    """Draw a box for each model and device, over a logarithmic axis."""
    times, devices = operator_times(), kinds(BETWEEN)
    made, axes = figure(4.4)
    for at, colour in enumerate((BLUE, ORANGE, GREEN, PINK)):
        drawn = axes.boxplot(
            [one[:, at] for one in times.values()],
            positions=np.arange(len(times)) + 0.2 * (at - 1.5), widths=0.15, whis=(0, 100),
            orientation="horizontal", patch_artist=True, boxprops={"facecolor": colour},
            medianprops={"color": INK},
        )  # fmt: skip
        for line in (*drawn["boxes"], *drawn["whiskers"], *drawn["caps"]):
            line.set_color(colour)
        axes.barh(0, 0, color=colour, label=devices[at])
    axes.set_yticks(range(len(times)), [f"{name}\n{len(one)}" for name, one in times.items()])
    axes.set_ylim(len(times) - 0.5, -0.5)
    axes.set_xscale("log")
    axes.set_xticks([10, 100, 1000], ["10", "100", "1,000"])
    axes.set_xlabel("microseconds of an operator")
    axes.grid(axis="y", visible=False)
    bare(axes)
    legend(made, axes, 2)
    return made


def operator_time_caption() -> str:
    """Return what a box is."""
    most = max(np.percentile(one, 75, axis=0).max() for one in operator_times().values())
    return (
        "Figure 4 of [MOIRAI24]: how long the operators of four models take on four devices, by "
        "our cost model (roofline). A box is the middle half of a model's operators that take "
        "time, whose number is below the model's name; the line in it is the median, and lines "
        f"beside it reach the extremes. Three quarters take less than {np.ceil(most):.0f} "
        "microseconds on every device: as in the paper, most operators are short."
    )


def draw_bandwidths() -> Figure:
    """Draw bandwidths from device to device as two tables, darker where they are higher."""
    made, both = figure(4.4, 2, (1, 1))
    for axes, cluster, title in zip(
        both, (BETWEEN, WITHIN), ("between servers", "within a server"), strict=True
    ):
        rates = np.array(shipped().clusters[cluster].bandwidth) * 8 / 1e9
        np.fill_diagonal(rates, 0)
        axes.pcolormesh(rates, cmap=ListedColormap([BLUE] * 2), alpha=0.6 * rates / rates.max())
        for row, column in np.argwhere(rates):
            axes.text(
                column + 0.5, row + 0.5, f"{rates[row, column]:,.1f}", ha="center", va="center"
            )
        names = [f"{letter}: {kind}" for letter, kind in zip("ABCD", kinds(cluster), strict=True)]
        axes.set_yticks(np.arange(4) + 0.5, [f"from {name}" for name in names])
        axes.set_xticks(np.arange(4) + 0.5, [f"to {letter}" for letter in "ABCD"])
        axes.invert_yaxis()
        axes.set_title(title)
        axes.grid(visible=False)
        axes.tick_params(axis="x", length=0)
        bare(axes, keep=())
    return made


def bandwidth_caption() -> str:
    """Return what a cell is."""
    return (
        "Figure 9 of [MOIRAI24] as averages, those of its Table III: Gbit/s from a device (row) to "
        "another (column), which our transfers take. The paper's curves over 100 seconds are not "
        "published as numbers."
    )


def figure_10() -> pd.DataFrame:
    """Return the speedups of the original graphs between servers, by model."""
    shown = results_of(PLACEMENT, placements_of("moirai"), of_suite("moirai", "cells-short"))
    found = latencies.latency_table(shown.tasks, shown.certified)
    found = found[(found["device"] == BETWEEN) & (found["fusion"] == "none")]
    found = found.dropna(subset=["speedup"])
    found = found.assign(model=found["instance"].str.partition(" on ")[0])
    best = found.loc[found.groupby("model")["speedup"].idxmax()].set_index("model")
    program = found[found["method"] == "moirai-milp"].set_index("model")["speedup"]
    return pd.DataFrame(
        {
            "moirai-milp": program, "best": best["speedup"],
            "at most": best["speedup"] * (1 + best["gap"]),
        }
    )  # fmt: skip


def figure_10_caption() -> str:
    """Return what a bar is."""
    return (
        f"Figure 10 of [MOIRAI24]: how many times as fast {len(figure_10())} models run on a "
        "cluster of four GPUs as on its best single device (makespan of one input, our transfer "
        "model, original graphs, between servers). The mark is what the certified bound allows: no "
        "placement is faster."
    )


def draw_defaults() -> Figure:
    """Draw a point for each instance in a row for each tool; what does not fit has a column."""
    data = default_gaps()
    tools = list(dict.fromkeys(data["tool"]))
    made = Figure(figsize=(WIDTH, 0.38 * len(tools) + 1.3), layout="constrained")
    axes, beside = made.subplots(1, 2, sharey=True, gridspec_kw={"width_ratios": (6, 1)})
    of_tool = data.groupby("tool")["tool"]
    spread = of_tool.cumcount() / (of_tool.transform("size") - 1).clip(lower=1) - 0.5
    data = data.assign(y=data["tool"].map(tools.index) + 0.6 * spread)
    for phase, colour, marker in (
        ("prefill", BLUE, "o"), ("decode", ORANGE, "s"), ("training", GREEN, "^")
    ):  # fmt: skip
        own = data[(data["phase"] == phase) & data["gap"].notna()]
        axes.plot(
            own["gap"], own["y"], linestyle="none", marker=marker, markersize=3.2, color=colour,
            alpha=0.8, label=phase,
        )  # fmt: skip
    missing = data[data["gap"].isna()].groupby("tool").size().reindex(tools, fill_value=0)
    for at, number in enumerate(missing):
        beside.text(0.5, at, str(number), ha="center", va="center", fontweight="bold")
    axes.set_yticks(range(len(tools)), tools)
    axes.set(xlabel="above the certified optimum (%)", xlim=(-6, None))
    axes.set_ylim(len(tools) - 0.5, -0.5)
    beside.set(xlim=(0, 1), xticks=[], xlabel="do not\nfit")
    beside.axvspan(0, 1, color=GREY, alpha=0.15)
    beside.grid(visible=False)
    bare(axes)
    bare(beside, keep=())
    legend(made, axes, 3)
    return made


def default_gaps() -> pd.DataFrame:
    """Return the gap in percent of each tool and instance, missing if the split does not fit."""
    parts = []
    for name in ("serving", "training"):
        cells = read(f"defaults-{name}")
        parts.append(cells.melt(list(cells.columns[:3]), var_name="tool", value_name="cell"))
    data = pd.concat(parts, ignore_index=True)
    return data.assign(gap=[None if cell == "none" else gap_of(cell) for cell in data["cell"]])


def default_caption() -> str:
    """Return what a point is."""
    data = default_gaps()
    return (
        f"A point is a language model on some devices in one phase, {len(data)} in all: how much "
        "longer a tool's default split takes than the certified optimum (slowest stage, roofline). "
        "At the right: for how many instances the split does not fit into memory, or the tool "
        "refuses the numbers."
    )


def draw_predictions() -> Figure:
    """Draw for each measured model how long its slowest stage is predicted to take."""
    rows = [row for row in true_costs.rows() if row.k == PREDICTED_K]
    models = list(dict.fromkeys(row.model for row in rows))
    made, axes = figure(4.6)
    axes.axvspan(*true_costs.CLOSE, color=GREY, alpha=0.2)
    axes.axvline(1, color=INK, linewidth=0.8)
    for costs, colour, marker in (("roofline", BLUE, "o"), ("calibrated", ORANGE, "D")):
        own = {row.model: row.ratio for row in rows if row.costs == costs}
        axes.plot(
            [own[model] for model in models], range(len(models)), linestyle="none", marker=marker,
            markersize=7, color=colour, label=costs,
        )  # fmt: skip
    axes.set_xscale("log")
    axes.set_xticks([0.2, 0.33, 0.5, 0.75, 1, 1.33], ["0.2", "0.33", "0.5", "", "1", "1.33"])
    axes.set_xticks([], minor=True)
    axes.set_yticks(range(len(models)), [model.partition("/")[2] for model in models])
    axes.invert_yaxis()
    axes.set_xlabel("predicted / measured time")
    legend(made, axes, 2)
    return made


# Stages of the picture; the table has all.
PREDICTED_K = 4


def prediction_caption() -> str:
    """Return what a mark is, and how many are close."""
    of_costs = {one.costs: one for one in true_costs.summary() if one.k == PREDICTED_K}
    roofline, calibrated = of_costs["roofline"], of_costs["calibrated"]
    return (
        f"The slowest of {PREDICTED_K} stages of {roofline.models} models on an H100 (float16, "
        "eager): its predicted time over its measured one. A row is a model, and each mark the "
        "partition that is optimal on these costs. The grey band, .75 to 1.33, has "
        f"{calibrated.close} of {calibrated.models} on calibrated costs, and {roofline.close} on "
        "the roofline."
    )


def draw_excess() -> Figure:
    """Draw how far partitions are above the optimum at measured times, by what is known."""
    made, axes = figure(3.6)
    shown = excesses()
    colours = (BLUE, SKY, GREEN, YELLOW)
    for at, ((name, values), colour) in enumerate(zip(shown.items(), colours, strict=True)):
        places = np.arange(len(values)) + 0.21 * (at - 1.5)
        bars = axes.barh(places, values, 0.2, color=colour, label=name)
        labels = [gap_percent(value / 100, digits=int(value < 10)) for value in values]
        axes.bar_label(bars, labels, padding=2)
    axes.set_yticks(range(len(EXCESS_STAGES)), [f"{k} stages" for k in EXCESS_STAGES])
    axes.invert_yaxis()
    axes.set_xlabel("above the optimum (%)")
    axes.grid(visible=False)
    bare(axes)
    legend(made, axes, 2)
    return made


EXCESS_STAGES = (2, 4, 8)


def excesses() -> Mapping[str, list[float]]:
    """Return geometric means in percent, by costs and after rounds of tuning."""
    found = {
        costs: [100 * one.excess for one in true_costs.summary() if one.costs == costs]
        for costs in ("roofline", "calibrated")
    }
    tuned = tuning.stored()
    tuned = tuned[(tuned["start"] == "calibrated") & (tuned["noise"] == 0)]
    for rounds in (1, 2):
        means = (1 + tuned.set_index("k")[f"round {rounds}"] / 100).groupby(level=0)
        found[f"tuned, {rounds} round{'s' * (rounds > 1)}"] = [
            100 * (geometric_mean(means.get_group(k)) - 1) for k in EXCESS_STAGES
        ]
    return found


def excess_caption() -> str:
    """Return what a bar is."""
    models = true_costs.summary()[0].models
    return (
        f"How far partitions are above the certified optimum at measured times: geometric means "
        f"over {models} models on an H100. Partitions are optimal on the roofline, on calibrated "
        "costs, or on these after one and two rounds of [tuning](#tuning-on-the-machine), in "
        "simulation without noise."
    )


def save(name: str, made: Figure) -> None:
    """Write a picture, without what differs from run to run."""
    buffer = io.StringIO()
    made.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
    text = page_svg(buffer.getvalue(), f"picture-{name}")
    head, tag, rest = text.partition(">")
    (FOLDER / f"{name}.svg").write_text(f"{head}{tag}{THEME}{rest}\n")


def main() -> None:
    """Draw the pictures that are named, or all."""
    FOLDER.mkdir(exist_ok=True)
    with settings():
        import matplotlib as mpl

        mpl.rcParams |= {"font.size": TEXT, "axes.titlesize": TEXT}
        for name in sys.argv[1:] or PICTURES:
            save(name, PICTURES[name].draw())


def _of(problem: str, text: str) -> Callable[[], str]:
    """Return a function that returns a caption with the instance and what is proven of it."""

    def caption() -> str:
        entry = known(problem).entry
        return f"{text} {entry.label}: {entry.objective:,}, {proof(entry)}."

    return caption


PICTURES: Mapping[str, Picture] = {
    "pipeline": Picture(
        draw_pipeline, "A graph cut into four stages, and a bar for what each stage takes",
        _of("pipeline", "Above, a mark is an operator, left of those that read it, in the colour "
            "of its stage. Below, a bar is a stage: its operators, and the tensors that it "
            "receives and sends; no partition has a slowest stage left of the bound. In "
            "nanoseconds, of one input,"),
    ),
    "placement": Picture(
        draw_placement, "A row for each device with the operators that it runs",
        _of("placement", "A row is a device in use: operators that it runs, and below them the "
            "tensors that it sends and receives. No placement ends left of the bound. Makespan "
            "in nanoseconds,"),
    ),
    "microbatch": Picture(
        draw_microbatch, "A row for each device with the blocks of micro-batches over time",
        _of("microbatch", "A row is a device, a box a block with the number of its micro-batch; "
            "blank is the bubble. Between the red lines is one period, which repeats. Period in "
            "durations of a forward block,"),
    ),
    "ordering": Picture(
        draw_ordering, "Memory from operator to operator, in two orders",
        _of("ordering", "Memory while each operator runs, in the model's own order and in the best "
            "one, until both take the same; no order has a peak below the bound. Peak in bytes,"),
    ),
    "slicing": Picture(
        draw_slicing, "Parts of each operator by device, and the time of each device",
        _of("slicing", "Above, a column is an operator, divided between four devices. Below, a bar "
            "is a device: how long it computes and communicates. No plan ends left of the bound. "
            "Latency in nanoseconds,"),
    ),
    "layers": Picture(
        draw_layers, "Layers, time and memory of each card",
        _of("layers", "A row is a card in the order in which data passes them: its layers "
            "(embedding and output count as one each), its time for a pass with the certified "
            "bound, and how full its memory is. Slowest card in nanoseconds,"),
    ),
    "demo": Picture(draw_demo, "Gaps of the demo's solutions, by problem", demo_caption),
    "tools": Picture(draw_tools, "Mean gaps of seven ways to partition", tool_caption),
    "zoo": Picture(draw_zoo, "Gaps of 70 models in four numbers of stages", zoo_caption),
    "ratios": Picture(draw_ratios, "Bounds over best costs by number of stages", ratio_caption),
    "figure-10": Picture(draw_figure_10, "Speedups of eleven models", figure_10_caption),
    "operator-times": Picture(
        draw_operator_times, "Times of operators of four models on four devices",
        operator_time_caption,
    ),
    "bandwidths": Picture(
        draw_bandwidths, "Bandwidths between the devices of two clusters", bandwidth_caption
    ),
    "default-gaps": Picture(draw_defaults, "Gaps of tools' default splits", default_caption),
    "predictions": Picture(draw_predictions, "Predicted over measured times", prediction_caption),
    "excess": Picture(draw_excess, "Excess by costs and number of stages", excess_caption),
}  # fmt: skip


def filling(*names: str, up: str = "") -> Filling:
    """Return the pictures of a page with their captions."""
    return Filling(
        {
            f"picture {name}": f"![{PICTURES[name].words}]({up}pictures/{name}.svg)\n\n"
            f"*{PICTURES[name].caption()}*"
            for name in names
        }
    )


PAGES: Mapping[str, Callable[[], Filling]] = {
    **{f"docs/problems/{problem}.md": partial(filling, problem, up="../") for problem in SHOWN},
    "README.md": partial(filling, "demo", up="docs/"),
    "docs/index.md": partial(filling, "demo", "tools", "zoo", "ratios", "figure-10"),
    "docs/how-far-from-optimal.md": partial(filling, "ratios", "zoo", "default-gaps", "tools"),
    "docs/results-moirai.md": partial(filling, "figure-10", "operator-times", "bandwidths"),
    "docs/true-costs.md": partial(filling, "excess", "predictions"),
}

if __name__ == "__main__":
    main()
