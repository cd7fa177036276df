"""Checks `placement`: operators of a graph on the devices of a cluster, and a schedule.

The instance: the `duration` of each operator on each device, -1 where that cannot run it; what it
takes of its device's `memory`, of which each device has a `capacity`; for each tensor its
`producer`, its `consumers`, and its `size`: the row of `times` that says how long it takes from each
device to each other one. A solution gives `devices` and `starts` of the operators, and `transfers`.
A tensor is moved to each device that reads it and is not its producer's, once for all consumers
there (`transfers` of the instance is per-tensor) or once for each (per-edge). A device runs one
operator, sends one tensor and receives one tensor at a time; what takes no time is in nobody's way.
OPT is the least possible end of the last operator. Kinds of certificates for OPT >= bound:

critical-path/1
    An operator on device d starts no earlier than each input is there: if the producer is on e, not
    before its end there and the tensor's ticks from e to d. Of all e, the best counts. By induction,
    each operator has a least start on each device. Some operator ends last.
assignment-load/1
    With weights a_d and b_d of the devices: each device runs its operators one after another, so
    OPT sum(a) >= the sum over operators of a_d duration[d], for the devices d that they are on. And
    sum(b_d capacity[d]) >= the sum over operators of b_d memory. Of both together, each operator
    needs the least over the devices that support it and have room for it alone.
interval-load/1
    An interval begins with the end of one operator, or of none, and ends with the start of another,
    or of none; the first is an ancestor of all that the last waits for and that is not an ancestor
    of the first, so these operators run in between. Suppose that takes at most t ticks, with given
    devices of the first and the last. As for critical-path, each operator in between has a least
    time from the first (head) and to the last (tail), on each device. It cannot be on a device where
    head + duration + tail > t. On device d, those that can be there run one after another, after
    the least head a_d and before the least tail b_d of them; so their durations add up to at most
    t - a_d - b_d, which is at least 0. If weights of the devices show that this leaves too little
    for all operators, or if an operator can be nowhere, the interval takes at least t + 1. That may
    be used like the ticks of a tensor, from the first to the last, in intervals that follow in the
    list. The last interval is the whole schedule.
"""

from .instance import read_instance
from .intervals import critical_path, interval_load
from .load import assignment_load
from .schedule import objective

SOLUTION_FIELDS = frozenset({"devices", "starts", "transfers"})

KINDS = {
    "critical-path/1": critical_path,
    "assignment-load/1": assignment_load,
    "interval-load/1": interval_load,
}

__all__ = ["KINDS", "SOLUTION_FIELDS", "objective", "read_instance"]
