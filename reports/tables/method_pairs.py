"""Each two methods side by side: who is better how often, by how much, and whether by chance."""

from itertools import combinations
from typing import Any

import pandas as pd

from boundmark.reports.statistics.geometric_mean import geometric_mean
from boundmark.reports.statistics.signed_rank import holm, signed_rank_p
from boundmark.reports.tables.grouping import per_instance
from boundmark.reports.tables.method_gaps import ROLES
from boundmark.reports.tables.method_statistics import TOLERANCE
from boundmark.reports.text.natural_order import natural_order

COLUMNS = [
    "role",
    "method",
    "other",
    "instances",
    "wins",
    "ties",
    "losses",
    "mean_ratio",
    "p_value",
    "p_holm",
    "tolerance",
]


def method_pairs(tasks: pd.DataFrame) -> pd.DataFrame:
    """Return one row per role and pair of methods that delivered on common instances.

    Returns
    -------
    pandas.DataFrame
        Columns `role` (see `method_gaps`), `method`, `other`; `instances`, those on which both
        delivered; `wins`, `ties` and `losses` of the method at the `tolerance`; `mean_ratio`, the
        geometric mean of the method's value over the other's; `p_value` of Wilcoxon's signed-rank
        test over these instances, and `p_holm`, corrected for the pairs of the role. Seeds are
        averaged within an instance first.
    """
    rows: list[dict[str, Any]] = []
    for role, (kinds, column) in ROLES.items():
        values = per_instance(tasks[tasks["method_kind"].isin(kinds)], column)
        values = values.where(values > 0)
        found = [
            _pair(values, one, other, is_cost=column == "objective")
            for one, other in combinations(natural_order(values.columns), 2)
        ]
        found = [row for row in found if row["instances"]]
        corrected = holm([row["p_value"] for row in found])
        rows += [
            {"role": role, **row, "p_holm": p} for row, p in zip(found, corrected, strict=True)
        ]
    return pd.DataFrame(rows, columns=COLUMNS)


def _pair(values: pd.DataFrame, one: str, other: str, *, is_cost: bool) -> dict[str, Any]:
    both = values[[one, other]].dropna()
    ratios = both[one] / both[other]
    below, above = ratios < 1 / (1 + TOLERANCE), ratios > 1 + TOLERANCE
    wins, losses = (below, above) if is_cost else (above, below)
    return {
        "method": one,
        "other": other,
        "instances": len(both),
        "wins": int(wins.sum()),
        "ties": int((~below & ~above).sum()),
        "losses": int(losses.sum()),
        "mean_ratio": geometric_mean(ratios),
        "p_value": signed_rank_p(both[one], both[other]),
        "tolerance": TOLERANCE,
    }
