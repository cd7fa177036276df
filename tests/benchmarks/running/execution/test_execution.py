"""Parts of the execution of tasks: frames, processes, the process of a server, and tasks."""

import itertools
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from boundmark.benchmarks.running.execution import processes
from boundmark.benchmarks.running.execution.frames import (
    Frame,
    FrameReader,
    encode,
    write_all,
)
from boundmark.benchmarks.running.execution.task import Task

frames = st.lists(
    st.builds(
        Frame,
        st.dictionaries(st.text(max_size=5), st.integers() | st.text(max_size=5), max_size=3).map(
            lambda header: {**header, "kind": "report"}
        ),
        st.binary(max_size=50),
    ),
    max_size=5,
)


@given(sent=frames, cuts=st.lists(st.integers(0, 500)), lost=st.integers(0, 20))
def test_frames_arrive_whole_or_not_at_all(sent: list[Frame], cuts: list[int], lost: int) -> None:
    """However the stream is cut into pieces and wherever it ends, whole frames are what arrives."""
    stream = b"".join(encode(frame.header, frame.body) for frame in sent)
    stream = stream[: max(0, len(stream) - lost)]
    reader = FrameReader()
    received = []
    marks = [0, *sorted(min(cut, len(stream)) for cut in cuts), len(stream)]
    for start, end in itertools.pairwise(marks):
        received += reader.feed(stream[start:end])
    assert received == sent[: len(received)]
    rest = sum(len(encode(frame.header, frame.body)) for frame in sent[: len(received) + 1])
    assert len(received) == len(sent) or rest > len(stream)


def test_write_all_writes_what_a_pipe_takes_in_parts() -> None:
    """A write larger than the pipe is complete once the reader has read."""
    reading, writing = os.pipe()

    def write() -> None:
        write_all(writing, b"x" * 300_000)
        os.close(writing)

    thread = threading.Thread(target=write)
    thread.start()
    with open(reading, "rb") as file:
        assert len(file.read()) == 300_000
    thread.join()


Eventually = Callable[[Callable[[], object]], None]


SLEEP = "import time; time.sleep(1000)"


def test_descendants_are_found_across_sessions(eventually: Eventually) -> None:
    """A grandchild counts even if it has left its parent's session."""
    code = (
        "import subprocess, sys; "
        f"subprocess.run([sys.executable, '-S', '-c', {SLEEP!r}], start_new_session=True)"
    )
    child = subprocess.Popen([sys.executable, "-S", "-c", code], start_new_session=True)
    try:
        eventually(lambda: len(processes.descendants(child.pid)) == 1)
        assert child.pid in processes.descendants(os.getpid())
    finally:
        grandchildren = processes.descendants(child.pid)
        for pid in (*grandchildren, child.pid):
            processes.kill_group(pid)
        child.wait()


def test_kill_group_reaches_the_leaders_children(eventually: Eventually) -> None:
    """The group dies, not only its leader."""
    code = f"import subprocess, sys; subprocess.run([sys.executable, '-S', '-c', {SLEEP!r}])"
    child = subprocess.Popen([sys.executable, "-S", "-c", code], start_new_session=True)
    eventually(lambda: processes.children(child.pid))
    (grandchild,) = processes.children(child.pid)
    processes.kill_group(child.pid)
    child.wait()
    eventually(lambda: processes.state(grandchild) in "ZX")


def test_a_process_that_is_gone_has_nothing() -> None:
    """Processes may end while they are looked at."""
    child = subprocess.Popen([sys.executable, "-S", "-c", ""])
    child.wait()
    assert processes.children(child.pid) == []
    assert processes.state(child.pid) == "X"
    processes.kill_group(child.pid)


def test_end_children_ends_orphans(eventually: Eventually) -> None:
    """A process that adopts orphans leaves none behind, whatever session they are in."""
    code = (
        "import os, subprocess, sys, time\n"
        "from boundmark.benchmarks.running.execution import processes\n"
        "processes.adopt_orphans()\n"
        "if os.fork() == 0:\n"
        f"    sleep = [sys.executable, '-S', '-c', {SLEEP!r}]\n"
        "    subprocess.Popen(sleep)\n"
        "    subprocess.Popen(sleep, start_new_session=True)\n"
        "    os._exit(0)\n"
        "while len(processes.children(os.getpid())) < 3: time.sleep(0.01)\n"
        "print(len(processes.end_children()), processes.children(os.getpid()))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "3 []\n"


Marked = Callable[[str], list[int]]


CLIENT = """
import sys
from chains import chain
from boundmark.benchmarks.running.execution.supervisor import Supervisor
from boundmark.benchmarks.running.execution.task import Task
from boundmark.problems.json_documents import canonical_json
instance = chain(6, 2)
task = Task(instance.sha256, "pipeline", "hangs-with-grandchildren", 1, {}, 0, 1000.0, 2**30, 1)
Supervisor("faulty_methods:METHODS").run(task, canonical_json(instance.to_json()).encode())
"""


def test_nothing_is_left_when_the_client_is_killed(
    monkeypatch: pytest.MonkeyPatch, marked: Marked, eventually: Eventually
) -> None:
    """Neither warm processes nor tasks, in whatever session what they have started is."""
    monkeypatch.setenv("MARK", marker := f"client-killed-{os.getpid()}-{time.monotonic_ns()}")
    paths = os.pathsep.join([os.environ["PYTHONPATH"], *sys.path])
    monkeypatch.setenv("PYTHONPATH", paths)
    client = subprocess.Popen([sys.executable, "-c", CLIENT])

    def below() -> set[int]:
        return set(marked(marker)) - {os.getpid(), client.pid}

    try:
        # Two warm processes, the task, and the two that it has started.
        eventually(lambda: len(below()) == 5)
    finally:
        client.send_signal(signal.SIGKILL)
        client.wait()
    eventually(lambda: not below())


TASK = Task(
    instance_sha256="a" * 64,
    problem="pipeline",
    method="slicegraph",
    method_version=1,
    params={"restarts": 3, "order": "kahn"},
    seed=0,
    time_limit_seconds=20,
    memory_limit_bytes=2**30,
    threads=1,
)


def test_task_id_is_independent_of_the_form_of_a_number_and_the_order_of_parameters() -> None:
    """20 and 20.0 seconds are the same limit."""
    same = replace(TASK, time_limit_seconds=20.0, params={"order": "kahn", "restarts": 3})
    assert same.task_id == TASK.task_id


@pytest.mark.parametrize(
    "change",
    [
        {"instance_sha256": "b" * 64},
        {"problem": "layout"},
        {"method": "brkga"},
        {"method_version": 2},
        {"params": {"restarts": 4, "order": "kahn"}},
        {"seed": 1},
        {"time_limit_seconds": 21.0},
        {"memory_limit_bytes": 2**31},
        {"threads": 2},
    ],
)
def test_task_id_depends_on_everything_else(change: dict[str, Any]) -> None:
    """No two different runs share an identity."""
    assert replace(TASK, **change).task_id != TASK.task_id


def test_a_task_survives_json() -> None:
    """What the runner sends is what the task's process receives."""
    assert Task.from_json(TASK.to_json()) == TASK
