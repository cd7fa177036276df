"""One module per method; what several of them use is in the folders beside this one."""

from boundmark.bounds.microbatch.methods import device_load, memory_latency, modulo, modulo_tree
from boundmark.problems.method import Method

METHODS: tuple[Method, ...] = (
    device_load.METHOD,
    memory_latency.METHOD,
    modulo.METHOD,
    modulo_tree.METHOD,
)
