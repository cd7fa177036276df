"""Pipeline partitioning of measured graphs: every stage is an accelerator."""

from boundmark.problems.errors import InvalidInputError
from boundmark.problems.measured_graph import MeasuredGraph
from boundmark.problems.pipeline.graph import PipelineGraph


def pipeline_graph_of(source: MeasuredGraph | PipelineGraph) -> PipelineGraph:
    """Return the costs of stages that all are accelerators, with parameters that always fit.

    Raises
    ------
    InvalidInputError
        If accelerators cannot run some node.
    """
    if isinstance(source, PipelineGraph):
        return source
    for name, can_run in zip(source.names, source.on_accelerator, strict=True):
        if not can_run:
            raise InvalidInputError(
                f"node {name!r} runs on no accelerator; problem 'pipeline' needs all to."
            )
    return PipelineGraph.without_parameters(
        source.dag, source.accelerator, source.transfer, source.names, source.tick
    )
