"""`bottleneck-tree`: a certified tree over the program of a single stage (papers/mtpp, 3.2)."""

from boundmark.bounds.pipeline.tree.blocks import Demand
from boundmark.bounds.pipeline.tree.formulation import bottleneck
from boundmark.bounds.pipeline.tree.rising import report_rising_bounds
from boundmark.bounds.pipeline.tree.windows import shares
from boundmark.problems.method import Budget, Method, Progress
from boundmark.problems.pipeline import PipelineInstance


def run(instance: PipelineInstance, budget: Budget, seed: int, progress: Progress) -> None:
    report_rising_bounds(
        instance,
        lambda table, bound: bottleneck(instance.k, Demand.of(shares(table, bound), instance.k)),
        budget,
        progress,
        METHOD.name,
    )


METHOD = Method(
    name="bottleneck-tree",
    problem="pipeline",
    kind="bound",
    summary="x.",
    run=run,
)
