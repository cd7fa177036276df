"""Compares two runs of the same tasks: finds results that got worse, by facts and not by chance."""

from boundmark.reports.comparison.compare import compare_runs
from boundmark.reports.comparison.recorded_run import check_run, read_run
from boundmark.reports.comparison.thresholds import Thresholds, read_thresholds

__all__ = ["Thresholds", "check_run", "compare_runs", "read_run", "read_thresholds"]
