"""What every registered method must do, third-party ones included."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from brute_force import all_dags, instance, optimum

from boundmark.bounds import checker
from boundmark.problems.catalog import PROBLEMS, methods
from boundmark.problems.certificate import Certificate, Claim
from boundmark.problems.method import Budget, Method
from boundmark.problems.pipeline import Partition, PipelineInstance
from boundmark.problems.problem import solution_document

PIPELINE = [method for method in methods().values() if method.problem == "pipeline"]
# Evolution and sampling repeat the same step; a few evaluations show what it does on a tiny graph.
FEW_EVALUATIONS = {"samples": 20, "population": 5, "generations": 3, "evaluations": 30}


@dataclass
class Recorder:
    """Keeps what a method reports."""

    solutions: list[Partition] = field(default_factory=list)
    bounds: list[Certificate | Claim] = field(default_factory=list)

    def solution(self, solution: Partition) -> None:
        """Keep a solution."""
        self.solutions.append(solution)

    def bound(self, bound: Certificate | Claim) -> None:
        """Keep a bound."""
        self.bounds.append(bound)


def run(method: Method, sample: PipelineInstance, seed: int = 1, seconds: float = 20) -> Recorder:
    """Run a method with few evaluations."""
    recorder = Recorder()
    params = {name: FEW_EVALUATIONS.get(name, default) for name, default in method.params.items()}
    method.run(sample, Budget(wall_seconds=seconds), seed, recorder, **params)  # type: ignore[call-arg]
    return recorder


def tiny_instances() -> Iterator[PipelineInstance]:
    """Yield every DAG of up to five nodes with mixed weights, with and without overflow."""
    weights = [3, 1, 4, 1, 5]
    tensors = [2, 7, 1, 3, 2]
    params = [0, 6, 2, 0, 5]
    for nodes in range(1, 6):
        for number, edges in enumerate(all_dags(nodes)):
            yield instance(
                weights[:nodes],
                edges,
                k=1 + number % 4,
                transfer=tensors[:nodes],
                param_load=params[:nodes],
                cache=(100, 6)[number // 4 % 2],
            )


TINY = [(sample, optimum(sample)) for sample in tiny_instances()]


@pytest.mark.parametrize("method", PIPELINE, ids=lambda method: method.name)
def test_bounds_and_solutions_enclose_the_optimum(method: Method) -> None:
    """Certified LB <= OPT <= UB on tiny instances, and the checker accepts what was reported."""
    for sample, best in TINY:
        recorder = run(method, sample)
        document = sample.to_json()
        for partition in recorder.solutions:
            objective = sample.objective(partition)
            assert objective >= best
            stored = solution_document(sample, partition, objective)
            assert checker.check_solution(document, stored) == objective
        for bound in recorder.bounds:
            assert bound.bound <= best, f"{bound} on {document}"
            if isinstance(bound, Certificate):
                assert checker.check_certificate(document, bound.to_json()) >= bound.bound
        if method.kind in ("heuristic", "exact"):
            assert recorder.solutions
        if method.kind in ("bound", "exact"):
            assert recorder.bounds


@pytest.mark.parametrize("method", PIPELINE, ids=lambda method: method.name)
def test_reports_improve(method: Method) -> None:
    """A method does not report what it has already beaten."""
    sample = instance([3, 1, 4, 1, 5, 9, 2, 6], [(0, 3), (1, 3), (2, 4), (3, 5), (4, 6)], 3)
    recorder = run(method, sample)
    objectives = [sample.objective(partition) for partition in recorder.solutions]
    assert objectives == sorted(set(objectives), reverse=True)
    certified = [bound.bound for bound in recorder.bounds if isinstance(bound, Certificate)]
    assert certified == sorted(set(certified))


@pytest.mark.parametrize("method", PIPELINE, ids=lambda method: method.name)
def test_same_seed_same_result(method: Method) -> None:
    """Results can be reproduced from what a row says."""
    sample = instance([3, 1, 4, 1, 5, 9, 2, 6], [(0, 3), (1, 3), (2, 4), (3, 5), (4, 6)], 3)
    first, second = run(method, sample, seed=7), run(method, sample, seed=7)
    assert [p.to_json() for p in first.solutions] == [p.to_json() for p in second.solutions]
    assert [b.bound for b in first.bounds] == [b.bound for b in second.bounds]


@pytest.mark.parametrize("method", methods().values(), ids=lambda method: method.name)
def test_registration_is_complete(method: Method) -> None:
    """`boundmark methods` and suites need a problem, a sentence and plain parameters."""
    assert method.problem in PROBLEMS
    assert method.summary.endswith(".")
    assert all(type(value) in (bool, int, float, str) for value in method.params.values())


def test_a_sceptic_reads_a_few_hundred_lines() -> None:
    """Checking `pipeline` takes less than 800 lines, blank ones aside."""
    folder = Path(checker.__file__).parent
    files = [*folder.glob("*.py"), *(folder / "pipeline").glob("*.py")]
    lines = [line for file in files for line in file.read_text().splitlines() if line.strip()]
    assert len(lines) < 800
