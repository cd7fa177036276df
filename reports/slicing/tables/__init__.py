"""Tables of `slicing`, beside those of every problem."""

from boundmark.reports.default import default_tables
from boundmark.reports.problem_report import ProblemResults, Tables
from boundmark.reports.slicing.tables.latency import latency_table
from boundmark.reports.slicing.tables.loads import load_table


def tables(results: ProblemResults) -> Tables:
    """Return all of them, by the names of their files."""
    latency = latency_table(results.tasks, results.certified)
    return {
        **default_tables(results),
        "latency": latency,
        "device_loads": load_table(latency, results.store),
    }
