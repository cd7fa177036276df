"""Methods that do what methods must not do, and some that behave; run through `methods=`."""

# ruff: noqa: D103

import ctypes
import mmap
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from boundmark.bounds.mip import SOLVERS, highs
from boundmark.bounds.mip.linear_model import LinearModel
from boundmark.bounds.mip.solving import Outcome, Search
from boundmark.bounds.pipeline.paper import integer_programs
from boundmark.problems.certificate import Certificate, Claim
from boundmark.problems.errors import UnsupportedError
from boundmark.problems.method import Budget, Method, Progress
from boundmark.problems.pipeline import Partition, PipelineInstance


def everything_in_one_stage(instance: PipelineInstance) -> Partition:
    return Partition(np.zeros(instance.nodes, dtype=np.int64))


def largest_work(instance: PipelineInstance, excess: int = 0) -> Certificate:
    work = instance.graph.work
    node = int(work.argmax())
    return Certificate.of(instance, "max-work/1", int(work[node]) + excess, {"node": node}, "good")


def sleep_for_ever() -> None:
    """Sleep in native code with every signal blocked that can be."""
    signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    ctypes.CDLL(None).sleep(1000)


def sleeping_process(*, own_session: bool) -> None:
    subprocess.Popen(
        [sys.executable, "-S", "-c", "import time; time.sleep(1000)"],
        start_new_session=own_session,
    )


def no_op(instance: Any, budget: Budget, seed: int, progress: Progress) -> None:
    pass


def good(instance: Any, budget: Budget, seed: int, progress: Progress) -> None:
    progress.solution(everything_in_one_stage(instance))
    progress.bound(largest_work(instance))
    progress.bound(Claim("mean-work", 2.5))


def tying(instance: Any, budget: Budget, seed: int, progress: Progress) -> None:
    progress.solution(everything_in_one_stage(instance))
    progress.solution(Partition(np.ones(instance.nodes, dtype=np.int64)))


def improving(instance: Any, budget: Budget, seed: int, progress: Progress, *, steps: int) -> None:
    progress.bound(Claim("search", float("-inf")))
    for step in range(steps):
        progress.solution(Partition(np.arange(instance.nodes) // (instance.nodes - step)))
        progress.bound(Claim("search", float(step)))
        progress.bound(Claim("search", float(step) - 1))


def echo(
    instance: Any, budget: Budget, seed: int, progress: Progress, *, text: str, number: float
) -> None:
    variables = [os.environ[name] for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS")]
    print(seed, text, number, budget.wall_seconds, budget.memory_bytes, budget.threads, variables)


def names_warm_modules(instance: Any, budget: Budget, seed: int, progress: Progress) -> None:
    print(sorted({"tabnanny", "colorsys"} & set(sys.modules)))


def soft(instance: Any, budget: Budget, seed: int, progress: Progress) -> None:
    while not budget.is_spent():
        time.sleep(0.01)


def meets(
    instance: Any, budget: Budget, seed: int, progress: Progress, *, folder: str, others: int
) -> None:
    Path(folder, str(seed)).touch()
    while len(os.listdir(folder)) < others:
        time.sleep(0.01)


def leaves_a_note(
    instance: Any, budget: Budget, seed: int, progress: Progress, *, folder: str, seconds: float
) -> None:
    Path(folder, f"{seed}-{os.getpid()}-{time.monotonic_ns()}").touch()
    time.sleep(seconds)


def waits_for(instance: Any, budget: Budget, seed: int, progress: Progress, *, path: str) -> None:
    while not Path(path).exists():
        time.sleep(0.01)


def kills_the_runner(instance: Any, budget: Budget, seed: int, progress: Progress) -> None:
    """Kill the process that has started this one's server."""
    os.kill(above(os.getppid()), signal.SIGKILL)
    time.sleep(1000)


def hangs(instance: Any, budget: Budget, seed: int, progress: Progress) -> None:
    progress.solution(everything_in_one_stage(instance))
    sleep_for_ever()


def works(instance: Any, budget: Budget, seed: int, progress: Progress, *, seconds: float) -> None:
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass


def allocates_bytes(instance: Any, budget: Budget, seed: int, progress: Progress) -> None:
    progress.solution(everything_in_one_stage(instance))
    kept = []
    while True:
        kept.append(bytearray(os.urandom(1)) * 2**22)


def allocates_array(instance: Any, budget: Budget, seed: int, progress: Progress) -> None:
    progress.solution(everything_in_one_stage(instance))
    np.ones((2**20, 2**20))


def allocates_in_grandchild(instance: Any, budget: Budget, seed: int, progress: Progress) -> None:
    progress.solution(everything_in_one_stage(instance))
    # Each of the two stays below the limit.
    code = "import time; kept = bytearray(b'x') * (120 * 2**20); time.sleep(1000)"
    for own_session in (False, True):
        subprocess.Popen([sys.executable, "-S", "-c", code], start_new_session=own_session)
    time.sleep(1000)


def allocates_in_cpp(instance: Any, budget: Budget, seed: int, progress: Progress) -> None:
    operator_new = ctypes.CDLL("libstdc++.so.6")._Znwm
    operator_new.argtypes = [ctypes.c_size_t]
    operator_new(2**50)


def segfaults(instance: Any, budget: Budget, seed: int, progress: Progress) -> None:
    progress.solution(everything_in_one_stage(instance))
    progress.bound(largest_work(instance))
    ctypes.string_at(0)


def kills_itself(instance: Any, budget: Budget, seed: int, progress: Progress) -> None:
    progress.solution(everything_in_one_stage(instance))
    os.kill(os.getpid(), signal.SIGKILL)


def raises(instance: Any, budget: Budget, seed: int, progress: Progress) -> None:
    progress.solution(everything_in_one_stage(instance))
    raise ValueError("seven is not even")


def raises_garbage(instance: Any, budget: Budget, seed: int, progress: Progress) -> None:
    raise ValueError("\udcff\x00" * 10_000)


def leaves_by_exception(instance: Any, budget: Budget, seed: int, progress: Progress) -> None:
    sys.exit("enough")


def exits(instance: Any, budget: Budget, seed: int, progress: Progress) -> None:
    progress.solution(everything_in_one_stage(instance))
    os._exit(3)


def lacks_licence(instance: Any, budget: Budget, seed: int, progress: Progress) -> None:
    raise UnsupportedError("the licence allows 2000 rows; the model has 3000.")


def solver_dies(instance: Any, budget: Budget, seed: int, progress: Progress) -> None:
    """Run a program whose solver dies when it has reported an incumbent and a bound."""

    def solve(model: LinearModel, search: Search) -> Outcome:
        # Whether a solver tells a bound before it ends depends on its version.
        outcome = highs.solve(model, search)
        search.on_bound(outcome.bound)
        os.kill(os.getpid(), signal.SIGSEGV)
        return outcome

    SOLVERS["dies"] = solve
    integer_programs.run_exact(instance, budget, seed, progress, solver="dies")


def lacks_solver(instance: Any, budget: Budget, seed: int, progress: Progress) -> None:
    sys.modules["highspy"] = None  # type: ignore[assignment]
    integer_programs.run_exact(instance, budget, seed, progress, solver="highs")


def leaves_grandchildren(instance: Any, budget: Budget, seed: int, progress: Progress) -> None:
    progress.solution(everything_in_one_stage(instance))
    sleeping_process(own_session=False)
    sleeping_process(own_session=True)


def hangs_with_grandchildren(instance: Any, budget: Budget, seed: int, progress: Progress) -> None:
    progress.solution(everything_in_one_stage(instance))
    sleeping_process(own_session=False)
    sleeping_process(own_session=True)
    sleep_for_ever()


def hangs_in_a_group(instance: Any, budget: Budget, seed: int, progress: Progress) -> None:
    progress.solution(everything_in_one_stage(instance))
    sleeping_process(own_session=False)
    sleep_for_ever()


def floods(instance: Any, budget: Budget, seed: int, progress: Progress, *, megabytes: int) -> None:
    progress.solution(everything_in_one_stage(instance))
    line = b"warning: nothing is wrong\n" * 1000
    for _ in range(megabytes * 10**6 // len(line)):
        os.write(2, line)
    os.write(2, b"the last line\n")


def prints_garbage(instance: Any, budget: Budget, seed: int, progress: Progress) -> None:
    os.write(1, os.urandom(2**18))
    progress.solution(everything_in_one_stage(instance))
    os.write(1, b"\xff\x00\xfe")


def reports_from_two_processes(
    instance: Any, budget: Budget, seed: int, progress: Progress
) -> None:
    progress.solution(everything_in_one_stage(instance))
    channel = progress._channel  # type: ignore[attr-defined]
    os.write(channel._descriptors.reports, b"not a frame, but long enough to be one")
    progress.bound(largest_work(instance))


def claims(
    instance: Any, budget: Budget, seed: int, progress: Progress, *, kind: Any, surrogate: bool
) -> None:
    """Report a claim of a kind that is a number, or a text that is none."""
    progress.solution(everything_in_one_stage(instance))
    progress.bound(Claim("\ud800" if surrogate else kind, 1.0))


def keeps_in_memory(
    instance: Any, budget: Budget, seed: int, progress: Progress, *, where: str, mebibytes: int
) -> None:
    """Fill memory, and stay until the server has looked at it for a while, or time is up."""
    progress.solution(everything_in_one_stage(instance))
    if where == "mapped memfd":
        descriptor = os.memfd_create("large")
        os.ftruncate(descriptor, mebibytes * 2**20)
        with mmap.mmap(descriptor, mebibytes * 2**20) as mapped:
            for offset in range(0, len(mapped), 4096):
                mapped[offset] = 1
    elif where == "forked pages":
        kept = bytearray(b"x" * 2**20) * mebibytes
        for _ in range(4):
            if os.fork() == 0:
                time.sleep(1000)
        del kept
    seen = looks_of(os.getppid()) + 20
    while looks_of(os.getppid()) < seen and not budget.is_spent():
        time.sleep(0.01)


def looks_of(server: int) -> int:
    """Return how often a process has waited: a server looks at its task whenever it wakes up."""
    lines = Path(f"/proc/{server}/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("voluntary_ctxt")).split()[1])


def certifies_the_incredible(instance: Any, budget: Budget, seed: int, progress: Progress) -> None:
    progress.solution(everything_in_one_stage(instance))
    progress.bound(replace(largest_work(instance), bound=2**63))


def above(pid: int) -> int:
    """Return the number of a process's parent."""
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


def breaks_a_constraint(instance: Any, budget: Budget, seed: int, progress: Progress) -> None:
    progress.solution(everything_in_one_stage(instance))
    progress.solution(Partition(np.full(instance.nodes, instance.k)))


def believes_its_objective(instance: Any, budget: Budget, seed: int, progress: Progress) -> None:
    """Report a solution whose stored objective is wrong, as a bug in `objective` would."""
    progress.solution(everything_in_one_stage(instance))
    object.__setattr__(instance.graph, "work", instance.graph.work // 2)
    progress.solution(everything_in_one_stage(instance))


def certifies_falsely(
    instance: Any, budget: Budget, seed: int, progress: Progress, *, after: int
) -> None:
    """Report true certificates and then `after` false ones."""
    progress.solution(everything_in_one_stage(instance))
    for excess in range(after + 1):
        progress.bound(largest_work(instance, excess))


def certifies_another_instance(
    instance: Any, budget: Budget, seed: int, progress: Progress
) -> None:
    other = PipelineInstance(instance.graph, instance.k + 1)
    progress.bound(largest_work(other))


def _method(run: Any, **more: Any) -> Method:
    return Method(
        name=run.__name__.replace("_", "-"),
        problem="pipeline",
        kind="exact",
        summary="For tests.",
        run=run,
        **more,
    )


METHODS = (
    *map(
        _method,
        (
            no_op,
            good,
            tying,
            improving,
            echo,
            soft,
            meets,
            leaves_a_note,
            waits_for,
            kills_the_runner,
            hangs,
            works,
            allocates_bytes,
            allocates_array,
            allocates_in_grandchild,
            allocates_in_cpp,
            segfaults,
            kills_itself,
            raises,
            raises_garbage,
            leaves_by_exception,
            exits,
            lacks_licence,
            solver_dies,
            lacks_solver,
            leaves_grandchildren,
            hangs_with_grandchildren,
            hangs_in_a_group,
            floods,
            prints_garbage,
            reports_from_two_processes,
            claims,
            keeps_in_memory,
            certifies_the_incredible,
            breaks_a_constraint,
            believes_its_objective,
            certifies_falsely,
            certifies_another_instance,
        ),
    ),
    Method(
        *("needs-more", "pipeline", "exact", "For tests.", no_op),
        requires=("no_such.module",),
    ),
    Method("elsewhere", "layout", "exact", "For tests.", no_op, warm=("tabnanny",)),
    _method(names_warm_modules, warm=("colorsys", "no_such_solver")),
)
