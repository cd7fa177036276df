"""Errors of the checker itself: rejections, for one file only."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from certified import certified

from boundmark.bounds import checker
from boundmark.bounds.checker import command, registry

ERRORS = [KeyError("x"), IndexError(), TypeError("no"), OverflowError(), ZeroDivisionError()]
REASON = "ended with an error of the checker itself, {}, so nothing is shown"


@pytest.fixture
def let_fail(
    monkeypatch: pytest.MonkeyPatch, failures_are_rejections: None
) -> Callable[[Exception], None]:
    """Return a function that lets all checks of certificates and solutions of pipelines fail."""

    def set_failure(error: Exception) -> None:
        def fail(*arguments: Any) -> int:
            raise error

        pipeline = registry.PROBLEMS["pipeline"]
        failing = pipeline._replace(kinds=dict.fromkeys(pipeline.kinds, fail), objective=fail)
        monkeypatch.setitem(registry.PROBLEMS, "pipeline", failing)

    return set_failure


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
def test_an_error_inside_a_check_rejects(
    error: Exception, let_fail: Callable[[Exception], None]
) -> None:
    """The reason names the kind and the error, which is there for whoever mends it."""
    sample = certified("pipeline", "fractional-load")
    let_fail(error)
    with pytest.raises(checker.CheckFailed) as caught:
        checker.check_certificate(sample.document, sample.certificate)
    reason = REASON.format(type(error).__name__)
    assert str(caught.value) == f"the check of a certificate of kind fractional-load/1 {reason}"
    assert caught.value.__cause__ is error


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (
            MemoryError(),
            "not enough memory for the check of a certificate of kind fractional-load/1",
        ),
        (
            RecursionError(),
            "the values of a certificate of kind fractional-load/1 are nested too deeply",
        ),
    ],
)
def test_what_python_cannot_do_rejects(
    error: Exception, reason: str, let_fail: Callable[[Exception], None]
) -> None:
    """Memory and depth have sentences of their own."""
    sample = certified("pipeline", "fractional-load")
    let_fail(error)
    with pytest.raises(checker.Rejected, match=reason):
        checker.check_certificate(sample.document, sample.certificate)


def test_instances_and_solutions_too(
    monkeypatch: pytest.MonkeyPatch, let_fail: Callable[[Exception], None]
) -> None:
    """Whatever is checked, an error rejects it."""
    sample = certified("pipeline", "fractional-load")
    let_fail(KeyError())
    solution = {
        "format": checker.SOLUTION_FORMAT,
        "problem": "pipeline",
        "instance_sha256": sample.instance.sha256,
        "objective": 1,
        "stages": [],
    }
    with pytest.raises(checker.CheckFailed, match="the check of a solution ended with"):
        checker.check_solution(sample.document, solution)

    def fail(*arguments: Any) -> Any:
        raise OverflowError

    failing = registry.PROBLEMS["pipeline"]._replace(read=fail)
    monkeypatch.setitem(registry.PROBLEMS, "pipeline", failing)
    with pytest.raises(checker.CheckFailed, match="the check of an instance ended with"):
        checker.check_instance(sample.document)


def test_the_command_goes_on(
    tmp_path: Path, let_fail: Callable[[Exception], None], capsys: pytest.CaptureFixture[str]
) -> None:
    """Each file has its line, and the exit code is that of a rejection."""
    sample = certified("pipeline", "fractional-load")
    let_fail(IndexError())
    paths = [tmp_path / name for name in ("instance.json", "first.json", "second.json")]
    for path, document in zip(paths, [sample.document, *[sample.certificate] * 2], strict=True):
        path.write_text(json.dumps(document))
    assert command.main(list(map(str, paths))) == 1
    captured = capsys.readouterr()
    assert captured.err == ""
    lines = captured.out.splitlines()
    assert [line.partition(": rejected, the check of")[0] for line in lines] == [
        str(path) for path in paths[1:]
    ]
    assert all("IndexError" in line for line in lines)


@pytest.mark.parametrize("metric", ["peak", "sum"])
def test_prices_below_nothing(metric: str) -> None:
    """What prices prove of a section may be negative; without a search it is compared with none."""
    document = {
        "format": checker.INSTANCE_FORMAT, "problem": "ordering", "metric": metric,
        "in_place": "no", "weights": "none", "size": [9], "producer": [-1],
        "consumers": [[0]], "kept": [], "parameter_size": [0], "parameter_total": 0,
        "overwrites": [[]],
    }  # fmt: skip
    certificate = {
        "format": checker.CERTIFICATE_FORMAT, "problem": "ordering", "kind": "live-cut/1",
        "instance_sha256": checker.instance_sha256(document), "bound": 0, "producer": "nobody",
        "payload": {"order": [0], "forced": [], "cuts": [[0, [[0, 0, -100]]]]},
    }  # fmt: skip
    with pytest.raises(checker.Rejected, match="is more than it proves, -"):
        checker.check_certificate(document, certificate)
