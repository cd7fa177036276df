import pytest
from hypothesis import given
from hypothesis import strategies as st

from boundmark.benchmarks.execution import reports as reports_module
from boundmark.benchmarks.execution.frames import BadReportError, Frame
from boundmark.benchmarks.execution.reports import KEPT_CANDIDATES, Reports


def frame(kind: str, value: object, body: bytes = b"", **more: object) -> Frame:
    """Return a report."""
    return Frame({"kind": kind, "value": value, **more}, body)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=5,
)


@given(
    st.lists(
        st.builds(
            frame,
            st.sampled_from(["solution", "bound_certified", "bound_claimed"]) | st.text(),
            json_values,
            bound_kind=json_values,
        )
    )
)
def test_any_report_is_taken_or_refused(sent: list[Frame]) -> None:
    """Whatever JSON comes, nothing but a refusal happens, and what is kept can be stored."""
    reports = Reports()
    for one in sent:
        try:
            reports.take(one)
        except BadReportError as error:
            str(error).encode()
    for candidate in reports.candidates():
        assert -(2**63) <= candidate.value < 2**63
    for event in reports.events(0.0, 1.0):
        assert 0.0 <= event.seconds <= 1.0
        float(event.value)
    if reports.claim is not None:
        value, kind = reports.claim
        assert abs(value) < float("inf")
        kind.encode()


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


def test_what_is_kept_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Large documents are kept for the best value only."""
    monkeypatch.setattr(reports_module, "MOST_KEPT_BYTES", 15)
    reports = Reports()
    for value in (9, 8, 7):
        reports.take(frame("solution", value, b"x" * 10))
    assert [one.value for one in reports.candidates()] == [7, 8]
    reports.take(frame("solution", 6, b"x" * 100))
    reports.take(frame("solution", 5, b"x"))
    assert [one.value for one in reports.candidates()] == [5]
