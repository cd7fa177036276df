"""A device runs one block at a time: bounds from its work.

For the period, the bound is the work of the busiest device (papers/tessel, Algorithm 1, line 8).
For the makespan, it is that of sets of blocks with long paths before and after them, as for heads
and tails in one-machine scheduling (J. Carlier, "The one-machine sequencing problem", EJOR 1982).
"""

import itertools

from boundmark.bounds.checker.microbatch.instance import Instance
from boundmark.bounds.checker.microbatch.paths import heads, tails
from boundmark.bounds.checker.verdicts import check_instance
from boundmark.problems.certificate import Certificate
from boundmark.problems.microbatch import MicrobatchInstance

KIND = "device-load/1"


def certificate(instance: MicrobatchInstance, producer: str) -> Certificate:
    """Return the best bound of this kind."""
    checked: Instance = check_instance(instance.to_json())
    head, tail = heads(checked), tails(checked)
    best: tuple[int, int, list[int]] = (-1, 0, [])
    for device, here in enumerate(instance.layout.on_device):
        if not here:
            continue
        if not instance.micro_batches:
            best = max(best, (instance.layout.loads[device], device, list(here)))
            continue
        for earliest, after in itertools.product({head[i] for i in here}, {tail[i] for i in here}):
            blocks = [i for i in here if head[i] >= earliest and tail[i] >= after]
            work = sum(checked.duration[i] for i in blocks)
            bound = earliest + instance.micro_batches * work + after
            if blocks:
                best = max(best, (bound, device, blocks))
    bound, device, blocks = best
    payload = {"device": device, "blocks": blocks}
    return Certificate.of(instance, KIND, bound, payload, producer)
