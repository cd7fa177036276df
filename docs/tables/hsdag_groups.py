"""Draw docs/hsdag-groups.svg: HSDAG's groups before and after pooling, as Figure 2 of its paper.

`python docs/tables/hsdag_groups.py` draws it from docs/tables/hsdag/groups.json. With `train`, it
first trains `hsdag` on logarithms of shapes for that, and with `readings SEED...`, it trains
`hsdag` on the three models by each reading of the paper's text, and adds rows to
docs/tables/hsdag/readings.csv: how many groups there are, and what the best placement takes.
Training needs the extra `learned`.
"""

import json
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

import matplotlib as mpl
import matplotlib.colors
import numpy as np
import pandas as pd
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from boundmark.benchmarks.running.environment import describe_environment
from boundmark.benchmarks.solving.model import named_instance
from boundmark.heuristics.placement.learned.hsdag import HsdagSettings, Parse
from boundmark.heuristics.placement.learned.methods import Evaluations, prepare_jax
from boundmark.problems.arrays import IntArray
from boundmark.problems.catalog import methods
from boundmark.problems.dag import Dag
from boundmark.problems.method import Budget

mpl.use("svg")

DOCS = Path(__file__).resolve().parents[1]
DATA = DOCS / "tables" / "hsdag" / "groups.json"
FIGURE = DOCS / "hsdag-groups.svg"
ROWS = DATA.with_name("readings.csv")

MODELS = {"inception-v3": "Inception-v3", "resnet-50": "ResNet-50", "bert-base": "BERT base"}
CLUSTER = "hsdag-two-devices"
COLOURS = ("#9aa0a6", "#1a73e8")


class Ignored:
    """Takes what a method reports."""

    def solution(self, value: Any) -> None:
        """Take a placement."""

    def bound(self, value: Any) -> None:
        """Take a bound; learned methods report none."""


def instance_of(model: str) -> Any:
    """Return the instance of `paper-hsdag/small` of a model."""
    return named_instance(f"zoo/{model}", {"features": "operators"}, "placement", CLUSTER).instance


def groups_of(model: str, seed: int = 1) -> dict[str, Any]:
    """Train `hsdag` on logarithms of shapes, and return the groups that its policy forms then.

    On raw shapes, all sets end in a single group, which is no drawing.

    Returns
    -------
    dict[str, Any]
        `operators` of each co-location set, `edges` between sets, how many different `scores` these
        edges have, `group` of each set, and the likeliest `device` of each set.
    """
    prepare_jax(1)
    from boundmark.heuristics.placement.learned import hsdag_training as training

    learn, instance = methods("placement")["hsdag"], instance_of(model)
    with tempfile.TemporaryDirectory() as folder:
        file = str(Path(folder) / "policy.npz")
        params = {**learn.params, "raw_shapes": False, "save": file}
        learn.run(instance, Budget(3600), seed, Ignored(), **params)  # type: ignore[call-arg]
        settings = replace(HsdagSettings.of(params), load=file, save="", train=False)
        agent = training.Agent(instance, settings, np.random.default_rng(seed))
    parameters = agent.parameters
    state = training.transform(parameters, agent.graph)
    _, scores = training.observe(parameters, agent.graph, state)
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


@dataclass(frozen=True)
class Reading:
    """A reading of what [HSDAG24] says of scores and groups.

    Attributes
    ----------
    logarithms
        Whether the logarithms of output shapes are features, or the shapes as they are. The paper
        does not say how features are scaled.
    before_sigmoid
        Whether the largest score is looked for before the sigmoid of Equation 7 or after it: the
        same for exact numbers, and not for rounded ones.
    to_consumers
        Whether a node keeps its best edge to a consumer, as Equation 9 says with the scores of
        Equation 7, which are 0 for edges to producers; or its best edge in either direction, as
        the sentence above it says ("among all edges connected to that node").
    """

    logarithms: bool = False
    before_sigmoid: bool = False
    to_consumers: bool = False


READINGS = {
    "`hsdag`": Reading(),
    "logarithms of shapes": Reading(logarithms=True),
    "compared before the sigmoid": Reading(before_sigmoid=True),
    "edges to consumers only": Reading(to_consumers=True),
}


def parse_to_consumers(nodes: int, edges: IntArray, scores: Any) -> Parse:
    """Return the groups if each node keeps its best edge to a consumer."""
    order = np.argsort(-np.asarray(scores), kind="stable")
    sources, first = np.unique(edges[order, 0], return_index=True)
    kept = np.full(nodes, -1, dtype=np.int64)
    kept[sources] = order[first]
    ends = edges[kept[sources]]
    graph = csr_array((np.ones(len(ends)), (ends[:, 0], ends[:, 1])), shape=(nodes, nodes))
    return Parse(connected_components(graph, directed=False)[1].astype(np.int64), kept)


@contextmanager
def as_read(reading: Reading) -> Iterator[None]:
    """Let HSDAG's training follow a reading of scores and edges."""
    import jax

    from boundmark.heuristics.placement.learned import hsdag_training as training

    def observe(parameters: Any, graph: Any, state: Any) -> Any:
        rows, _ = training.observed(parameters, graph, state)
        return rows, training.affinities(parameters, graph, rows)[:, 0]

    def judge(parameters: Any, graph: Any, rows: Any, scores: Any, *groups: Any) -> Any:
        return training.judged(parameters, graph, rows, jax.nn.sigmoid(scores), *groups)

    with ExitStack() as changed:
        if reading.before_sigmoid:
            changed.enter_context(patch.object(training, "observe", jax.jit(observe)))
            changed.enter_context(patch.object(training, "judge", jax.jit(judge)))
        if reading.to_consumers:
            changed.enter_context(patch.object(training, "parse", parse_to_consumers))
        yield


# Of the placements at the end of training, whose groups are counted.
LAST = 100


def trained(label: str, model: str, seed: int, evaluations: int = 2000) -> dict[str, Any]:
    """Train `hsdag` by a reading, and return how many groups there are and what was found.

    Returns
    -------
    dict[str, Any]
        Before and after training, and of all edges between the `sets`: how many different numbers
        scores are (`scores_before`, `scores`), and how many `groups` follow; `groups_drawn`, the
        mean of the last 100 placements, of which each leaves out a fifth of the edges; `makespan`.
    """
    prepare_jax(1)
    from boundmark.heuristics.placement.learned import hsdag_training as training

    reading, instance = READINGS[label], instance_of(model)
    given = methods("placement")["hsdag"].params
    settings = HsdagSettings.of(
        {**given, "raw_shapes": not reading.logarithms, "evaluations": evaluations}
    )
    drawn: list[int] = []

    class Counted(training.Agent):
        def parsed(self, scores: Any, *, explores: bool = True) -> Parse:
            found = super().parsed(scores, explores=explores)
            drawn.append(found.groups)
            return found

    counted = Evaluations(instance, Budget(3600), Ignored(), evaluations)
    agent = Counted(instance, settings, np.random.default_rng(seed))

    def state() -> tuple[int, int]:
        found = training.transform(agent.parameters, agent.graph)
        _, scores = training.observe(agent.parameters, agent.graph, found)
        groups = agent.parsed(scores, explores=False).groups
        drawn.pop()
        return len(np.unique(np.asarray(scores)[: len(agent.edges)])), groups

    with as_read(reading):
        before = state()
        training.train_as_printed(agent, counted)
        after = state()
    return {
        "reading": label, "model": model, "seed": seed, "evaluations": evaluations,
        "sets": agent.sets.nodes, "edges": len(agent.edges), "scores_before": before[0],
        "groups_before": before[1], "scores": after[0], "groups": after[1],
        "groups_drawn": round(float(np.mean(drawn[-LAST:])), 2), "makespan": counted.best.cost,
    }  # fmt: skip


def add_readings(seeds: Iterable[int]) -> None:
    """Train by each reading on each model, and add a row for each.

    Raises
    ------
    ValueError
        If the code is that of no commit, so that nobody can run it again.
    """
    record = describe_environment()
    if record["dirty"] or not record["commit"]:
        raise ValueError("the code is that of no commit; commit it before it is measured.")
    for seed in seeds:
        for model in MODELS:
            for label in READINGS:
                row = pd.DataFrame(
                    [{**trained(label, model, seed), "commit": record["commit"][:10]}]
                )
                row.to_csv(ROWS, mode="a", header=not ROWS.exists(), index=False)


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
    if sys.argv[1:2] == ["readings"]:
        add_readings(map(int, sys.argv[2:]))
    elif sys.argv[1:2] == ["train"]:
        DATA.write_text(json.dumps({model: groups_of(model) for model in MODELS}) + "\n")
    draw(json.loads(DATA.read_text()))
