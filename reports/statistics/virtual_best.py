"""The virtual best method, which takes the best of all methods on every instance."""

from dataclasses import dataclass

import numpy as np
import pandas as pd


@dataclass(frozen=True)
class Contribution:
    """The contribution of a method to the virtual best.

    Attributes
    ----------
    best_share
        Share of the instances on which the method is as good, within the tolerance.
    only_best
        Number of instances on which no other method is as good, within the tolerance.
    loss
        Geometric mean of the virtual best without the method over that with it, minus 1, over the
        instances that other methods solve too; NaN without any.
    """

    best_share: float
    only_best: int
    loss: float


def contributions(costs: pd.DataFrame, tolerance: float) -> dict[str, Contribution]:
    """Return the marginal contribution of each method.

    As in [XU12], with geometric means of cost quotients in place of solved instances.

    Parameters
    ----------
    costs
        Positive costs, one row per instance and one column per method; NaN where a method failed.
        Rows without any cost are no instances.
    tolerance
        Fraction above the best cost that counts as equal to it.
    """
    solved = costs.dropna(how="all")
    best = solved.min(axis=1)
    found = {}
    for method in solved.columns:
        others = solved.drop(columns=method).min(axis=1)
        equals = solved[method] <= best * (1 + tolerance)
        alone = equals & ~(others <= best * (1 + tolerance))
        quotients = (others / best).dropna()
        found[str(method)] = Contribution(
            float(equals.mean()) if len(solved) else float("nan"),
            int(alone.sum()),
            float(np.exp(np.log(quotients).mean()) - 1) if len(quotients) else float("nan"),
        )
    return found
