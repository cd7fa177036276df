"""Tiny instances of `pipeline`."""

from collections.abc import Iterator

import brute_force
from brute_force import optimum
from hypothesis import strategies as st
from large_numbers import multiplied

from boundmark.problems.pipeline import PipelineInstance

LARGER = brute_force.instance([3, 1, 4, 1, 5, 9, 2, 6], [(0, 3), (1, 3), (2, 4), (3, 5), (4, 6)], 3)


def tiny() -> list[tuple[PipelineInstance, int]]:
    """Return instances and their optimum, by trying all partitions."""
    return [(sample, optimum(sample)) for sample in _instances()]


def random_instances() -> st.SearchStrategy[PipelineInstance]:
    """Return random instances for `optimum`."""
    return brute_force.instances()


def _instances() -> Iterator[PipelineInstance]:
    """Yield every DAG of up to five nodes with mixed weights, with and without overflow."""
    weights = [3, 1, 4, 1, 5]
    tensors = [2, 7, 1, 3, 2]
    params = [0, 6, 2, 0, 5]
    for nodes in range(1, 6):
        for number, edges in enumerate(brute_force.all_dags(nodes)):
            yield brute_force.instance(
                weights[:nodes],
                edges,
                k=1 + number % 4,
                transfer=tensors[:nodes],
                param_load=params[:nodes],
                cache=(100, 6)[number // 4 % 2],
            )


def scaled(sample: PipelineInstance, best: int, factor: int) -> tuple[PipelineInstance, int]:
    """Return an instance with all costs multiplied, and its optimum."""
    costs = ("work", "transfer", "param_load", "cache")
    document = multiplied(sample.to_json(), costs, factor)
    return PipelineInstance.from_json(document), best * factor
