"""Plan the tasks of a run: every method on every instance, with every seed."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from boundmark.benchmarks.running.execution.task import Task
from boundmark.benchmarks.running.label_pattern import ALL_LABELS, LabelPatterns
from boundmark.benchmarks.running.settings import RunSettings
from boundmark.problems.catalog import problems
from boundmark.problems.method import Method
from boundmark.problems.problem import Instance, ParameterValue
from boundmark.reports.true_costs import Hardware


@dataclass(frozen=True)
class MethodChoice:
    """A method and all its parameters."""

    method: Method
    params: Mapping[str, ParameterValue]


@dataclass(frozen=True)
class NamedInstance:
    """An instance and where it comes from.

    Attributes
    ----------
    methods
        Those for this instance beyond the suite's.
    device
        Name of the device or cluster that its costs are for; empty if they came with the source.
    notes
        What was taken for granted when the source was read, as sentences.
    costs
        What its costs rest on, in words; empty where nobody knows.
    hardware
        Names of all devices that its costs are for, and the type of arithmetic, where these are
        known.
    is_device_chosen
        Whether its group in a suite names the device, so that labels name it even if it is the
        usual one.
    """

    dataset: str
    member: str
    instance: Instance
    methods: tuple[MethodChoice, ...] = ()
    device: str = ""
    notes: tuple[str, ...] = ()
    costs: str = ""
    hardware: Hardware | None = None
    is_device_chosen: bool = False

    @property
    def label(self) -> str:
        """Name for people, e.g. ``"onnx-light/resnet50 k=8"``; with the device if it is unusual."""
        is_usual = not self.is_device_chosen and self.device == self._usual_device
        device = (f"device={self.device}",) if self.device and not is_usual else ()
        parameters = (f"{key}={value}" for key, value in self.instance.parameters.items())
        return " ".join([f"{self.dataset}/{self.member}", *device, *parameters])

    @property
    def _usual_device(self) -> str:
        problem = problems().get(self.instance.problem)
        return problem.cost_model.default().name if problem and problem.cost_model else ""


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
    """Yield a task for every instance, method and seed, instance by instance."""
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
