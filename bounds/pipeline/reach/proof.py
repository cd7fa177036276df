"""Conversion of a search tree into a step of a certificate, in exact arithmetic."""

from dataclasses import dataclass
from typing import Any

from boundmark.bounds.checker.budget import MOST_CHECK_BYTES
from boundmark.bounds.checker.pipeline.instance import Instance
from boundmark.bounds.checker.pipeline.leaf import TERM_BYTES, WeighedRow, add_up
from boundmark.bounds.checker.pipeline.leaf import Program as CheckedProgram
from boundmark.bounds.pipeline.reach.prefixes import Prefixes, Step
from boundmark.bounds.pipeline.reach.search import Leaf, Search
from boundmark.bounds.pipeline.tree.relaxation import TREE_FAMILIES
from boundmark.bounds.pipeline.tree.superblocks import Superblocks

Multipliers = dict[str, list[int]]

STEP_ROWS = (*TREE_FAMILIES, "at_least", "at_most")
NOTHING: Multipliers = {name: [] for name in STEP_ROWS}


@dataclass(frozen=True)
class Effort:
    """Steps to check a proof, and its size.

    Attributes
    ----------
    steps
        Of the check, as the checker counts them, at most.
    values
        Integers in the certificate.
    """

    steps: int = 0
    values: int = 0

    def __add__(self, other: "Effort") -> "Effort":
        return Effort(self.steps + other.steps, self.values + other.values)


@dataclass(frozen=True, eq=False)
class Proof:
    """A step that has been proved.

    Attributes
    ----------
    limit
        Of what the prefix weighs.
    nodes
        The tree, as certificates hold it.
    effort
        What it takes to check and to store.
    """

    step: Step
    limit: int
    nodes: list[Any]
    effort: "Effort"

    def to_json(self) -> dict[str, Any]:
        """Return the step as certificates store it."""
        return {
            "first": self.step.first,
            "last": self.step.last,
            "side": self.step.side,
            "limit": self.limit,
            "nodes": self.nodes,
        }


def proof_without_search(graph: Instance, prefixes: Prefixes, step: Step) -> Proof:
    """Return the proof of a step for which windows leave nothing to search."""
    limit = _no_limit(prefixes, step)
    return Proof(step, limit, [NOTHING], _tree_effort(graph, step, 1))


class Prover:
    """Computes the best limit that a search tree proves, and its certificate.

    Parameters
    ----------
    graph
        The instance as the checker reads it.
    shares
        Of the nodes, as the checker computes them.
    """

    def __init__(self, graph: Instance, shares: list[int], threshold: int) -> None:
        self._graph, self._shares, self._threshold = graph, shares, threshold

    def proof(
        self, search: Search, prefixes: Prefixes, step: Step, superblocks: Superblocks
    ) -> Proof | None:
        """Return the proof of a search; None if rounded multipliers prove nothing."""
        rows, merged = _rows(superblocks, prefixes, step), superblocks.merged.tolist()
        limit, nodes, effort = _no_limit(prefixes, step), list[Any](), Effort()
        pick = max if step.side == "upper" else min
        waiting = [search.root]
        while waiting:
            leaf = waiting.pop()
            if leaf.children is not None:
                nodes.append(list(leaf.branching or ()))
                waiting += leaf.children[::-1]
                continue
            windows = leaf.windows.first.tolist(), leaf.windows.last.tolist()
            found = self._limit(search, leaf, CheckedProgram(merged, windows), rows, prefixes, step)
            if found is None:
                return None
            nodes.append(found[1])
            leaf_effort = self._leaf_effort(found[1])
            if leaf_effort.steps * TERM_BYTES > MOST_CHECK_BYTES:
                return None
            effort += leaf_effort
            if found[0] is not None:
                limit = pick(limit, found[0])
        return Proof(step, limit, nodes, effort + _tree_effort(self._graph, step, len(nodes)))

    def _limit(
        self,
        search: Search,
        leaf: Leaf,
        program: CheckedProgram,
        rows: dict[str, list[WeighedRow]],
        prefixes: Prefixes,
        step: Step,
    ) -> tuple[int | None, Multipliers] | None:
        """Return a leaf's limit, None if the leaf is empty, and the multipliers that prove it.

        Those of the parents hold as well, should the leaf's own prove nothing.
        """
        if not leaf.windows.are_possible:
            return None, NOTHING
        ancestor: Leaf | None = leaf
        while ancestor is not None:
            if ancestor.point is not None:
                found = search.program.integers(ancestor.point)
                multipliers = {name: found[name] for name in STEP_ROWS}
                summed = add_up(self._graph, program, self._shares, rows, multipliers)
                assert summed is not None
                lacking = summed[0] * self._threshold - summed[1]
                if lacking < 0:
                    contrary = _contrary(multipliers, step)
                    if contrary == 0:
                        return None, multipliers
                contrary = _contrary(multipliers, step)
                if contrary:
                    steps = lacking // contrary + 1
                    known = prefixes.bound(step)
                    return known + (steps if step.side == "upper" else -steps), multipliers
            ancestor = ancestor.parent
        return None

    def _leaf_effort(self, multipliers: Multipliers) -> Effort:
        """Return the effort of checking a leaf: what `add_up` spends."""
        superblocks = {b for name in ("cost", "overflow", "share") for b in multipliers[name][::2]}
        weighed = len(multipliers["at_least"]) // 2 + len(multipliers["at_most"]) // 2
        values = sum(map(len, multipliers.values()))
        sums = 2 * (len(superblocks) + weighed)
        return Effort(len(self._graph.work) * sums + 2 * values, values)


def _tree_effort(graph: Instance, step: Step, nodes: int) -> Effort:
    """Return the effort of checking a step, without its leaves."""
    n = len(graph.work)
    program = graph.k + n * (step.stages + 1)
    return Effort(program + nodes * (n + len(graph.edges)), 2 * nodes)


def _no_limit(prefixes: Prefixes, step: Step) -> int:
    """Return a limit that refutes the threshold."""
    return prefixes.opposite(step) + (-1 if step.side == "upper" else 1)


def _rows(superblocks: Superblocks, prefixes: Prefixes, step: Step) -> dict[str, list[WeighedRow]]:
    """Return the weight rows, with the negation of the bound to improve on."""
    weighed = superblocks.prefixes
    assert weighed is not None
    weights = weighed.weights.tolist()
    at_least, at_most = weighed.at_least.tolist(), weighed.at_most.tolist()
    if step.side == "upper":
        at_least[-1] = prefixes.bound(step) + 1
    else:
        at_most[0] = prefixes.bound(step) - 1
    return {
        "at_least": [WeighedRow(weights, ((b, 1),), bound) for b, bound in enumerate(at_least)],
        "at_most": [WeighedRow(weights, ((b, -1),), -bound) for b, bound in enumerate(at_most)],
    }


def _contrary(multipliers: Multipliers, step: Step) -> int:
    """Return the multiplier of the negated bound."""
    if step.side == "upper":
        row, found = step.stages, multipliers["at_least"]
    else:
        row, found = 0, multipliers["at_most"]
    return sum(found[i + 1] for i in range(0, len(found), 2) if found[i] == row)
