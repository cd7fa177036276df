"""Checkers that other packages bring: only for problems that ours does not know."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from brute_force import instance
from plugin_packages import install

from boundmark.bounds import checker
from boundmark.bounds.checker.documents import instance_sha256

GROUP = "boundmark.checkers"

# A "problem" whose optimum is n; certificates say so.
CODE = """
import sys
from typing import Any, NamedTuple

class Rejected(Exception):
    pass

class Unusual(BaseException):
    pass

class Checker(NamedTuple):
    read: Any
    objective: Any
    solution_fields: Any
    kinds: Any
    optional_fields: Any = ("y",)

def read(fields):
    if set(fields) != {"n"}:
        raise Rejected("n is missing")
    return fields["n"]

def objective(n, answer):
    if answer["x"] < n:
        raise Rejected("x is too small")
    return answer["x"]

def proves(n, payload):
    if payload == "base":
        raise Unusual("nothing")
    if payload == "raise":
        return 1 / 0
    odd = {"float": float(n), "exit": None, "huge": 2**80 + 1, "low": -(2**80) - 1, "most": 2**80}
    return odd.get(payload, n)

def leave(n, payload):
    sys.exit(0)

CHECKER = Checker(read, objective, frozenset({"x"}), {"plain/1": proves, "leave/1": leave})
ODD = CHECKER._replace(solution_fields={"x", 1})
ODDER = CHECKER._replace(optional_fields=["y", None])
KINDS = {"fractional-load/1": lambda *a: 9}
LIAR = Checker(lambda f: 0, lambda n, a: 0, frozenset({"stages"}), KINDS)
"""
INSTANCE = {"format": "boundmark-instance/1", "problem": "counting", "n": 7}


def certificate(bound: int = 7, kind: str = "plain/1", payload: object = None) -> dict[str, object]:
    """Return a certificate of the instance."""
    return {
        "format": "boundmark-certificate/1", "instance_sha256": instance_sha256(INSTANCE),
        "problem": "counting", "kind": kind, "bound": bound, "payload": payload, "producer": "x",
    }  # fmt: skip


def solution(x: int) -> dict[str, object]:
    """Return a solution of the instance."""
    return {
        "format": "boundmark-solution/1", "instance_sha256": instance_sha256(INSTANCE),
        "problem": "counting", "objective": x, "x": x,
    }  # fmt: skip


def verdicts(
    folder: Path, *documents: dict[str, object], instance: dict[str, object] = INSTANCE
) -> subprocess.CompletedProcess[str]:
    """Run a copy of the checker, with the packages in a folder installed."""
    copied = folder / "checker_copy"
    shutil.copytree(
        Path(checker.__file__).parent, copied, ignore=shutil.ignore_patterns("__pycache__")
    )
    paths = []
    for number, document in enumerate((instance, *documents)):
        paths.append(folder / f"{number}.json")
        paths[-1].write_text(json.dumps(document))
    return subprocess.run(
        [sys.executable, "-S", str(copied), *map(str, paths)],
        capture_output=True, text=True, check=False, env={"PYTHONPATH": str(folder)},
    )  # fmt: skip


def test_installed_checkers_are_asked(tmp_path: Path) -> None:
    """They accept and reject, in their own words, and the bound is compared as for ours."""
    most = certificate(2**80, payload="most")
    install(tmp_path, "counting", {GROUP: {"counting": "counting:CHECKER"}}, CODE)
    done = verdicts(tmp_path, certificate(), certificate(8), solution(9), solution(3), most)
    lines = [line.partition(": ")[2] for line in done.stdout.splitlines()]
    assert lines == [
        "accepted, OPT >= 7",
        "rejected, the certificate's bound is more than it proves, 7",
        "accepted, OPT <= 9",
        "rejected, x is too small",
        f"accepted, OPT >= {2**80}",
    ]
    assert (done.returncode, done.stderr) == (1, "")


def test_failures_prove_nothing(tmp_path: Path) -> None:
    """Whatever a checker raises or returns in error is a rejection, even an exit with code 0."""
    install(tmp_path, "counting", {GROUP: {"counting": "counting:CHECKER"}}, CODE)
    given = ("raise", "float", "exit", "base", "huge", "low")
    documents = [certificate(payload=text) for text in given]
    done = verdicts(tmp_path, *documents, certificate(kind="leave/1"), certificate(kind="other/1"))
    lines = [line.partition(": ")[2] for line in done.stdout.splitlines()]
    assert lines == [
        "rejected, ZeroDivisionError: division by zero",
        "rejected, the problem's checker did not return an integer of at most 2^80",
        "rejected, the problem's checker did not return an integer of at most 2^80",
        "rejected, Unusual: nothing",
        "rejected, the problem's checker did not return an integer of at most 2^80",
        "rejected, the problem's checker did not return an integer of at most 2^80",
        "rejected, SystemExit: 0",
        "rejected, the certificate's kind is not one of plain/1, leave/1, but 'other/1'",
    ]
    assert done.returncode == 1


def test_optional_fields_of_solutions(tmp_path: Path) -> None:
    """They may be there, and no others; names of fields that are no texts are not loaded."""
    install(tmp_path, "counting", {GROUP: {"counting": "counting:CHECKER"}}, CODE)
    done = verdicts(tmp_path, solution(9), {**solution(9), "y": 1}, {**solution(9), "z": 1})
    lines = [line.partition(": ")[2][:40] for line in done.stdout.splitlines()]
    assert lines == [
        "accepted, OPT <= 9", "accepted, OPT <= 9", "rejected, the solution is not an object "
    ]  # fmt: skip


@pytest.mark.parametrize("name", ["ODD", "ODDER"])
def test_fields_that_are_no_texts(name: str, tmp_path: Path) -> None:
    """Such a package checks nothing."""
    install(tmp_path, "counting", {GROUP: {"counting": f"counting:{name}"}}, CODE)
    done = verdicts(tmp_path, solution(9))
    assert (done.returncode, done.stdout) == (2, "")
    assert "cannot be loaded: the names of its fields are not texts" in done.stderr


def test_our_problems_are_ours(tmp_path: Path) -> None:
    """A package that claims to check `pipeline` is not even imported."""
    code = CODE + f"\nopen({str(tmp_path / 'imported')!r}, 'w')\n"
    install(tmp_path, "liar", {GROUP: {"pipeline": "liar:LIAR", "counting": "liar:CHECKER"}}, code)
    sample = instance([3, 4], [(0, 1)], 2)
    document = {
        **certificate(9, "fractional-load/1", {"threshold": 8, "flows": []}),
        "problem": "pipeline",
    }
    document["instance_sha256"] = sample.sha256
    done = verdicts(tmp_path, document, instance=sample.to_json())
    assert "rejected" in done.stdout
    assert not (tmp_path / "imported").exists()


@pytest.mark.parametrize(
    ("entry_point", "code", "reason"),
    [
        ("broken:CHECKER", "raise SystemExit(0)", "cannot be loaded: SystemExit: 0"),
        ("broken:CHECKER", "import nothing_like_it", "cannot be loaded: ModuleNotFoundError"),
        ("broken:CHECKER", "CHECKER = 3", "cannot be loaded: AttributeError: 'int'"),
        ("broken:MISSING", "", "cannot be loaded: AttributeError"),
    ],
)
def test_broken_checkers(tmp_path: Path, entry_point: str, code: str, reason: str) -> None:
    """The instance cannot be read then, and the reason is said in a line."""
    install(tmp_path, "broken", {GROUP: {"counting": entry_point}}, code)
    done = verdicts(tmp_path, certificate())
    assert (done.returncode, done.stdout) == (2, "")
    assert reason in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_two_checkers_are_none(tmp_path: Path) -> None:
    """Which of them is right, nobody knows."""
    for name in ("one", "other"):
        install(tmp_path, name, {GROUP: {"counting": f"{name}:CHECKER"}}, CODE)
    done = verdicts(tmp_path, certificate())
    assert "several packages claim to check the instance's problem" in done.stderr


def test_damaged_packages_are_passed_over(tmp_path: Path) -> None:
    """A neighbour whose entry points cannot be read changes nothing."""
    install(tmp_path, "counting", {GROUP: {"counting": "counting:CHECKER"}}, CODE)
    (install(tmp_path, "bad", {}) / "entry_points.txt").write_text("[boundmark.checkers]\nx\n")
    assert "accepted, OPT >= 7" in verdicts(tmp_path, certificate()).stdout


def test_without_the_package(tmp_path: Path) -> None:
    """The sentence says what is known, and what could be missing."""
    done = verdicts(tmp_path, certificate())
    assert done.returncode == 2
    assert "but 'counting', and no package that checks it is installed" in done.stderr
