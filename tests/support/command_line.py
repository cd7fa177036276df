"""A small suite, and what the command line looks like from a test."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

SUITE = """
description = "Small and quick."
problem = "pipeline"
time_limit_seconds = 10
memory_limit_gib = 1
methods = ["mean-work", "max-work", "node-cut", "share", "slicegraph", "random-100"]

[[instances]]
dataset = "regal-style"
members = ["erdos-renyi-1", "barabasi-albert-1"]
k = [2, 4]

[[instances]]
dataset = "onnx-light"
members = ["squeezenet"]
k = [4]
"""
TASKS = 5 * 6

Boundmark = Callable[..., subprocess.CompletedProcess[str]]


def boundmark_with(*folders: Path) -> Boundmark:
    """Return the command line, with the packages in some folders installed."""
    paths = [*map(str, folders), *filter(None, [os.environ.get("PYTHONPATH")])]

    def call(*arguments: object, check: bool = True) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            [sys.executable, "-m", "boundmark", *map(str, arguments)],
            capture_output=True,
            text=True,
            timeout=120,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
        )
        if check:
            assert done.returncode == 0, done.stdout + done.stderr
        return done

    return call
