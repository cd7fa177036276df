"""Small instances, certificates of their trees, and the VIPR files that these become."""

import io
import json
import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import vipr_checker
from brute_force import cost, instance

from boundmark.bounds import checker
from boundmark.bounds.pipeline.share import share_table
from boundmark.bounds.pipeline.tree import search
from boundmark.bounds.pipeline.tree.superblocks import Demand
from boundmark.bounds.pipeline.vipr import EXPORTERS, write_vipr
from boundmark.problems.certificate import Certificate
from boundmark.problems.method import Budget
from boundmark.problems.pipeline import PipelineInstance

Document = dict[str, Any]


def with_proved_bound(sample: PipelineInstance, payload: Document) -> Document:
    """Return a certificate of all that a payload proves, as a JSON reader returns it."""
    document = Certificate.of(sample, "mip-tree/1", 0, payload, "test").to_json()
    document["bound"] = checker.check_certificate(sample.to_json(), document)
    result: Document = json.loads(json.dumps(document))
    return result


def tree_certificate(sample: PipelineInstance, threshold: int, steps: int) -> Document | None:
    """Return the certificate of a tree that has been branched on up to so many times."""
    tree = search.Tree(sample, share_table(sample.graph), search.exact(sample.k), Budget(60))
    if not tree.start(threshold):
        return None
    while steps and tree.bound <= threshold and tree.grow():
        steps -= 1
    return with_proved_bound(sample, tree.payload(tree.threshold))


def exported(sample: PipelineInstance, document: Document) -> str:
    """Return the file's text."""
    file = io.StringIO()
    write_vipr(sample.to_json(), document, file)
    return file.getvalue()


SAMPLES = {
    "one leaf": instance([4, 5, 3], [(0, 1), (1, 2)], 2, transfer=[3, 2, 0]),
    "several leaves": instance([4, 4, 5, 1], [(0, 2), (1, 3)], 2, transfer=[1, 0, 2, 5]),
    "overflow": instance(
        [6, 7, 7, 2],
        [(0, 2), (0, 3)],
        2,
        transfer=[3, 2, 1, 2],
        param_load=[5, 0, 2, 4],
        cache=5,
    ),
    "three stages": instance(
        [6, 3, 5, 7, 2, 4],
        [(0, 1), (0, 2), (1, 3), (2, 4), (3, 5)],
        3,
        transfer=[2, 4, 1, 3, 2, 1],
        param_load=[3, 1, 4, 1, 5, 2],
        cache=4,
    ),
    "one stage": instance([2, 3], [(0, 1)], 1),
    "more stages than nodes": instance([5, 4], [(0, 1)], 4, transfer=[2, 0]),
}
# The threshold below the optimum, and the optimum where a tree can refute it.
THRESHOLDS = {
    "one leaf": (10, 11),
    "several leaves": (8, 9),
    "overflow": (15, 16),
    "three stages": (14, 15),
    "one stage": (4, 5),
    "more stages than nodes": (7,),
}
CERTIFICATES = [f"{name}, {threshold}" for name in SAMPLES for threshold in THRESHOLDS[name]]


@cache
def stages_certificate(name: str) -> tuple[PipelineInstance, Document]:
    """Return an instance and the certificate of a tree, one of `CERTIFICATES`."""
    sample, threshold = name.split(", ")
    document = tree_certificate(SAMPLES[sample], int(threshold), 50)
    assert document is not None
    return SAMPLES[sample], document


FORMULATIONS = {
    "bottleneck-tree/1": search.bottleneck,
    "bottleneck-guess-tree/1": search.bottleneck_guess,
}


def superblock_certificate(
    sample: PipelineInstance, kind: str, threshold: int, steps: int
) -> Document | None:
    """Return the certificate of trees about the stage with most work, branched on so often."""
    demand = Demand.of_work(sample.graph, sample.k)
    tree = search.Tree(
        sample, share_table(sample.graph), FORMULATIONS[kind](sample.k, demand), Budget(60)
    )
    if not tree.start(threshold):
        return None
    while steps and tree.bound <= threshold and tree.grow():
        steps -= 1
    document = Certificate.of(sample, kind, 0, tree.payload(tree.threshold), "test").to_json()
    document["bound"] = checker.check_certificate(sample.to_json(), document)
    return document


def files(sample: PipelineInstance, document: Document, folder: Path) -> list[Path]:
    """Return the files that a certificate becomes."""
    exporter = next(one for one in EXPORTERS if one.kind == document["kind"])
    written = []
    for part in range(exporter.files(sample.to_json())):
        text = io.StringIO()
        exporter.write(sample.to_json(), document, text, part)
        written.append(folder / f"tree-{part}.vipr")
        written[-1].write_text(text.getvalue())
    return written


SUPERBLOCK_CERTIFICATES = [f"{kind[:-2]}, {name}" for name in CERTIFICATES for kind in FORMULATIONS]


@cache
def superblocks_certificate(name: str) -> tuple[PipelineInstance, Document]:
    """Return an instance and the certificate of its trees, one of `SUPERBLOCK_CERTIFICATES`."""
    kind, sample, threshold = name.split(", ")
    document = superblock_certificate(SAMPLES[sample], f"{kind}/1", int(threshold), 20)
    assert document is not None
    return SAMPLES[sample], document


def point(
    sample: PipelineInstance, assignment: tuple[int, ...], names: list[str]
) -> dict[int, int]:
    """Return the columns that a partition stands for, from their names."""
    edges = list(zip(sample.graph.dag.sources, sample.graph.dag.targets, strict=True))

    def value(name: str) -> int:
        kind, *numbers = name.split("_")
        if kind == "z":
            return cost(sample, assignment)
        if kind == "o":
            inside = [v for v in range(sample.nodes) if assignment[v] == int(numbers[0])]
            load = sum(int(sample.graph.param_load[v]) for v in inside)
            return max(0, load - sample.graph.cache)
        v, b = map(int, numbers)
        if kind == "y":
            return int(assignment[v] <= b)
        consumers = [assignment[w] for u, w in edges if u == v and assignment[w] != assignment[v]]
        return int(b in consumers if kind == "c" else b == assignment[v] and bool(consumers))

    return {column: value(name) for column, name in enumerate(names)}


def holds(row: vipr_checker.Constraint, values: dict[int, int]) -> bool:
    """Whether a point satisfies a constraint."""
    left = sum(amount * values[column] for column, amount in row.terms.items())
    return row.sign * left >= row.sign * row.right


def changed(pattern: str, change: Callable[[re.Match[str]], str]) -> Callable[[str], list[str]]:
    """Return a maker of texts in which one match each is changed."""

    def mutants(text: str) -> list[str]:
        start = text.index("RTP")
        matches = list(re.finditer(pattern, text[start:], re.MULTILINE))
        return [
            text[: start + match.start()] + change(match) + text[start + match.end() :]
            for match in matches
        ]

    return mutants


def one_more(match: re.Match[str]) -> str:
    """Return the match with its only group increased."""
    before, number = match[0][: match.start(1) - match.start()], match[1]
    return before + str(int(number) + 1) + match[0][match.end(1) - match.start() :]


MUTATIONS = {
    "bound": changed(r"^RTP range (\d+)", one_more),
    "side of an assumption": changed(r"^d\d+ [GL] (\d+) .*asm", one_more),
    "first multiplier": changed(r"\{ lin \d+ \d+ (-?\d+)", one_more),
    "last multiplier": changed(r"(-?\d+) \} -1$", one_more),
    "part of a sum": changed(r"\{ lin \d+ (\d+)", one_more),
    "assumption not met": changed(
        r"uns (\d+) \d+ (\d+) \d+", lambda match: f"lin 2 {match[1]} 1/2 {match[2]} 1/2"
    ),
    "sides mixed up": changed(
        r"uns (\d+) (\d+) (\d+) (\d+)",
        lambda match: f"uns {match[1]} {match[4]} {match[3]} {match[2]}",
    ),
    "line left out": changed(r"^d\d+ .*\n", lambda match: ""),
    "line repeated": changed(r"^d\d+ .*\n", lambda match: 2 * match[0]),
    "claim made without a reason": changed(r"\{ (lin|rnd|uns) .*\}", lambda match: "{ asm }"),
}
