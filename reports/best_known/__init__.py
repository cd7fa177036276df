"""Best known results of instances: the lowest verified cost and the highest certified bound."""

from boundmark.reports.best_known.records import (
    BestKnown,
    Improvements,
    improvements,
    merged,
    of_results,
    read_records,
    shipped,
    write_records,
)

__all__ = [
    "BestKnown",
    "Improvements",
    "improvements",
    "merged",
    "of_results",
    "read_records",
    "shipped",
    "write_records",
]
