"""Wins and ties."""

import pandas as pd


def wins_and_ties(costs: pd.DataFrame, tolerance: float = 0.0) -> pd.DataFrame:
    """Return how often each method has the smallest cost, alone (`wins`) or not (`ties`).

    Parameters
    ----------
    costs
        One row per instance and one column per method; NaN where a method failed.
    tolerance
        Fraction by which a cost may exceed the smallest one, above 0, and count as equal.
    """
    smallest = costs.min(axis=1)
    best = costs.le(smallest + tolerance * smallest.abs(), axis=0)
    alone = best.sum(axis=1) == 1
    return pd.DataFrame({"wins": best[alone].sum(), "ties": best[~alone].sum()})
