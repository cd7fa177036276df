"""One module per method; what several of them use is in the folders beside this one."""

from boundmark.bounds.slicing.methods import slice_compute, slice_potentials
from boundmark.problems.method import Method

METHODS: tuple[Method, ...] = (slice_compute.METHOD, slice_potentials.METHOD)
