"""Changes in the mean: of results that depend on the clock, of changed methods, and of times."""

import statistics
from collections.abc import Iterator
from dataclasses import dataclass

import pandas as pd

from boundmark.reports.comparison.gates import BOUND, OBJECTIVE, Finding, Verdict
from boundmark.reports.comparison.pairs import Pairs, Thresholds
from boundmark.reports.comparison.recorded_run import RecordedRun
from boundmark.reports.statistics import Bootstrap, geometric_mean, geometric_mean_interval
from boundmark.reports.tables.rows import values_of
from boundmark.reports.text import count, percent


@dataclass(frozen=True)
class PairedRatio:
    """The mean change of a method's values.

    Attributes
    ----------
    what
        Values that are compared: ``"verified cost"``, ``"certified bound"`` or ``"time"``.
    instances
        Those behind the mean, one ratio each.
    repeats
        How often BASE ran each task, at most.
    spread
        Largest over smallest mean of BASE's repeats, or what is assumed if that is more.
    ratio, low, high
        Geometric mean of NEW/BASE, and its 95 % bootstrap interval over instances, widened by the
        spread on both sides.
    """

    problem: str
    method: str
    what: str
    instances: int
    repeats: int
    spread: float
    ratio: float
    low: float
    high: float

    def to_json(self) -> dict[str, object]:
        """Return the ratio as JSON values, with null for NaN."""
        return {name: None if x != x else x for name, x in vars(self).items()}

    @property
    def sentence(self) -> str:
        """The ratio in words."""
        is_interval = self.instances > 1 and self.low == self.low
        interval = f"95 % interval {self.low:.3f} to {self.high:.3f}, " if is_interval else ""
        source = f"in {self.repeats} repeats" if self.repeats > 1 else "by assumption"
        varies = f"; BASE itself varies by {percent(self.spread - 1)} % {source}"
        return (
            f"{self.what}: {self.ratio:.3f} times that of BASE ({interval}over "
            f"{count(self.instances, 'instance')}{varies if self.spread > 1 else ''})"
        )

    def verdict(self, *, worse_up: bool, tolerance: float = 0.0) -> Verdict | None:
        """Return the verdict if the whole interval leaves 1 by more than a tolerance."""
        if self.low > 1 + tolerance:
            return "worse" if worse_up else "better"
        if self.high < 1 / (1 + tolerance):
            return "better" if worse_up else "worse"
        return None


INSTANCE = ["problem", "method", "instance_sha256"]


def paired_ratios(
    tasks: pd.DataFrame,
    repeats: pd.DataFrame,
    column: str,
    what: str,
    *,
    assumed: float = 0.0,
    machine: float = 1.0,
) -> list[PairedRatio]:
    """Return the mean ratio of each method, over the instances with both values above 0."""
    own = tasks[[*INSTANCE, "task_id_base", f"{column}_new"]]
    runs = repeats[["task_id", "started_at", column]].merge(
        own, left_on="task_id", right_on="task_id_base"
    )
    base, new = (runs[name].astype("float64") for name in (column, f"{column}_new"))
    runs = runs.assign(base=base, new=new / machine)[(base > 0) & (new > 0)]
    runs["repeat"] = runs.sort_values("started_at").groupby("task_id").cumcount()
    means = runs.groupby([*INSTANCE, "task_id"])[["base", "new"]].mean().groupby(INSTANCE).mean()
    found = []
    for (problem, method), part in means.groupby(level=["problem", "method"]):
        ratios = (part["new"] / part["base"]).to_numpy()
        low, high = geometric_mean_interval(ratios, Bootstrap(least=2))
        if len(ratios) == 1:
            low = high = ratios[0]
        own = runs[(runs["problem"] == problem) & (runs["method"] == method)]
        by_repeat = own.pivot_table("base", "instance_sha256", "repeat").dropna().to_numpy()
        sizes = [geometric_mean(one) for one in by_repeat.T if len(one)]
        spread = max(1 + assumed, max(sizes, default=1.0) / min(sizes, default=1.0))
        found.append(
            PairedRatio(
                str(problem), str(method), what, len(ratios), int(own["repeat"].max()) + 1, spread,
                geometric_mean(ratios), float(low / spread), float(high * spread),
            )
        )  # fmt: skip
    return found


VALUES = (OBJECTIVE, BOUND)


def clock_gate(pairs: Pairs, thresholds: Thresholds) -> list[tuple[PairedRatio, Finding | None]]:
    """Return how costs and bounds that depend on the clock changed, and what that is a finding of.

    A method that was changed on purpose is judged by all its results, see `version_gate`.
    """
    tasks, found = pairs.timed[~pairs.timed["changed"]], []
    for value in VALUES:
        for one in paired_ratios(
            tasks, pairs.repeats, value.column, value.noun, assumed=thresholds.clock_tolerance
        ):
            verdict = one.verdict(worse_up=value.worse_up)
            found.append((one, _finding("clock", verdict, one) if verdict else None))
    return found


# A task that used its whole limit in both runs says nothing about its speed, nor do times so short.
WHOLE_LIMIT = 0.95
LEAST_SECONDS = 0.05


def slower_gate(pairs: Pairs, machine: float, share: float) -> Iterator[Finding]:
    """Yield the methods that take longer by more than a share, the machine's own change taken out.

    Tasks count if they ended ok in both runs, took as long as a clock can tell in one of them, and
    did not use their whole limit in both. One instance without repeats has no interval.
    """
    both = pairs.both
    ok = (both["status_base"] == "ok") & (both["status_new"] == "ok")
    wall = both[["wall_seconds_base", "wall_seconds_new"]]
    told = wall.max(axis=1) >= LEAST_SECONDS
    own = wall.min(axis=1) < WHOLE_LIMIT * both["time_limit_seconds"]
    chosen = both[(ok & told & own).fillna(False).astype(bool)]
    for one in paired_ratios(chosen, pairs.repeats, "wall_seconds", "time", machine=machine):
        has_interval = one.instances > 1 or one.repeats > 1
        if has_interval and one.verdict(worse_up=True, tolerance=share) == "worse":
            yield _finding("slower", "worse", one)


def _finding(gate: str, verdict: Verdict, one: PairedRatio) -> Finding:
    subject = f"{one.method} ({one.problem})"
    return Finding(gate, verdict, one.problem, one.method, subject, one.sentence)


def machine_change(base: RecordedRun, new: RecordedRun) -> float | None:
    """Return how many times as long the reference task took in NEW, None if one did not take it."""
    if not base.reference_seconds or not new.reference_seconds:
        return None
    return statistics.median(new.reference_seconds) / statistics.median(base.reference_seconds)


def version_gate(pairs: Pairs, thresholds: Thresholds) -> Iterator[Finding]:
    """Yield the mean change of the results of each method with a new version.

    Single tasks of such a method decide nothing. It is worse if the geometric mean of its costs or
    bounds is, beyond the 95 % interval over instances and the tolerance.
    """
    tolerances = thresholds.objective_tolerance, thresholds.bound_tolerance
    changed = pairs.both[pairs.both["changed"]]
    for (problem, method), tasks in changed.groupby(["problem", "method"]):
        assumed = 0.0 if tasks["repeatable"].all() else thresholds.clock_tolerance
        parts: list[str] = []
        verdicts: set[Verdict | None] = set()
        for value, tolerance in zip(VALUES, tolerances, strict=True):
            base, new = tasks[f"{value.column}_base"], tasks[f"{value.column}_new"]
            up, down = (int(one.fillna(False).sum()) for one in (new > base, new < base))
            better, worse = (down, up) if value.worse_up else (up, down)
            if better or worse:
                parts.append(f"{value.noun}: {better} better, {worse} worse")
            for ratio in paired_ratios(
                tasks, pairs.repeats, value.column, value.noun, assumed=assumed
            ):
                if ratio.ratio != 1.0:
                    parts.append(ratio.sentence)
                verdicts.add(ratio.verdict(worse_up=value.worse_up, tolerance=tolerance))
        versions = [
            ", ".join(map(str, sorted(set(values_of(tasks[f"method_version_{side}"])))))
            for side in ("base", "new")
        ]
        yield Finding(
            "version",
            "worse" if "worse" in verdicts else "better" if "better" in verdicts else "changed",
            str(problem),
            str(method),
            f"{method} {versions[0]} -> {versions[1]} ({problem})",
            f"{'; '.join(parts) or 'the same results'}; {count(len(tasks), 'task')}",
        )
