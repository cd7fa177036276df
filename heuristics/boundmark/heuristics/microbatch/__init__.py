"""Schedules for `microbatch`: published searches and hand-made schedules."""

from boundmark.heuristics.microbatch.constructors.chimera import CHIMERA_DIRECT
from boundmark.heuristics.microbatch.constructors.gpipe import GPIPE
from boundmark.heuristics.microbatch.constructors.interleaved import INTERLEAVED_1F1B
from boundmark.heuristics.microbatch.constructors.one_forward_one_backward import (
    ONE_FORWARD_ONE_BACKWARD,
)
from boundmark.heuristics.microbatch.constructors.one_forward_one_backward_plus import (
    ONE_FORWARD_ONE_BACKWARD_PLUS,
)
from boundmark.heuristics.microbatch.constructors.zero_bubble import ZB_H1
from boundmark.heuristics.microbatch.searches.tessel import TESSEL
from boundmark.heuristics.microbatch.searches.time_optimal import TIME_OPTIMAL
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
