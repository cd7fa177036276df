"""Schedules for `microbatch`: published searches and hand-made schedules."""

from boundmark.heuristics.microbatch.methods.chimera import CHIMERA_DIRECT
from boundmark.heuristics.microbatch.methods.gpipe import GPIPE
from boundmark.heuristics.microbatch.methods.interleaved import INTERLEAVED_1F1B
from boundmark.heuristics.microbatch.methods.one_forward_one_backward import (
    ONE_FORWARD_ONE_BACKWARD,
)
from boundmark.heuristics.microbatch.methods.one_forward_one_backward_plus import (
    ONE_FORWARD_ONE_BACKWARD_PLUS,
)
from boundmark.heuristics.microbatch.methods.tessel import TESSEL
from boundmark.heuristics.microbatch.methods.time_optimal import TIME_OPTIMAL
from boundmark.heuristics.microbatch.methods.zero_bubble import ZB_H1
from boundmark.problems.method import Method

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
