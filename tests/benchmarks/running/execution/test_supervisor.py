"""Every way in which a task can end, for real."""

import json
import os
import re
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest

from boundmark.benchmarks.running.execution import processes
from boundmark.benchmarks.running.execution import supervisor as supervisor_module
from boundmark.benchmarks.running.execution.fork_server import (
    UNCHECKED,
    ForkServer,
    ServerStoppedError,
)
from boundmark.benchmarks.running.execution.supervisor import Supervisor
from boundmark.benchmarks.running.execution.task import Outcome, Task
from boundmark.problems.errors import BoundmarkError

Run = Callable[..., Outcome]
MakeTask = Callable[..., Task]
Eventually = Callable[[Callable[[], object]], None]

METHODS = "faulty_methods:METHODS"
MIB = 2**20


def test_a_task_that_reports_nothing(run: Run) -> None:
    """A method may have nothing to say; that is no failure."""
    outcome = run("no-op")
    assert (outcome.status, outcome.status_detail, outcome.exit_code) == ("ok", "", 0)
    assert outcome.exit_signal is None
    assert outcome.events == ()
    assert outcome.solution is outcome.certificate is outcome.bound_claimed is None
    assert outcome.verify_seconds == 0.0
    assert outcome.peak_rss_bytes > MIB
    assert outcome.started_at.endswith("+00:00")


def test_what_a_method_reports_is_verified_and_stored(run: Run) -> None:
    """The outcome holds the documents as the checker accepted them."""
    outcome = run("good")
    assert outcome.status == "ok"
    assert outcome.solution is not None
    assert outcome.certificate is not None
    solution, certificate = json.loads(outcome.solution), json.loads(outcome.certificate)
    assert outcome.objective == solution["objective"] == 21
    assert outcome.bound_certified == certificate["bound"] == 6
    assert outcome.bound_claimed == 2.5
    assert outcome.bound_kind == certificate["kind"]
    assert [(event.kind, event.value) for event in outcome.events] == [
        ("solution", 21),
        ("bound_certified", 6),
        ("bound_claimed", 2.5),
    ]
    assert outcome.verify_seconds > 0.0


def test_solvers_of_the_problem_are_imported_before(run: Run) -> None:
    """Those of other problems are not: they may not get along. Missing ones are left out."""
    assert run("names-warm-modules").stderr_tail == "['colorsys']\n"


def test_of_equal_solutions_the_last_one_counts(run: Run) -> None:
    """It may be better in what the objective leaves out; the trace tells when the value came."""
    outcome = run("tying")
    assert outcome.solution is not None
    assert json.loads(outcome.solution)["stages"] == [1] * 6
    assert [event.value for event in outcome.events] == [21]


def test_only_improvements_are_events(run: Run) -> None:
    """Events are strictly monotone in value and monotone in time; minus infinity is no bound."""
    outcome = run("improving", params={"steps": 3})
    objectives = [event.value for event in outcome.events if event.kind == "solution"]
    assert objectives == sorted(set(objectives), reverse=True)
    assert outcome.objective == objectives[-1]
    assert [event.value for event in outcome.events if event.kind == "bound_claimed"] == [0, 1, 2]
    seconds = [event.seconds for event in outcome.events]
    assert seconds == sorted(seconds)
    assert 0.0 <= seconds[0] <= seconds[-1] <= outcome.wall_seconds
    assert outcome.bound_kind == "search"


def test_a_method_gets_seed_parameters_and_budget(run: Run) -> None:
    """Everything in the task reaches the method; threads also by environment."""
    outcome = run("echo", seed=7, threads=2, params={"text": "a b", "number": 0.5})
    assert outcome.status == "ok", outcome.stderr_tail
    assert outcome.stderr_tail == f"7 a b 0.5 20.0 {2**30} 2 ['2', '2']\n"


def test_a_method_that_stops_by_itself_is_ok(run: Run) -> None:
    """Spending the soft budget is no failure."""
    outcome = run("soft", time_limit_seconds=0.1)
    assert outcome.status == "ok"
    assert outcome.wall_seconds >= 0.1


def test_cpu_time_is_the_methods(run: Run) -> None:
    """CPU time covers what the method burnt."""
    assert run("works", params={"seconds": 0.2}).cpu_seconds >= 0.2


def test_a_hang_in_native_code_is_a_timeout(run: Run) -> None:
    """Blocked signals do not help; what was streamed before counts."""
    outcome = run("hangs", time_limit_seconds=0.1)
    assert outcome.status == "timeout"
    assert outcome.status_detail == "killed after 1.1 s"
    assert (outcome.exit_code, outcome.exit_signal) == (None, signal.SIGKILL)
    assert outcome.wall_seconds >= 0.1 + supervisor_module.GRACE_SECONDS
    assert outcome.objective == 21


@pytest.mark.parametrize(
    "method", ["allocates-bytes", "allocates-array", "allocates-in-grandchild"]
)
def test_allocating_without_end_is_oom(run: Run, method: str) -> None:
    """The limit holds for every way to allocate and for all processes together."""
    outcome = run(method, memory_limit_bytes=200 * MIB)
    assert outcome.status == "oom", outcome.status_detail
    assert outcome.objective == 21


def test_memory_that_cannot_be_mapped_is_oom(run: Run) -> None:
    """An allocation may fail as an error of the system, too."""
    params = {"where": "mapped memfd", "mebibytes": 300}
    outcome = run("keeps-in-memory", params=params, memory_limit_bytes=200 * MIB)
    assert outcome.status == "oom", outcome.status_detail
    assert outcome.objective == 21


def test_growth_is_recorded(run: Run) -> None:
    """The peak shows how far a killed task got."""
    outcome = run("allocates-bytes", memory_limit_bytes=150 * MIB)
    assert outcome.peak_rss_bytes > 100 * MIB


def test_bad_alloc_is_oom(run: Run) -> None:
    """C++ code that cannot allocate aborts the process; the row says why."""
    outcome = run("allocates-in-cpp")
    assert (outcome.status, outcome.exit_signal) == ("oom", signal.SIGABRT)


def test_a_segfault_is_a_crash(run: Run) -> None:
    """The signal is named, the tail says where, and earlier reports count."""
    outcome = run("segfaults")
    assert (outcome.status, outcome.exit_signal) == ("crashed", signal.SIGSEGV)
    assert outcome.status_detail == "died of SIGSEGV"
    assert "in segfaults" in outcome.stderr_tail
    assert (outcome.objective, outcome.bound_certified) == (21, 6)


def test_death_by_another_hand_is_a_crash(run: Run) -> None:
    """A kill -9 that is not the runner's is not taken for a limit."""
    outcome = run("kills-itself")
    assert (outcome.status, outcome.exit_signal) == ("crashed", signal.SIGKILL)
    assert outcome.objective == 21


def test_a_solver_that_dies_leaves_what_it_found(run: Run) -> None:
    """Incumbent and claim from before the crash of a program's solver count."""
    outcome = run("solver-dies", nodes=12, k=3)
    assert (outcome.status, outcome.exit_signal) == ("crashed", signal.SIGSEGV)
    assert outcome.objective is not None
    assert outcome.bound_claimed is not None
    assert outcome.bound_claimed <= outcome.objective


def test_an_exception_is_an_error(run: Run) -> None:
    """The detail is the exception's last line and the method's own one, the tail its traceback."""
    outcome = run("raises")
    assert (outcome.status, outcome.exit_code) == ("error", 1)
    assert re.fullmatch(
        r"ValueError: seven is not even \(\w+\.py, line \d+\)", outcome.status_detail
    )
    assert "Traceback" in outcome.stderr_tail
    assert outcome.objective == 21


def test_an_exit_by_exception_is_an_error(run: Run) -> None:
    """`sys.exit` in a method ends neither the server nor the run."""
    assert run("leaves-by-exception").status_detail.startswith("SystemExit: enough (")


def test_an_exit_is_a_crash(run: Run) -> None:
    """A method that ends its process has not returned."""
    outcome = run("exits")
    assert (outcome.status, outcome.exit_code) == ("crashed", 3)
    assert outcome.status_detail == "exited with code 3 before it was done"
    assert outcome.objective == 21


def test_unsupported_gives_its_reason(run: Run) -> None:
    """What a method cannot treat is no error."""
    outcome = run("lacks-licence")
    assert outcome.status == "unsupported"
    assert outcome.status_detail == "the licence allows 2000 rows; the model has 3000."


def test_a_missing_solver_is_unsupported(run: Run) -> None:
    """The row names the module, and a solution that needs no solver counts."""
    outcome = run("lacks-solver")
    assert outcome.status == "unsupported"
    assert outcome.status_detail == "module highspy is not installed."
    assert outcome.objective is not None


@pytest.mark.parametrize(
    ("fields", "status", "detail"),
    [
        ({"method": "needs-more"}, "unsupported", "needs no_such.module, which is not installed"),
        ({"method": "god"}, "error", "there is no method 'god'; did you mean good"),
        ({"method": "elsewhere"}, "error", "treats 'layout'; the task's problem is 'pipeline'"),
        ({"method": "good", "problem": "pipelin"}, "error", "treats 'pipeline'; the task's"),
        ({"method": "good", "method_version": 2}, "error", "asks for version 2"),
        ({"method": "good", "instance_sha256": "0" * 64}, "error", "expected the instance 0000"),
        ({"method": "good", "params": {"x": 1}}, "error", "unexpected keyword argument 'x'"),
    ],
)
def test_a_task_that_cannot_start_says_why(
    run: Run, fields: dict[str, Any], status: str, detail: str
) -> None:
    """The row names what does not fit."""
    outcome = run(**fields)
    assert outcome.status == status
    assert detail in outcome.status_detail
    assert outcome.events == ()


def test_another_instance_than_the_tasks_is_an_error(
    supervisor: Supervisor, make_task: MakeTask, instances: dict[str, bytes]
) -> None:
    """Whatever bytes come with a task, it is run on the instance that it names or not at all."""
    task = make_task("good")
    outcome = supervisor.run(task, instances[task.instance_sha256][:-5])
    assert outcome.status == "error"
    assert f"expected the instance {task.instance_sha256}" in outcome.status_detail


@pytest.mark.parametrize(
    ("method", "status"), [("leaves-grandchildren", "ok"), ("hangs-with-grandchildren", "timeout")]
)
def test_nothing_outlives_a_task(
    run_in: Run,
    marked: Callable[[str], list[int]],
    monkeypatch: pytest.MonkeyPatch,
    method: str,
    status: str,
) -> None:
    """A task's own processes end with it, in whatever session they are."""
    monkeypatch.setenv("MARK", marker := f"nothing-outlives-{method}-{os.getpid()}")
    with closing(Supervisor(METHODS)) as supervisor:
        outcome = run_in(supervisor, method, time_limit_seconds=0.1)
        own = set(supervisor.pids().values())
        assert set(marked(marker)) - {os.getpid()} == own
    assert outcome.status == status
    assert outcome.objective == 21
    assert set(marked(marker)) <= {os.getpid()}


def test_a_flood_of_messages_is_kept_at_bay(run: Run) -> None:
    """Of 20 MB of output, the end is kept, and the method is not held up."""
    outcome = run("floods", params={"megabytes": 20})
    assert outcome.status == "ok"
    assert outcome.stderr_tail.endswith("the last line\n")
    assert len(outcome.stderr_tail) <= 2**14


def test_output_does_not_disturb_reports(run: Run) -> None:
    """Standard output may hold anything."""
    outcome = run("prints-garbage")
    assert (outcome.status, outcome.objective) == ("ok", 21)


def test_unreadable_reports_are_no_success(run: Run) -> None:
    """Reports that came before the damage count, none after it."""
    outcome = run("reports-from-two-processes")
    assert outcome.status in ("crashed", "error")
    assert (outcome.objective, outcome.bound_certified) == (21, None)


@pytest.mark.parametrize(
    ("method", "params", "detail"),
    [
        ("claims", {"kind": 5, "surrogate": False}, "kind 5; expected a printable text"),
        ("claims", {"kind": "", "surrogate": True}, r"kind '\\ud800'; expected"),
        ("certifies-the-incredible", {}, "bound 9223372036854775808; expected a 64-bit integer"),
    ],
)
def test_what_no_row_can_hold_is_the_methods_error(
    run: Run, method: str, params: dict[str, Any], detail: str
) -> None:
    """What it reported before counts."""
    outcome = run(method, params=params)
    assert outcome.status == "error", outcome.status_detail
    assert re.search(detail, outcome.status_detail), outcome.status_detail
    assert outcome.objective == 21


@pytest.mark.parametrize("where", ["mapped memfd", "forked pages"])
def test_memory_counts_once(run: Run, where: str) -> None:
    """Neither a file that is mapped, nor pages that processes share, count double."""
    params = {"where": where, "mebibytes": 150}
    outcome = run("keeps-in-memory", params=params, memory_limit_bytes=280 * MIB)
    assert outcome.status == "ok", outcome.status_detail
    assert 150 * MIB < outcome.peak_rss_bytes <= 280 * MIB


def test_a_solution_that_breaks_a_constraint_is_an_error(run: Run) -> None:
    """It is refused when it is reported; what came before counts."""
    outcome = run("breaks-a-constraint")
    assert outcome.status == "error"
    assert "uses stages 2 to 2; expected 0 to 1" in outcome.status_detail
    assert outcome.objective == 21


def test_a_wrong_objective_is_found_by_the_checker(run: Run) -> None:
    """If both method and data model are wrong, the checker is not; the next best counts."""
    outcome = run("believes-its-objective")
    assert outcome.status == "error"
    assert outcome.status_detail.startswith("rejected: solution of value 9: ")
    assert outcome.objective == 21
    assert [event.value for event in outcome.events] == [21]


def test_a_false_certificate_never_counts(run: Run) -> None:
    """The row is an error, the next best certificate counts, and the events show no more."""
    outcome = run("certifies-falsely", params={"after": 2})
    assert outcome.status == "error"
    assert "certificate of value 8: " in outcome.status_detail
    assert "certificate of value 7: " in outcome.status_detail
    assert (outcome.objective, outcome.bound_certified) == (21, 6)
    assert [event.value for event in outcome.events] == [21, 6]


def test_a_method_that_is_always_wrong_has_no_bound(run: Run) -> None:
    """Only a few candidates get a try."""
    outcome = run("certifies-falsely", params={"after": 9})
    assert outcome.status == "error"
    assert (outcome.objective, outcome.bound_certified, outcome.certificate) == (21, None, None)
    assert [event.value for event in outcome.events] == [21]


def test_a_certificate_of_another_instance_does_not_count(run: Run) -> None:
    """True elsewhere is not true here."""
    outcome = run("certifies-another-instance")
    assert outcome.status == "error"
    assert "another instance" in outcome.status_detail
    assert outcome.bound_certified is None


def test_a_large_solution(run: Run) -> None:
    """A document far larger than a pipe arrives whole."""
    outcome = run("good", nodes=50_000, k=4, memory_limit_bytes=2 * 2**30)
    assert outcome.status == "ok", outcome.status_detail
    assert outcome.solution is not None
    assert len(json.loads(outcome.solution)["stages"]) == 50_000
    assert outcome.objective == 50_000 * 50_001 // 2


@pytest.mark.parametrize("server", ["methods", "checker"])
def test_a_killed_server_is_replaced(run_in: Run, eventually: Eventually, server: str) -> None:
    """A kill -9 of a warm process between two tasks costs no task."""
    with closing(Supervisor(METHODS)) as supervisor:
        assert run_in(supervisor, "good").status == "ok"
        killed = supervisor.pids()[server]
        os.kill(killed, signal.SIGKILL)
        eventually(lambda: processes.state(killed) in "ZX")
        assert run_in(supervisor, "good").status == "ok"
        assert killed != supervisor.pids()[server]


def test_a_server_killed_during_a_task(
    run_in: Run,
    eventually: Eventually,
    marked: Callable[[str], list[int]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The task and its group die with their server; what was streamed counts."""
    monkeypatch.setenv("MARK", marker := f"server-killed-{os.getpid()}")
    outcomes = []
    with closing(Supervisor(METHODS)) as supervisor:
        assert run_in(supervisor, "no-op").status == "ok"
        server = supervisor.pids()["methods"]
        thread = threading.Thread(
            target=lambda: outcomes.append(run_in(supervisor, "hangs-in-a-group"))
        )
        thread.start()
        eventually(lambda: len(processes.descendants(server)) == 2)
        os.kill(server, signal.SIGKILL)
        thread.join()
        (outcome,) = outcomes
        assert outcome.status == "crashed"
        assert outcome.status_detail == "the supervising process died"
        assert outcome.objective == 21
    eventually(lambda: set(marked(marker)) <= {os.getpid()})


def test_stop_ends_a_running_task(run_in: Run, eventually: Eventually) -> None:
    """Another thread can stop a supervisor at any time; it takes no task afterwards."""
    supervisor = Supervisor(METHODS)
    stopped = threading.Event()

    def work() -> None:
        try:
            run_in(supervisor, "hangs")
        except ServerStoppedError:
            stopped.set()

    thread = threading.Thread(target=work)
    thread.start()
    eventually(lambda: "methods" in supervisor.pids())
    eventually(lambda: processes.descendants(supervisor.pids()["methods"]))
    supervisor.stop()
    thread.join()
    assert stopped.is_set()
    with pytest.raises(ServerStoppedError):
        run_in(supervisor, "good")
    supervisor.close()


def test_what_was_checked_beside_a_method_is_kept(
    run_in: Run, checked_beside: Iterator[float]
) -> None:
    """Whoever stops a running task gets what the checker had accepted by then."""
    outcomes: list[Outcome] = []
    for seconds in checked_beside:
        with closing(Supervisor(METHODS, checking_seconds=10.0)) as supervisor:
            stop = threading.Timer(seconds, supervisor.stop)
            stop.start()
            with suppress(ServerStoppedError):
                outcomes.append(run_in(supervisor, "hangs"))
            stop.join()
        if outcomes and outcomes[-1].objective is not None:
            break
    outcome = outcomes[-1]
    assert (outcome.objective, outcome.status) == (21, "timeout")
    assert outcome.status_detail == UNCHECKED
    assert outcome.solution is not None
    assert [event.value for event in outcome.events] == [21]


@pytest.mark.usefixtures("checked_beside")
def test_nothing_is_checked_twice(run_in: Run) -> None:
    """A method that ends by itself has the outcome that it has without checks beside it."""
    with closing(Supervisor(METHODS, checking_seconds=10.0)) as supervisor:
        outcome = run_in(supervisor, "hangs", time_limit_seconds=0.5)
        assert (outcome.objective, outcome.status) == (21, "timeout")
        assert outcome.status_detail == "killed after 1.5 s"
        assert run_in(supervisor, "good").bound_certified == 6
        lying = run_in(supervisor, "believes-its-objective")
        assert (lying.objective, lying.status) == (21, "error")
        assert lying.status_detail.startswith("rejected: solution of value 9: ")


@pytest.mark.parametrize(
    ("methods", "message"),
    [
        ("no_such_module:METHODS", "cannot start: ModuleNotFoundError: No module named"),
        ("threaded_methods:METHODS", "importing the methods started 1 threads; expected none"),
    ],
)
def test_methods_that_cannot_be_imported_stop_the_run(
    run_in: Run, methods: str, message: str
) -> None:
    """It is not one task's failure: no task can run."""
    with closing(Supervisor(methods)) as supervisor, pytest.raises(BoundmarkError, match=message):
        run_in(supervisor, "good")


def test_tasks_leave_no_descriptors_open(run_in: Run) -> None:
    """A run of any length needs no more open files than its first task."""
    counts = []
    with closing(Supervisor(METHODS)) as supervisor:
        for _ in range(3):
            run_in(supervisor, "good")
            processes = (os.getpid(), *supervisor.pids().values())
            counts.append([len(os.listdir(f"/proc/{pid}/fd")) for pid in processes])
    assert counts[0] == counts[1] == counts[2]


def test_an_overlong_or_unprintable_message_is_cut(run: Run) -> None:
    """Whatever a method raises, the row can be stored."""
    outcome = run("raises-garbage")
    assert outcome.status == "error"
    assert len(outcome.status_detail.encode()) <= 1000


UNKEPT = """
class Job:
    def __call__(self, request, channel):
        pass

    def warm_up(self, names):
        return 0.5, "kernels are not kept."


def prepare(argument):
    return Job()
"""


def test_what_several_processes_warn_of_is_said_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Each imports the same methods; the user reads one sentence."""
    (tmp_path / "unkept.py").write_text(UNKEPT)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    servers = [ForkServer("unkept") for _ in range(2)]
    for server in servers:
        server.begin_warming(["any"])
        assert server.end_warming() == 0.5
        server.close()
    assert caplog.messages == ["warning: kernels are not kept."]
