"""`certify`: the cheap bounds, then the exact method for narrow graphs, then branch and bound.

Only what is better than everything before is reported, and branch and bound is not begun once the
best bound is the cost of the best partition. It is `mip-tree` with few stages. With more, it is
`bottleneck-tree`, and `mip-tree` only if that comes to its end: each linear program of the former
has all stages in it, so that few are solved.
"""

from contextlib import suppress

from boundmark.bounds.best import Best
from boundmark.bounds.pipeline.methods import bottleneck_tree, ideal_dp, mip_tree, share
from boundmark.problems.errors import UnsupportedError
from boundmark.problems.method import Budget, Method, Progress
from boundmark.problems.pipeline import PipelineInstance

# Of the time, at most, for the dynamic program: where it applies, it usually takes far less.
IDEALS_FRACTION = 0.5

# Above this, a tree that looks at one stage proves more in half a minute than one with all stages.
MOST_STAGES_FOR_ALL = 4

# Of the time, at least, for another tree: one that was stopped by the clock leaves less.
ANOTHER_TREE_FRACTION = 0.1


def run(
    instance: PipelineInstance, budget: Budget, seed: int, progress: Progress, *, ideals: int
) -> None:
    """Report certificates, and partitions where the dynamic program finds them."""
    # What is only claimed is not what this method is for.
    best = Best(instance, progress, passes_claims=False)
    share.run(instance, budget, seed, best)
    # Too many down-sets, or a graph beyond the checker's limits: what came before stands.
    with suppress(UnsupportedError):
        ideal_dp.run(instance, budget.part(IDEALS_FRACTION), seed, best, ideals=ideals)
    trees = [mip_tree.run]
    if instance.k > MOST_STAGES_FOR_ALL:
        trees = [bottleneck_tree.run, mip_tree.run]
    for position, tree in enumerate(trees):
        is_late = budget.remaining() < ANOTHER_TREE_FRACTION * budget.wall_seconds
        if best.is_proven or (position > 0 and is_late):
            break
        with suppress(UnsupportedError):
            tree(instance, budget, seed, best)


METHOD = Method(
    name="certify",
    problem="pipeline",
    kind="bound",
    summary="The best certificate in the time given: share, then ideal-dp, then a tree.",
    run=run,
    params={"ideals": 20_000},
    version=3,
)
