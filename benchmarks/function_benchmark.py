"""Compares a Python function that finds solutions with registered methods."""

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pandas as pd

from boundmark.benchmarks.arguments import check_flags, check_parameter_names, names_in
from boundmark.benchmarks.running.execution.engine import LocalEngine, worker_count
from boundmark.benchmarks.running.execution.in_process import run_here
from boundmark.benchmarks.running.execution.task import Outcome
from boundmark.benchmarks.running.planning import (
    MethodChoice,
    NamedInstance,
    PlannedTask,
    plan_tasks,
)
from boundmark.benchmarks.running.progress import progress_console, task_progress
from boundmark.benchmarks.running.settings import RunSettings
from boundmark.benchmarks.solving.model import load, named_instance
from boundmark.benchmarks.solving.own_method import method_choice, own_method
from boundmark.datasets.python_objects import is_pair_of_frames
from boundmark.problems.catalog import methods, problems
from boundmark.problems.errors import InvalidInputError, quoted
from boundmark.problems.files import naming
from boundmark.problems.json_documents import canonical_json
from boundmark.problems.method import Method

COLUMNS = (
    "instance", "method", "cost", "bound", "best_bound", "gap", "seconds", "status", "detail",
)  # fmt: skip


def benchmark(
    function: Callable[..., Any] | Method,
    instances: Any,
    against: str | Sequence[str] = (),
    *,
    problem: str | None = None,
    seconds: float = 10.0,
    seed: int = 1,
    workers: int | None = None,
    quiet: bool = False,
    **parameters: Any,
) -> pd.DataFrame:
    """Compare a heuristic of your own, a Python function, with registered methods.

    Your function runs in the calling process, once for each instance, one after the other; nothing
    ends it when its time is up. The methods run in processes of their own, which are killed soon
    after the limit, several at a time. The checker verifies every cost and every bound, those of
    your function too: a solution that it rejects is no solution, and the row says why. So does a
    row for a function that raises an error.

    Cheap bounds of the problem (`Problem.immediate`) run on each instance besides, so that there
    are gaps; methods that prove bounds, such as ``"certify"``, make them smaller. Ctrl-C ends the
    comparison; the rows until then are returned.

    Parameters
    ----------
    function
        One of

        - ``function(instance)``, which returns a solution: a dict with a stage or device for each
          operator's name, a list of them in the order of the operators, a `pandas.DataFrame` as
          `ModelAnswer.solution` is, or an object of the problem such as `Partition`;
        - a `Method`, such as `Method.command` makes of an executable, which is ended in time;
        - ``function(instance, budget, seed, progress)``, which calls ``progress.solution`` with
          such a solution as often as it likes, and may ask ``budget.is_spent()``.
    instances
        A model, or several: each is what `load` returns or takes. Pairs of frames are loaded first.
    against
        Names of registered methods.
    problem
        Name of the problem, as for `solve`.
    seconds
        Limit of each method on each instance, and what a budget says.
    seed
        For your function, if it streams, and for methods that use randomness.
    workers
        Methods at a time; one per CPU by default. On a busy machine, times are longer.
    quiet
        Whether to show no progress.
    parameters
        Those of the problem; of a list or tuple of values, each makes instances: ``k=(2, 4)``.

    Returns
    -------
    pandas.DataFrame
        A row for each instance and method, your function first: `instance`, `method`, verified
        `cost`, certified `bound` of that method, `best_bound` of all on this instance, `gap`,
        ``cost / best_bound - 1``, `seconds` of wall time, `status` and `detail`.

    Raises
    ------
    Error
        If something is not understood, with what was expected.

    Examples
    --------
    >>> import boundmark
    >>> def one_stage(instance):
    ...     return [0] * instance.nodes
    >>> found = boundmark.benchmark(one_stage, "onnx-light/squeezenet", k=2, quiet=True)
    >>> found[["instance", "method", "status"]].iloc[0].tolist()
    ['onnx-light/squeezenet k=2', 'one_stage', 'ok']
    >>> bool(found["gap"].iloc[0] > 0)
    True
    """
    settings = RunSettings.of_search(seconds, seed)
    engine = LocalEngine(worker_count(workers))
    names = names_in("against", against)
    check_flags(quiet=quiet)
    check_parameter_names(benchmark, parameters)
    table = _Table()
    console = progress_console(quiet)
    own: list[tuple[Method, PlannedTask]] = []
    others: list[PlannedTask] = []
    for source in _sources(instances, problem, parameters):
        name = source.instance.problem
        choices = [method_choice(one, problem=name) for one in dict.fromkeys(names)]
        mine = own_method(function, name)
        first = list(_planned(source, mine, settings))
        planned = list(plan_tasks("benchmark", [source], choices, settings))
        own += [(mine, task) for task in first]
        others += planned
        table.order += [*first, *planned]
    try:
        with task_progress(console, "benchmark") as (on_start, on_finish):
            on_start(len(own) + len(others), len(own) + len(others))

            def finished(task: PlannedTask, outcome: Outcome) -> None:
                table.add(task, outcome)
                on_finish(task, outcome)

            for mine, task in own:
                instance = task.source.instance
                finished(task, run_here(task.task, mine, instance, is_limited=False))
                for cheap in _cheap_bounds(task.source, settings):
                    table.add_bound(cheap)
            if others:
                _run_on(engine, others, finished)
    except KeyboardInterrupt:
        # What is known by now is worth having.
        console.print("ended by Ctrl-C")
    return table.frame()


def _sources(
    instances: Any, problem: str | None, parameters: Mapping[str, Any]
) -> Iterator[NamedInstance]:
    """Yield an instance of each model for every combination of parameters."""
    is_several = isinstance(instances, Iterable) and not (
        isinstance(instances, str) or is_pair_of_frames(instances) or hasattr(instances, "nodes")
    )
    if isinstance(instances, Mapping):
        raise InvalidInputError(
            f"instances is {quoted(instances)}; expected a model or a list of models."
        )
    with naming("instances"):
        models = [load(one) for one in (instances if is_several else [instances])]
    if not models:
        raise InvalidInputError("there are no instances; expected at least one.")
    values = [
        tuple(value) if isinstance(value, list | tuple | range) else (value,)
        for value in parameters.values()
    ]
    for name, several in zip(parameters, values, strict=True):
        if not several:
            raise InvalidInputError(f"{name} has no values; expected at least one.")
    for model in models:
        for chosen in itertools.product(*values):
            given = dict(zip(parameters, chosen, strict=True))
            yield named_instance(model, given, problem, are_texts=False)


def _planned(
    source: NamedInstance, method: Method, settings: RunSettings, **params: Any
) -> Iterator[PlannedTask]:
    choice = MethodChoice(method, {**method.params, **params})
    yield from plan_tasks("benchmark", [replace(source, methods=())], [choice], settings)


def _cheap_bounds(source: NamedInstance, settings: RunSettings) -> Iterator[Outcome]:
    """Run the methods of the problem that prove bounds in next to no time."""
    known = methods(source.instance.problem)
    for name, params in problems()[source.instance.problem].immediate.items():
        if name in known and known[name].kind != "heuristic":
            for task in _planned(source, known[name], settings, **params):
                yield run_here(task.task, known[name], source.instance)


def _run_on(
    engine: LocalEngine,
    planned: Sequence[PlannedTask],
    on_finish: Callable[[PlannedTask, Outcome], None],
) -> None:
    """Run tasks, equal ones once."""
    by_id: dict[str, list[PlannedTask]] = {}
    for one in planned:
        by_id.setdefault(one.task.task_id, []).append(one)
    documents = {one.task.instance_sha256: one.source.instance for one in planned}

    def finished(outcomes: Sequence[Outcome]) -> None:
        for outcome in outcomes:
            for one in by_id[outcome.task.task_id]:
                on_finish(one, outcome)

    engine.run(
        (equal[0].task for equal in by_id.values()),
        lambda sha256: canonical_json(documents[sha256].to_json()).encode(),
        finished,
    )


@dataclass
class _Table:
    """The rows of a comparison, and the best bound of each instance.

    Attributes
    ----------
    order
        The tasks in the order of their rows. Equal ones, about models that are the same, have a
        row each.
    """

    order: list[PlannedTask] = field(default_factory=list)
    rows: list[tuple[PlannedTask, Outcome]] = field(default_factory=list)
    bounds: dict[str, int] = field(default_factory=dict)

    def add(self, task: PlannedTask, outcome: Outcome) -> None:
        self.rows.append((task, outcome))
        self.add_bound(outcome)

    def add_bound(self, outcome: Outcome) -> None:
        """Take the bound of an outcome, if it has one."""
        sha256, bound = outcome.task.instance_sha256, outcome.bound_certified
        if bound is not None:
            self.bounds[sha256] = max(bound, self.bounds.get(sha256, bound))

    def frame(self) -> pd.DataFrame:
        """Return the rows in the order in which tasks were planned."""
        place = {id(task): at for at, task in enumerate(self.order)}
        rows = sorted(self.rows, key=lambda row: place[id(row[0])])
        found = pd.DataFrame(
            [
                (
                    task.source.label,
                    one.task.method,
                    one.objective,
                    one.bound_certified,
                    self.bounds.get(one.task.instance_sha256),
                    None,
                    one.wall_seconds,
                    one.status,
                    one.status_detail,
                )
                for task, one in rows
            ],
            columns=list(COLUMNS),
        ).astype({"cost": "Int64", "bound": "Int64", "best_bound": "Int64"})
        known = found["best_bound"].astype("float64")
        found["gap"] = found["cost"].astype("float64") / known.where(known > 0) - 1
        return found
