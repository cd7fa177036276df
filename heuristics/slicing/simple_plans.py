"""Plans that follow a rule, and the methods that report them."""

import numpy as np
from numpy.typing import NDArray

from boundmark.heuristics.slicing.plan_kernels import PlanIncumbent, fit_pattern
from boundmark.problems.arrays import IntArray
from boundmark.problems.method import Budget, Progress
from boundmark.problems.slicing import SlicingInstance

Fractions = NDArray[np.float64]


def one_device_pattern(devices: int, device: int) -> Fractions:
    """Return the fractions that give everything to one device."""
    return (np.arange(devices + 1) > device).astype(np.float64)


def shares_pattern(shares: Fractions) -> Fractions:
    """Return the fractions at which operators are divided in these proportions."""
    return np.concatenate([[0.0], np.cumsum(shares) / shares.sum()]).clip(0.0, 1.0)


def divided(instance: SlicingInstance, pattern: Fractions) -> IntArray:
    """Return the plan that divides every operator alike, shape (N, n + 1)."""
    vectors = np.empty((instance.nodes, instance.graph.devices + 1), dtype=np.int64)
    for operator, length in enumerate(instance.graph.length.tolist()):
        fit_pattern(length, pattern, vectors[operator])
    return vectors


def speeds(instance: SlicingInstance) -> Fractions:
    """Return how fast each device is, shape (n,): the inverse of its time for all operators."""
    graph = instance.graph
    total = graph.work.sum(axis=0) + graph.launch * np.count_nonzero(graph.work, axis=0)
    return np.asarray(1.0 / np.maximum(total, 1))


def patterns(instance: SlicingInstance) -> Fractions:
    """Return fractions worth trying, shape (q, n + 1).

    One device each; and the fastest two, three, ... devices, equally and in proportion to their
    speeds.
    """
    devices, speed = instance.graph.devices, speeds(instance)
    found = [one_device_pattern(devices, device) for device in range(devices)]
    fastest = np.argsort(-speed, kind="stable")
    for count in range(2, devices + 1):
        is_used = np.zeros(devices, dtype=bool)
        is_used[fastest[:count]] = True
        found.append(shares_pattern(is_used.astype(np.float64)))
        found.append(shares_pattern(np.where(is_used, speed, 0.0)))
    return np.unique(np.array(found), axis=0)


def layers(instance: SlicingInstance) -> IntArray:
    """Return the plan that gives each device a run of whole operators, by its speed.

    All work is laid out in the order of operators and divided by the devices' speeds; an operator
    is on the device in whose share the middle of its work lies.
    """
    graph = instance.graph
    work = graph.work.mean(axis=1)
    middle = (np.cumsum(work) - work / 2) / max(1.0, float(work.sum()))
    ends = shares_pattern(speeds(instance))[1:-1]
    device = np.searchsorted(ends, middle, side="right")
    return np.where(np.arange(graph.devices + 1) > device[:, None], graph.length[:, None], 0)


def run_equal_slices(
    instance: SlicingInstance, budget: Budget, seed: int, progress: Progress
) -> None:
    """Report every operator in equal parts on all devices."""
    vectors = divided(instance, shares_pattern(np.ones(instance.graph.devices)))
    PlanIncumbent(instance, progress).require(vectors, "a division in equal parts")


def run_speed_slices(
    instance: SlicingInstance, budget: Budget, seed: int, progress: Progress
) -> None:
    """Report every operator on all devices, in parts proportional to their speeds."""
    vectors = divided(instance, shares_pattern(speeds(instance)))
    PlanIncumbent(instance, progress).require(vectors, "a division by speeds")


def run_layer_pipeline(
    instance: SlicingInstance, budget: Budget, seed: int, progress: Progress
) -> None:
    """Report whole operators, a run of them on each device, as a pipeline has its stages.

    Outputs are divided among devices, operators are not: each has to fit on one device. It never
    computes on two devices at once.
    """
    vectors = layers(instance)
    PlanIncumbent(instance, progress).require(vectors, "a run of whole operators per device")
