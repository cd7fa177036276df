"""Methods compared on equal terms: only over instances that all of them treated.

Methods may have been given different instances. Each set of instances that some method treated is a
comparison of its own, between all methods that treated every one of them; so no mean is over
instances that one of the compared methods never saw, and none is over an empty set.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import pandas as pd

from boundmark.reports.tables.rows import values_of


@dataclass(frozen=True)
class Comparison:
    """Some instances, and the methods that treated all of them.

    Attributes
    ----------
    instances
        By hash, sorted.
    methods
        In no particular order; at least one of them treated no further instance.
    """

    instances: tuple[str, ...]
    methods: frozenset[str]


def comparisons(tasks: pd.DataFrame) -> Iterator[Comparison]:
    """Yield the comparisons, those over most instances first.

    Parameters
    ----------
    tasks
        Columns `method`, `instance_sha256`, `status`. A task whose status is `unsupported` treated
        nothing.
    """
    treated = tasks[tasks["status"] != "unsupported"]
    sets = {
        str(method): frozenset(values_of(part))
        for method, part in treated.groupby("method")["instance_sha256"]
    }
    for instances in sorted(set(sets.values()), key=lambda one: (-len(one), sorted(one))):
        methods = frozenset(method for method, own in sets.items() if own >= instances)
        yield Comparison(tuple(sorted(instances)), methods)
