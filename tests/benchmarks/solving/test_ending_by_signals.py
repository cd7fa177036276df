"""Ctrl-C and SIGTERM end a command, and what was found by then is kept."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import psutil
import pytest
from command_line import TASKS, Boundmark

from boundmark.benchmarks.solving.ending import METHOD_JOB
from boundmark.reports.stored.store import ResultStore


def jobs_of(process: psutil.Process) -> list[psutil.Process]:
    """Return the processes in which methods run below a command."""
    jobs = []
    for server in process.children():
        # Some end while they are looked at.
        with suppress(psutil.Error):
            if METHOD_JOB in server.cmdline():
                jobs += server.children()
    return jobs


def has_worked(job: psutil.Process, seconds: float = 0.5) -> bool:
    """Whether a process has used some time."""
    try:
        return bool(job.cpu_times().user > seconds)
    except psutil.Error:
        return False


@pytest.mark.parametrize(
    ("number", "code", "name"), [(signal.SIGINT, 130, "Ctrl-C"), (signal.SIGTERM, 143, "SIGTERM")]
)
def test_a_signal_keeps_the_best(
    boundmark: Boundmark, tmp_path: Path, number: int, code: int, name: str
) -> None:
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
    command.send_signal(number)
    printed, errors = command.communicate(timeout=120)
    assert command.returncode == code, errors
    answer = json.loads(printed)
    assert answer["interrupted"]
    assert answer["method"] == "memetic"
    assert answer["failures"] == [f"memetic: timeout: ended because of {name}"]
    stored = json.loads(Path(answer["files"]["best_solution"]).read_text())
    assert stored == answer["solution"]
    folder = Path(answer["files"]["results"])
    assert folder.parent == tmp_path
    assert ", 0 rejected" in boundmark("verify", folder).stdout


def ended_by_sigterm(
    arguments: list[str], is_time: Callable[[psutil.Process], bool]
) -> tuple[int, str]:
    """Run a command, send SIGTERM when it is time, and return its exit code and what it said.

    Nothing of it is left.
    """
    command = subprocess.Popen(
        [sys.executable, "-m", "boundmark", *arguments],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    process = psutil.Process(command.pid)
    while command.poll() is None and not is_time(process):
        time.sleep(0.01)
    below = process.children(recursive=True) if command.poll() is None else []
    command.send_signal(signal.SIGTERM)
    _, errors = command.communicate(timeout=120)
    _, alive = psutil.wait_procs(below, timeout=20)
    assert alive == []
    assert "Traceback" not in errors
    return command.returncode, errors


@pytest.mark.parametrize("rows", [0, 1])
def test_sigterm_says_what_is_stored(suite_file: Path, tmp_path: Path, rows: int) -> None:
    """While the run begins, and after its first task."""
    out = tmp_path / "out"

    def is_time(process: psutil.Process) -> bool:
        stored = len(list(out.glob("results/*.parquet")))
        return stored >= rows if rows else (out / ".lock").exists()

    arguments = ["run", str(suite_file), "--out", str(out), "--quiet", "--workers", "1"]
    code, errors = ended_by_sigterm(arguments, is_time)
    assert code == 143, errors
    kept = len(ResultStore.open(out).results()) if (out / "results").is_dir() else 0
    assert rows <= kept < TASKS
    stored = f"{kept} tasks are stored in {out}; " if (out / "results").is_dir() else ""
    said = " ".join(errors.split())
    assert f"interrupted: {stored}the same command goes on with the others" in said


def test_sigterm_to_other_commands(finished_run: Path) -> None:
    """They end with its exit code, too."""
    arguments = ["verify", *[str(finished_run)] * 200]
    # What it imports takes one second of the two.
    code, errors = ended_by_sigterm(arguments, lambda process: has_worked(process, 2.0))
    assert (code, errors.strip()) == (143, "Aborted!")


def test_a_program_that_calls_the_package_ends_as_ever() -> None:
    """SIGTERM is heeded by commands only."""
    program = (
        "import boundmark, signal\n"
        "from boundmark.benchmarks.solving.ending import ending_gently\n"
        "with ending_gently(print):\n"
        "    signal.raise_signal(signal.SIGTERM)\n"
    )
    assert subprocess.run([sys.executable, "-c", program]).returncode == -signal.SIGTERM
