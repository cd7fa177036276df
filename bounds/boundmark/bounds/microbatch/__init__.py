"""Lower bounds for `microbatch`, and searches that prove an optimum."""

from boundmark.bounds.microbatch import device_load, memory_latency, modulo
from boundmark.problems.method import Method

METHODS: tuple[Method, ...] = (
    device_load.METHOD,
    memory_latency.METHOD,
    modulo.METHOD,
)
