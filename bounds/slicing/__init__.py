"""Lower bounds for `slicing`."""

from boundmark.problems.method import Deferred, Method

SLICE_COMPUTE = Method(
    name="slice-compute",
    problem="slicing",
    kind="bound",
    summary="The best split of each operator, as if nothing were communicated.",
    run=Deferred("boundmark.bounds.slicing.slice_potentials:run_without_transfers"),
)

SLICE_POTENTIALS = Method(
    name="slice-potentials",
    problem="slicing",
    kind="bound",
    summary="Least times of operators by width, with potentials passed between neighbours.",
    run=Deferred("boundmark.bounds.slicing.slice_potentials:run"),
    params={"classes": 0},
    version=3,
)

SLICE_MEMORY = Method(
    name="slice-memory",
    problem="slicing",
    kind="bound",
    summary="The same as slice-potentials, over the widths for which devices have memory.",
    run=Deferred("boundmark.bounds.slicing.slice_potentials:run_with_memory"),
    params={"classes": 0},
    version=3,
)

METHODS: tuple[Method, ...] = (
    SLICE_COMPUTE,
    SLICE_POTENTIALS,
    SLICE_MEMORY,
)
