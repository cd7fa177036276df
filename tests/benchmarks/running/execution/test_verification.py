import re
from collections.abc import Callable, Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from boundmark.benchmarks.running.execution import verification
from boundmark.benchmarks.running.execution.fork_server import ForkServer, Limits
from boundmark.benchmarks.running.execution.frames import Frame
from boundmark.benchmarks.running.execution.task import Task
from boundmark.benchmarks.running.execution.verification import (
    KEPT_CANDIDATES,
    Candidate,
    Reports,
    Verification,
    Verified,
)
from boundmark.problems.json_documents import canonical_json

MakeTask = Callable[..., Task]
Check = Callable[..., Verified]


@pytest.fixture(scope="module")
def server() -> Iterator[ForkServer]:
    """Return the checker that can break on purpose, in its warm process."""
    server = verification.start_server("stand_in_checker")
    yield server
    server.close()


@pytest.fixture
def about(make_task: MakeTask, instances: dict[str, bytes]) -> tuple[bytes, str]:
    """Return a path of six nodes, and its hash."""
    sha256 = make_task("good").instance_sha256
    return instances[sha256], sha256


@pytest.fixture
def check(server: ForkServer, about: tuple[bytes, str]) -> Check:
    """Return a function that verifies candidates about a path of six nodes."""
    return lambda *candidates, **more: Verification(lambda: server, *about, **more).finish(
        candidates
    )


@pytest.fixture
def solution(make_task: MakeTask) -> Callable[[int], Candidate]:
    """Return a function that makes a solution of cost 21 with the objective that it is told."""

    def make(value: int) -> Candidate:
        document = {
            "instance_sha256": make_task("good").instance_sha256,
            "stages": [0] * 6,
            "objective": value,
        }
        return Candidate("solution", value, canonical_json(document).encode())

    return make


@pytest.fixture
def certificate(make_task: MakeTask) -> Callable[..., Candidate]:
    """Return a function that makes a certificate; a bound of at most 6 is true."""

    def make(value: int, kind: str = "max-work/1") -> Candidate:
        document = {
            "instance_sha256": make_task("good").instance_sha256,
            "kind": kind,
            "bound": value,
            "payload": {"node": 5},
        }
        return Candidate("certificate", value, canonical_json(document).encode())

    return make


Make = Callable[..., Candidate]


def test_nothing_to_verify_costs_nothing(check: Check) -> None:
    """No process is forked without need."""
    assert check() == Verified()


def test_both_kinds_are_accepted(check: Check, solution: Make, certificate: Make) -> None:
    """They come back as they were given."""
    verified = check(solution(21), certificate(6))
    assert verified.solution == solution(21)
    assert verified.certificate == certificate(6)
    assert verified.rejections == ()
    assert verified.seconds > 0.0


def test_the_next_best_counts(check: Check, solution: Make, certificate: Make) -> None:
    """A refused candidate does not take the others with it, and the best true one is found."""
    verified = check(
        solution(19), solution(20), solution(21), certificate(8), certificate(6), certificate(5)
    )
    assert verified.solution is not None
    assert verified.solution.value == 21
    assert verified.certificate is not None
    assert verified.certificate.value == 6
    assert sorted(rejection.split(":")[0] for rejection in verified.rejections) == [
        "certificate of value 8",
        "solution of value 19",
        "solution of value 20",
    ]


def test_the_value_must_be_the_documents(check: Check, certificate: Make) -> None:
    """What the method announced must be what its document proves."""
    verified = check(Candidate("certificate", 6, certificate(5).document))
    assert verified.certificate is None
    assert verified.rejections == ("certificate of value 6: its document states 5",)


@pytest.mark.parametrize(
    ("kind", "seconds", "reason"),
    [
        ("err", 10.0, "KeyError: 'flow'"),
        ("crash", 10.0, "the check did not end well: died of SIGSEGV"),
        ("hang", 0.2, "the check did not end well: killed after 0.2 s"),
        (
            "allocate",
            10.0,
            "(MemoryError|the check did not end well: killed with more than)",
        ),
    ],
)
def test_a_candidate_that_breaks_the_checker_is_refused(
    check: Check, solution: Make, certificate: Make, kind: str, seconds: float, reason: str
) -> None:
    """The process is lost, the other candidates are not."""
    verified = check(
        solution(21),
        certificate(9, kind),
        certificate(6),
        limits=Limits(seconds, 200 * 2**20, 1),
    )
    (rejection,) = verified.rejections
    assert re.match(f"certificate of value 9: {reason}", rejection)
    assert verified.solution is not None
    assert verified.certificate is not None
    assert verified.certificate.value == 6


@pytest.mark.parametrize("document", [b"", b"[", b"7", b"{}", b"\xff"])
def test_what_is_no_document_is_refused(check: Check, document: bytes) -> None:
    """Bytes that mean nothing prove nothing."""
    verified = check(Candidate("certificate", 1, document))
    assert verified.certificate is None
    assert len(verified.rejections) == 1


@pytest.mark.parametrize("cut", [10, 1])
def test_another_instance_is_noticed(
    server: ForkServer, about: tuple[bytes, str], certificate: Make, cut: int
) -> None:
    """Without the very instance that the task is about, nothing is accepted."""
    content, sha256 = about
    verified = Verification(lambda: server, content[:-cut], sha256).finish([certificate(6)])
    assert verified.certificate is None
    (rejection,) = verified.rejections
    assert "the instance has the hash" in rejection


def test_the_verifying_process_is_lean(about: tuple[bytes, str], certificate: Make) -> None:
    """It has loaded nothing of what produced the documents, not even numpy."""
    server = verification.start_server("stand_in_checker")
    try:
        Verification(lambda: server, *about).finish([certificate(6)])
        with open(f"/proc/{server.pid}/maps") as file:
            assert "numpy" not in file.read()
    finally:
        server.close()


def test_a_server_that_dies_refuses_and_is_replaced(
    about: tuple[bytes, str], certificate: Make
) -> None:
    """If the warm process dies at work, its candidate is refused and the next has a new one."""
    servers: list[ForkServer] = []

    def start() -> ForkServer:
        if not servers or servers[-1].is_dead:
            servers.append(verification.start_server("stand_in_checker"))
        return servers[-1]

    verified = Verification(start, *about).finish([certificate(9, "kill-parent"), certificate(6)])
    for server in servers:
        server.close()
    assert len(servers) == 2
    assert verified.certificate is not None
    assert verified.certificate.value == 6
    assert verified.rejections == (
        "certificate of value 9: the check did not end well: the supervising process died",
    )


def frame(kind: str, value: object, body: bytes = b"", **more: object) -> Frame:
    """Return a report."""
    return Frame({"kind": kind, "value": value, **more}, body)


@given(st.lists(st.tuples(st.sampled_from(["solution", "bound_certified"]), st.integers(0, 9))))
def test_the_best_come_first_and_events_improve(sent: list[tuple[str, int]]) -> None:
    """Even if a task reports what is worse than before."""
    reports = Reports()
    for kind, value in sent:
        reports.take(frame(kind, value))
    for kind, name, best in (
        ("solution", "solution", min),
        ("bound_certified", "certificate", max),
    ):
        values = [value for of_kind, value in sent if of_kind == kind]
        kept = [one.value for one in reports.candidates() if one.kind == name]
        assert len(kept) <= KEPT_CANDIDATES
        assert kept == sorted(kept, reverse=best is max)
        assert kept[:1] == ([best(values)] if values else [])
        events = [event.value for event in reports.events(0.0, 1.0) if event.kind == kind]
        assert events == sorted(set(events), reverse=best is min)
        assert events[-1:] == kept[:1]


def test_what_is_kept_is_bounded() -> None:
    """Large documents are kept for the best value only."""
    reports = Reports(most_kept_bytes=15)
    for value in (9, 8, 7):
        reports.take(frame("solution", value, b"x" * 10))
    assert [one.value for one in reports.candidates()] == [7, 8]
    reports.take(frame("solution", 6, b"x" * 100))
    reports.take(frame("solution", 5, b"x"))
    assert [one.value for one in reports.candidates()] == [5]
