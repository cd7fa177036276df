"""A small suite, and what the command line looks like from a test."""

import subprocess
from collections.abc import Callable

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
