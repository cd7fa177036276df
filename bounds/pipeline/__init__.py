"""Lower bounds and exact methods for `pipeline`."""

from boundmark.problems.method import Deferred, Method

# What `ideal-dp` imports only for graphs with many down-sets.
IDEALS = (
    "boundmark.bounds.pipeline.downsets.ideals",
    "boundmark.bounds.pipeline.flows.minimum_cuts",
)

MAX_WORK = Method(
    name="max-work",
    problem="pipeline",
    kind="bound",
    summary="The longest node's work ([MTPP24], Lemma 3.3).",
    run=Deferred("boundmark.bounds.pipeline.paper.work:run_max_work"),
)

MEAN_WORK = Method(
    name="mean-work",
    problem="pipeline",
    kind="bound",
    summary="All work divided by k ([MTPP24], Lemma 3.3).",
    run=Deferred("boundmark.bounds.pipeline.paper.work:run_mean_work"),
)

NODE_CUT = Method(
    name="node-cut",
    problem="pipeline",
    kind="bound",
    summary="The cheapest set around the most demanding node, by minimum cuts.",
    run=Deferred("boundmark.bounds.pipeline.flows.minimum_cuts:run_node_cut"),
)

FRACTIONAL_LOAD = Method(
    name="fractional-load",
    problem="pipeline",
    kind="bound",
    summary="Each node's share of a stage's work, given the tensors around it, by minimum cuts.",
    run=Deferred("boundmark.bounds.pipeline.flows.fractional_load:run"),
    version=3,
)

PACKING = Method(
    name="packing",
    problem="pipeline",
    kind="bound",
    summary="Node weights under which each feasible stage weighs at most 1, by connected parts.",
    run=Deferred("boundmark.bounds.pipeline.weights.packing:run"),
    params={"precision": 0.0},
    version=10,
)

CUT_TREE = Method(
    name="cut-tree",
    problem="pipeline",
    kind="bound",
    summary="Node weights that cheap stages cannot add up to, by trees of minimum cuts.",
    run=Deferred("boundmark.bounds.pipeline.weights.cut_tree:run"),
    version=7,
)

MIP_TREE = Method(
    name="mip-tree",
    problem="pipeline",
    kind="bound",
    summary="Branch and bound on the strengthened exact MIP, every leaf certified.",
    run=Deferred("boundmark.bounds.pipeline.prefixes.mip_tree:run"),
    version=5,
)

IDEAL_DP = Method(
    name="ideal-dp",
    problem="pipeline",
    kind="exact",
    summary="The optimum by dynamic programming over down-sets, for graphs that have few of them.",
    run=Deferred("boundmark.bounds.pipeline.downsets.ideal_dp:run"),
    params={"ideals": 200_000},
    warm=IDEALS,
)

TWO_BRANCH_DP = Method(
    name="two-branch-dp",
    problem="pipeline",
    kind="exact",
    summary="Dynamic programming over pairs of down-sets, for graphs with two parallel branches.",
    run=Deferred("boundmark.bounds.pipeline.downsets.two_branch_dp:run"),
    seeded=True,
)

PREFIX_BOUND = Method(
    name="prefix-bound",
    problem="pipeline",
    kind="exact",
    summary="The most that the first stages can hold, stage after stage, by branch and bound.",
    run=Deferred("boundmark.bounds.pipeline.prefixes.prefix_bound:run"),
    seeded=True,
    version=5,
)

CERTIFY = Method(
    name="certify",
    problem="pipeline",
    kind="bound",
    summary="The best certificate in the time given, by the bounds that suit the graph.",
    run=Deferred("boundmark.bounds.pipeline.certify:run"),
    params={"ideals": 20_000, "known_cost": 0},
    known_cost="known_cost",
    version=32,
    warm=IDEALS,
)

BOTTLENECK = Method(
    name="bottleneck",
    problem="pipeline",
    kind="bound",
    summary="Three-superblock program: a stage, what is before and after it ([MTPP24], 3.2).",
    run=Deferred("boundmark.bounds.pipeline.paper.integer_programs:run_bottleneck"),
    params={"solver": "highs"},
)

BOTTLENECK_GUESS = Method(
    name="bottleneck-guess",
    problem="pipeline",
    kind="bound",
    summary="Three-superblock programs, one for each position of the stage ([MTPP24], 3.3).",
    run=Deferred("boundmark.bounds.pipeline.paper.integer_programs:run_bottleneck_guess"),
    params={"solver": "highs"},
    version=3,
)

EXACT = Method(
    name="exact",
    problem="pipeline",
    kind="exact",
    summary="The exact program as printed ([MTPP24], Figure 3).",
    run=Deferred("boundmark.bounds.pipeline.paper.integer_programs:run_exact"),
    params={"solver": "highs"},
)

METHODS: tuple[Method, ...] = (
    MAX_WORK,
    MEAN_WORK,
    NODE_CUT,
    FRACTIONAL_LOAD,
    PACKING,
    CUT_TREE,
    MIP_TREE,
    IDEAL_DP,
    TWO_BRANCH_DP,
    PREFIX_BOUND,
    CERTIFY,
    BOTTLENECK,
    BOTTLENECK_GUESS,
    EXACT,
)
