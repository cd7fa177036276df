"""Heuristics for `pipeline`."""

from boundmark.problems.method import Deferred, Method

SLICEGRAPH = Method(
    name="slicegraph",
    problem="pipeline",
    kind="heuristic",
    summary="Best segmentation of the graph's own topological order ([MTPP24], Algorithm 1).",
    run=Deferred("boundmark.heuristics.pipeline.slicegraph:run_slicegraph"),
)

RANDOM = tuple(
    Method(
        name=f"random-{samples}",
        problem="pipeline",
        kind="heuristic",
        summary="Best segmentation over random topological orders ([MTPP24], Appendix C.1).",
        run=Deferred("boundmark.heuristics.pipeline.slicegraph:run_random"),
        params={"samples": samples},
        seeded=True,
    )
    for samples in (1, 100, 10_000)
)

BRKGA = tuple(
    Method(
        name=f"brkga-{population * generations}",
        problem="pipeline",
        kind="heuristic",
        summary="Genetic search over topological orders, each segmented ([MTPP24], Algorithm 2).",
        run=Deferred("boundmark.heuristics.pipeline.slicegraph:run_brkga"),
        params={"population": population, "generations": generations},
        seeded=True,
    )
    for population, generations in ((10, 10), (100, 100))
)

MLA = tuple(
    Method(
        name=name,
        problem="pipeline",
        kind="heuristic",
        summary=f"Segmentation of a linear arrangement, {weight} ([MTPP24], Appendix C.1).",
        run=Deferred("boundmark.heuristics.pipeline.slicegraph:run_mla"),
        params={"weighted": weighted, "population": 100, "generations": 100},
        seeded=True,
    )
    for name, weighted, weight in (
        ("mla", False, "every edge alike"),
        ("mla-weighted", True, "edges weighted by transfer"),
    )
)

UNIFORM = Method(
    name="uniform",
    problem="pipeline",
    kind="heuristic",
    summary="Equal numbers of nodes in each stage, in topological order.",
    run=Deferred("boundmark.heuristics.pipeline.even_cuts:run_uniform"),
)

BALANCED_WORK = Method(
    name="balanced-work",
    problem="pipeline",
    kind="heuristic",
    summary="Stages of even work in topological order; transfers are ignored.",
    run=Deferred("boundmark.heuristics.pipeline.even_cuts:run_balanced_work"),
    version=2,
)

PIPEDREAM = Method(
    name="pipedream",
    problem="pipeline",
    kind="heuristic",
    summary="PipeDream's planner: neighbouring stages only, transfers overlap with work.",
    run=Deferred("boundmark.heuristics.pipeline.pipedream:run"),
)

RESLICE = Method(
    name="reslice",
    problem="pipeline",
    kind="heuristic",
    summary="Local search that segments orders consistent with the current partition again.",
    run=Deferred("boundmark.heuristics.pipeline.slicegraph:run_reslice"),
    params={"evaluations": 0},
    seeded=True,
)

MEMETIC = Method(
    name="memetic",
    problem="pipeline",
    kind="heuristic",
    summary="Genetic search over orders, minimum cuts between stages, annealed node moves.",
    run=Deferred("boundmark.heuristics.pipeline.memetic:run"),
    params={"evaluations": 0},
    seeded=True,
    version=9,
)

METHODS: tuple[Method, ...] = (
    SLICEGRAPH,
    *RANDOM,
    *BRKGA,
    *MLA,
    UNIFORM,
    BALANCED_WORK,
    PIPEDREAM,
    RESLICE,
    MEMETIC,
)
