"""`modulo`: the shortest period by modulo scheduling, or the shortest makespan, with CP-SAT."""

from boundmark.bounds.microbatch.modulo.method import METHOD

__all__ = ["METHOD"]
