import json
import threading
from typing import Any

import numpy as np
import pytest

from boundmark.benchmarks.running.execution.method_job import StreamedProgress
from boundmark.problems.certificate import Certificate, Claim
from boundmark.problems.dag import Dag
from boundmark.problems.errors import InvalidInputError
from boundmark.problems.pipeline import Partition, PipelineInstance
from boundmark.problems.pipeline.graph import PipelineGraph


class RecordingChannel:
    """Keeps what is reported."""

    def __init__(self) -> None:
        self.started = 0.0
        self.sent: list[tuple[dict[str, Any], bytes]] = []

    def report(self, header: dict[str, Any], body: bytes = b"") -> None:
        """Keep a frame."""
        self.sent.append((header, body))

    def values(self, kind: str) -> list[float]:
        """Return the values of one kind, in their order."""
        return [header["value"] for header, _ in self.sent if header["kind"] == kind]


@pytest.fixture
def instance() -> PipelineInstance:
    """Return 50 nodes of work 1 without edges."""
    ones = np.ones(50, dtype=np.int64)
    names = tuple(map(str, range(50)))
    dag = Dag.from_edges(50, [])
    return PipelineInstance(PipelineGraph.without_parameters(dag, ones, 0 * ones, names), 2)


def split(first: int) -> Partition:
    """Put the given number of the 50 nodes into the first stage."""
    return Partition((np.arange(50) >= first).astype(np.int64))


def certificate(instance: PipelineInstance, bound: int) -> Certificate:
    """Return a certificate that only has to have a bound."""
    return Certificate.of(instance, "mean-work/1", bound, {}, "test")


def test_what_is_worse_is_not_sent(instance: PipelineInstance) -> None:
    """A method need not remember what it has reported; of equal bounds, the first one counts."""
    channel = RecordingChannel()
    progress = StreamedProgress(instance, channel)  # type: ignore[arg-type]
    for first in (0, 10, 5, 10, 25):
        progress.solution(split(first))
    for bound in (3, 2, 3, 4):
        progress.bound(certificate(instance, bound))
        progress.bound(Claim("search", bound + 0.5))
    assert channel.values("solution") == [50, 40, 40, 25]
    assert channel.values("bound_certified") == [3, 4]
    assert channel.values("bound_claimed") == [3.5, 4.5]


def test_what_is_sent_is_the_stored_form(instance: PipelineInstance) -> None:
    """The checker reads these very bytes."""
    channel = RecordingChannel()
    progress = StreamedProgress(instance, channel)  # type: ignore[arg-type]
    progress.solution(split(25))
    progress.bound(certificate(instance, 25))
    solution, bound = (json.loads(body) for _, body in channel.sent)
    assert (solution["objective"], solution["instance_sha256"]) == (25, instance.sha256)
    assert bound == certificate(instance, 25).to_json()


@pytest.mark.parametrize("value", [float("-inf"), float("inf"), float("nan")])
def test_a_claim_without_a_value_is_none(instance: PipelineInstance, value: float) -> None:
    """Solvers report infinities while they know nothing."""
    channel = RecordingChannel()
    StreamedProgress(instance, channel).bound(Claim("search", value))  # type: ignore[arg-type]
    assert channel.sent == []


def test_an_infeasible_solution_is_refused(instance: PipelineInstance) -> None:
    """The method learns what is wrong; nothing is sent."""
    channel = RecordingChannel()
    progress = StreamedProgress(instance, channel)  # type: ignore[arg-type]
    with pytest.raises(InvalidInputError, match="expected 0 to 1"):
        progress.solution(Partition(np.full(50, 2)))
    assert channel.sent == []


def test_threads_may_report(instance: PipelineInstance) -> None:
    """A solver's callbacks come from its own threads; still each frame is better than the last."""
    channel = RecordingChannel()
    progress = StreamedProgress(instance, channel)  # type: ignore[arg-type]

    def work(offset: int) -> None:
        for first in range(offset, 26, 4):
            progress.solution(split(first))

    threads = [threading.Thread(target=work, args=(offset,)) for offset in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    values = channel.values("solution")
    assert values == sorted(set(values), reverse=True)
    assert values[-1] == 25
