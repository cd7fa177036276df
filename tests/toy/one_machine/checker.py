"""What the checker knows of one-machine scheduling, with the standard library only.

subset/1
    The machine does the given jobs k times each. It cannot begin with them before the first of them
    is released, it does one at a time, and after the last one there is at least the least tail.
"""

from typing import Any, NamedTuple

from boundmark.bounds.checker.problem import Problem
from boundmark.bounds.checker.values import Rejected, fields, integer, integers


class Instance(NamedTuple):
    """The fields of an instance; tails are 0 if they do not count."""

    k: int
    release: list[int]
    duration: list[int]
    tail: list[int]


def read(document: dict[str, Any]) -> Instance:
    """Return an instance."""
    document = fields(document, "the instance", {"k", "goal", "release", "duration", "tail"})
    k = integer(document["k"], "k", 1, 2**20)
    columns = [integers(document[name], name, 0, 2**40) for name in Instance._fields[1:]]
    if len(set(map(len, columns))) != 1 or not columns[0]:
        raise Rejected("release, duration and tail are not of one length above 0")
    if document["goal"] not in ("makespan", "delivery"):
        raise Rejected("goal is neither makespan nor delivery")
    if document["goal"] == "makespan":
        columns[2] = [0] * len(columns[2])
    return Instance(k, *columns)


def objective(instance: Instance, solution: dict[str, Any]) -> int:
    """Return when all is done."""
    last = len(instance.duration) - 1
    order = integers(solution["order"], "the order", 0, last)
    if sorted(order) != sorted(list(range(last + 1)) * instance.k):
        raise Rejected("the order does not have each job k times")
    time = latest = 0
    for job in order:
        time = max(time, instance.release[job]) + instance.duration[job]
        latest = max(latest, time + instance.tail[job])
    return latest


def subset(instance: Instance, payload: Any) -> int:
    """Return the bound that some jobs give."""
    payload = fields(payload, "the payload", {"jobs"})
    jobs = integers(payload["jobs"], "jobs", 0, len(instance.duration) - 1)
    if not jobs or len(set(jobs)) < len(jobs):
        raise Rejected("jobs are none, or repeated")
    work = instance.k * sum(instance.duration[job] for job in jobs)
    return min(instance.release[j] for j in jobs) + work + min(instance.tail[j] for j in jobs)


CHECKER = Problem(read, objective, frozenset({"order"}), {"subset/1": subset})
