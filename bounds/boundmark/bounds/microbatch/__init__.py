"""Lower bounds for `microbatch`, and searches that prove an optimum."""

from boundmark.problems.method import Method

METHODS: tuple[Method, ...] = ()
