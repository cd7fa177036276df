"""Lets methods do everything wrong, and kills runs at random, and counts what that costs.

    python tests/campaigns/faults.py --minutes 10 --seed 1

First, a table of faults with the status that each should have and the one it has. Then, until the
time is up, a run of short tasks is killed again and again: runner, servers, tasks and what
these have started, with SIGKILL, SIGINT and SIGTERM, at random moments. Each run is resumed until
it is finished. Exit code 1 means that a status was wrong, a row was lost or altered, a finished
task was run again, or a process was left behind.
"""

import argparse
import itertools
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd

TESTS = Path(__file__).parents[1]
SUPPORT, METHODS = TESTS / "support", TESTS / "benchmarks" / "running" / "execution"
sys.path.insert(0, str(SUPPORT))
from chains import chain  # noqa: E402
from fault_table import FAULTS, MIB  # noqa: E402

from boundmark.benchmarks.running.execution import processes  # noqa: E402
from boundmark.benchmarks.running.execution.task import Task  # noqa: E402
from boundmark.benchmarks.running.folder_verification import verify_folder  # noqa: E402
from boundmark.reports.stored.store import ResultStore  # noqa: E402

MARK = "BOUNDMARK_CAMPAIGN"
TASKS = 40
# How long a process may take to end after the one that it belonged to.
PATIENCE_SECONDS = 30.0
# Most seconds between two kills, and how often a run is killed before it may finish.
PACES = (0.1, 0.5, 2.0, 5.0)
KILLED_ATTEMPTS = 8
SIGNALS = (signal.SIGKILL, signal.SIGINT, signal.SIGTERM)

Tasks = Sequence[tuple[str, Task]]


@dataclass
class Losses:
    """What must not happen, counted."""

    wrong: int = 0
    lost: int = 0
    altered: int = 0
    repeated: int = 0
    rejected: int = 0
    left_behind: int = 0
    kills: Counter[str] = field(default_factory=Counter)
    runs: int = 0

    def any(self) -> bool:
        """Whether something did."""
        return any((self.wrong, self.lost, self.altered, self.repeated, self.rejected)) or bool(
            self.left_behind
        )


def main() -> int:
    """Run the campaign, print what came of it, and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=2.0, help="for the kills")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--no-table", action="store_true", help="only the kills")
    parser.add_argument("--engine", choices=("local", "dask"), default="local")
    given = parser.parse_args()
    losses = Losses()
    with tempfile.TemporaryDirectory(prefix="boundmark-faults-") as scratch:
        if not given.no_table:
            check_table(Path(scratch) / "table", given.engine, losses)
        deadline = time.monotonic() + 60 * given.minutes
        dice = random.Random(given.seed)
        while time.monotonic() < deadline:
            kill_and_resume(Path(scratch) / str(losses.runs), given.engine, dice, losses)
            losses.runs += 1
    print(f"\n{losses.kills.total()} kills in {losses.runs} runs of {TASKS} tasks:")
    for what, count in sorted(losses.kills.items()):
        print(f"  {count:6} {what}")
    print(f"rows lost {losses.lost}, altered {losses.altered}; finished tasks run again "
          f"{losses.repeated}; rejected by verify {losses.rejected}; processes left behind "
          f"{losses.left_behind}; wrong statuses {losses.wrong}")  # fmt: skip
    return 1 if losses.any() else 0


def check_table(folder: Path, engine: str, losses: Losses) -> None:
    """Run every fault, with a good task after each, and print which status it has."""
    tasks: list[tuple[str, Task]] = []
    for number, fault in enumerate(FAULTS):
        limits = {"time_limit_seconds": fault.seconds, "memory_limit_bytes": fault.memory_bytes}
        tasks += [
            (fault.label, task(fault.method, number, params=fault.params, **limits)),
            ("good", task("good", number)),
        ]
    began = time.monotonic()
    with runner(folder, engine, tasks) as process:
        peak = process.communicate()[0].splitlines()[-1]
    seconds = time.monotonic() - began
    losses.left_behind += len(left_behind())
    rows = ResultStore.open(folder).results().set_index("task_id")
    print(f"{'fault':44} {'expected':9} observed")
    for (label, one), expected in zip(tasks[::2], FAULTS, strict=True):
        found = rows["status"].get(one.task_id, "no row")
        detail = (
            "" if found == expected.status else f"  <-- {rows['status_detail'].get(one.task_id)}"
        )
        losses.wrong += found != expected.status
        print(f"{label:44} {expected.status:9} {found}{detail}")
    good = sum(rows["status"].get(one.task_id) == "ok" for _, one in tasks[1::2])
    losses.wrong += len(FAULTS) - good
    losses.lost += len({one.task_id for _, one in tasks} - set(rows.index))
    print(
        f"good tasks between them: {good} of {len(FAULTS)} ok; {seconds:.0f} s; the runner {peak}",
        flush=True,
    )
    with runner(folder, engine, tasks) as process:
        again = process.communicate()[0].splitlines()
    losses.repeated += len(again) - 1
    losses.rejected += sum(verdict.reason is not None for verdict in verify_folder(folder))


def kill_and_resume(folder: Path, engine: str, dice: random.Random, losses: Losses) -> None:
    """Run some tasks in spite of kills; check after each what the folder holds."""
    notes = folder.with_name(f"{folder.name}-notes")
    notes.mkdir()
    tasks = [("killed", short_task(number, notes, dice)) for number in range(TASKS)]
    kept = pd.DataFrame()
    for attempt in itertools.count():
        executed = {path.name for path in notes.iterdir()}
        pace = dice.choice(PACES)
        with runner(folder, engine, tasks) as process:
            # In the end, the run may finish.
            while process.poll() is None and attempt < KILLED_ATTEMPTS:
                with suppress(subprocess.TimeoutExpired):
                    process.wait(dice.uniform(0.0, pace))
                kill_somebody(process, dice, losses)
            process.wait()
        losses.left_behind += len(left_behind())
        if not (folder / "results").is_dir():
            continue
        rows = ResultStore.open(folder).results().set_index("task_id")
        lost = set(kept.index) - set(rows.index)
        if process.returncode == 0:
            lost |= {one.task_id for _, one in tasks} - set(rows.index)
        if lost:
            losses.lost += len(lost)
            print("lost:", [one for _, one in tasks if one.task_id in lost], flush=True)
            print(folder.with_name(f"{folder.name}.log").read_text()[-20_000:], flush=True)
        if not kept.empty:
            losses.altered += not rows.loc[rows.index.isin(kept.index)].equals(kept)
        again = {path.name for path in notes.iterdir()} - executed
        finished = set() if kept.empty else {str(seed) for seed in kept["seed"]}
        losses.repeated += sum(name.split("-")[0] in finished for name in again)
        kept = rows
        if process.returncode == 0:
            break
    losses.rejected += sum(verdict.reason is not None for verdict in verify_folder(folder))


def short_task(number: int, notes: Path, dice: random.Random) -> Task:
    """Return a task that leaves a note and takes no long time; some start processes."""
    if dice.random() < 0.2:
        return task("hangs-in-a-group", number, time_limit_seconds=0.1)
    params = {"folder": str(notes), "seconds": dice.uniform(0.0, 0.3)}
    return task("leaves-a-note", number, params=params)


def kill_somebody(process: subprocess.Popen[str], dice: random.Random, losses: Losses) -> None:
    """Send a signal to the runner or to anything below it."""
    below = processes.descendants(process.pid)
    target = dice.choice([process.pid, *below])
    if dice.random() < 0.1:
        target = process.pid
    sent = dice.choice(SIGNALS)
    if target == process.pid:
        what = "runner"
    else:
        depth = 0
        above = target
        while above != process.pid and above > 1:
            above, depth = parent(above), depth + 1
        what = {1: "server", 2: "task"}.get(depth, "below a task")
    with suppress(ProcessLookupError):
        os.kill(target, sent)
        losses.kills[f"{sent.name} to {what}"] += 1


def parent(pid: int) -> int:
    """Return the number of a process's parent, 0 if it has ended."""
    try:
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    except OSError:
        return 0


def task(method: str, seed: int, **fields: Any) -> Task:
    """Return a task about the one instance."""
    return Task(
        **{
            "instance_sha256": chain(6, 2).sha256,
            "problem": "pipeline",
            "method": method,
            "method_version": 1,
            "params": {},
            "seed": seed,
            "time_limit_seconds": 20.0,
            "memory_limit_bytes": 1024 * MIB,
            "threads": 1,
            **fields,
        }
    )


@contextmanager
def runner(folder: Path, engine: str, tasks: Tasks) -> Iterator[subprocess.Popen[str]]:
    """Start a run, in a session of its own."""
    file = folder.with_name(f"{folder.name}.json")
    file.write_text(json.dumps([(label, one.to_json()) for label, one in tasks]))
    with (folder.with_name(f"{folder.name}.log")).open("a") as log:
        process = subprocess.Popen(
            [sys.executable, SUPPORT / "fault_runner.py", folder, engine, file],
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
            start_new_session=True,
            env={
                **os.environ,
                "PYTHONPATH": os.pathsep.join(map(str, (SUPPORT, METHODS))),
                MARK: "1",
            },
        )
    try:
        yield process
    finally:
        process.kill()
        process.wait()
        if process.stdout is not None:
            process.stdout.close()


def left_behind() -> list[int]:
    """Return what is still there some time after a run."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while found := [
        pid for pid in map(int, filter(str.isdigit, os.listdir("/proc"))) if marked(pid)
    ]:
        if time.monotonic() > deadline:
            for pid in found:
                print("left behind:", pid, Path(f"/proc/{pid}/cmdline").read_bytes(), flush=True)
                os.kill(pid, signal.SIGKILL)
            return found
        time.sleep(0.02)
    return []


def marked(pid: int) -> bool:
    """Whether a process is of this campaign."""
    try:
        return f"{MARK}=1".encode() in Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:
        return False


if __name__ == "__main__":
    sys.exit(main())
