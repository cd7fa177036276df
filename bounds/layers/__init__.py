"""Lower bounds and exact methods for `layers`."""

from boundmark.problems.method import Deferred, Method

LAYER_REACH = Method(
    name="layer-reach",
    problem="layers",
    kind="exact",
    summary="A best-first search over the last stages, with prices of devices (after [PINAR08]).",
    run=Deferred("boundmark.bounds.layers.layer_reach:run"),
    params={"steps": 0},
    version=2,
)

METHODS: tuple[Method, ...] = (LAYER_REACH,)
