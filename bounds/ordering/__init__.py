"""Lower bounds and exact methods for `ordering`."""

from boundmark.problems.method import Deferred, Method

OPERATOR_MEMORY = Method(
    name="operator-memory",
    problem="ordering",
    kind="bound",
    summary="The memory that the largest operator needs while it runs, whatever the order.",
    run=Deferred("boundmark.bounds.ordering.operator_memory:run"),
)

LIVE_CUT = Method(
    name="live-cut",
    problem="ordering",
    kind="bound",
    summary="The least memory while each operator runs, by a minimum cut over down-sets.",
    run=Deferred("boundmark.bounds.ordering.live_cut:run"),
)

DOWNSET_DP = Method(
    name="downset-dp",
    problem="ordering",
    kind="exact",
    summary="Dynamic programming over down-sets between breakpoints that optimal orders pass.",
    run=Deferred("boundmark.bounds.ordering.downset_dp:run"),
    params={"width": 1_000_000},
)

BTSEARCH = Method(
    name="btsearch",
    problem="ordering",
    kind="exact",
    summary="Backtracking over graph states, with state marking and hashing ([MEMORIANOVA24]).",
    run=Deferred("boundmark.bounds.ordering.btsearch:run"),
    params={"marking": "remainder", "hashing": True},
    version=2,
)

METHODS: tuple[Method, ...] = (
    OPERATOR_MEMORY,
    LIVE_CUT,
    DOWNSET_DP,
    BTSEARCH,
)
