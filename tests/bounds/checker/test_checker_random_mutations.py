import random
from typing import Any

import pytest
import random_mutations
from certified import NAMES

from boundmark.bounds import checker
from boundmark.bounds.checker import registry
from boundmark.bounds.checker.pipeline import flows


@pytest.mark.parametrize(
    "problem", ["pipeline", "microbatch", "placement", "ordering", "slicing", "layers"]
)
def test_nothing_false_is_accepted(problem: str) -> None:
    """A short campaign over all kinds: the long ones are `nox -s fuzz`."""
    names = [name for name in NAMES if name[0] == problem]
    counts = random_mutations.run(names, random.Random(1), seconds=1)
    assert not [key for key in counts if key[2] in random_mutations.WRONG]
    assert {key[2] for key in counts} >= {"rejected", "accepted true"}
    assert len(random_mutations.table(counts)) == 2 + len({kind for _, kind, _ in counts})


@pytest.mark.slow
def test_a_checker_that_believes_everything_is_found_out(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The campaign notices if the amounts of flows are not limited by the tensors."""
    limited = flows.least_cost

    def unlimited(graph: Any, flow: Any) -> tuple[int, int, int]:
        return limited(graph._replace(transfer=[10**6] * len(graph.work)), flow)

    monkeypatch.setattr(flows, "least_cost", unlimited)
    names = [("pipeline", "fractional-load")]
    counts = random_mutations.run(names, random.Random(1), seconds=60, sought="accepted false")
    assert counts["pipeline", "fractional-load/1", "accepted false"]
    assert "accepted false: " in capsys.readouterr().out


def test_a_checker_that_fails_is_found_out(
    monkeypatch: pytest.MonkeyPatch,
    failures_are_rejections: None,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """An error that is no rejection is a failure of the checker, inside of a check as well."""

    def failing(*arguments: Any) -> int:
        raise KeyError("node")

    kinds = dict.fromkeys(registry.PROBLEMS["pipeline"].kinds, failing)
    failing_problem = registry.PROBLEMS["pipeline"]._replace(kinds=kinds)
    monkeypatch.setitem(registry.PROBLEMS, "pipeline", failing_problem)
    counts = random_mutations.run([("pipeline", "fractional-load")], random.Random(1), seconds=0.5)
    assert counts["pipeline", "fractional-load/1", "failed"]
    assert "failed: KeyError" in capsys.readouterr().out
    monkeypatch.setattr(checker, "check_certificate", failing)
    counts = random_mutations.run([NAMES[0]], random.Random(1), seconds=0.1)
    assert {outcome for _, _, outcome in counts} == {"failed"}
    assert "failed: KeyError" in capsys.readouterr().out
