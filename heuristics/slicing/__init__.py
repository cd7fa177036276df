"""Heuristics for `slicing`."""

from boundmark.problems.method import Deferred, Method

ONE_DEVICE = Method(
    name="one-device",
    problem="slicing",
    kind="heuristic",
    summary="The whole model on one device, the best one.",
    run=Deferred("boundmark.heuristics.slicing.one_device:run"),
)

EQUAL_SLICES = Method(
    name="equal-slices",
    problem="slicing",
    kind="heuristic",
    summary="Every operator in equal parts on all devices.",
    run=Deferred("boundmark.heuristics.slicing.simple_plans:run_equal_slices"),
)

SPEED_SLICES = Method(
    name="speed-slices",
    problem="slicing",
    kind="heuristic",
    summary="Every operator on all devices, in parts proportional to their speeds.",
    run=Deferred("boundmark.heuristics.slicing.simple_plans:run_speed_slices"),
)

LAYER_PIPELINE = Method(
    name="layer-pipeline",
    problem="slicing",
    kind="heuristic",
    summary="Whole operators, a run of them on each device by its speed.",
    run=Deferred("boundmark.heuristics.slicing.simple_plans:run_layer_pipeline"),
)

BEST_RESPONSE = Method(
    name="best-response",
    problem="slicing",
    kind="heuristic",
    summary="Each operator in turn gets the vector that is best for it and its readers.",
    run=Deferred("boundmark.heuristics.slicing.slice_search:run_best_response"),
)

GENEFLOW = Method(
    name="geneflow",
    problem="slicing",
    kind="heuristic",
    summary="A genetic algorithm over partition vectors that keeps the best ([MEMORIANOVA24]).",
    run=Deferred("boundmark.heuristics.slicing.memorianova:run_geneflow"),
    params={"population": 100, "generations": 1_000_000},
    seeded=True,
    requires=("pymoo",),
)

MEMORIANOVA = Method(
    name="memorianova",
    problem="slicing",
    kind="heuristic",
    summary="The paper's design: btsearch orders operators, geneflow slices ([MEMORIANOVA24]).",
    run=Deferred("boundmark.heuristics.slicing.memorianova:run_memorianova"),
    params={"population": 100, "generations": 1_000_000},
    seeded=True,
    requires=("pymoo",),
)

SLICE_SEARCH = Method(
    name="slice-search",
    problem="slicing",
    kind="heuristic",
    summary="Simulated annealing over partition vectors, from the best responses.",
    run=Deferred("boundmark.heuristics.slicing.slice_search:run_slice_search"),
    params={"evaluations": 0},
    seeded=True,
    version=2,
)

METHODS: tuple[Method, ...] = (
    ONE_DEVICE,
    EQUAL_SLICES,
    SPEED_SLICES,
    LAYER_PIPELINE,
    BEST_RESPONSE,
    GENEFLOW,
    MEMORIANOVA,
    SLICE_SEARCH,
)
