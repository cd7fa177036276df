"""Heuristics for `microbatch`: published searches and hand-made schedules."""

from boundmark.problems.method import Deferred, Method

GPIPE = Method(
    name="gpipe",
    problem="microbatch",
    kind="heuristic",
    summary="All forward blocks, then all backward ones, in groups that fit ([GPIPE19]).",
    run=Deferred("boundmark.heuristics.microbatch.one_stage_per_device:run_gpipe"),
)

ONE_FORWARD_ONE_BACKWARD = Method(
    name="1f1b",
    problem="microbatch",
    kind="heuristic",
    summary="One forward and one backward block in turn, with one stage per device ([DAPPLE21]).",
    run=Deferred("boundmark.heuristics.microbatch.one_stage_per_device:run_1f1b"),
)

ONE_FORWARD_ONE_BACKWARD_PLUS = Method(
    name="1f1b-plus",
    problem="microbatch",
    kind="heuristic",
    summary="1F1B with distributed blocks next to their neighbours ([TESSEL24], Section VI-A).",
    run=Deferred("boundmark.heuristics.microbatch.one_stage_per_device:run_1f1b_plus"),
)

INTERLEAVED_1F1B = Method(
    name="interleaved-1f1b",
    problem="microbatch",
    kind="heuristic",
    summary="1F1B with several stages per device, in turn ([MEGATRON21], Section 2.2).",
    run=Deferred("boundmark.heuristics.microbatch.several_stages_per_device:run_interleaved"),
)

CHIMERA_DIRECT = Method(
    name="chimera-direct",
    problem="microbatch",
    kind="heuristic",
    summary="Two pipelines in opposite directions, D/2 micro-batches in flight ([CHIMERA21]).",
    run=Deferred("boundmark.heuristics.microbatch.several_stages_per_device:run_chimera"),
)

ZB_H1 = Method(
    name="zb-h1",
    problem="microbatch",
    kind="heuristic",
    summary="1F1B with split backward blocks, weights' gradients delayed ([ZEROBUBBLE24]).",
    run=Deferred("boundmark.heuristics.microbatch.one_stage_per_device:run_zb_h1"),
)

TESSEL = Method(
    name="tessel",
    problem="microbatch",
    kind="heuristic",
    version=2,
    summary="Repetends of more and more micro-batches, then warm-up and cool-down ([TESSEL24]).",
    run=Deferred("boundmark.heuristics.microbatch.tessel:run"),
    params={"lazy": True, "largest_repetend": 0, "only_repetend": 0, "memory": "pairs"},
    seeded=True,
    requires=("z3",),
    warm=("z3",),
)

TIME_OPTIMAL = Method(
    name="time-optimal",
    problem="microbatch",
    kind="exact",
    summary="All micro-batches at once by Z3, the shortest makespan by bisection ([TESSEL24]).",
    run=Deferred("boundmark.heuristics.microbatch.time_optimal:run"),
    params={"memory": "timeline"},
    seeded=True,
    requires=("z3",),
    warm=("z3",),
)

METHODS: tuple[Method, ...] = (
    GPIPE,
    ONE_FORWARD_ONE_BACKWARD,
    ONE_FORWARD_ONE_BACKWARD_PLUS,
    INTERLEAVED_1F1B,
    CHIMERA_DIRECT,
    ZB_H1,
    TESSEL,
    TIME_OPTIMAL,
)
