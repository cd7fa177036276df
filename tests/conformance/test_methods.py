"""What every registered method must do, third-party ones included."""

import itertools
import json
import subprocess
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from other_process import call
from recording import FEW_EVALUATIONS, Recorder, record
from selection import examples
from tiny_instances import larger, may_repeat, runs_elsewhere, samples, tiny

from boundmark.benchmarks.solving.rounds import MethodPlan
from boundmark.bounds import checker
from boundmark.problems.catalog import methods, problems
from boundmark.problems.certificate import Certificate
from boundmark.problems.errors import UnsupportedError
from boundmark.problems.json_documents import canonical_json
from boundmark.problems.method import Method
from boundmark.problems.problem import Instance, Problem, solution_document

METHODS = tuple(methods().values())


# Methods that learn take seconds to begin, in a process of their own.
AT_ONCE = [
    pytest.param(method, marks=pytest.mark.slow) if runs_elsewhere(method) else method
    for method in METHODS
]


def run(method: Method, sample: Instance, seed: int = 1) -> Recorder:
    """Run a method with few evaluations; skip the test where what it requires is not installed."""
    for module in method.requires:
        pytest.importorskip(module)
    params = {name: few for name, few in FEW_EVALUATIONS.items() if name in method.params}
    if runs_elsewhere(method):
        return call(record, method.name, sample, seed=seed, params=params)
    return record(method.name, sample, seed=seed, params=params)


# Of the tiny instances of a problem, for every change; the others are for `nox -s tests-all`.
FEW = 12


# For methods in a process of their own, and for those that learn, which compile for each of them.
FEW_ELSEWHERE = 6
FEW_LEARNED = 1


@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.name)
def test_bounds_and_solutions_enclose_the_optimum(method: Method) -> None:
    """Certified LB <= OPT <= UB on tiny instances, and the checker accepts what was reported."""
    samples = tiny(method.problem)
    few = FEW_ELSEWHERE if runs_elsewhere(method) else FEW
    if "jax" in method.requires:
        few = FEW_LEARNED
    step = max(1, len(samples) // few)
    spread = [sample for first in range(step) for sample in samples[first::step]]
    enclose_the_optimum(method, spread, few)


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.name)
def test_bounds_and_solutions_enclose_the_optimum_everywhere(method: Method) -> None:
    """On all of them."""
    samples = tiny(method.problem)
    enclose_the_optimum(method, samples, len(samples))


def enclose_the_optimum(
    method: Method, samples: Sequence[tuple[Instance, int]], enough: int
) -> None:
    """Run a method until it has treated enough of the instances; check all that it reports."""
    treated = 0
    for sample, best in samples:
        if treated == enough:
            break
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
        # That nothing costs less than 0 needs no proof.
        if method.kind in ("bound", "exact") and best > 0:
            assert recorder.bounds
    assert treated


@pytest.mark.parametrize(
    "method",
    [method for method in METHODS if method.kind != "heuristic"],
    ids=lambda method: method.name,
)
@settings(deadline=None, max_examples=examples(20))
@given(data=st.data())
def test_bounds_hold_on_random_instances(method: Method, data: st.DataObject) -> None:
    """Where work and transfers take no time, blocks and devices are alike, and memory is tight."""
    own = samples(method.problem)
    if not hasattr(own, "random_instances"):
        pytest.skip(f"{method.problem} has no random instances.")
    sample = data.draw(own.random_instances())
    try:
        recorder = run(method, sample)
    except UnsupportedError:
        return
    best = own.optimum(sample)
    assert all(sample.objective(solution) >= best for solution in recorder.solutions)
    assert all(bound.bound <= best for bound in recorder.bounds)


@pytest.mark.parametrize("method", AT_ONCE, ids=lambda method: method.name)
def test_same_seed_same_result(method: Method) -> None:
    """Results can be reproduced from what a row says; none has been beaten before by its method."""
    sample = larger(method.problem)
    try:
        first, second = run(method, sample, seed=7), run(method, sample, seed=7)
    except UnsupportedError:
        return
    assert [p.to_json() for p in first.solutions] == [p.to_json() for p in second.solutions]
    assert [b.bound for b in first.bounds] == [b.bound for b in second.bounds]
    objectives = [sample.objective(solution) for solution in first.solutions]
    kept = objectives if may_repeat(method.problem) else set(objectives)
    assert objectives == sorted(kept, reverse=True)
    certified = [bound.bound for bound in first.bounds if isinstance(bound, Certificate)]
    assert certified == sorted(set(certified))


def test_registration_is_complete() -> None:
    """`boundmark methods` and suites need a problem, a sentence and plain parameters."""
    for method in METHODS:
        assert method.problem in problems(), method
        assert method.summary.endswith("."), method
        assert {type(value) for value in method.params.values()} <= {bool, int, float, str}, method


@pytest.mark.parametrize("problem", problems().values(), ids=lambda problem: problem.name)
def test_default_methods_are_the_problem_s_own(problem: Problem) -> None:
    """`solve` without --method finds a solution and a certified bound to look for."""
    for name in itertools.chain.from_iterable(problem.rounds):
        assert methods()[name].problem == problem.name
    kinds = {method.kind for method in methods().values() if method.problem == problem.name}
    assert "exact" in kinds or {"heuristic", "bound"} <= kinds


@pytest.mark.parametrize("problem", problems().values(), ids=lambda problem: problem.name)
def test_every_heuristic_runs_by_default(problem: Problem) -> None:
    """Whatever it needs in time, unless a sentence of its own says why not."""
    plan = {choice.method.name for choice in MethodPlan.of(problem).all}
    for method in methods(problem.name).values():
        assert not method.left_out or method.left_out.endswith(".")
        if all(map(find_spec, method.requires)):
            is_left_out = method.name not in plan
            assert is_left_out == bool(method.left_out) or method.kind != "heuristic"


@pytest.mark.parametrize("problem", problems().values(), ids=lambda problem: problem.name)
def test_instances_are_what_their_parameters_say(problem: Problem) -> None:
    """Parameters of an instance are declared, survive being stored, and lead back to it."""
    for sample in (larger(problem.name), *(sample for sample, _ in tiny(problem.name)[:20])):
        complete = problem.check_parameters(sample.parameters)
        assert set(sample.parameters) <= set(complete)
        stored = problem.instance_from_json(json.loads(canonical_json(sample.to_json())))
        assert (stored.sha256, stored.problem) == (sample.sha256, problem.name)
        assert stored.with_parameters(sample.parameters).sha256 == sample.sha256


@pytest.mark.parametrize("problem", problems())
def test_a_sceptic_reads_it_in_an_hour(problem: str) -> None:
    """Checking one problem takes less than 2,600 lines, blank ones aside: some 43 a minute.

    Kinds make up most of them, a file each that can be read without those of other kinds.
    """
    folder = Path(checker.__file__).parent
    files = [*folder.glob("*.py"), *(folder / problem).glob("*.py")]
    lines = [line for file in files for line in file.read_text().splitlines() if line.strip()]
    assert len(lines) < 2600


# What takes long to import, or may be imported in processes of its own only.
HEAVY = ("numba", "ortools", "highspy", "pyscipopt", "gurobipy", "z3", "jax", "matplotlib", "onnx")


IMPORTING = """
import json, sys
from boundmark.problems.catalog import methods, problems
for problem in problems().values():
    for name in problem.immediate:
        methods(problem.name)[name].load()
print(json.dumps(sorted({module.partition(".")[0] for module in sys.modules})))
"""


def test_they_import_nothing_heavy() -> None:
    """Or the first answer would come when the others are ready, too."""
    done = subprocess.run(
        [sys.executable, "-c", IMPORTING], check=True, capture_output=True, text=True
    )
    assert not set(HEAVY) & set(json.loads(done.stdout))


@pytest.mark.parametrize("problem", problems())
def test_they_are_methods_of_the_problem(problem: str) -> None:
    """A solution and a bound, if any; with parameters that they have."""
    immediate = problems()[problem].immediate
    known = methods(problem)
    kinds = {known[name].kind for name in immediate}
    assert not kinds or "exact" in kinds or {"heuristic", "bound"} <= kinds
    for name, params in immediate.items():
        assert set(params) <= set(known[name].params)


@pytest.mark.parametrize("problem", problems())
def test_warm_modules_get_along(problem: str) -> None:
    """Tasks start with what the methods of their problem warm; HiGHS keeps CP-SAT from loading."""
    warm = {name for one in methods().values() if one.problem == problem for name in one.warm}
    packages = {name.partition(".")[0] for name in warm}
    assert not {"highspy", "ortools"} <= packages
    if problem == "placement":
        # One of its methods uses each of them, so neither may be there when a task starts.
        assert not {"highspy", "ortools"} & packages
