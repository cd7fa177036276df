"""Plan the tasks of a run: every method on every instance, with every seed."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from boundmark.benchmarks.running.execution.task import Task
from boundmark.benchmarks.running.label_pattern import ALL_LABELS, LabelPatterns
from boundmark.benchmarks.running.settings import RunSettings
from boundmark.benchmarks.running.suite import MethodChoice, NamedInstance


@dataclass(frozen=True)
class PlannedTask:
    """A task and the columns of its row that are known before it runs."""

    task: Task
    source: NamedInstance
    method_kind: str
    suite: str

    @property
    def label(self) -> str:
        """The task in words, for filters and progress, e.g. ``"onnx-light/resnet50 k=8 share"``."""
        return _label(self.source, self.task.method)


def _label(source: NamedInstance, method: str) -> str:
    return f"{source.label} {method}"


def plan_tasks(
    suite: str,
    sources: Iterable[NamedInstance],
    methods: Sequence[MethodChoice],
    settings: RunSettings,
    patterns: LabelPatterns = ALL_LABELS,
) -> Iterator[PlannedTask]:
    """Yield a task for every instance, method and seed, instance by instance.

    Parameters
    ----------
    suite
        Name that the rows bear.
    methods
        For every instance; those of an instance's own come on top.
    patterns
        Which labels to plan tasks for.
    """
    for source in sources:
        for choice in (*methods, *source.methods):
            # A task's fields need the hash of its instance, which takes time.
            if not patterns.matches(_label(source, choice.method.name)):
                continue
            for seed in settings.seeds if choice.method.seeded else settings.seeds[:1]:
                task = _task(source, choice, settings, seed)
                yield PlannedTask(task, source, choice.method.kind, suite)


def _task(source: NamedInstance, choice: MethodChoice, settings: RunSettings, seed: int) -> Task:
    return Task(
        instance_sha256=source.instance.sha256,
        problem=source.instance.problem,
        method=choice.method.name,
        method_version=choice.method.version,
        params=choice.params,
        seed=seed,
        time_limit_seconds=settings.time_limit_seconds,
        memory_limit_bytes=settings.memory_limit_bytes,
        threads=settings.threads,
    )
