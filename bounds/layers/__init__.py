"""Lower bounds and exact methods for `layers`."""

from boundmark.problems.method import Deferred, Method

LAYER_REACH = Method(
    name="layer-reach",
    problem="layers",
    kind="exact",
    summary="A best-first search over the last stages, with prices of devices (after [PINAR08]).",
    run=Deferred("boundmark.bounds.layers.layer_reach:run"),
    params={"steps": 0},
    version=3,
)

LAYER_LOAD = Method(
    name="layer-load",
    problem="layers",
    kind="bound",
    summary="Time that layers need of all devices, for the bottleneck with virtual stages.",
    run=Deferred("boundmark.bounds.layers.layer_load:run"),
)

LAYER_CHOICES = Method(
    name="layer-choices",
    problem="layers",
    kind="exact",
    summary="layer-reach for each number of layers on the host, or each parallelism of `plan`.",
    run=Deferred("boundmark.bounds.layers.layer_choices:run"),
    params={"steps": 0},
)

METHODS: tuple[Method, ...] = (LAYER_REACH, LAYER_LOAD, LAYER_CHOICES)
