"""Times of a model's operators on this machine, and the file that keeps them."""

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from boundmark.benchmarks.arguments import path_of
from boundmark.problems.computation_graph import ComputationGraph
from boundmark.problems.devices import TIMES_FORMAT, Device
from boundmark.problems.errors import InvalidInputError
from boundmark.problems.roofline import operation_seconds

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class Profile:
    """Times of a model's operators on this machine.

    Attributes
    ----------
    model
        What the model is called.
    graph
        Its operators.
    times
        Nanoseconds of each operator by name, the median of its runs.
    measurement
        Runtime, device and settings, by the names that the file of times has.
    source
        The same in words.
    base
        The device whose link and memory go with the times.
    intervals
        Between which most runs of each operator lie, nanoseconds.
    untimed
        Why operators have no time of their own, a sentence each.
    estimated
        Those of them that could not be timed: their times are the roofline model's.
    notes
        What else one has to know about the times, as sentences.
    """

    model: str
    graph: ComputationGraph
    times: Mapping[str, int]
    measurement: Mapping[str, Any]
    source: str
    base: Device
    intervals: Mapping[str, tuple[int, int]]
    untimed: Mapping[str, str]
    estimated: tuple[str, ...]
    notes: tuple[str, ...]

    @property
    def total_ns(self) -> int:
        """Nanoseconds of all operators together."""
        return sum(self.times.values())

    @property
    def whole_ns(self) -> int | None:
        """Nanoseconds of the model in one piece; None if that was not measured."""
        found: int | None = self.measurement["whole_ns"]
        return found

    @cached_property
    def rank_correlation(self) -> float | None:
        """Spearman's, of the times with those of the roofline model; None if it is undefined."""
        with suppress(InvalidInputError):
            # The base device may have no rate for the model's type of elements.
            estimated = operation_seconds(self.graph, self.base).tolist()
            return rank_correlation(estimated, list(self.times.values()))
        return None

    @property
    def device(self) -> Device:
        """The times as a device for `boundmark.load`."""
        seconds = {name: time * 1e-9 for name, time in self.times.items()}
        name = f"measured:{self.model}"
        return replace(self.base, name=name, source=self.source, measured=seconds)

    @cached_property
    def table(self) -> "pd.DataFrame":
        """A `pandas.DataFrame` with a row for each operator, times in nanoseconds."""
        import pandas as pd

        bounds = [self.intervals.get(name, (time, time)) for name, time in self.times.items()]
        return pd.DataFrame(
            {
                "operator": list(self.times),
                "op_type": list(self.graph.op_types),
                "time": list(self.times.values()),
                "low": [low for low, _ in bounds],
                "high": [high for _, high in bounds],
            }
        )

    def to_json(self) -> dict[str, Any]:
        """Return the document that is stored, which other commands read as ``--device``."""
        graph = self.graph
        return {
            "format": TIMES_FORMAT,
            "model": self.model,
            "base": self.base.name,
            "source": self.source,
            "rank_correlation": self.rank_correlation,
            "operators": dict(self.times),
            "measurement": dict(self.measurement),
            "intervals": {name: list(bounds) for name, bounds in self.intervals.items()},
            "untimed": dict(self.untimed),
            "notes": list(self.notes),
            "graph": {
                "op_types": list(graph.op_types),
                "flops": graph.flops.tolist(),
                "read_bytes": graph.read_bytes.tolist(),
                "output_bytes": graph.output_bytes.tolist(),
                "param_bytes": graph.param_bytes.tolist(),
                "edges": graph.dag.edge_pairs().tolist(),
            },
        }

    def save(self, path: str | Path) -> None:
        """Store the times in a ``.json`` file, which other commands read as ``--device``."""
        from boundmark.reports.stored.durable import write_durably

        given = path_of("path", path, "file")
        check_suffix(given)
        write_durably(given, (json.dumps(self.to_json(), indent=1) + "\n").encode())

    def __repr__(self) -> str:
        return (
            f"<profile of {self.model}: {len(self.times)} operators, "
            f"{self.total_ns / 1e6:,.3f} ms; {self.source}>"
        )


def check_suffix(path: Path) -> None:
    """Refuse a file of times whose name does not end in ``.json``."""
    if path.suffix.lower() != ".json":
        raise InvalidInputError(f"{path} has the suffix {path.suffix!r}; expected .json.")


def rank_correlation(one: list[float], other: list[int]) -> float | None:
    """Return Spearman's rank correlation, None where one side does not vary."""
    from scipy.stats import spearmanr

    if len(set(one)) < 2 or len(set(other)) < 2:
        return None
    return float(spearmanr(one, other).statistic)
