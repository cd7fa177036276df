"""Ctrl-C ends a search, and what was found by then is kept."""

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import psutil
from command_line import Boundmark

from boundmark.benchmarks.interruption import METHOD_JOB


def jobs_of(process: psutil.Process) -> list[psutil.Process]:
    """Return the processes in which methods run below a command."""
    jobs = []
    for guard in process.children():
        # Some end while they are looked at.
        with suppress(psutil.Error):
            if METHOD_JOB in guard.cmdline():
                jobs += [job for server in guard.children() for job in server.children()]
    return jobs


def has_worked(job: psutil.Process) -> bool:
    """Whether a process has used half a second."""
    try:
        return bool(job.cpu_times().user > 0.5)
    except psutil.Error:
        return False


def test_ctrl_c_keeps_the_best(boundmark: Boundmark, tmp_path: Path) -> None:
    """A method that would run for minutes is ended; its best solution is verified and stored.

    Without a folder for it, there is one among the temporary files, which stays.
    """
    command = subprocess.Popen(
        [sys.executable, "-m", "boundmark", "solve", "regal-style/erdos-renyi-1", "-k", "4",
         "--method", "memetic", "--time-limit", "600", "--json"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env={**os.environ, "TMPDIR": str(tmp_path)},
    )  # fmt: skip
    process = psutil.Process(command.pid)
    while command.poll() is None and not any(map(has_worked, jobs_of(process))):
        time.sleep(0.1)
    command.send_signal(signal.SIGINT)
    printed, errors = command.communicate(timeout=120)
    assert command.returncode == 130, errors
    answer = json.loads(printed)
    assert answer["interrupted"]
    assert answer["method"] == "memetic"
    assert answer["failures"] == ["memetic: timeout: ended because of Ctrl-C"]
    stored = json.loads(Path(answer["files"]["best_solution"]).read_text())
    assert stored == answer["solution"]
    folder = Path(answer["files"]["results"])
    assert folder.parent == tmp_path
    assert ", 0 rejected" in boundmark("verify", folder).stdout
