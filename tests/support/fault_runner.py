"""A runner of faulty tasks, in a process that a campaign may kill.

    python fault_runner.py FOLDER ENGINE TASKS

TASKS is a JSON list of pairs of a label and a task. Prints a line for each task that is stored.
"""

import json
import resource
import signal
import sys
from pathlib import Path

from chains import chain

from boundmark.benchmarks.running.execution.dask_engine import DaskEngine
from boundmark.benchmarks.running.execution.engine import LocalEngine
from boundmark.benchmarks.running.execution.task import Outcome, Task
from boundmark.benchmarks.running.planning import NamedInstance, PlannedTask
from boundmark.benchmarks.running.runner import run_planned

METHODS = "faulty_methods:METHODS"
WORKERS = 2


def main(folder: str, engine_name: str, file: str) -> None:
    """Run what the folder lacks."""
    # A campaign in the background would have made this process deaf to it.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    instance = chain(6, 2)
    planned = [
        PlannedTask(
            Task.from_json(task), NamedInstance("faults", label, instance), "exact", "faults"
        )
        for label, task in json.loads(Path(file).read_text())
    ]
    engine = (
        LocalEngine(WORKERS, METHODS)
        if engine_name == "local"
        else DaskEngine(None, WORKERS, METHODS)
    )

    def tell(item: PlannedTask, outcome: Outcome) -> None:
        print(outcome.status, item.source.member, flush=True)

    run_planned(planned, Path(folder), engine, on_finish=tell)
    print(f"needed {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MiB")


if __name__ == "__main__":
    main(*sys.argv[1:])
