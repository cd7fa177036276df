"""What every registered method must do, third-party ones included."""

from pathlib import Path

import pytest
from other_process import call
from recording import Recorder, record
from tiny_instances import LARGER, tiny

from boundmark.bounds import checker
from boundmark.problems.catalog import PROBLEMS, methods
from boundmark.problems.certificate import Certificate
from boundmark.problems.errors import UnsupportedError
from boundmark.problems.method import Method
from boundmark.problems.problem import Instance, solution_document

METHODS = tuple(methods().values())
# Evolution and sampling repeat the same step; a few evaluations show what it does on a tiny graph.
FEW_EVALUATIONS = {"samples": 20, "population": 5, "generations": 3, "evaluations": 30}

# Their methods use ortools, which the process of the tests cannot load beside highspy.
ELSEWHERE = {"microbatch"}


def run(method: Method, sample: Instance, seed: int = 1) -> Recorder:
    """Run a method with few evaluations."""
    params = {name: few for name, few in FEW_EVALUATIONS.items() if name in method.params}
    if method.problem in ELSEWHERE:
        return call(record, method.name, sample, seed=seed, params=params)
    return record(method.name, sample, seed=seed, params=params)


@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.name)
def test_bounds_and_solutions_enclose_the_optimum(method: Method) -> None:
    """Certified LB <= OPT <= UB on tiny instances, and the checker accepts what was reported."""
    treated = 0
    for sample, best in tiny(method.problem):
        try:
            recorder = run(method, sample)
        except UnsupportedError:
            continue
        treated += 1
        document = sample.to_json()
        for solution in recorder.solutions:
            objective = sample.objective(solution)
            assert objective >= best
            stored = solution_document(sample, solution, objective)
            assert checker.check_solution(document, stored) == objective
        for bound in recorder.bounds:
            assert bound.bound <= best, f"{bound} on {document}"
            if isinstance(bound, Certificate):
                assert checker.check_certificate(document, bound.to_json()) >= bound.bound
        if method.kind in ("heuristic", "exact"):
            assert recorder.solutions
        if method.kind in ("bound", "exact"):
            assert recorder.bounds
    assert treated


@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.name)
def test_reports_improve(method: Method) -> None:
    """A method does not report what it has already beaten.

    A schedule with the same period may be better in what the period leaves open.
    """
    sample = LARGER[method.problem]
    try:
        recorder = run(method, sample)
    except UnsupportedError:
        return
    objectives = [sample.objective(solution) for solution in recorder.solutions]
    kept = objectives if method.problem == "microbatch" else set(objectives)
    assert objectives == sorted(kept, reverse=True)
    certified = [bound.bound for bound in recorder.bounds if isinstance(bound, Certificate)]
    assert certified == sorted(set(certified))


@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.name)
def test_same_seed_same_result(method: Method) -> None:
    """Results can be reproduced from what a row says."""
    sample = LARGER[method.problem]
    try:
        first, second = run(method, sample, seed=7), run(method, sample, seed=7)
    except UnsupportedError:
        return
    assert [p.to_json() for p in first.solutions] == [p.to_json() for p in second.solutions]
    assert [b.bound for b in first.bounds] == [b.bound for b in second.bounds]


@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.name)
def test_registration_is_complete(method: Method) -> None:
    """`boundmark methods` and suites need a problem, a sentence and plain parameters."""
    assert method.problem in PROBLEMS
    assert method.summary.endswith(".")
    assert all(type(value) in (bool, int, float, str) for value in method.params.values())


def test_a_sceptic_reads_it_in_an_hour() -> None:
    """Checking one problem takes less than 1,200 lines, blank ones aside."""
    folder = Path(checker.__file__).parent
    for problem in PROBLEMS:
        files = [*folder.glob("*.py"), *(folder / problem).glob("*.py")]
        lines = [line for file in files for line in file.read_text().splitlines() if line.strip()]
        assert len(lines) < 1200
