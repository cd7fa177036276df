"""Checks `slicing`: operators cut into parts for the devices around a router.

The instance: operators run one after another in their order, or in another one that a solution
brings, in which each comes after those that it reads. Operator i has `length` indices; a
solution's vector of i gives device j those from vector[j] up to vector[j + 1]. A part takes its
share of the operator's `work` on the device, rounded up, and `launch` if there is work. Before, the
device gets what it needs of each tensor that i reads and has not computed itself; an edge says what
is needed (`instance.Edge`). An edge of which each part needs everything is broadcast to all
devices, in full, as soon as two of them compute parts. The router takes `point_to_point` or
`broadcast` ticks for so many bytes, and `delay` if there are any. The operator takes as long as its
slowest device, and OPT is the least possible sum over operators. While an operator runs, a device
holds at most its `capacity`: parameters and output of its part, what it received, and its parts of
all outputs that are still to be read. Slices of channels (axis 0) hold their share of parameters,
slices of the height (axis 1) all. Kinds of certificates for OPT >= bound:

slice-compute/1
    If an operator took t ticks, device j would compute at most (t - launch) length / work indices,
    rounded down. So t is at least the smallest for which these add up to the length. Their sum over
    operators is the bound; what is communicated is left out.
slice-potentials/1
    The width of an operator is the largest number of indices that a device computes of it; classes
    of widths are given. For an operator and what it reads, `ticks` bounds the ticks below for every
    combination of classes; that part of the argument is in its docstring. Whatever integers are
    added to an operator's ticks for the class of an input, and taken away from the input's own
    ticks for the same class, no plan's total changes. So OPT is at least the sum over operators of
    the least value over all combinations, each operator on its own.
slice-memory/1
    The same payload and sum. Classes of widths, devices and numbers of devices for which there is
    no memory are left out; `memory.Room` has the argument.
"""

from .compute import slice_compute
from .instance import read_instance
from .plan import objective
from .potentials import slice_memory, slice_potentials

SOLUTION_FIELDS = frozenset({"vectors"})
OPTIONAL_FIELDS = ("order",)

KINDS = {
    "slice-compute/1": slice_compute,
    "slice-potentials/1": slice_potentials,
    "slice-memory/1": slice_memory,
}

__all__ = ["KINDS", "OPTIONAL_FIELDS", "SOLUTION_FIELDS", "objective", "read_instance"]
