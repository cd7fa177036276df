"""Compares two runs of the same tasks: finds results that got worse, by facts and not by chance."""

from boundmark.reports.comparison.compare import compare_runs
from boundmark.reports.comparison.pairs import Thresholds, read_thresholds
from boundmark.reports.comparison.recorded_run import check_run, read_run

__all__ = ["Thresholds", "check_run", "compare_runs", "read_run", "read_thresholds"]
