"""Test a method against the contract of methods, on tiny instances of known optima.

Tasks run as in any suite: in processes of their own, under limits, and the checker judges what they
report. `docs/extending.md` says what is asked.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import cache
from importlib.metadata import entry_points
from importlib.resources import files
from typing import Any

from boundmark.benchmarks.running.execution.engine import LocalEngine, worker_count
from boundmark.benchmarks.running.execution.task import Outcome
from boundmark.benchmarks.running.planning import (
    MethodChoice,
    NamedInstance,
    PlannedTask,
    plan_tasks,
)
from boundmark.benchmarks.running.settings import RunSettings
from boundmark.benchmarks.solving.own_method import find_method
from boundmark.problems.catalog import methods, problems
from boundmark.problems.errors import InvalidInputError
from boundmark.problems.json_documents import canonical_json
from boundmark.problems.method import Method
from boundmark.problems.problem import Instance

# Entry points of packages with tiny instances of their problems: modules with `tiny`, a function,
# and `LARGER`.
GROUP = "boundmark.tiny_instances"

MEMORY_GIB = 2.0

# The first of the seeds that tasks on the larger instance have, each twice.
SEED = 7

# Failures that a verdict tells in full.
MOST_TOLD = 3


@dataclass(frozen=True)
class Verdict:
    """Whether a method does one of the things that are asked of it.

    Attributes
    ----------
    asked
        What, in words.
    failures
        Where it does not, a sentence each.
    counted
        On how many instances it reported a solution or a bound; in one
        verdict only, empty in the others.
    """

    asked: str
    failures: tuple[str, ...]
    counted: str = ""


@dataclass(frozen=True)
class Samples:
    """Instances of one problem: tiny ones with their optimum, and a larger one."""

    tiny: Sequence[tuple[Instance, int]]
    larger: Instance


def verdicts(name: str, *, seconds: float = 5.0, workers: int | None = None) -> list[Verdict]:
    """Run a method on samples of its problem, and judge it."""
    method = find_method(name, methods())
    samples = samples_of(method.problem)
    settings = RunSettings.checked(
        time_limit_seconds=seconds, memory_limit_gib=MEMORY_GIB, seeds=(SEED,)
    )
    with closing(LocalEngine(worker_count(workers))) as engine:
        tiny = _run(engine, method, [sample for sample, _ in samples.tiny], settings)
        first = _run(engine, method, [samples.larger], settings)
        again = _run(engine, method, [samples.larger], settings)
    optima = dict(zip((sample.sha256 for sample, _ in samples.tiny), samples.tiny, strict=True))
    labels = {sha256: f"tiny instance {at}" for at, sha256 in enumerate(optima)}
    labels[samples.larger.sha256] = "the larger instance"
    best = {sha256: optimum for sha256, (_, optimum) in optima.items()}
    return [
        Verdict("is registered with a problem, a kind and a sentence", tuple(_odd(method))),
        Verdict("ends by itself, within its limits, and reports only what is true",
                tuple(_ill(labels, [*tiny, *first, *again]))),
        Verdict("treats some of the tiny instances", tuple(_untreated(tiny))),
        Verdict("reports what its kind says", tuple(_silent(method, labels, tiny)), _counted(tiny)),
        Verdict("encloses the optimum", tuple(_beyond(labels, best, tiny))),
        Verdict("reports nothing worse than before", tuple(_worse(labels, [*tiny, *first]))),
        Verdict("finds the same again with the same seed", tuple(_differing(first, again))),
    ]  # fmt: skip


@cache
def _shipped() -> dict[str, Any]:
    content: dict[str, Any] = json.loads(
        (files("boundmark.benchmarks.running") / "conformance.json").read_text()
    )
    return content


def samples_of(problem: str) -> Samples:
    """Return instances of a problem, ours or those of the package that brings it."""
    read = problems()[problem].instance_from_json
    if problem in _shipped():
        known = _shipped()[problem]
        tiny = [(read(document), int(best)) for document, best in known["tiny"]]
        return Samples(tiny, read(known["larger"]))
    points = list(entry_points(group=GROUP, name=problem))
    if not points:
        raise InvalidInputError(
            f"no tiny instances of problem {problem!r} are known; expected a package to name them "
            f"in an entry point of the group {GROUP!r}."
        )
    module = points[0].load()
    return Samples(list(module.tiny()), module.LARGER)


def _run(
    engine: LocalEngine, method: Method, instances: Sequence[Instance], settings: RunSettings
) -> list[Outcome]:
    """Run a method on instances, each once, and return the outcomes in their order."""
    sources = [NamedInstance("conformance", one.sha256[:12], one) for one in instances]
    choice = MethodChoice(method, dict(method.params))
    planned: dict[str, PlannedTask] = {
        one.task.task_id: one for one in plan_tasks("conformance", sources, [choice], settings)
    }
    documents = {one.sha256: canonical_json(one.to_json()).encode() for one in instances}
    found: dict[str, Outcome] = {}

    def keep(outcomes: Sequence[Outcome]) -> None:
        found.update({one.task.task_id: one for one in outcomes})

    content: Callable[[str], bytes] = documents.__getitem__
    engine.run((one.task for one in planned.values()), content, keep)
    return [found[task_id] for task_id in planned]


def _odd(method: Method) -> Iterator[str]:
    if method.problem not in problems():
        yield f"there is no problem {method.problem!r}"
    if not method.summary.endswith("."):
        yield f"its summary is {method.summary!r}; expected a sentence"


def _ill(labels: dict[str, str], outcomes: Sequence[Outcome]) -> Iterator[str]:
    for one in outcomes:
        if one.status not in ("ok", "unsupported"):
            yield f"{labels[one.task.instance_sha256]}: {one.status}: {one.status_detail}"


def _untreated(outcomes: Sequence[Outcome]) -> Iterator[str]:
    if all(one.status == "unsupported" for one in outcomes):
        yield f"it treats none: {outcomes[0].status_detail}"


def _silent(method: Method, labels: dict[str, str], outcomes: Sequence[Outcome]) -> Iterator[str]:
    for one in outcomes:
        if one.status == "unsupported":
            continue
        where = labels[one.task.instance_sha256]
        if method.kind != "bound" and one.objective is None:
            yield f"{where}: no solution that the checker accepts"
        bound = one.bound_certified if one.bound_certified is not None else one.bound_claimed
        if method.kind != "heuristic" and bound is None:
            yield f"{where}: no bound"


def _counted(outcomes: Sequence[Outcome]) -> str:
    """Return on how many instances there are a solution and a bound."""
    found = Counter[str]()
    for one in outcomes:
        if one.objective is not None:
            found["verified solutions"] += 1
        if one.bound_certified is not None:
            found["certified bounds"] += 1
        elif one.bound_claimed is not None:
            found["claimed bounds"] += 1
    return ", ".join(f"{count} {what}" for what, count in found.items())


def _beyond(
    labels: dict[str, str], best: dict[str, int], outcomes: Sequence[Outcome]
) -> Iterator[str]:
    for one in outcomes:
        sha256 = one.task.instance_sha256
        for what, bound in (("bound", one.bound_certified), ("claim", one.bound_claimed)):
            if bound is not None and bound > best[sha256]:
                yield f"{labels[sha256]}: a {what} of {bound:g} above the optimum, {best[sha256]}"
        if one.objective is not None and one.objective < best[sha256]:
            yield f"{labels[sha256]}: a cost of {one.objective} below the optimum, {best[sha256]}"


def _worse(labels: dict[str, str], outcomes: Sequence[Outcome]) -> Iterator[str]:
    for one in outcomes:
        for kind in sorted({event.kind for event in one.events}):
            values = [event.value for event in one.events if event.kind == kind]
            ordered = sorted(values, reverse=kind == "solution")
            if values != ordered:
                yield f"{labels[one.task.instance_sha256]}: {kind} reported in the order {values}"


def _differing(first: Sequence[Outcome], again: Sequence[Outcome]) -> Iterator[str]:
    for one, other in zip(first, again, strict=True):
        for what, a, b in (
            ("cost", one.objective, other.objective),
            ("certified bound", one.bound_certified, other.bound_certified),
        ):
            if one.status == other.status == "ok" and a != b:
                yield f"the larger instance: {what} {a}, then {b}"
