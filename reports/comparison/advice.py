"""Mean changes of times, of results that depend on the clock, and of changed methods."""

import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pandas as pd

from boundmark.reports.comparison.gates import BOUND, OBJECTIVE, Finding, Verdict
from boundmark.reports.comparison.pairs import Pairs, Thresholds
from boundmark.reports.comparison.recorded_run import RecordedRun
from boundmark.reports.statistics import geometric_mean, geometric_mean_interval
from boundmark.reports.tables.rows import values_of
from boundmark.reports.text import count


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
        """Return the ratio as JSON values, with null for NaN."""
        return {name: None if x != x else x for name, x in vars(self).items()}

    @property
    def sentence(self) -> str:
        """The ratio in words."""
        interval = (
            f"95 % interval {self.low:.3f} to {self.high:.3f}, " if self.low == self.low else ""
        )
        return (
            f"{self.what}: {self.ratio:.3f} times that of BASE "
            f"({interval}over {count(self.instances, 'instance')})"
        )

    def over(self, factor: float) -> "PairedRatio":
        """Divide the ratio by an exact one."""
        return PairedRatio(
            self.problem, self.method, self.what, self.instances,
            self.ratio / factor, self.low / factor, self.high / factor,
        )  # fmt: skip

    def leaves_one(self, tolerance: float) -> bool:
        """Whether the whole interval lies above or below 1 by more than a tolerance."""
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


# A task that used its whole limit in both runs says nothing about its speed.
WHOLE_LIMIT = 0.95


@dataclass(frozen=True)
class Machine:
    """How much slower the machine was, from the reference task that both runs took.

    Attributes
    ----------
    factor
        Median CPU seconds of the reference task in NEW over those in BASE; 1 if not known.
    is_known
        Whether both runs took the reference task.
    """

    factor: float
    is_known: bool

    @classmethod
    def of(cls, base: RecordedRun, new: RecordedRun) -> "Machine":
        """Compare the reference tasks of two runs."""
        times = base.reference_seconds, new.reference_seconds
        if not all(times):
            return cls(1.0, False)
        before, after = map(statistics.median, times)
        return cls(after / before, True)

    def __str__(self) -> str:
        if not self.is_known:
            return (
                "The speed of the machine is not known, because one of the runs did not take the "
                "reference task: ratios of times hold on equal machines only."
            )
        return (
            f"The reference task, which never changes, took {self.factor:.3g} times as long in NEW "
            "as in BASE (medians of CPU seconds); ratios of times are divided by that."
        )


def time_ratios(pairs: Pairs, machine: Machine, thresholds: Thresholds) -> list[PairedRatio]:
    """Return how the CPU time of each method changed, the machine's own change taken out.

    Tasks count if they ended ok in both runs, took as long as a clock can tell in one of them, and
    did not use their whole limit in both.
    """
    both = pairs.both
    ok = (both["status_base"] == "ok") & (both["status_new"] == "ok")
    cpu = both[["cpu_seconds_base", "cpu_seconds_new"]]
    told = cpu.max(axis=1) >= thresholds.least_seconds
    wall = both[["wall_seconds_base", "wall_seconds_new"]].min(axis=1)
    own = wall < WHOLE_LIMIT * both["time_limit_seconds"]
    chosen = both[(ok & told & own).fillna(False).astype(bool)]
    return [one.over(machine.factor) for one in paired_ratios(chosen, "cpu_seconds", "CPU time")]


def clock_ratios(pairs: Pairs) -> list[PairedRatio]:
    """Return how costs and bounds that depend on the clock changed, by method."""
    return [
        ratio
        for value in (OBJECTIVE, BOUND)
        for ratio in paired_ratios(pairs.timed, value.column, value.noun)
    ]


def version_gate(pairs: Pairs, thresholds: Thresholds) -> Iterator[Finding]:
    """Yield the mean change of the results of each method with a new version.

    Single tasks of such a method decide nothing. It is worse if the geometric mean of its
    repeatable costs or bounds is, beyond the 95 % interval over instances and the tolerance.
    """
    for (problem, method), tasks in pairs.both[pairs.both["changed"]].groupby(
        ["problem", "method"]
    ):
        repeatable = tasks[tasks["repeatable"]]
        parts: list[str] = []
        verdicts: set[Verdict] = set()
        for value, tolerance in (
            (OBJECTIVE, thresholds.objective_tolerance),
            (BOUND, thresholds.bound_tolerance),
        ):
            up, down = _moves(repeatable, value.column)
            better, worse = (down, up) if value.worse_up else (up, down)
            if better or worse:
                parts.append(f"{value.noun}: {better} better, {worse} worse")
            for ratio in paired_ratios(repeatable, value.column, value.noun):
                if ratio.ratio != 1.0:
                    parts.append(ratio.sentence)
                if ratio.instances >= max(2, thresholds.least_pairs) and ratio.leaves_one(
                    tolerance
                ):
                    verdicts.add("worse" if (ratio.ratio > 1.0) == value.worse_up else "better")
        versions = [
            ", ".join(map(str, sorted(set(values_of(tasks[f"method_version_{side}"])))))
            for side in ("base", "new")
        ]
        told = "; ".join(parts) or "the same results"
        yield Finding(
            "version",
            "worse" if "worse" in verdicts else "better" if "better" in verdicts else "changed",
            str(problem),
            str(method),
            f"{method} {versions[0]} -> {versions[1]} ({problem})",
            f"{told}; {count(len(repeatable), 'repeatable task')} of {len(tasks)}",
        )


def _moves(tasks: pd.DataFrame, column: str) -> tuple[int, int]:
    """Count the tasks whose value became larger, and those whose value became smaller."""
    base, new = tasks[f"{column}_base"], tasks[f"{column}_new"]
    return int((new > base).fillna(False).sum()), int((new < base).fillna(False).sum())


def advice(
    ratios: Sequence[PairedRatio], tolerance: float, least_pairs: int, gate: str
) -> Iterator[Finding]:
    """Yield the ratios whose whole interval leaves 1 by more than a tolerance."""
    for one in ratios:
        if one.instances < max(2, least_pairs) or not one.leaves_one(tolerance):
            continue
        yield Finding(
            gate,
            "advice",
            one.problem,
            one.method,
            f"{one.method} ({one.problem})",
            one.sentence,
        )
