"""Draw docs/hsdag-groups.svg: HSDAG's groups before and after pooling, as Figure 2 of its paper.

`python docs/tables/hsdag_groups.py` draws it from docs/tables/hsdag/groups.json; with `train`, it
first trains both variants on the three models, which takes a minute or two and the extra `learned`.
"""

import json
import sys
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import matplotlib as mpl
import matplotlib.colors
import numpy as np

from boundmark.problems.dag import Dag

mpl.use("svg")

DOCS = Path(__file__).resolve().parents[1]
DATA = DOCS / "tables" / "hsdag" / "groups.json"
FIGURE = DOCS / "hsdag-groups.svg"

MODELS = {"inception-v3": "Inception-v3", "resnet-50": "ResNet-50", "bert-base": "BERT base"}
METHODS = ("hsdag", "hsdag-advantage")
# All groups of `hsdag` are one, which is no drawing.
DRAWN = "hsdag-advantage"
CLUSTER = "hsdag-two-devices"
COLOURS = ("#9aa0a6", "#1a73e8")


class Ignored:
    """Takes what a method reports."""

    def solution(self, value: Any) -> None:
        """Take a placement."""

    def bound(self, value: Any) -> None:
        """Take a bound; learned methods report none."""


def groups_of(method: str, model: str, seed: int = 1) -> dict[str, Any]:
    """Train a method with its defaults, and return the groups that its policy forms in the end.

    Returns
    -------
    dict[str, Any]
        `operators` of each co-location set, `edges` between sets, how many different `scores` these
        edges have, `group` of each set, and the likeliest `device` of each set.
    """
    from boundmark.benchmarks.model import named_instance
    from boundmark.heuristics.placement.learned import hsdag_policy as policy
    from boundmark.heuristics.placement.learned.hsdag import HsdagSettings
    from boundmark.heuristics.placement.learned.hsdag_training import Agent
    from boundmark.problems.catalog import methods
    from boundmark.problems.method import Budget

    learn = methods("placement")[method]
    instance: Any = named_instance(
        f"zoo/{model}", {"features": "operators"}, "placement", CLUSTER
    ).instance
    with tempfile.TemporaryDirectory() as folder:
        file = str(Path(folder) / "policy.npz")
        params = {**learn.params, "save": file}
        learn.run(instance, Budget(3600), seed, Ignored(), **params)  # type: ignore[call-arg]
        settings = replace(HsdagSettings.of(params), load=file, save="", train=False)
        agent = Agent(instance, settings, np.random.default_rng(seed))
    parameters = agent.parameters
    state = policy.transform(parameters, agent.graph)
    _, scores = policy.observe(parameters, agent.graph, state)
    parse = agent.parsed(scores, explores=False)
    first = np.unique(agent.sets.set_of, return_index=True)[1]
    return {
        "operators": agent.sets.sizes.tolist(),
        "edges": agent.edges.tolist(),
        "scores": len(np.unique(np.asarray(scores)[: len(agent.edges)])),
        "group": parse.group_of.tolist(),
        "device": np.asarray(agent.greedy())[first].tolist(),
        "devices": list(instance.graph.device_names),
    }


def layout(dag: Dag) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    """Return a place of each node: along the longest path to it, and beside others there."""
    depth = np.zeros(dag.nodes, dtype=np.int64)
    for node in dag.topological_order.tolist():
        for consumer in dag.consumers_of(node).tolist():
            depth[consumer] = max(depth[consumer], depth[node] + 1)
    places = np.zeros((dag.nodes, 2))
    for level in range(int(depth.max()) + 1):
        here = np.flatnonzero(depth == level)
        places[here, 0] = level
        places[here, 1] = np.arange(len(here)) - (len(here) - 1) / 2
    return places


def draw_edges(axes: Any, places: Any, edges: Iterable[Sequence[int]]) -> None:
    """Draw lines between places, all as one path with gaps: files stay small."""
    gap = np.full((1, 2), np.nan)
    pieces = [part for tail, head in edges for part in (places[[tail, head]], gap)]
    if pieces:
        axes.plot(*np.concatenate(pieces).T, color="#bbbbbb", linewidth=0.6, zorder=1)


def draw_nodes(axes: Any, places: Any, operators: Any, colours: Sequence[Any]) -> None:
    """Draw nodes, the larger the more operators they have; alike ones together, see above."""
    for colour, size in sorted({*zip(map(mpl.colors.to_hex, colours), operators, strict=True)}):
        here = [
            at for at, one in enumerate(colours)
            if mpl.colors.to_hex(one) == colour and operators[at] == size
        ]  # fmt: skip
        across = np.sqrt(8 + 4 * size)
        axes.plot(*places[here].T, "o", color=colour, markersize=across, mew=0, zorder=2)


def draw(found: dict[str, dict[str, Any]]) -> None:
    """Draw each model's sets, coloured by group, and below its groups, coloured by device."""
    from matplotlib import pyplot as plt
    from matplotlib.lines import Line2D

    mpl.rcParams["svg.hashsalt"] = "boundmark"
    figure, axes = plt.subplots(2 * len(found), 1, figsize=(9, 1.5 * 2 * len(found)))
    colours = plt.get_cmap("tab20").colors  # type: ignore[attr-defined]
    for at, (model, one) in enumerate(found.items()):
        sizes, group = np.array(one["operators"]), np.array(one["group"])
        edges = np.array(one["edges"]).reshape(-1, 2)
        places = layout(Dag.from_edges(len(sizes), edges))
        before, after = axes[2 * at], axes[2 * at + 1]
        draw_edges(before, places, edges.tolist())
        draw_nodes(before, places, sizes, [colours[g % len(colours)] for g in group])
        count = int(group.max()) + 1
        middle = np.array([places[group == g].mean(axis=0) for g in range(count)])
        weight = np.array([sizes[group == g].sum() for g in range(count)])
        device = [one["device"][int(np.flatnonzero(group == g)[0])] for g in range(count)]
        pooled = {(int(group[a]), int(group[b])) for a, b in edges.tolist() if group[a] != group[b]}
        draw_edges(after, middle, sorted(pooled))
        draw_nodes(after, middle, weight, [COLOURS[d] for d in device])
        title = MODELS[model]
        before.set_title(
            f"{title}: {sizes.sum()} operators in {len(sizes)} co-location sets, by group",
            fontsize=9, loc="left",
        )  # fmt: skip
        after.set_title(
            f"{title}: {count} {'group' if count == 1 else 'groups'}, by device",
            fontsize=9,
            loc="left",
        )
        marks = [
            Line2D([], [], marker="o", linestyle="", color=COLOURS[d], label=name)
            for d, name in enumerate(one["devices"])
        ]
        after.legend(handles=marks, fontsize=7, frameon=False, loc="upper right", ncols=2)
    for one_axes in axes:
        one_axes.axis("off")
        one_axes.margins(0.02, 0.2)
    figure.tight_layout()
    figure.savefig(FIGURE, metadata={"Date": None})


if __name__ == "__main__":
    if sys.argv[1:2] == ["train"]:
        trained = {
            method: {model: groups_of(method, model) for model in MODELS} for method in METHODS
        }
        DATA.write_text(json.dumps(trained) + "\n")
    draw(json.loads(DATA.read_text())[DRAWN])
