"""`modulo-tree`: refutes periods by a search over phases that the checker repeats.

CP-SAT refutes periods on its word. This search is slow and plain, but where few phases remain, as
on four devices with little memory, it proves the same.
"""

from typing import Any

from boundmark.bounds import checker
from boundmark.bounds.checker.microbatch.limits import LONGEST_TREE_PERIOD
from boundmark.bounds.checker.microbatch.phases import PhaseTree
from boundmark.bounds.microbatch import device_load
from boundmark.bounds.microbatch.device_load import LongestPaths
from boundmark.bounds.microbatch.memory_latency import longest_holding
from boundmark.problems.certificate import Certificate
from boundmark.problems.errors import UnsupportedError
from boundmark.problems.method import Budget, Progress
from boundmark.problems.microbatch import MicrobatchInstance

KIND = "modulo-tree/1"


def run(
    instance: MicrobatchInstance, budget: Budget, seed: int, progress: Progress, **params: Any
) -> None:
    """Report a bound for each period refuted.

    Raises
    ------
    UnsupportedError
        If the makespan counts, or if periods are too long.
    """
    if instance.micro_batches:
        raise UnsupportedError(
            f"micro_batches is {instance.micro_batches}; expected 0: only periods are refuted."
        )
    known = device_load.certificate(instance, "modulo-tree")
    progress.bound(known)
    if known.bound >= LONGEST_TREE_PERIOD:
        raise UnsupportedError(
            f"periods have {known.bound:,} ticks or more; expected fewer than "
            f"{LONGEST_TREE_PERIOD:,}, since all phases are tried."
        )
    paths = LongestPaths(instance.layout)
    found = [longest_holding(paths, device) for device in range(instance.layout.devices)]
    pairs = [holding.pairs if holding is not None else [] for holding in found]
    order = instance.layout.dag.topological_order.tolist()
    tree = PhaseTree(
        checker.check_instance(instance.to_json()),
        order,
        [[(i, j, amount) for i, j, amount in some] for some in pairs],
    )
    for period in range(known.bound, LONGEST_TREE_PERIOD):
        if not tree.refutes(period, budget.is_spent):
            return
        payload = {"bound": period + 1, "order": order, "pairs": pairs}
        progress.bound(Certificate.of(instance, KIND, period + 1, payload, "modulo-tree"))
