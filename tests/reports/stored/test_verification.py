"""Processes check documents, and whatever happens to one is a verdict on what it was asked."""

import os
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

from boundmark.bounds import checker
from boundmark.problems.errors import StoreError
from boundmark.reports.stored import verification
from boundmark.reports.stored.store import write_document
from boundmark.reports.stored.verification import verify_documents

INSTANCE = {
    "format": "boundmark-instance/1",
    "problem": "pipeline",
    "k": 1,
    "work": [1],
    "transfer": [0],
    "param_load": [0],
    "cache": 0,
    "edges": [],
}


def stored(folder: Path, number: int) -> list[tuple[str, str]]:
    """Store an instance, and solutions of which only the second, with cost 1, is right."""
    digest = write_document(folder / "instances", INSTANCE)
    names = []
    for cost in range(number):
        document = {
            "format": "boundmark-solution/1",
            "instance_sha256": digest,
            "problem": "pipeline",
            "objective": cost,
            "stages": [0],
        }
        names.append(f"solutions/{write_document(folder / 'solutions', document)}.json")
    return [(digest, name) for name in names]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder for documents."""
    for name in ("instances", "solutions"):
        (tmp_path / name).mkdir()
    return tmp_path


def test_every_document_gets_its_verdict(folder: Path) -> None:
    """Over several parts and processes, none is left out or asked twice."""
    pairs = stored(folder, 300)
    found = list(verify_documents(folder, pairs))
    assert sorted(pair for pair, _ in found) == sorted(pairs)
    right = [pair for pair, verdict in found if verdict.reason is None]
    assert right == [pairs[1]]
    assert all(verdict.is_lasting == (pair in right) for pair, verdict in found)


def test_nothing_to_check_starts_no_process(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A report from what is remembered does not wait for Python to start."""
    monkeypatch.setattr(subprocess, "Popen", None)
    assert list(verify_documents(folder, [])) == []


def test_files_that_are_gone_or_changed_are_rejected(folder: Path) -> None:
    """What changed since it was hashed is not accepted for what it was."""
    (pair,) = stored(folder, 2)[1:]
    ((_, accepted),) = verify_documents(folder, [pair])
    assert accepted.reason is None
    (folder / pair[1]).write_text("{}")
    ((_, changed),) = verify_documents(folder, [pair])
    assert changed.reason == "the file is named after a hash that is not its content's"
    (folder / "instances" / f"{pair[0]}.json").unlink()
    ((_, gone),) = verify_documents(folder, [pair])
    assert gone.reason == "the file cannot be read"


def test_a_process_that_dies_takes_one_document_along(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The document that it was asked is rejected with a reason; another process does the rest."""
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {0})
    pairs = stored(folder, 8)
    started = []
    start = subprocess.Popen
    ready = verification.READY

    def dying(*arguments: Any, **named: Any) -> Any:
        process = start(*arguments, **named)
        started.append(process)
        if len(started) == 1:
            os.kill(process.pid, signal.SIGKILL)
            # It gets no further than to say that it is ready, if so far.
            monkeypatch.setattr(verification, "READY", "")
            process.wait()
            process.stdout.read()
        else:
            monkeypatch.setattr(verification, "READY", ready)
        return process

    monkeypatch.setattr(subprocess, "Popen", dying)
    found = dict(verify_documents(folder, pairs))
    assert len(started) == 2
    assert len(found) == 8
    lost = [pair for pair, verdict in found.items() if "process ended" in str(verdict.reason)]
    assert lost == pairs[:1]
    assert found[pairs[0]].reason == "the checker's process ended with status -9"
    assert found[pairs[1]].reason is None


def test_a_checker_that_cannot_start_is_told(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It does not reject everything instead."""
    monkeypatch.setattr("sys.executable", "/bin/false")
    with pytest.raises(StoreError, match="ended with status 1"):
        list(verify_documents(folder, stored(folder, 3)))
    monkeypatch.setattr("sys.executable", "/nowhere/python")
    with pytest.raises(StoreError, match="the checker cannot be started: No such file"):
        list(verify_documents(folder, stored(folder, 3)))


def test_who_stops_waiting_ends_the_processes(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After Ctrl-C, none goes on with a check of minutes."""
    started = []
    start = subprocess.Popen

    def listed(*arguments: Any, **named: Any) -> Any:
        started.append(start(*arguments, **named))
        return started[-1]

    monkeypatch.setattr(subprocess, "Popen", listed)
    verdicts = verify_documents(folder, stored(folder, 200))
    next(iter(verdicts))
    verdicts.close()  # type: ignore[attr-defined]
    assert started
    assert all(process.poll() is not None for process in started)


@pytest.mark.parametrize("error", [KeyError(3), MemoryError(), RecursionError("deep")])
def test_a_check_that_fails_rejects(
    error: Exception, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever a check raises, it has proven nothing, and the report goes on."""
    (pair,) = stored(folder, 1)

    def check(*arguments: object) -> int:
        raise error

    monkeypatch.setattr(checker, "check_solution", check)
    reason, is_lasting = verification._answer(folder, *pair)
    assert reason.startswith(f"the checker failed, {type(error).__name__}:")
    assert not is_lasting
