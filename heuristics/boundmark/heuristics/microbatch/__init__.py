"""Schedules for `microbatch`: published searches and hand-made schedules."""

from boundmark.heuristics.microbatch.tessel import METHOD as TESSEL
from boundmark.heuristics.microbatch.time_optimal import METHOD as TIME_OPTIMAL
from boundmark.problems.method import Method

METHODS: tuple[Method, ...] = (TESSEL, TIME_OPTIMAL)
