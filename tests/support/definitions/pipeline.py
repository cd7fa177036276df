"""Small graphs of `pipeline`: all assignments of stages, down-sets, and flows at their limits."""

import itertools
from collections.abc import Iterator
from random import Random

from brute_force import cost, instance, optimum, stage_cost
from checking import Claims, Document, Solutions, read

from boundmark.bounds.checker.pipeline.instance import Instance
from boundmark.problems.pipeline import PipelineInstance


def drawn(seed: int) -> PipelineInstance:
    """Return a graph of 3 to 5 nodes with every cost term, of few amounts so that sums meet."""
    dice = Random(seed)
    nodes = dice.randrange(3, 6)
    pairs = list(itertools.combinations(range(nodes), 2))

    def amounts(most: int) -> list[int]:
        return [dice.randrange(most) for _ in range(nodes)]

    return instance(
        amounts(4),
        sorted(dice.sample(pairs, dice.randrange(1, len(pairs)))),
        dice.randrange(1, 4),
        transfer=amounts(4),
        param_load=amounts(3),
        cache=dice.randrange(4),
    )


def solutions(sample: PipelineInstance, dice: Random) -> Solutions:
    """Yield every assignment of stages; those in a cycle are none, however stages are numbered."""
    stages = range(min(sample.k, sample.nodes))
    edges = sample.graph.dag.edge_pairs().tolist()
    for chosen in itertools.product(stages, repeat=sample.nodes):
        is_acyclic = any(
            all(order[chosen[u]] <= order[chosen[v]] for u, v in edges)
            for order in itertools.permutations(stages)
        )
        yield {"stages": list(chosen)}, cost(sample, chosen) if is_acyclic else None


def claims(sample: PipelineInstance, dice: Random) -> Claims:
    """Yield thresholds around the optimum: of down-sets, also without a node, and of flows."""
    for gone in (set(), {dice.randrange(sample.nodes)}):
        best = optimum(without(sample, gone))
        for threshold in range(max(-1, best - 2), best + 2):
            payload = {"threshold": threshold, "ignored": sorted(gone)}
            yield "ideal-dp/1", payload, [threshold + 1 if threshold < best else None]
    graph, best = read(sample), optimum(sample)
    legal = [flow for flow in flows_of(sample, dice) if flow_cost(graph, flow) is not None]
    for threshold in range(max(0, best - 2), best + 2):
        payload = {"threshold": threshold, "flows": legal}
        possible = [None, threshold + 1] if threshold < best else [None]
        yield "fractional-load/1", payload, possible


def without(sample: PipelineInstance, gone: set[int]) -> PipelineInstance:
    """Return the graph without some nodes, and their edges."""
    graph = sample.graph
    kept = [v for v in range(sample.nodes) if v not in gone]
    place = {v: number for number, v in enumerate(kept)}
    return instance(
        [int(graph.work[v]) for v in kept],
        [(place[u], place[w]) for u, w in graph.dag.edge_pairs().tolist() if {u, w} <= {*kept}],
        sample.k,
        transfer=[int(graph.transfer[v]) for v in kept],
        param_load=[int(graph.param_load[v]) for v in kept],
        cache=graph.cache,
    )


def flows_of(sample: PipelineInstance, dice: Random) -> Iterator[Document]:
    """Yield flows of which many are right, and many just about not."""
    edges = len(sample.graph.dag.sources)
    for _ in range(40):
        used = sorted(dice.sample(range(edges), dice.randrange(edges + 1)))
        yield {
            "node": dice.randrange(sample.nodes),
            "io_weight": dice.choice([1, 1, 2, 3]),
            "edges": used,
            "amounts": [dice.choice([-3, -2, -1, 1, 2, 3]) for _ in used],
        }


def flow_cost(graph: Instance, flow: Document) -> int | None:
    """Return what a flow proves by the rules of the documentation; None if it breaks one."""
    v, weight = flow["node"], flow["io_weight"]
    moved = {graph.edges[e]: x for e, x in zip(flow["edges"], flow["amounts"], strict=True)}
    for u in range(len(graph.work)):
        out = [x for (producer, _), x in moved.items() if producer == u]
        there, back = sum(x for x in out if x > 0), -sum(x for x in out if x < 0)
        if max(there, back) > weight * graph.transfer[u]:
            return None
        keeps = sum(x for (_, w), x in moved.items() if w == u) - sum(out)
        if u == v:
            sent = -keeps
        elif keeps > graph.work[u]:
            return None
    return graph.work[v] + sent


def stages_with(sample: PipelineInstance, v: int) -> Iterator[tuple[int, int, int]]:
    """Yield what each set with a node works, what it moves, and what it costs."""
    graph, others = sample.graph, [u for u in range(sample.nodes) if u != v]
    for size in range(sample.nodes):
        for rest in itertools.combinations(others, size):
            members = {v, *rest}
            work = sum(int(graph.work[u]) for u in members)
            load = sum(int(graph.param_load[u]) for u in members)
            whole = stage_cost(sample, members)
            yield work, whole - work - max(0, load - graph.cache), whole
