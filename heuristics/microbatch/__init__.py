"""Heuristics for `microbatch`: published searches and hand-made schedules."""

from functools import partial

from boundmark.problems.method import Deferred, Method

_heuristic = partial(Method, problem="microbatch", kind="heuristic")

METHODS: tuple[Method, ...] = (
    _heuristic(
        name="gpipe",
        summary="All forward blocks, then all backward ones, in groups that fit ([GPIPE19]).",
        run=Deferred("boundmark.heuristics.microbatch.one_stage_per_device:run_gpipe"),
    ),
    _heuristic(
        name="1f1b",
        summary="One forward and one backward block in turn, with one stage per device "
        "([DAPPLE21]).",
        run=Deferred("boundmark.heuristics.microbatch.one_stage_per_device:run_1f1b"),
    ),
    _heuristic(
        name="1f1b-plus",
        summary="1F1B with distributed blocks next to their neighbours ([TESSEL24], Section VI-A).",
        run=Deferred("boundmark.heuristics.microbatch.one_stage_per_device:run_1f1b_plus"),
    ),
    _heuristic(
        name="interleaved-1f1b",
        summary="1F1B with several stages per device, in turn ([MEGATRON21], Section 2.2).",
        run=Deferred("boundmark.heuristics.microbatch.several_stages_per_device:run_interleaved"),
    ),
    _heuristic(
        name="chimera-direct",
        summary="Two pipelines in opposite directions, D/2 micro-batches in flight ([CHIMERA21]).",
        run=Deferred("boundmark.heuristics.microbatch.several_stages_per_device:run_chimera"),
    ),
    _heuristic(
        name="zb-h1",
        summary="1F1B with split backward blocks, weights' gradients delayed ([ZEROBUBBLE24]).",
        run=Deferred("boundmark.heuristics.microbatch.one_stage_per_device:run_zb_h1"),
    ),
    _heuristic(
        name="zb-v",
        summary="Zero-bubble schedule of two stages per device in a V ([ZEROBUBBLE24], Section 6).",
        run=Deferred("boundmark.heuristics.microbatch.two_stages_in_a_v:run_zb_v"),
    ),
    _heuristic(
        name="dualpipe-v",
        summary="Forward blocks of one stage, backward blocks of the other in turn ([DEEPSEEK24]).",
        run=Deferred("boundmark.heuristics.microbatch.two_stages_in_a_v:run_dualpipe_v"),
    ),
    _heuristic(
        name="tessel",
        version=2,
        summary="Repetends of more and more micro-batches, then warm-up and cool-down "
        "([TESSEL24]).",
        run=Deferred("boundmark.heuristics.microbatch.tessel:run"),
        params={"lazy": True, "largest_repetend": 0, "only_repetend": 0, "memory": "pairs"},
        seeded=True,
        requires=("z3",),
        warm=("z3",),
    ),
    Method(
        problem="microbatch",
        name="time-optimal",
        kind="exact",
        summary="All micro-batches at once by Z3, the shortest makespan by bisection ([TESSEL24]).",
        run=Deferred("boundmark.heuristics.microbatch.time_optimal:run"),
        params={"memory": "timeline"},
        seeded=True,
        requires=("z3",),
        warm=("z3",),
    ),
)
