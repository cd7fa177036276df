"""Fill pages from the tables in `docs/tables/gaps`, which `gap_rows.py` makes; see `page.py`."""

import math
import re
from collections.abc import Callable, Mapping, Sequence

import pandas as pd
from page import TABLES, Filling, markdown, word
from papers import TABLE_3

from boundmark.bounds.placement.series.chain import WELL_SEARCHED
from boundmark.problems.catalog import methods
from boundmark.reports.statistics import geometric_mean
from boundmark.reports.text import OPTIMAL, gap_percent


def read(name: str) -> pd.DataFrame:
    """Return a table whose cells are texts."""
    found = pd.read_csv(TABLES / "gaps" / f"{name}.csv", dtype=str, keep_default_na=False)
    # Columns of one name get numbers from pandas.
    return found.rename(columns=lambda head: re.sub(r"[.]\d+$", "", head))


TOOLS = {
    "vllm-even": "vLLM",
    "accelerate-balanced": "accelerate auto",
    "accelerate-low-0": "accelerate low-0",
    "accelerate-sequential": "accelerate sequential",
    "llama-cpp-memory": "llama.cpp",
    "megatron-uniform": "Megatron",
    "megatron-outer": "Megatron, outer",
    "deepspeed-uniform": "DeepSpeed uniform",
    "deepspeed-parameters": "DeepSpeed",
    "torchtitan-weighted": "torchtitan",
}


def rule_list() -> str:
    """Return a line for each tool whose defaults a table has: how it splits layers."""
    known = methods("layers")
    return "\n".join(f"- *{tool}*: {known[name].summary}" for name, tool in TOOLS.items())


def whole(name: str, text_columns: int) -> str:
    """Return a table as it was printed."""
    table = read(name)
    return markdown(list(table.columns), table.to_numpy().tolist(), text_columns)


def overview() -> dict[str, tuple[str, str]]:
    """Return for each kind of instance how many there are, and what is proven of them."""
    zoo, cells = read("zoo"), read("zoo").filter(like="k = ")
    random = len(read("random-graphs")) + len(read("plain-graphs"))
    *_, (_, pairs, optimal, mean, _) = placement_rows(read("placements"))
    layers = [read("defaults-serving"), read("defaults-training")]
    instances = sum(map(len, layers))
    unproven = sum(int(one["devices"].str.contains("bound").sum()) for one in layers)
    tools, experts = read("tools-partitions"), read("experts")
    split = [gap_of(cell) for cell in tools["equal work"]]
    improved = [gap_of(cell) for cell in tools.iloc[:, -3:-1].to_numpy().ravel()]
    above = [gap_of(cell) for cell in experts["above"].to_numpy().ravel()]
    return {
        "pipeline partitions of models": (
            f"{len(zoo)} graphs of the [zoo](datasets.md#zoo)",
            f"{int((cells == OPTIMAL).to_numpy().sum())} of {cells.size} proven optimal",
        ),
        "pipeline partitions of random graphs": (
            f"{random} graphs",
            f"weighted ones within {weighted()} in the mean for k = 4 to 32",
        ),
        "placements": (
            f"{pairs} pairs of a model and a cluster",
            f"{optimal} proven optimal, within {mean} in the mean",
        ),
        "layers of language models": (
            f"{instances} instances",
            f"{instances - unproven} proven optimal; defaults of tools take up to "
            f"{slowest_default():.1f} times as long",
        ),
        "what tools do today": (
            f"{len(tools)} partitions",
            f"stages of equal work up to {max(split):.0f} % above the optimum; METIS or "
            f"Mt-KaHyPar, repaired and improved, {max(improved):.1f} % at most",
        ),
        "splits by human experts": (
            f"{experts['model'].nunique()} models, two phases",
            f"{min(above):.0f} to {max(above):.0f} % above certified optima",
        ),
    }


def weighted() -> str:
    """Return the range of mean gaps of weighted random graphs."""
    means = read("random-methods").set_index("method").loc["`certify`"]
    gaps = [100 * (1 / float(means[f"k = {k}"]) - 1) for k in (4, 8, 16, 32)]
    return f"{min(gaps):.1f} to {max(gaps):.1f} %"


def slowest_default() -> float:
    """Return how many times as long as the optimum a tool's default takes at most."""
    return 1 + max(gap_of(cell) for cell in read("defaults-by-tool")["largest gap"] if cell) / 100


def random_graph_table(
    methods: pd.DataFrame, graphs: pd.DataFrame, printed: Sequence[float] = ()
) -> str:
    """Return the means of each method, and how many graphs are solved."""
    stages = [column for column in methods.columns if column.startswith("k = ")]
    solved = [str(int((graphs[k] == OPTIMAL).sum())) for k in stages]
    rows = [*methods.to_numpy().tolist()[:-1], ["proven optimal", "", *solved]]
    if printed:
        rows.insert(0, ["exact, an hour", "[MTPP24]", *(f"{value:.4f}" for value in printed)])
    rows.append(methods.to_numpy().tolist()[-1])
    return markdown(list(methods.columns), rows, 2)


def zoo_table(cells: pd.DataFrame) -> str:
    """Return the graphs that are not solved for all numbers of stages, and how many others are."""
    stages = [column for column in cells.columns if column.startswith("k = ")]
    is_solved = (cells[stages] == OPTIMAL).all(axis="columns")
    rows = cells[~is_solved].to_numpy().tolist()
    rows.append([f"{is_solved.sum()} others", "", *[OPTIMAL] * len(stages)])
    proven = [f"{(cells[k] == OPTIMAL).sum()} of {len(cells)}" for k in stages]
    return markdown(list(cells.columns), [*rows, ["proven optimal", "", *proven]])


def placement_table(cells: pd.DataFrame) -> str:
    """Return mean and largest gaps of all placements, and by how their models fall into modules."""
    head = ["", "instances", "proven optimal", "mean gap", "largest"]
    return markdown(head, placement_rows(cells))


def placement_rows(cells: pd.DataFrame) -> list[list[str]]:
    """Return the lines of that table; the last one has all placements."""
    ratio = _numbers(cells["makespan"]) / _numbers(cells["LB"])
    is_small = (_numbers(cells["largest"]) <= WELL_SEARCHED) & (_numbers(cells["outside"]) == 0)
    rows = []
    for title, own in (
        (f"models that fall into modules of at most {WELL_SEARCHED} operators", ratio[is_small]),
        ("others", ratio[~is_small]),
        ("all", ratio),
    ):
        mean, most = geometric_mean(own) - 1, own.max() - 1
        rows.append(
            [
                title, str(len(own)), str(int((own == 1).sum())), gap_percent(mean, " %", 2),
                gap_percent(most, " %", 2),
            ]
        )  # fmt: skip
    return rows


def measured_table(cells: pd.DataFrame) -> str:
    """Return ranges of gaps on measured times, by phase."""
    columns = ["vLLM, measured", "vLLM, roofline", "the roofline's optimum"]
    rows = []
    for phase, part in cells.groupby("phase", sort=True):
        shown = [_range([gap_of(cell) for cell in part[column]]) for column in columns]
        rows.append([str(phase), str(len(part)), *shown])
    return markdown(["phase", "instances", *columns], rows)


def tool_rows(cells: pd.DataFrame) -> list[list[str]]:
    """Return for each tool how many of its partitions are optimal, and mean and largest gaps."""
    rows = []
    for tool in cells.columns[4:]:
        row = [tool]
        for costs in ("roofline", "measured"):
            own = cells.loc[(cells["costs"] == costs) & (cells[tool] != "none"), tool]
            gaps = own.map(gap_of)
            if gaps.empty:
                row += ["", "", ""]
                continue
            shown = geometric_mean(1 + gaps / 100) - 1, gaps.max() / 100
            row.append(f"{(gaps == 0).sum()} of {len(gaps)}")
            row += [gap_percent(one, " %") for one in shown]
        rows.append(row)
    return rows


TOOL_HEAD = (
    "partition", "roofline: optimal", "geometric mean gap", "largest", "measured: optimal",
    "geometric mean gap", "largest",
)  # fmt: skip

# Partitions that the readme leaves out.
LEFT_OUT = (
    "Mt-KaHyPar, repaired only",
    "Mt-KaHyPar, with our cuts",
    "METIS, with our cuts",
    "`memetic`",
)


def used_today() -> list[list[str]]:
    """Return the rows of what most people use."""
    return [row for row in tool_rows(read("tools-partitions")) if row[0] not in LEFT_OUT]


def short_tools() -> dict[str, str]:
    """Return mean gaps of what most people use, by the name of the part."""
    rows = [[row[0], row[2], row[5]] for row in used_today()]
    heads = [
        "what you use today", "geometric mean gap on the roofline", "at times measured on an H100",
    ]  # fmt: skip
    return {"tools": markdown(heads, rows)}


def schedule_table(cells: pd.DataFrame) -> str:
    """Return the range of each schedule's gaps, by the ratio of backward to forward blocks."""
    rows = []
    for schedule, own in cells.groupby("schedule", sort=False):
        gaps = own["gap"].map(gap_of).groupby(own["F : B"])
        ranges = [_range(part.tolist()) for _, part in sorted(gaps)]
        rows.append([str(schedule), own["layout"].iloc[0], *ranges])
    return markdown(["schedule", "layout", "backward twice as long", "three times"], rows, 2)


def gap_of(cell: str) -> float:
    """Return a gap in percent."""
    return 0.0 if cell == OPTIMAL else float(cell.removeprefix("< ").removesuffix(" %"))


def _range(values: list[float]) -> str:
    least, most = (gap_percent(value / 100, " %") for value in (min(values), max(values)))
    return most if least == most else f"{least.removesuffix(' %')} to {most}"


def _numbers(cells: "pd.Series[str]") -> "pd.Series[float]":
    return cells.str.replace(",", "").replace("", math.nan).astype("float64")


def how_far() -> Filling:
    """Return all tables of the page, and what its sentences say of them."""
    cells, tools = read("measured"), read("tools-partitions")
    above = cells["the roofline's optimum"].map(gap_of).groupby(cells["phase"]).max()
    placements = read("placements")
    gaps = placements["gap"].map(gap_of)
    serving = read("defaults-serving")
    two = serving[serving["devices"].str.contains(",")]
    fits = int((two["vLLM"] != "none").sum())
    wide = [f"{gap:.1f} %" for gap in sorted(gaps[gaps > 3], reverse=True)]
    return Filling(
        {
            "overview": markdown(
                ["problem", "instances", "result"],
                [[name, *line] for name, line in overview().items()], 3,
            ),
            "weighted graphs": random_graph_table(
                read("random-methods"), read("random-graphs"), TABLE_3["exact"]
            ),
            "plain graphs": random_graph_table(read("plain-methods"), read("plain-graphs")),
            "held-out": whole("held-out", 1),
            "zoo": zoo_table(read("zoo")),
            "nasnet": whole("nasnet", 1),
            "placements": placement_table(placements),
            "defaults": whole("defaults-by-tool", 1),
            "hosts": whole("tools-hosts", 2),
            "rules": rule_list(),
            "measured": measured_table(cells),
            "tools' partitions": markdown(TOOL_HEAD, tool_rows(tools)),
            "tools' schedules": schedule_table(read("tools-schedules")),
            "experts": whole("experts", 2),
        },
        [
            f"within {above['prefill']:.0f} % of the optimum for prompts, but up to "
            f"{above['decode']:.0f} % above it in decoding",
            f"vLLM's even split fits on {fits} of these {len(two)} instances",
            f"({wide[0][:-2]} and {wide[1]}: one module of 2,994 operators), mixtral-8x7b "
            f"({wide[2]}), clip-vit-b-32 on intra-server ({wide[3]}) and inception-v3 on "
            f"inter-server ({wide[4]}).",
        ],
    )  # fmt: skip


def _proven() -> str:
    return overview()["pipeline partitions of models"][1].removesuffix(" proven optimal")


def readme() -> Filling:
    """Return the headline results."""
    pairs, within = overview()["placements"]
    mean = float(within.partition("within ")[2].partition(" ")[0])
    return Filling(
        short_tools(),
        [
            f"[{_proven()} cells of the zoo](docs/how",
            f"weighted random graphs are within {weighted()} of the optimum in the mean",
            f"[{pairs}](docs/how-far-from-optimal.md#placements) are within {mean:.1f} % in the",
            f"defaults are up to {word(int(slowest_default()))} times slower",
        ],
    )


def first_page() -> Filling:
    """Return the results on its cards."""
    instances, layers = overview()["layers of language models"]
    proven, _, slower = layers.partition(" proven optimal; ")
    return Filling(
        {},
        [
            f"card result {_proven()} cases",
            f"{proven} of {instances.partition(' ')[0]} splits of a language model",
            f"are proven optimal; {slower}",
        ],
    )


def pipeline_page() -> Filling:
    """Return what is proven of models and of random graphs."""
    return Filling(
        {},
        [
            f"- {_proven()} cells of the zoo",
            f"Weighted random graphs are within {weighted()} in the mean for k = 4 to 32",
        ],
    )


def placement_page() -> Filling:
    """Return optima and mean gaps, of all and of those with small modules."""
    small, _, (_, pairs, optimal, mean, _) = placement_rows(read("placements"))
    return Filling(
        {},
        [
            f"- {pairs} pairs of a model and a cluster, one minute per method: {optimal} are "
            f"proven optimal, and the mean gap is {mean}. It is {small[3]} for the {small[1]} "
            "whose modules",
        ],
    )


def layer_page() -> Filling:
    """Return what vLLM's even splits cost."""
    row = read("defaults-by-tool").set_index("tool").loc["vLLM"]
    return Filling(
        {},
        [
            f"vLLM's even splits are {row['median gap']} above them in the median and "
            f"{row['largest gap']} at most"
        ],
    )


PAGES: Mapping[str, Callable[[], Filling]] = {
    "docs/how-far-from-optimal.md": how_far,
    "README.md": readme,
    "docs/index.md": first_page,
    "docs/problems/pipeline.md": pipeline_page,
    "docs/problems/placement.md": placement_page,
    "docs/problems/layers.md": layer_page,
}
