"""Make docs/how-far-from-optimal.md from the tables in `docs/tables/gaps`.

`python docs/tables/gaps.py` makes the page's tables anew. `python docs/tables/gaps.py save NAME...`
reads what `default_gaps.py`, `zoo_gaps.py`, `random_graphs.py`, `placement_gaps.py`,
`measured_gaps.py`, `todays_tools.py` or `human_experts.py` prints, and keeps its tables as CSV
under these names, in their order; `-` leaves one out.
"""

import math
import sys
from collections.abc import Sequence

import pandas as pd
from mtpp import TABLE_3
from results_page import DOCS, make_page, markdown

from boundmark.reports.statistics import geometric_mean

DATA = DOCS / "tables" / "gaps"
PAGE = DOCS / "how-far-from-optimal.md"

OPTIMAL = "optimal"

# The largest module that searches mostly master; see `placement_gaps.py`.
SMALL_MODULE = 40


def tables_of(printed: str) -> list[pd.DataFrame]:
    """Return the Markdown tables of a text, cells as they are printed."""
    found: list[list[list[str]]] = []
    is_inside = False
    for line in printed.splitlines():
        if not line.startswith("|"):
            is_inside = False
            continue
        if not is_inside:
            found.append([])
        is_inside = True
        found[-1].append([cell.strip() for cell in line.strip().strip("|").split("|")])
    return [pd.DataFrame(rows, columns=head) for head, _, *rows in found]


def save(names: list[str], printed: str) -> None:
    """Write the tables of a text as CSV, each under its name."""
    found = tables_of(printed)
    if len(found) != len(names):
        raise ValueError(f"The text has {len(found)} tables; expected {len(names)}, one a name.")
    DATA.mkdir(exist_ok=True)
    for name, table in zip(names, found, strict=True):
        if name != "-":
            table.to_csv(DATA / f"{name}.csv", index=False)


def read(name: str) -> pd.DataFrame:
    """Return a table whose cells are texts."""
    found = pd.read_csv(DATA / f"{name}.csv", dtype=str, keep_default_na=False)
    # Columns of one name get numbers from pandas.
    return found.rename(columns=lambda head: head.partition(".")[0])


def whole(name: str, text_columns: int) -> str:
    """Return a table as it was printed."""
    table = read(name)
    return markdown(list(table.columns), table.to_numpy().tolist(), text_columns)


def overview() -> str:
    """Return a line for each kind of instance: how many there are, and what is proven of them."""
    zoo, placements = read("zoo"), read("placements")
    cells = zoo.loc[:, [column for column in zoo.columns if column.startswith("k = ")]]
    weighted = read("random-methods").set_index("method").loc["`certify`"]
    means = [1 / float(weighted[f"k = {k}"]) - 1 for k in (4, 8, 16, 32)]
    random = sum(int((read(f"{kind}-graphs")["n"] != "").sum()) for kind in ("random", "plain"))
    *_, (_, pairs, optimal, mean, _) = placement_rows(placements)
    layers = [read("defaults-serving"), read("defaults-training")]
    instances = sum(map(len, layers))
    unproven = sum(int(one["devices"].str.contains("bound").sum()) for one in layers)
    slower = [_percent(cell) for cell in read("defaults-by-tool")["largest gap"] if cell]
    tools = read("tools-partitions")
    split = [_gap(cell) for cell in tools["equal work"]]
    experts = read("experts")
    above = [_percent(cell) for cell in experts["above"].to_numpy().ravel()]
    rows = [
        [
            "pipeline partitions of models", f"{len(zoo)} graphs of the [zoo](datasets.md#zoo)",
            f"{int((cells == OPTIMAL).to_numpy().sum())} of {cells.size} proven optimal",
        ],
        [
            "pipeline partitions of random graphs", f"{random} graphs",
            f"weighted ones within {100 * min(means):.1f} to {100 * max(means):.1f} % in the mean "
            "for k = 4 to 32",
        ],
        [
            "placements", f"{pairs} pairs of a model and a cluster",
            f"{optimal} proven optimal, within {mean} in the mean",
        ],
        [
            "layers of language models", f"{instances} instances",
            f"{instances - unproven} proven optimal; defaults of tools take up to "
            f"{1 + max(slower) / 100:.1f} times as long",
        ],
        [
            "what tools do today", f"{len(tools)} partitions",
            f"stages of equal work up to {max(split):.0f} % above the optimum; METIS or "
            "Mt-KaHyPar, repaired and improved, "
            f"{max(_gap(c) for c in tools.iloc[:, -3:-1].to_numpy().ravel()):.1f} % at most",
        ],
        [
            "splits by human experts", f"{experts['model'].nunique()} models, two phases",
            f"{min(above):.0f} to {max(above):.0f} % above certified optima",
        ],
    ]  # fmt: skip
    return markdown(["problem", "instances", "result"], rows, 3)


def _percent(cell: str) -> float:
    return float(cell.removesuffix(" %"))


def random_graph_table(
    methods: pd.DataFrame, graphs: pd.DataFrame, printed: Sequence[float] = ()
) -> str:
    """Return the means of each method, and how many graphs are solved.

    Parameters
    ----------
    printed
        What [MTPP24] has, by number of stages.
    """
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
    is_small = (_numbers(cells["largest"]) <= SMALL_MODULE) & (_numbers(cells["outside"]) == 0)
    rows = []
    for title, own in (
        (f"models that fall into modules of at most {SMALL_MODULE} operators", ratio[is_small]),
        ("others", ratio[~is_small]),
        ("all", ratio),
    ):
        mean, most = geometric_mean(own) - 1, own.max() - 1
        rows.append(
            [title, str(len(own)), str(int((own == 1).sum())), f"{mean:.2%}", f"{most:.2%}"]
        )
    return _spaced(rows)


def measured_table(cells: pd.DataFrame) -> str:
    """Return ranges of gaps on measured times, by phase."""
    columns = ["vLLM, measured", "vLLM, roofline", "the roofline's optimum"]
    rows = []
    for phase, part in cells.groupby("phase", sort=True):
        shown = [_range([_percent(cell) for cell in part[column]]) for column in columns]
        rows.append([str(phase), str(len(part)), *shown])
    return markdown(["phase", "instances", *columns], rows)


def tool_table(cells: pd.DataFrame) -> str:
    """Return for each tool how many of its partitions are optimal, and mean and largest gaps."""
    rows = []
    for tool in cells.columns[4:]:
        row = [tool]
        for costs in ("roofline", "measured"):
            gaps = [
                _gap(cell) for cell in cells.loc[cells["costs"] == costs, tool] if cell != "none"
            ]
            optimal = f"{gaps.count(0)} of {len(gaps)}"
            mean = 100 * (geometric_mean([1 + gap / 100 for gap in gaps]) - 1) if gaps else 0
            row += [optimal, f"{mean:.1f} %", f"{max(gaps):.1f} %"] if gaps else ["", "", ""]
        rows.append(row)
    head = ["partition", "roofline: optimal", "mean gap", "largest", "measured: optimal"]
    return markdown([*head, "mean gap", "largest"], rows)


def schedule_table(cells: pd.DataFrame) -> str:
    """Return the range of each schedule's gaps, by the ratio of backward to forward blocks."""
    rows = []
    for schedule, own in cells.groupby("schedule", sort=False):
        gaps = own["gap"].map(_gap).groupby(own["F : B"])
        ranges = [_range(part.tolist()) for _, part in sorted(gaps)]
        rows.append([str(schedule), own["layout"].iloc[0], *ranges])
    return markdown(["schedule", "layout", "backward twice as long", "three times"], rows, 2)


def _gap(cell: str) -> float:
    return 0.0 if cell == OPTIMAL else _percent(cell.removeprefix("< "))


def _range(values: list[float]) -> str:
    return f"{min(values):.1f} to {max(values):.1f} %"


def _numbers(cells: "pd.Series[str]") -> "pd.Series[float]":
    return cells.str.replace(",", "").replace("", math.nan).astype("float64")


def _spaced(rows: list[list[str]]) -> list[list[str]]:
    return [[cell.replace("%", " %") for cell in row] for row in rows]


def parts() -> dict[str, str]:
    """Return each generated part of the page by the name in its marks."""
    return {
        "overview": overview(),
        "weighted graphs": random_graph_table(
            read("random-methods"), read("random-graphs"), TABLE_3["exact"]
        ),
        "plain graphs": random_graph_table(read("plain-methods"), read("plain-graphs")),
        "held-out": whole("held-out", 1),
        "zoo": zoo_table(read("zoo")),
        "nasnet": whole("nasnet", 1),
        "placements": placement_table(read("placements")),
        "defaults": whole("defaults-by-tool", 1),
        "measured": measured_table(read("measured")),
        "tools' partitions": tool_table(read("tools-partitions")),
        "tools' schedules": schedule_table(read("tools-schedules")),
        "experts": whole("experts", 2),
    }


if __name__ == "__main__":
    if sys.argv[1:2] == ["save"]:
        save(sys.argv[2:], sys.stdin.read())
    make_page(PAGE, parts)
