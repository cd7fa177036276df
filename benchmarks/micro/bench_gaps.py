"""The certified gap of a fixed small suite, and what a run and its report need.

Everything goes the way of `boundmark run`: limits, verification, rows, report. Methods end by
themselves, so that the gap depends on the code alone.
"""

import os
import shutil
import tempfile
from pathlib import Path

SUITE = """
description = "For tracking."
problem = "{problem}"
time_limit_seconds = 120
memory_limit_gib = 2
methods = [{methods}]

[[instances]]
{instances}
"""

SUITES = {
    "pipeline": (
        ["mean-work", "node-cut", "fractional-load", "slicegraph", "brkga-100"],
        'dataset = "regal-style"\nmembers = ["erdos-renyi-1", "barabasi-albert-1", '
        '"watts-strogatz-1", "stochastic-block-1"]\nk = [4, 16]',
    ),
    "placement": (
        ["critical-path", "assignment-load", "heft", "m-etf"],
        'dataset = "onnx-light"\nmembers = ["alexnet", "squeezenet"]\ntransfers = ["per-tensor"]',
    ),
}


class Suite:
    """A suite of seconds, run and reported."""

    params = tuple(SUITES)
    param_names = ("problem",)
    timeout = 600

    def setup(self, problem: str) -> None:
        os.environ.setdefault("NUMBA_NUM_THREADS", "1")
        self.folder = Path(tempfile.mkdtemp())
        methods, instances = SUITES[problem]
        names = ", ".join(f'"{name}"' for name in methods)
        text = SUITE.format(problem=problem, methods=names, instances=instances)
        (self.folder / "tracked.toml").write_text(text)

    def teardown(self, problem: str) -> None:
        shutil.rmtree(self.folder)

    # asv takes upward steps for regressions, so it tracks the gap and not the bound.
    def track_certified_gap(self, problem: str) -> float:
        from boundmark.reports.statistics import geometric_mean
        from boundmark.reports.stored.store import ResultStore
        from boundmark.reports.tables.tasks import certified_table

        self._run()
        certified = certified_table(ResultStore.open(self.folder / "out").results())
        assert certified["gap"].notna().all()
        return 100 * (geometric_mean(1 + certified["gap"]) - 1)

    track_certified_gap.unit = "%"  # type: ignore[attr-defined]

    def _run(self) -> None:
        from boundmark.benchmarks.running.execution.engine import make_engine
        from boundmark.benchmarks.running.planning import plan_tasks
        from boundmark.benchmarks.running.runner import run_planned
        from boundmark.benchmarks.running.suite_file import load_suite

        suite = load_suite(str(self.folder / "tracked.toml"))
        planned = plan_tasks(suite.name, suite.load_instances(), suite.methods, suite.settings)
        run_planned(planned, self.folder / "out", make_engine("local", 1))
