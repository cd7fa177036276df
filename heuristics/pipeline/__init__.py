"""Heuristics for `pipeline`."""

from functools import partial

from boundmark.problems.method import Deferred, Method

_heuristic = partial(Method, problem="pipeline", kind="heuristic")

BEHIND = "It is a baseline; memetic is ahead in the same time (docs/results-mtpp.md)."
PARTS = "It takes seconds; memetic has the moves that follow the parts."

METHODS: tuple[Method, ...] = (
    _heuristic(
        name="slicegraph",
        summary="Best segmentation of the graph's own topological order ([MTPP24], Algorithm 1).",
        run=Deferred("boundmark.heuristics.pipeline.slicegraph:run_slicegraph"),
    ),
    *(
        _heuristic(
            name=f"random-{samples}",
            summary="Best segmentation over random topological orders ([MTPP24], Appendix C.1).",
            run=Deferred("boundmark.heuristics.pipeline.slicegraph:run_random"),
            params={"samples": samples},
            seeded=True,
            left_out=BEHIND,
        )
        for samples in (1, 100, 10_000)
    ),
    *(
        _heuristic(
            name=f"brkga-{population * generations}",
            summary="Genetic search over topological orders, each segmented ([MTPP24], Algorithm "
            "2).",
            run=Deferred("boundmark.heuristics.pipeline.slicegraph:run_brkga"),
            params={"population": population, "generations": generations},
            seeded=True,
            left_out=BEHIND,
        )
        for population, generations in ((10, 10), (100, 100))
    ),
    *(
        _heuristic(
            name=name,
            summary=f"Segmentation of a linear arrangement, {weight} ([MTPP24], Appendix C.1).",
            run=Deferred("boundmark.heuristics.pipeline.slicegraph:run_mla"),
            params={"weighted": weighted, "population": 100, "generations": 100},
            seeded=True,
            left_out=BEHIND,
        )
        for name, weighted, weight in (
            ("mla", False, "every edge alike"),
            ("mla-weighted", True, "edges weighted by transfer"),
        )
    ),
    _heuristic(
        name="uniform",
        summary="Equal numbers of nodes in each stage, in topological order.",
        run=Deferred("boundmark.heuristics.pipeline.even_cuts:run_uniform"),
    ),
    _heuristic(
        name="balanced-work",
        summary="Stages of even work in topological order; transfers are ignored.",
        run=Deferred("boundmark.heuristics.pipeline.even_cuts:run_balanced_work"),
        version=2,
    ),
    _heuristic(
        name="pippy",
        summary="Stages of even parameters in topological order, as PyTorch's PiPPy splits.",
        run=Deferred("boundmark.heuristics.pipeline.even_cuts:run_pippy"),
    ),
    _heuristic(
        name="pipedream",
        summary="PipeDream's planner: neighbouring stages only, transfers overlap with work.",
        run=Deferred("boundmark.heuristics.pipeline.pipedream:run"),
    ),
    *(
        _heuristic(
            name=name,
            summary=f"Parts by {tool} made acyclic, then moves of nodes ({key}).",
            run=Deferred(f"boundmark.heuristics.pipeline.undirected:run_{name.replace('-', '_')}"),
            params={"tries": tries, "recut": True, "improve": True},
            version=2,
            seeded=True,
            requires=(module,),
            left_out=PARTS,
        )
        for name, tool, key, tries, module in (
            ("metis", "METIS", "[METIS98]", 6, "pymetis"),
            ("mt-kahypar", "Mt-KaHyPar", "[MTKAHYPAR24]", 3, "mtkahypar"),
        )
    ),
    _heuristic(
        name="reslice",
        summary="Local search that segments orders consistent with the current partition again.",
        run=Deferred("boundmark.heuristics.pipeline.slicegraph:run_reslice"),
        params={"evaluations": 0},
        seeded=True,
        left_out=BEHIND,
    ),
    _heuristic(
        name="memetic",
        summary="Genetic search over orders, then annealed moves of nodes between stages.",
        run=Deferred("boundmark.heuristics.pipeline.memetic:run"),
        params={"evaluations": 0},
        seeded=True,
        version=10,
    ),
)
