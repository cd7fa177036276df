"""Lower bounds for `microbatch`, and searches that prove an optimum."""

from boundmark.problems.method import Deferred, Method

DEVICE_LOAD = Method(
    name="device-load",
    problem="microbatch",
    kind="bound",
    summary="The work of the busiest device; for makespans, between what is before and after it.",
    run=Deferred("boundmark.bounds.microbatch.device_load:run"),
)

MEMORY_LATENCY = Method(
    name="memory-latency",
    problem="microbatch",
    kind="bound",
    summary="Memory held over the longest path from allocation to release, by Little's law.",
    run=Deferred("boundmark.bounds.microbatch.memory_latency:run"),
    version=2,
    warm=("ortools.graph.python.min_cost_flow",),
)

MODULO = Method(
    name="modulo",
    problem="microbatch",
    kind="exact",
    summary="Modulo scheduling with CP-SAT: least period, then memory, then warm-up and cool-down.",
    run=Deferred("boundmark.bounds.microbatch.modulo:run"),
    version=2,
    warm=("ortools.sat.python.cp_model",),
)

MODULO_TREE = Method(
    name="modulo-tree",
    problem="microbatch",
    kind="bound",
    summary="Periods refuted by a small search over phases, which the checker repeats.",
    run=Deferred("boundmark.bounds.microbatch.modulo_tree:run"),
    warm=("ortools.graph.python.min_cost_flow",),
)

METHODS: tuple[Method, ...] = (
    DEVICE_LOAD,
    MEMORY_LATENCY,
    MODULO,
    MODULO_TREE,
)
