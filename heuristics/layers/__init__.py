"""Heuristics for `layers`."""

from boundmark.problems.method import Method

METHODS: tuple[Method, ...] = ()
