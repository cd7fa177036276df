"""Print gaps of default splits: `python docs/tables/default_gaps.py RESULTS [PICTURE]`.

`docs/tables/gaps.py` makes a page of what it prints.

For each model, workload and cluster of a results folder of suite `defaults`, how far above the
certified optimum each tool's default split is. With a second argument, also draw them.
"""

import json
import sys
from pathlib import Path

import pandas as pd
from results_page import markdown
from runs import results_in

EXACT = "layer-reach"

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

NO_SPLIT = "none"


def gaps(rows: pd.DataFrame) -> pd.DataFrame:
    """Return a row for each instance and tool: what its split costs above the optimum, in percent.

    The gap is missing where the tool has no split that fits, and infinite where no optimum is
    certified.
    """
    found = []
    for sha256, group in rows.groupby("instance_sha256", sort=False):
        given = json.loads(group["instance_params"].iloc[0])
        bound, best = group["bound_certified"].max(), group["objective"].min()
        for _, row in group[group["method"] != EXACT].iterrows():
            cost = row["objective"]
            found.append(
                {
                    "instance_sha256": sha256,
                    "model": row["instance"],
                    "devices": given["devices"],
                    "phase": given["phase"],
                    "tool": row["method"],
                    "is_proven": bool(bound == best),
                    "gap": None if pd.isna(cost) else 100.0 * (cost / bound - 1),
                    "why": row["status_detail"],
                }
            )
    data = pd.DataFrame(found)
    return data.sort_values(["model", "devices", "phase", "tool"], kind="stable")


def table(data: pd.DataFrame, phases: tuple[str, ...]) -> str:
    """Return a Markdown table with a line for each instance of some phases, a column per tool."""
    data = data[data["phase"].isin(phases)]
    tools = [tool for tool in TOOLS if tool in set(data["tool"])]
    lines = []
    for (model, devices, phase), group in data.groupby(["model", "devices", "phase"], sort=False):
        by_tool = group.set_index("tool")["gap"]
        cells = [_cell(by_tool.get(tool)) for tool in tools]
        mark = "" if group["is_proven"].all() else " (bound)"
        lines.append([model, f"{devices}{mark}", phase, *cells])
    return markdown(["model", "devices", "phase", *(TOOLS[tool] for tool in tools)], lines, 3)


def summary(data: pd.DataFrame) -> str:
    """Return a Markdown table with a line for each tool: how often it fits, and its gaps."""
    lines = []
    for tool in [tool for tool in TOOLS if tool in set(data["tool"])]:
        own = data[data["tool"] == tool]
        gap = own["gap"].dropna().astype("float64")
        optimal = int((gap == 0).sum())
        middle, largest = (f"{gap.median():.1f} %", f"{gap.max():.1f} %") if len(gap) else ("", "")
        sizes = map(str, (len(own), len(gap), optimal))
        lines.append([TOOLS[tool], *sizes, middle, largest])
    head = ["tool", "instances", "splits that fit", "optimal", "median gap", "largest gap"]
    return markdown(head, lines)


def _cell(gap: float | None) -> str:
    if gap is None or pd.isna(gap):
        return NO_SPLIT
    if gap == 0:
        return "optimal"
    return "< 0.1 %" if gap < 0.1 else f"{gap:.1f} %"


def draw(data: pd.DataFrame, path: Path) -> None:
    """Draw a point for each instance, in a row for each tool; those without split at the right."""
    import matplotlib as mpl

    mpl.use("svg")
    import matplotlib.pyplot as plt

    mpl.rcParams |= {"svg.hashsalt": "boundmark", "svg.fonttype": "none"}
    tools = [tool for tool in TOOLS if tool in set(data["tool"])]
    largest = float(data["gap"].astype("float64").max())
    figure, axes = plt.subplots(figsize=(8, 0.45 * len(tools) + 1.2))
    colours = {"prefill": "#3b6ea5", "decode": "#c8553d", "training": "#5b8c5a"}
    place = {tool: at for at, tool in enumerate(tools)}
    number = data.groupby("tool").cumcount()
    count = data.groupby("tool")["tool"].transform("size")
    points = data.assign(
        y=data["tool"].map(place) + (number / (count - 1).clip(lower=1) - 0.5) * 0.6,
        x=data["gap"].astype("float64").fillna(1.12 * largest),
    )
    for phase, colour in colours.items():
        own = points[points["phase"] == phase]
        for fits, marker in ((own["gap"].notna(), "o"), (own["gap"].isna(), "x")):
            axes.scatter(
                own["x"][fits], own["y"][fits], 14, colour, marker=marker, alpha=0.8,
                linewidths=0.8, label=phase if marker == "o" else None,
            )  # fmt: skip
    axes.set_yticks(range(len(tools)), [TOOLS[tool] for tool in tools])
    axes.invert_yaxis()
    axes.set_xlabel("above the certified optimum (%); crosses: no split that fits")
    axes.axvline(largest * 1.06, color="0.8", linewidth=0.8)
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, 1.16), ncols=3, frameon=False)
    axes.spines[["top", "right"]].set_visible(False)
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})


def main() -> None:
    """Print the tables, and draw."""
    data = gaps(results_in(sys.argv[1]))
    print(summary(data), table(data, ("prefill", "decode")), table(data, ("training",)), sep="\n\n")
    if len(sys.argv) > 2:
        draw(data, Path(sys.argv[2]))


if __name__ == "__main__":
    main()
