"""Measures of plans beside their latency: what devices compute, receive and hold."""

from boundmark.problems.slicing.instance import SlicingInstance
from boundmark.problems.slicing.latency import memory_taken, plan_times
from boundmark.problems.slicing.plan import SlicingPlan


def device_loads(instance: SlicingInstance, plan: SlicingPlan) -> dict[str, list[int]]:
    """Return what each device does and holds.

    Returns
    -------
    dict
        A list over devices each: `operators` of which it computes a part; `computing` and
        `communicating`, in ticks; `received`, in bytes; `memory`, the most bytes that it holds.
    """
    graph = instance.graph
    times = plan_times(graph, plan)
    widths = plan.vectors[:, 1:] - plan.vectors[:, :-1]
    return {
        "operators": (widths > 0).sum(axis=0).tolist(),
        "computing": [sum(column) for column in zip(*(t.computation for t in times), strict=True)],
        "communicating": [
            sum(column) for column in zip(*(t.communication for t in times), strict=True)
        ],
        "received": [sum(column) for column in zip(*(t.received for t in times), strict=True)],
        "memory": [max(column) for column in zip(*memory_taken(graph, plan, times), strict=True)],
    }
