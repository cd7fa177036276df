"""Of each instance, the checker sees what is best, and what it rejects does not count."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from boundmark.problems.errors import StoreError
from boundmark.problems.json_documents import canonical_json, sha256_hex
from boundmark.reports.best_known import of_results
from boundmark.reports.comparison import read_run
from boundmark.reports.comparison.recorded_run import keep_as_baseline
from boundmark.reports.report import ReportOptions, write_report
from boundmark.reports.stored import verified_results
from boundmark.reports.stored.store import ResultStore, write_document

pytestmark = pytest.mark.usefixtures("all_undrawn")

# Two nodes in two stages: the optimum is 5.
INSTANCE = {
    "format": "boundmark-instance/1",
    "problem": "pipeline",
    "k": 2,
    "work": [5, 4],
    "transfer": [0, 0],
    "param_load": [0, 0],
    "cache": 0,
    "edges": [[0, 1]],
}
DIGEST = sha256_hex(canonical_json(INSTANCE))
HEAD = {"instance_sha256": DIGEST, "problem": "pipeline"}


def solution(cost: int, stages: Sequence[int]) -> dict[str, Any]:
    """Return a solution that states a cost."""
    return HEAD | {"format": "boundmark-solution/1", "objective": cost, "stages": [*stages]}


def certificate(bound: int, kind: str = "max-work/1") -> dict[str, Any]:
    """Return a certificate that states a bound; it proves 5, or of kind mean-work/1 as well."""
    payload = {"node": 0} if kind == "max-work/1" else {}
    return HEAD | {
        "format": "boundmark-certificate/1",
        "kind": kind,
        "bound": bound,
        "payload": payload,
        "producer": "max-work",
    }


@pytest.fixture(autouse=True, scope="module")
def _stand_ins_are_accepted() -> None:
    """Let the checker see documents here."""


@pytest.fixture(autouse=True)
def cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Remember accepted documents in a folder of the test."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.fixture
def store(tmp_path: Path) -> ResultStore:
    """Return a folder with the instance."""
    store = ResultStore.create_or_open(tmp_path / "run")
    write_document(store.instances, INSTANCE)
    return store


@pytest.fixture
def add(store: ResultStore, make_row: Any) -> Callable[..., None]:
    """Return the function that adds the row of a method with its documents."""

    def add(
        method: str, cost: dict[str, Any] | None = None, bound: dict[str, Any] | None = None
    ) -> None:
        values: dict[str, Any] = {"nodes": 2, "edges": 1, "instance_sha256": DIGEST}
        trace = []
        if cost is not None:
            values["objective"] = cost["objective"]
            values["solution_sha256"] = write_document(store.solutions, cost)
            trace.append({"seconds": 0.1, "kind": "solution", "value": cost["objective"]})
        if bound is not None:
            values |= {"bound_certified": bound["bound"], "bound_kind": bound["kind"]}
            values["certificate_sha256"] = write_document(store.certificates, bound)
            trace.append({"seconds": 0.1, "kind": "bound_certified", "value": bound["bound"]})
        store.append(make_row(f"task-{method}", method=method, **values), trace)

    return add


@pytest.fixture
def forged(store: ResultStore, add: Callable[..., None]) -> ResultStore:
    """Return a folder in which false documents, with right hashes, state what is best."""
    add("honest", solution(9, (0, 0)), certificate(5))
    add("worse", solution(5, (0, 1)), certificate(4))
    add("false-cost", cost=solution(3, (0, 1)))
    add("falser-cost", cost=solution(2, (0, 0)))
    add("false-bound", bound=certificate(6))
    add("falser-bound", bound=certificate(9, "mean-work/1"))
    return store


def test_the_best_that_the_checker_accepts_counts(forged: ResultStore) -> None:
    """False documents fall, one after another, until the best that is left is accepted."""
    found = verified_results.verified_results(forged)
    by_method = found.results.set_index("method")
    assert by_method["objective"].dropna().to_dict() == {"honest": 9, "worse": 5}
    assert by_method["bound_certified"].dropna().to_dict() == {"honest": 5, "worse": 4}
    hashes = by_method[["solution_sha256", "certificate_sha256"]].notna().any(axis=1)
    assert sorted(hashes[hashes].index) == ["honest", "worse"]
    assert sorted(found.traces["value"]) == [4, 5, 5, 9]
    reasons = found.unsupported.set_index("method")["reason"]
    assert sorted(reasons.index) == ["false-bound", "false-cost", "falser-bound", "falser-cost"]
    assert reasons["false-cost"].startswith("the checker rejects solutions/")
    assert reasons["false-cost"].endswith("the solution's objective is not what it costs, 5")
    assert reasons["false-bound"].endswith("the certificate's bound is more than it proves, 5")
    checks = found.checks
    assert (checks.documents, checks.checked, checks.remembered, checks.rejected) == (6, 6, 0, 4)


def test_all_documents_of_the_best_value_are_checked(
    store: ResultStore, add: Callable[..., None]
) -> None:
    """Whichever method a table credits with the best cost, it has a solution of that cost."""
    add("honest", solution(5, (0, 1)))
    add("first-by-name", solution(5, (0, 0)))
    found = verified_results.verified_results(store)
    assert found.results.dropna(subset=["objective"])["method"].tolist() == ["honest"]
    assert of_results(found.results)["objective_method"].tolist() == ["honest"]


def test_worse_documents_are_not_checked(store: ResultStore, add: Callable[..., None]) -> None:
    """A report waits for two documents of an instance, not for all."""
    add("best", solution(5, (0, 1)), certificate(5))
    add("worse", solution(9, (0, 0)), certificate(4))
    assert verified_results.verified_results(store).checks.checked == 2


def test_what_was_accepted_is_remembered(
    store: ResultStore, add: Callable[..., None], tmp_path: Path
) -> None:
    """The second time, also of a copy of the folder, no document is checked."""
    add("best", solution(5, (0, 1)), certificate(5))
    verified_results.verified_results(store)
    store.directory.rename(tmp_path / "copy")
    told: list[verified_results.Checks] = []
    copy = ResultStore.open(tmp_path / "copy")
    found = verified_results.verified_results(copy, on_check=told.append)
    assert (found.checks.checked, found.checks.remembered) == (0, 2)
    assert told[-1].remembered == 2
    assert found.results["objective"].tolist() == [5]


def test_another_checker_checks_again(
    store: ResultStore, add: Callable[..., None], tmp_path: Path
) -> None:
    """What a checker accepted says nothing of what another one, say with a defect mended, does."""
    add("best", solution(5, (0, 1)), certificate(5))
    assert verified_results.verified_results(store).checks.checked == 2
    (entries,) = (tmp_path / "cache" / "boundmark" / "accepted").iterdir()
    entries.rename(entries.with_name("another"))
    assert verified_results.verified_results(store).checks.checked == 2


def test_what_was_rejected_is_checked_again(forged: ResultStore) -> None:
    """Nothing of a rejection is remembered."""
    first = verified_results.verified_results(forged).unsupported
    again = verified_results.verified_results(forged)
    assert again.checks.checked == 4
    assert sorted(again.unsupported["reason"]) == sorted(first["reason"])


def test_the_report_shows_what_was_rejected(forged: ResultStore) -> None:
    """The page names the documents, claims nothing by them, and says how many were checked."""
    write_report(forged.directory)
    text = (forged.directory / "report.md").read_text()
    assert "1 is proven optimal" in text
    assert "6 documents with the best cost or bound of an instance: 6 checked now" in text
    headings = [line for line in text.splitlines() if line.startswith("## ")]
    assert headings[0] == "## Checks"
    for method in ("false-cost", "falser-cost", "false-bound", "falser-bound"):
        assert f"| {method} |" in text
    assert "the certificate's bound is more than it proves, 5" in text
    assert "Draft" not in text


def test_a_draft_believes_and_says_so(store: ResultStore, add: Callable[..., None]) -> None:
    """Nothing is checked, and the first lines of the pages say it."""
    add("false", solution(4, (0, 1)), certificate(4))
    write_report(store.directory, options=ReportOptions(unchecked=True))
    text = (store.directory / "report.md").read_text()
    assert text.splitlines()[2].startswith("> **Draft: no document was checked for this page.")
    assert "1 is proven optimal" in text
    html = (store.directory / "report.html").read_text()
    draft = html.index("Draft: no document was checked for this page.")
    assert html.index("<h1") < draft < html.index('<p class="summary">')
    write_report(store.directory)
    assert "Draft" not in (store.directory / "report.html").read_text()


def test_a_draft_enters_no_history(forged: ResultStore, tmp_path: Path) -> None:
    """Trends are made of what was checked."""
    with pytest.raises(StoreError, match="a draft, of unchecked results, is not added"):
        write_report(
            forged.directory,
            options=ReportOptions(unchecked=True, history=tmp_path / "history.parquet"),
        )
    assert not (tmp_path / "history.parquet").exists()


def test_comparisons_believe_no_more(forged: ResultStore, tmp_path: Path) -> None:
    """`compare` and `baseline` see the results that the report sees."""
    run = read_run(forged.directory)
    assert run.tasks["objective"].min() == 5
    assert len(run.unsupported) == 4
    with pytest.raises(StoreError, match="4 costs or bounds without documents that hold"):
        keep_as_baseline([run], tmp_path / "base.parquet")
