"""Lower bounds for `placement`."""

from boundmark.problems.method import Deferred, Method

CRITICAL_PATH = Method(
    name="critical-path",
    problem="placement",
    kind="bound",
    summary="The longest path, each operator on its best device, with the transfers in between.",
    run=Deferred("boundmark.bounds.placement.critical_path:run"),
)

ASSIGNMENT_LOAD = Method(
    name="assignment-load",
    problem="placement",
    kind="bound",
    summary="The mean load if operators could be split among devices, within their memory.",
    run=Deferred("boundmark.bounds.placement.assignment_load:run"),
    warm=("scipy.sparse",),
)

INTERVAL_LOAD = Method(
    name="interval-load",
    problem="placement",
    kind="bound",
    summary="Paths and fractional loads between the operators that all paths pass.",
    run=Deferred("boundmark.bounds.placement.interval_load:run"),
    version=2,
    warm=("scipy.sparse",),
)

SERIES = Method(
    name="series",
    problem="placement",
    kind="bound",
    summary="Modules between operators that paths pass, searched, and added up along the model.",
    run=Deferred("boundmark.bounds.placement.series.method:run"),
    version=7,
    params={"known_cost": 0},
    known_cost="known_cost",
    warm=("scipy.sparse",),
)

PLACEMENT_CERTIFY = Method(
    name="placement-certify",
    problem="placement",
    kind="bound",
    summary="The best certificate in the time given, of loads and of searched modules.",
    run=Deferred("boundmark.bounds.placement.placement_certify:run"),
    params={"known_cost": 0},
    version=12,
    known_cost="known_cost",
    warm=("scipy.sparse",),
)

MOIRAI_MILP = Method(
    name="moirai-milp",
    problem="placement",
    kind="exact",
    summary="The mixed-integer program of [MOIRAI24], its constants as small as they can be.",
    run=Deferred("boundmark.bounds.placement.moirai_milp:run"),
    version=3,
    params={"solver": "highs", "whole": False},
    seeded=True,
)

METHODS: tuple[Method, ...] = (
    CRITICAL_PATH,
    ASSIGNMENT_LOAD,
    INTERVAL_LOAD,
    SERIES,
    PLACEMENT_CERTIFY,
    MOIRAI_MILP,
)
