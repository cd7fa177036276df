"""Heuristics for `slicing`."""

from functools import partial

from boundmark.problems.method import Deferred, Method

_heuristic = partial(Method, problem="slicing", kind="heuristic")

BEHIND = "It is the paper's; slice-search is ahead in the same time (docs/results-memorianova.md)."

METHODS: tuple[Method, ...] = (
    _heuristic(
        name="one-device",
        summary="The whole model on one device, the best one.",
        run=Deferred("boundmark.heuristics.slicing.one_device:run"),
    ),
    _heuristic(
        name="equal-slices",
        summary="Every operator in equal parts on all devices.",
        run=Deferred("boundmark.heuristics.slicing.simple_plans:run_equal_slices"),
    ),
    _heuristic(
        name="speed-slices",
        summary="Every operator on all devices, in parts proportional to their speeds.",
        run=Deferred("boundmark.heuristics.slicing.simple_plans:run_speed_slices"),
    ),
    _heuristic(
        name="layer-pipeline",
        summary="Whole operators, a run of them on each device by its speed.",
        run=Deferred("boundmark.heuristics.slicing.simple_plans:run_layer_pipeline"),
    ),
    _heuristic(
        name="best-response",
        summary="Each operator in turn gets the vector that is best for it and its readers.",
        run=Deferred("boundmark.heuristics.slicing.slice_search:run_best_response"),
    ),
    _heuristic(
        name="geneflow",
        summary="A genetic algorithm over partition vectors that keeps the best ([MEMORIANOVA24]).",
        run=Deferred("boundmark.heuristics.slicing.memorianova:run_geneflow"),
        params={"population": 100, "generations": 1_000_000},
        seeded=True,
        requires=("pymoo",),
        left_out=BEHIND,
    ),
    _heuristic(
        name="memorianova",
        summary="The paper's design: btsearch orders operators, geneflow slices ([MEMORIANOVA24]).",
        run=Deferred("boundmark.heuristics.slicing.memorianova:run_memorianova"),
        params={"population": 100, "generations": 1_000_000},
        seeded=True,
        version=2,
        requires=("pymoo",),
        left_out=BEHIND,
    ),
    _heuristic(
        name="slice-search",
        summary="Simulated annealing over partition vectors, from the best responses.",
        run=Deferred("boundmark.heuristics.slicing.slice_search:run_slice_search"),
        params={"evaluations": 0},
        seeded=True,
        version=2,
    ),
)
