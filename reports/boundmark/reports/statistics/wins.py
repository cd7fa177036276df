"""Wins and ties."""

import pandas as pd


def wins_and_ties(costs: pd.DataFrame) -> pd.DataFrame:
    """Return how often each method has the smallest cost, alone (`wins`) or not (`ties`).

    Parameters
    ----------
    costs
        One row per instance and one column per method; NaN where a method failed.
    """
    best = costs.eq(costs.min(axis=1), axis=0)
    alone = best.sum(axis=1) == 1
    return pd.DataFrame({"wins": best[alone].sum(), "ties": best[~alone].sum()})
