"""From a search's tree to a step of a certificate, in exact arithmetic."""

from dataclasses import dataclass
from typing import Any

from boundmark.bounds.checker.pipeline.instance import Instance
from boundmark.bounds.checker.pipeline.leaf import TREE_ROWS, WeighedRow, add_up
from boundmark.bounds.checker.pipeline.leaf import Program as CheckedProgram
from boundmark.bounds.pipeline.reach.prefixes import Prefixes, Step
from boundmark.bounds.pipeline.reach.search import Leaf, Search
from boundmark.bounds.pipeline.tree.superblocks import Superblocks

Multipliers = dict[str, list[int]]

STEP_ROWS = (*TREE_ROWS, "at_least", "at_most")
NOTHING: Multipliers = {name: [] for name in STEP_ROWS}


@dataclass(frozen=True, eq=False)
class Proof:
    """A step that has been proved.

    Attributes
    ----------
    limit
        Of what the prefix weighs.
    nodes
        The tree, as certificates hold it.
    """

    step: Step
    limit: int
    nodes: list[Any]

    def to_json(self) -> dict[str, Any]:
        """Return the step as certificates hold it."""
        return {
            "first": self.step.first,
            "last": self.step.last,
            "side": self.step.side,
            "limit": self.limit,
            "nodes": self.nodes,
        }


def proof_without_search(prefixes: Prefixes, step: Step) -> Proof:
    """Return the proof of a step for which windows leave nothing to search."""
    return Proof(step, _no_limit(prefixes, step), [NOTHING])


class Prover:
    """Finds the best limit that a tree proves.

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
        """Return what a search has proved; None if rounding has spoiled it."""
        rows, merged = _rows(superblocks, prefixes, step), superblocks.merged.tolist()
        limit, nodes = _no_limit(prefixes, step), list[Any]()
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
            if found[0] is not None:
                limit = pick(limit, found[0])
        return Proof(step, limit, nodes)

    def _limit(
        self,
        search: Search,
        leaf: Leaf,
        program: CheckedProgram,
        rows: dict[str, list[WeighedRow]],
        prefixes: Prefixes,
        step: Step,
    ) -> tuple[int | None, Multipliers] | None:
        """Return the limit that holds at a leaf, None if any does, and multipliers that prove it.

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


def _no_limit(prefixes: Prefixes, step: Step) -> int:
    """Return a limit that refutes the threshold."""
    return prefixes.opposite(step) + (-1 if step.side == "upper" else 1)


def _rows(
    superblocks: Superblocks, prefixes: Prefixes, step: Step
) -> dict[str, list[WeighedRow]]:
    """Return the rows about weights, with the contrary of what is known already."""
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
    """Return the multiplier of the contrary of what is to be proved."""
    if step.side == "upper":
        row, found = step.stages, multipliers["at_least"]
    else:
        row, found = 0, multipliers["at_most"]
    return sum(found[i + 1] for i in range(0, len(found), 2) if found[i] == row)
