"""All tables of the report, by the names of their files."""

from boundmark.reports.default import DEFAULT
from boundmark.reports.placement.learned_tables import curve_table, learned_table
from boundmark.reports.placement.tables import fusion_table, latency_table
from boundmark.reports.problem_report import ProblemResults, Tables


def tables(results: ProblemResults) -> Tables:
    """Return the default tables and ours."""
    latencies = latency_table(results.tasks, results.certified)
    return {
        **DEFAULT.tables(results),
        "latencies": latencies,
        "fusion": fusion_table(latencies),
        "learned": learned_table(results.tasks, results.certified),
        "curves": curve_table(results.tasks, results.certified),
    }
