"""A partition as split points of `torch.distributed.pipelining`: where modules begin or end.

`pipeline` traces a model and cuts it in the order in which it runs, before or behind modules that
run once. So stages are runs of operators between such places, of which the best ones are found
exactly; what that costs beside a partition without this rule is known from both.
"""

import itertools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from boundmark.datasets.readers.torch_export.file import content, graph_of, stored_program
from boundmark.datasets.readers.torch_export.schema import (
    TENSORS,
    list_in,
    module_stack,
    named_argument,
    names_of,
    object_in,
)
from boundmark.problems.errors import InvalidInputError
from boundmark.problems.files import naming
from boundmark.problems.pipeline import Partition, PipelineInstance

# A module's name, and BEGINNING or END.
Point: TypeAlias = tuple[str, str]


def split_points(path: Path, names: Sequence[str]) -> tuple[list[int], Mapping[int, Point]]:
    """Return the nodes of a program in the order in which they run, and where it can be cut.

    Parameters
    ----------
    names
        Those of the graph's nodes.

    Returns
    -------
    tuple
        The nodes, and for each number of nodes before a cut, a module that begins there, or else
        ends: one with parameters of its own if there is, since `pipeline` refuses modules around
        those that several share.
    """
    with naming(path):
        program = content(path)
        _, origins = graph_of(program)
        number = {name: node for node, name in enumerate(names)}
        calls = list_in(object_in(object_in(program, "graph_module"), "graph"), "nodes")
        stacks = [module_stack(call) for call in calls]
        parameters = stored_program(program).graph_signature.inputs_to_parameters
        owners, shared = _owners(calls, stacks, parameters)
    order: list[int] = []
    # How many nodes begin before each call; None where one is under way.
    places: dict[int, int] = {}
    last = {name: at for at, name in sorted(origins.items())}
    seen: set[str] = set()
    for at in range(len(calls) + 1):
        if all(last[name] < at for name in seen):
            places[at] = len(order)
        name = origins.get(at)
        if name is not None and name not in seen:
            if name not in number:
                raise InvalidInputError(
                    f"the instance has no operator {name!r}; expected that of {path}."
                )
            seen.add(name)
            order.append(number[name])
    if len(order) < len(names):
        missing = next(name for name in names if name not in seen)
        raise InvalidInputError(
            f"operator {missing!r} is none of a call in {path}; expected a forward pass."
        )
    found: dict[int, Point] = {}
    modules = _run_once(stacks, origins)
    sides = (("BEGINNING", 0), ("END", 1))
    for is_owner, (side, which) in itertools.product((True, False), sides):
        for module in sorted(modules, key=lambda name: (name.count("."), name)):
            has_own = module in owners
            has_any = has_own or any(one.startswith(f"{module}.") for one in owners)
            before = places.get(modules[module][which], 0)
            if has_own is is_owner and has_any and module not in shared and 0 < before < len(order):
                found.setdefault(before, (module, side))
    return order, found


def _owners(
    calls: Sequence[Mapping[str, Any]],
    stacks: Sequence[Mapping[str, tuple[str, str]]],
    parameters: Mapping[str, str],
) -> tuple[set[str], set[str]]:
    """Return the modules with parameters of their own, and those whose others read, too."""
    own = {name: path.rpartition(".")[0] for name, path in parameters.items()}
    shared: set[str] = set()
    for call, stack in zip(calls, stacks, strict=True):
        around = {module for module, _ in stack.values()}
        for _, kind, value in map(named_argument, list_in(call, "inputs")):
            for name in names_of(kind, value) if kind in TENSORS else ():
                if name in own and own[name] not in around:
                    shared.add(own[name])
    return set(own.values()) - {""}, shared


def _run_once(
    stacks: Sequence[Mapping[str, tuple[str, str]]], origins: Mapping[int, str]
) -> dict[str, tuple[int, int]]:
    """Return the first call of each module that runs once, in one go, and the one behind it."""
    runs: dict[str, tuple[int, int]] = {}
    keys: dict[str, set[str]] = {}
    broken: set[str] = set()
    for at, stack in enumerate(stacks):
        for key, (module, _) in stack.items():
            first, end = runs.get(module, (at, at))
            if any(one in origins for one in range(end, at)):
                broken.add(module)
            runs[module] = (first, at + 1)
            keys.setdefault(module, set()).add(key)
    # A second call of a module has another key.
    return {
        module: run
        for module, run in runs.items()
        if module and module not in broken and len(keys[module]) == 1
    }


def best_split(
    instance: PipelineInstance, order: Sequence[int], cuts: Sequence[int]
) -> tuple[Partition, list[int]]:
    """Return the best partition into at most k runs of an order, with cuts at given places only.

    Exact: costs of all runs between two places, and the least largest of k.

    Returns
    -------
    tuple
        The partition, and its cuts.
    """
    ends = [*sorted(cuts), len(order)]
    costs = _costs_of_runs(instance, order, [0, *ends])
    far = np.iinfo(np.int64).max
    best = np.full(len(ends) + 1, far)
    best[0] = 0
    before: list[list[int]] = []
    reached: tuple[int, int] | None = None
    for stages in range(1, min(instance.k, len(ends)) + 1):
        largest = np.maximum(best[:, None], costs)
        before.append(largest.argmin(axis=0).tolist())
        best = largest.min(axis=0)
        if best[-1] < far and (reached is None or best[-1] <= reached[0]):
            reached = (int(best[-1]), stages)
    assert reached is not None
    places, at = [], len(ends)
    for table in reversed(before[: reached[1]]):
        at = table[at]
        places.append(([0, *ends])[at])
    places = places[::-1]
    stage_of = np.zeros(len(order), dtype=np.int64)
    for stage, first in enumerate(places):
        stage_of[list(order[first:])] = stage
    return Partition(stage_of), places[1:]


def _costs_of_runs(
    instance: PipelineInstance, order: Sequence[int], places: Sequence[int]
) -> "np.ndarray[tuple[int, int], np.dtype[np.int64]]":
    """Return the cost of the stage from one place to a later one; far more for others."""
    graph, far = instance.graph, np.iinfo(np.int64).max
    place = np.empty(len(order), dtype=np.int64)
    place[list(order)] = np.arange(len(order))
    readers = [place[graph.dag.consumers_of(v)].tolist() for v in order]
    read = [place[graph.dag.producers_of(v)].tolist() for v in order]
    last = [max(one, default=-1) for one in readers]
    work, transfer, load = (
        one[list(order)].tolist() for one in (graph.work, graph.transfer, graph.param_load)
    )
    column = {end: at for at, end in enumerate(places)}
    found = np.full((len(places), len(places)), far)
    for row, first in enumerate(places[:-1]):
        entered: set[int] = set()
        cost = loaded = 0
        # What is read last at a place no longer leaves once that is in the stage.
        ending: dict[int, int] = {}
        for at in range(first, len(order)):
            cost += work[at] + ending.pop(at, 0)
            loaded += load[at]
            for producer in read[at]:
                if producer < first and producer not in entered:
                    entered.add(producer)
                    cost += transfer[producer]
            if last[at] > at:
                cost += transfer[at]
                ending[last[at]] = ending.get(last[at], 0) - transfer[at]
            if at + 1 in column:
                found[row, column[at + 1]] = cost + max(0, loaded - graph.cache)
    return found
