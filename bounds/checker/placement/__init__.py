"""Checks `placement`: operators of a graph on the devices of a cluster, and a schedule.

The instance: the `duration` of each operator on each device, -1 where that cannot run it; what it
takes of its device's `memory`, of which each device has a `capacity`; for each tensor its
`producer`, its `consumers`, and its `size`: the row of `times` that says how long it takes from
each device to each other one. A solution gives `devices` and `starts` of the operators, and rows
(tensor, receiver, start) of `transfers`. A tensor is moved to each device that reads it and is not
its producer's, once for all consumers there (`transfers` of the instance is per-tensor) or once for
each (per-edge). A device runs one operator, sends one tensor and receives one tensor at a time;
what takes no time is in nobody's way.
With `memory_model` parameters+live, tensors take memory besides, `tensor_memory` of each, while
they are live: on its producer's device from that one's start until its readers there have ended and
it has been moved elsewhere; on another one from the start of its transfer until its readers there
have ended. What an operator writes and nobody reads (`result_memory`) is live while it runs. No
kind of certificate needs to know of this but in one way: an operator that takes time is nowhere
where its `memory`, its inputs and its outputs have no room. All else holds for any schedule.
OPT is the least possible end of the last operator. Kinds of certificates for OPT >= bound:

critical-path/1
    An operator on device d starts no earlier than each input is there: if the producer is on e,
    not before its end there and the tensor's ticks from e to d. Of all e, the best counts. By
    induction, each operator has a least start on each device. Some operator ends last.
assignment-load/1
    Work on a device adds up to at most OPT, and memory to at most its capacity. With weights w_d of
    work and m_d of memory, OPT sum(w) + sum(m_d capacity_d) is at least the sum over operators of
    the least w_d duration + m_d memory, over the devices where each can be.
interval-load/1
    An interval begins with the end of its first operator, or with the schedule, and ends with the
    start of its last operator, or with the schedule. In between run the operators that the last one
    waits for, found backwards from it without going beyond the first one; each of them has to wait
    for the first one. Suppose that they take at most t ticks, with given devices of the first and
    the last. As for critical-path, each of them has, on each device, a least time from the first
    (head) and to the last (tail). It is not where head + duration + tail > t. On device d, those
    that can be there run one after another, after their least head h_d and before their least tail
    l_d; so their durations add up to at most t - h_d - l_d, which is at least 0. If weights of the
    devices show that this is too little for all of them, or if one can be nowhere, the interval
    takes at least t + 1. Like the ticks of a tensor, that delays the last operator after the first
    in the intervals that follow in the list. The last interval there is the whole schedule.
series/1
    Intervals as above, with two differences. In between are only the operators that wait for the
    first one and that the last one waits for; what they read from elsewhere is left out, and what
    is moved elsewhere too. Any schedule, without the rest, is one of these operators: each of them
    runs between the end of the first and the start of the last one, and so do the transfers among
    them and the two. And a search of all their schedules may refute a threshold, for given devices
    of the first and the last one (see `module_search`). It is made once for intervals that are the
    same, and for pairs of devices that are alike (see `alike`).
"""

from .instance import read_instance
from .intervals import assignment_load, critical_path
from .schedule import objective
from .series import interval_load, series

SOLUTION_FIELDS = frozenset({"devices", "starts", "transfers"})

KINDS = {
    "critical-path/1": critical_path,
    "assignment-load/1": assignment_load,
    "interval-load/1": interval_load,
    "series/1": series,
}

__all__ = ["KINDS", "SOLUTION_FIELDS", "objective", "read_instance"]
