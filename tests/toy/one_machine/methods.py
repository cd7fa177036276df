"""One heuristic and one bound."""

import itertools
from typing import Any

from boundmark.problems.certificate import Certificate
from boundmark.problems.method import Budget, Method, Progress
from one_machine.problem import OneMachineInstance, Order


def largest_tail(
    instance: OneMachineInstance, budget: Budget, seed: int, progress: Progress, **params: Any
) -> None:
    """Whenever the machine is free, do the released job with the largest tail (Schrage)."""
    jobs = instance.jobs
    waiting = sorted(list(range(instance.nodes)) * instance.k)
    order: list[int] = []
    time = 0
    while waiting:
        time = max(time, min(jobs.release[job] for job in waiting))
        released = [job for job in waiting if jobs.release[job] <= time]
        job = max(released, key=lambda job: instance.counted_tail[job])
        waiting.remove(job)
        order.append(job)
        time += jobs.duration[job]
    progress.solution(Order(tuple(order)))


def subset(
    instance: OneMachineInstance, budget: Budget, seed: int, progress: Progress, **params: Any
) -> None:
    """Report what sets of jobs take between their first release and their least tail."""
    jobs, tail = instance.jobs, instance.counted_tail
    best = -1
    for release, least in itertools.product(sorted(set(jobs.release)), sorted(set(tail))):
        chosen = [
            job
            for job in range(instance.nodes)
            if jobs.release[job] >= release and tail[job] >= least
        ]
        work = instance.k * sum(jobs.duration[job] for job in chosen)
        if chosen and release + work + least > best:
            best = release + work + least
            payload = {"jobs": chosen}
            progress.bound(Certificate.of(instance, "subset/1", best, payload, "subset"))


METHODS = (
    Method(
        name="largest-tail",
        problem="one-machine",
        kind="heuristic",
        summary="The released job with the largest tail comes next (Schrage).",
        run=largest_tail,
    ),
    Method(
        name="subset",
        problem="one-machine",
        kind="bound",
        summary="The work of some jobs between their first release and their least tail (Carlier).",
        run=subset,
    ),
)
