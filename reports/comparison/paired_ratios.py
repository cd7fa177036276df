"""Mean ratios of NEW over BASE by method, with intervals over instances."""

from dataclasses import dataclass

import pandas as pd

from boundmark.reports.statistics.bootstrap import geometric_mean_interval
from boundmark.reports.statistics.geometric_mean import geometric_mean


@dataclass(frozen=True)
class PairedRatio:
    """How a method's values changed in the mean.

    Attributes
    ----------
    what
        Of what: ``"CPU time"``, ``"verified cost"`` or ``"certified bound"``.
    instances
        Those behind the mean, one ratio each.
    ratio, low, high
        Geometric mean of NEW/BASE, and its 95 % bootstrap interval over instances.
    """

    problem: str
    method: str
    what: str
    instances: int
    ratio: float
    low: float
    high: float

    def to_json(self) -> dict[str, object]:
        """Return the ratio as JSON values; what is not a number is null."""
        return {name: None if x != x else x for name, x in vars(self).items()}

    def over(self, factor: float) -> "PairedRatio":
        """Return the ratio over another one that is known exactly."""
        return PairedRatio(
            self.problem, self.method, self.what, self.instances,
            self.ratio / factor, self.low / factor, self.high / factor,
        )  # fmt: skip

    def leaves_one(self, tolerance: float) -> bool:
        """Whether the whole interval is beyond 1, up or down, by more than a tolerance."""
        return self.low > 1 + tolerance or self.high < 1 / (1 + tolerance)


def paired_ratios(tasks: pd.DataFrame, column: str, what: str) -> list[PairedRatio]:
    """Return the mean ratio of each method, over the instances with both values above 0.

    Parameters
    ----------
    tasks
        Rows of pairs. Seeds are averaged within an instance first, over those with both values.
    """
    base, new = (tasks[f"{column}_{side}"].astype("float64") for side in ("base", "new"))
    having = tasks.assign(base=base, new=new)[(base > 0) & (new > 0)]
    means = having.groupby(["problem", "method", "instance_sha256"])[["base", "new"]].mean()
    found = []
    for (problem, method), part in means.groupby(level=["problem", "method"]):
        ratios = (part["new"] / part["base"]).to_numpy()
        low, high = geometric_mean_interval(ratios)
        found.append(
            PairedRatio(
                str(problem), str(method), what, len(ratios), geometric_mean(ratios), low, high
            )
        )
    return found
