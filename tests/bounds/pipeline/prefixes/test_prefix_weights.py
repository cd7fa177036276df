import itertools

from brute_force import instances, stage_cost
from hypothesis import given
from hypothesis import strategies as st

from boundmark.bounds.pipeline.prefixes.prefix_weights import Weights
from boundmark.bounds.pipeline.prefixes.windows import SHARE_UNITS, scaled
from boundmark.problems.pipeline import PipelineInstance


@given(sample=instances(), threshold=st.integers(0, 40))
def test_a_stage_weighs_at_most_its_cost(sample: PipelineInstance, threshold: int) -> None:
    """Whatever was moved into a set of nodes came with tensors that enter it."""
    weights = Weights.moved(sample.graph, threshold)
    assert (weights.nodes >= 0).all()
    for size in range(sample.nodes + 1):
        for members in itertools.combinations(range(sample.nodes), size):
            cost = stage_cost(sample, set(members))
            weighs = sum(int(weights.nodes[v]) for v in members)
            assert weighs * max(threshold, 1) <= cost * SHARE_UNITS


@given(sample=instances(), threshold=st.integers(1, 40))
def test_moving_loses_nothing(sample: PipelineInstance, threshold: int) -> None:
    """All nodes together weigh what they did, and moves say what became of each."""
    graph = sample.graph
    weights, work = Weights.moved(graph, threshold), scaled(graph.work, threshold)
    assert weights.nodes.sum() == work.sum()
    moves = weights.moves_to_json()
    moved = work.tolist()
    for edge, amount in zip(moves[::2], moves[1::2], strict=True):
        moved[int(graph.dag.sources[edge])] -= amount
        moved[int(graph.dag.targets[edge])] += amount
    assert moved == weights.nodes.tolist()
