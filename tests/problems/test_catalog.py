import subprocess
import sys

import pytest

from boundmark.problems import catalog


def test_own_methods_come_through_entry_points() -> None:
    """The project registers as third-party packages do."""
    assert {"share", "brkga-10000"} <= set(catalog.methods())
    assert {"onnx-light", "regal-style"} <= set(catalog.datasets())
    assert {"pipeline", "microbatch"} <= set(catalog.problems())


def test_problems_are_in_the_order_of_their_precedence() -> None:
    """Where several suit, `solve` takes the first."""
    order = [problem.precedence for problem in catalog.problems().values()]
    assert order == sorted(order)
    assert next(iter(catalog.problems())) == "pipeline"


def test_methods_of_one_problem_are_imported_alone() -> None:
    """Kernels of other problems are neither loaded nor, in a fresh checkout, compiled."""
    code = (
        "import sys; from boundmark.problems.catalog import methods; "
        "assert set(m.problem for m in methods('microbatch').values()) == {'microbatch'}; "
        "print([name for name in sys.modules if 'kernels' in name])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


@pytest.mark.parametrize("problem", catalog.problems())
def test_one_problem_has_the_methods_that_all_have(problem: str) -> None:
    """What is left out is only what is not asked for."""
    treating = {
        name: method for name, method in catalog.methods().items() if method.problem == problem
    }
    assert treating
    assert catalog.methods(problem) == treating


@pytest.mark.parametrize(
    ("entry_point", "wanted"),
    [
        ("pipeline", True),
        ("pipeline-bounds", True),
        ("pipelines", True),
        ("theirs", True),
        ("microbatch", False),
        ("microbatch-heuristics", False),
    ],
)
def test_entry_points_named_after_another_problem_are_not_loaded(
    entry_point: str, wanted: bool
) -> None:
    """Others may hold methods for any problem."""
    assert catalog.may_treat(entry_point, "pipeline") == wanted


def test_the_longest_name_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    """A problem's name may begin with that of another one."""
    names = dict.fromkeys(("one", "one-machine"))
    monkeypatch.setattr(catalog, "problems", lambda: names)
    assert catalog.may_treat("one-machine-bounds", "one-machine")
    assert not catalog.may_treat("one-machine-bounds", "one")
    assert catalog.may_treat("one-bounds", "one")
