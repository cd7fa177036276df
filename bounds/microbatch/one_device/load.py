"""A device runs one block at a time: bounds from its work.

For the period, the bound is the work of the busiest device ([TESSEL24], Algorithm 1, line 8).
For the makespan, it is that of sets of blocks with long paths before and after them, as for heads
and tails in one-machine scheduling (J. Carlier, "The one-machine sequencing problem", EJOR 1982).
"""

import itertools

from boundmark.bounds.microbatch.one_device.paths import LongestPaths
from boundmark.problems.certificate import Certificate
from boundmark.problems.microbatch import MicrobatchInstance

KIND = "device-load/1"


def certificate(instance: MicrobatchInstance, producer: str) -> Certificate:
    """Return the best bound of this kind."""
    layout = instance.layout
    paths = LongestPaths(layout)
    head, tail = paths.heads.tolist(), paths.tails.tolist()
    best: tuple[int, int, list[int]] = (-1, 0, [])
    for device, here in enumerate(layout.on_device):
        if not here:
            continue
        if not instance.micro_batches:
            best = max(best, (layout.loads[device], device, list(here)))
            continue
        for earliest, after in itertools.product({head[i] for i in here}, {tail[i] for i in here}):
            blocks = [i for i in here if head[i] >= earliest and tail[i] >= after]
            work = sum(layout.blocks[i].duration for i in blocks)
            bound = earliest + instance.micro_batches * work + after
            if blocks:
                best = max(best, (bound, device, blocks))
    bound, device, blocks = best
    payload = {"device": device, "blocks": blocks}
    return Certificate.of(instance, KIND, bound, payload, producer)
