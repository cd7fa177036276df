"""Schedules for `microbatch`: published searches and hand-made schedules."""

from boundmark.problems.method import Method

METHODS: tuple[Method, ...] = ()
