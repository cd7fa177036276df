"""Times of operators with PyTorch in eager mode: call by call, in the order of the program."""

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from boundmark.benchmarks.runtimes.measured import Measured
from boundmark.benchmarks.runtimes.random_inputs import WARM_UP
from boundmark.benchmarks.runtimes.torch_building import torch_dtype
from boundmark.benchmarks.runtimes.torch_execution import Program
from boundmark.benchmarks.runtimes.torch_values import RandomValues
from boundmark.problems.computation_graph import VIEW
from boundmark.problems.errors import BoundmarkError


@dataclass(frozen=True)
class Calls:
    """What is known of the calls of a program, by node of `torch.fx`.

    Attributes
    ----------
    views
        Those that copy nothing: their results are in the memory of what they read.
    failures
        Why calls cannot be run, in words.
    results
        What stands for the results of these.
    """

    views: frozenset[Any]
    failures: Mapping[Any, str]
    results: Mapping[Any, Any]


@dataclass
class CallTimes:
    """Nanoseconds that a program took.

    Attributes
    ----------
    calls
        Of each call, by node of `torch.fx`, in each run.
    whole
        Of the program in one piece.
    eager_wall
        The same as Python launches it, where `whole` is something else.
    remarks
        What one has to know about the time of a call, in words.
    """

    calls: dict[Any, list[int]] = field(default_factory=dict)
    whole: list[int] = field(default_factory=list)
    eager_wall: list[int] = field(default_factory=list)
    remarks: dict[Any, str] = field(default_factory=dict)


def measure(program: Program, repeats: int, threads: int) -> Measured:
    """Return the times of a program's operators.

    A recognised kernel is timed as one: its operators' calls together, at the one that bears its
    cost. A view takes no time; a reshape that copies takes that of the copy. What computes
    constants and checks is part of no operator, and a note says how long it takes.

    Parameters
    ----------
    repeats
        How often it runs, after some runs that do not count.
    threads
        Number of threads, on a processor.
    """
    import torch

    with torch.no_grad(), threads_of(threads):
        calls = tried(program)
        if program.device.type == "cuda":
            from boundmark.benchmarks.runtimes.torch_cuda import call_times

            times = call_times(program, calls, repeats)
        else:
            times = _call_times(program, calls, repeats)
    return of_operators(program, calls, times, repeats)


def interpreter(program: Program, calls: Calls, run: Any) -> Any:
    """Return a `torch.fx.Interpreter` that frees tensors when nothing reads them any more.

    Parameters
    ----------
    run
        Given a call's node, arguments by place, and by name, returns its result.
    """
    import torch

    class Interpreter(torch.fx.Interpreter):  # type: ignore[misc]
        def run_node(self, node: Any) -> Any:
            if node in calls.results:
                return calls.results[node]
            if not is_timed(node):
                return super().run_node(node)
            return run(node, *self.fetch_args_kwargs_from_env(node))

    return Interpreter(program.module)


def is_timed(node: Any) -> bool:
    """Whether a node is a call of an operator; others take results apart, or enter a region."""
    return node.op == "call_function" and hasattr(node.target, "_schema")


def tried(program: Program) -> Calls:
    """Run a program once, and return what is known of its calls then.

    Raises
    ------
    BoundmarkError
        If it does not fit into memory.
    """
    import torch

    views, failures, results = set(), {}, {}

    def run(node: Any, args: Any, kwargs: Any) -> Any:
        try:
            result = node.target(*args, **kwargs)
        except torch.OutOfMemoryError as error:
            raise BoundmarkError(f"{program.device} has no room for the model.") from error
        except (RuntimeError, NotImplementedError, IndexError, ValueError, TypeError) as error:
            failures[node] = " ".join(str(error).split())[:200]
            results[node] = _made_up(program, node)
            return results[node]
        read = _memories((args, kwargs))
        if not node.target._schema.is_mutable and _memories(result) <= read:
            views.add(node)
        return result

    program.reset()
    interpreter(program, Calls(frozenset(), {}, {}), run).run(*program.inputs)
    return Calls(frozenset(views), failures, results)


def _memories(value: Any) -> set[int]:
    """Return where the tensors in a value are, those of no size aside."""
    import torch

    leaves = torch.utils._pytree.tree_leaves(value)
    found = (one.untyped_storage().data_ptr() for one in leaves if isinstance(one, torch.Tensor))
    return {place for place in found if place}


def _made_up(program: Program, node: Any) -> Any:
    """Return random results of a call, of the shapes that the program says."""
    random = RandomValues(program.device)
    value = node.meta["val"]
    several = value if isinstance(value, tuple) else (value,)
    try:
        drawn = tuple(
            None if one is None else random.result(one.shape, torch_dtype(one.dtype), 1)
            for one in several
        )
    except RuntimeError as error:
        raise BoundmarkError(
            f"the results of {node.target} cannot be made: {' '.join(str(error).split())[:200]}"
        ) from error
    return drawn if isinstance(value, tuple) else drawn[0]


@contextmanager
def threads_of(count: int) -> Iterator[None]:
    """Let torch compute with a number of threads for a while."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _call_times(program: Program, calls: Calls, repeats: int) -> CallTimes:
    """Run a program on the processor, in turn with a clock around each call and without."""
    found = CallTimes()

    def run(node: Any, args: Any, kwargs: Any) -> Any:
        start = time.perf_counter_ns()
        result = node.target(*args, **kwargs)
        found.calls.setdefault(node, []).append(time.perf_counter_ns() - start)
        return result

    clocked = interpreter(program, calls, run)
    for _ in range(WARM_UP + repeats):
        program.reset()
        clocked.run(*program.inputs)
        if not calls.failures:
            program.reset()
            start = time.perf_counter_ns()
            program.module(*program.inputs)
            found.whole.append(time.perf_counter_ns() - start)
    found.calls = {node: taken[WARM_UP:] for node, taken in found.calls.items()}
    found.whole = found.whole[WARM_UP:]
    return found


def of_operators(program: Program, calls: Calls, times: CallTimes, repeats: int) -> Measured:
    """Return the times of operators that those of calls add up to."""
    graph = program.graph
    bearers = graph.kernels or tuple(range(len(graph.operators)))
    samples = {name: [0] * repeats for name in graph.names}
    untimed: dict[str, str] = {}
    failed = set()
    for at, (name, nodes) in enumerate(zip(graph.names, program.nodes, strict=True)):
        bearer = at if bearers[at] == VIEW else bearers[at]
        counted = [node for node in nodes if is_timed(node) and node not in calls.views]
        for node in counted:
            if node in calls.failures:
                failed.add(graph.names[bearer])
                untimed[name] = f"torch does not run it: {calls.failures[node]}"
                continue
            total = samples[graph.names[bearer]]
            samples[graph.names[bearer]] = [
                a + b for a, b in zip(total, times.calls[node], strict=True)
            ]
            if node in times.remarks:
                untimed[name] = times.remarks[node]
        if bearer != at:
            untimed.setdefault(name, f"its time is part of that of {graph.names[bearer]}")
        elif not counted:
            untimed[name] = "a view, which copies nothing"
    return Measured(
        samples={name: taken for name, taken in samples.items() if name not in failed},
        whole=times.whole,
        eager_wall=times.eager_wall,
        untimed=untimed,
        failed=frozenset(failed),
        notes=tuple(_notes(program, calls, times)),
    )


def _notes(program: Program, calls: Calls, times: CallTimes) -> Iterator[str]:
    if program.is_random:
        yield "Weights and inputs were random."
    own = {node for nodes in program.nodes for node in nodes}
    rest = [
        taken for node, taken in times.calls.items() if node not in own and node not in calls.views
    ]
    if rest:
        yield (
            f"{len(rest)} calls of the program are part of no operator, such as those that compute "
            f"constants; they took {_medians(rest) / 1e6:,.3f} ms together."
        )
    if not times.whole:
        yield "The whole model could not be timed in one piece."


def _medians(rows: Sequence[Sequence[int]]) -> float:
    from statistics import median

    return sum(median(row) for row in rows)
