import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable

import pytest

Eventually = Callable[[Callable[[], object]], None]
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
