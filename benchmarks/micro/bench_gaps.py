"""The certified gap of a fixed small suite.

Everything goes the way of `boundmark run`: limits, verification, rows. Methods end by themselves,
so that the gap depends on the code alone.
"""

import shutil
import tempfile
from pathlib import Path

HEAD = """
description = "For tracking."
time_limit_seconds = 120
memory_limit_gib = 2
"""

SUITES = {
    "pipeline": """
methods = ["mean-work", "node-cut", "fractional-load", "slicegraph", "brkga-100"]
[[instances]]
dataset = "regal-style"
members = ["erdos-renyi-1", "barabasi-albert-1", "watts-strogatz-1", "stochastic-block-1"]
k = [4, 16]
""",
    "placement": """
methods = ["critical-path", "assignment-load", "heft", "m-etf"]
[[instances]]
dataset = "onnx-light"
members = ["alexnet", "squeezenet"]
transfers = ["per-tensor"]
""",
}


class Suite:
    """A suite of seconds."""

    params = tuple(SUITES)
    param_names = ("problem",)
    timeout = 600

    def setup(self, problem: str) -> None:
        self.folder = Path(tempfile.mkdtemp())
        text = f'problem = "{problem}"\n{HEAD}{SUITES[problem]}'
        (self.folder / "tracked.toml").write_text(text)

    def teardown(self, problem: str) -> None:
        shutil.rmtree(self.folder)

    # asv takes upward steps for regressions, so it tracks the gap and not the bound.
    def track_certified_gap(self, problem: str) -> float:
        from boundmark.benchmarks.cli.group import main
        from boundmark.reports.statistics import geometric_mean
        from boundmark.reports.stored.store import ResultStore
        from boundmark.reports.tables.tasks import certified_table

        out = self.folder / "out"
        main(
            ["run", str(self.folder / "tracked.toml"), "--out", str(out), "--quiet"],
            standalone_mode=False,
        )
        certified = certified_table(ResultStore.open(out).results())
        assert certified["gap"].notna().all()
        return 100 * (geometric_mean(1 + certified["gap"]) - 1)

    track_certified_gap.unit = "%"  # type: ignore[attr-defined]
