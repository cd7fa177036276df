"""Making a block layout, whose micro-batches can be scheduled, from a partition into stages."""

from fractions import Fraction

import numpy as np

from boundmark.problems.errors import InvalidInputError
from boundmark.problems.microbatch.layout import Block, BlockLayout
from boundmark.problems.pipeline.instance import (
    Partition,
    PipelineInstance,
    in_pipeline_order,
    stage_costs,
)

# Ticks of the slowest forward block. Schedules are searched for in ticks, so few are better;
# rounding up adds at most a hundredth to it.
DEFAULT_TICKS = 100


def layout_of(
    instance: PipelineInstance,
    partition: Partition,
    *,
    backward: Fraction | int = 3,
    activation: int = 1,
    ticks: int = DEFAULT_TICKS,
) -> BlockLayout:
    """Return a layout with a device, a forward and a backward block per stage, in pipeline order.

    A forward block takes what the partition's objective says of the stage, f(S), scaled such that
    the slowest one takes `ticks`, and rounded up. It needs the results of all stages that its
    operations read; backward blocks wait the other way round, and for the forward block.
    """
    if backward < 0:
        raise InvalidInputError(f"backward is {backward}; expected a ratio of at least 0.")
    if activation < 0:
        raise InvalidInputError(f"activation is {activation}; expected a non-negative integer.")
    if ticks < 1:
        raise InvalidInputError(f"ticks is {ticks}; expected a positive integer.")
    # Refuses partitions that do not fit.
    slowest = instance.objective(partition)
    ordered = in_pipeline_order(instance, partition)
    used, stages = np.unique(ordered.stages, return_inverse=True)
    costs = stage_costs(instance.graph, ordered.stages, instance.k)[used].tolist()
    count = len(used)
    kept = activation if backward else 0
    scale = Fraction(ticks, max(1, slowest))
    blocks = [
        Block(f"F{stage}", "forward", _rounded_up(cost * scale), kept, (stage,))
        for stage, cost in enumerate(costs)
    ]
    pairs = stages[instance.graph.dag.edge_pairs()].tolist()
    edges = sorted({(source, target) for source, target in pairs if source != target})
    if not backward:
        return BlockLayout.from_blocks(blocks, edges, count)
    blocks += [
        Block(f"B{stage}", "backward", _rounded_up(cost * scale * backward), -kept, (stage,))
        for stage, cost in enumerate(costs)
    ]
    edges += [(count + t, count + s) for s, t in edges]
    edges += [(stage, count + stage) for stage in range(count)]
    return BlockLayout.from_blocks(blocks, edges, count)


def _rounded_up(duration: Fraction) -> int:
    return max(1, -(-duration.numerator // duration.denominator))
