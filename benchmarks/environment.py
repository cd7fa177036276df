"""Where a run happened: everything about machine and software that a reader of results may ask."""

import os
import platform
import subprocess
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import psutil

from boundmark.benchmarks.distributions import installed_versions


@cache
def describe_environment() -> Mapping[str, Any]:
    """Return the record that a run stores as `environment.json`, as of this process's first call.

    Not to be changed: all callers share it.
    """
    commit, dirty = _checkout()
    return {
        "cpu": cpu_name(),
        "cores": psutil.cpu_count(logical=False),
        "logical_cpus": psutil.cpu_count(),
        "usable_cpus": len(os.sched_getaffinity(0)),
        "memory_bytes": psutil.virtual_memory().total,
        "host": platform.node(),
        "os": platform.platform(),
        "python": platform.python_version(),
        "libraries": installed_versions(),
        "commit": commit,
        "dirty": dirty,
        "thread_settings": {
            name: value for name, value in sorted(os.environ.items()) if "NUM_THREADS" in name
        },
        "load_at_start": list(os.getloadavg()),
    }


def cpu_name() -> str:
    """Return what the processor is called."""
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()


def _checkout() -> tuple[str | None, bool | None]:
    """Return commit and dirty flag of the checkout that this code runs from; None outside one."""
    # An installed copy may sit inside some other repository, which then says nothing about it.
    if _git("ls-files", "--error-unmatch", Path(__file__).name) is None:
        return None, None
    return _git("rev-parse", "HEAD"), bool(_git("status", "--porcelain"))


def _git(*arguments: str) -> str | None:
    here = Path(__file__).resolve().parent
    try:
        done = subprocess.run(
            ["git", "-C", str(here), *arguments], capture_output=True, text=True, timeout=10
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() if done.returncode == 0 else None
