"""Check many documents at a time, in processes that may fail without harm.

A check may take minutes and gigabytes. Whatever becomes of a process, the document that it was
asked about last is rejected, and another process goes on with the rest. Such a process is

    python -P -m boundmark.reports.stored.verification DIR

A request is a line of JSON: the hash of an instance and the name of a document in the results
folder DIR. The answer is a line, too: why the document is rejected (null if it is accepted), and
whether that depends on the files and the checker of this package alone.
"""

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from queue import SimpleQueue
from threading import Thread
from typing import Any, TypeAlias

from boundmark.bounds import checker
from boundmark.problems.errors import StoreError

# Hash of an instance, and the name of a document about it below the results folder.
Pair: TypeAlias = tuple[str, str]


# Requests that a process gets at a time: they and their answers fit into pipes, so that neither
# side waits for the other. Fewer if there are few in all, since some take a minute.
PART = 32


# What each process gets, at least.
TURNS = 4


@dataclass(frozen=True)
class Verdict:
    """The checker's verdict on a document.

    Attributes
    ----------
    reason
        Why it is rejected; None if it is accepted.
    is_lasting
        Whether it is accepted for good, as long as the checker of this package is the same.
    """

    reason: str | None
    is_lasting: bool


def verify_documents(directory: Path, pairs: Sequence[Pair]) -> Iterator[tuple[Pair, Verdict]]:
    """Yield the checker's verdict on each solution or certificate, in any order.

    As many processes as the machine has cores check them.
    """
    if not pairs:
        return
    size = max(1, min(PART, len(pairs) // (TURNS * _cores())))
    parts = iter([pairs[start : start + size] for start in range(0, len(pairs), size)])
    crew = _Crew(directory.resolve(), parts, SimpleQueue(), [])
    threads = [Thread(target=crew.serve, daemon=True) for _ in range(min(_cores(), len(pairs)))]
    for thread in threads:
        thread.start()
    try:
        for _ in pairs:
            answer = crew.answers.get()
            if isinstance(answer, BaseException):
                raise answer
            yield answer
    finally:
        # All is answered, or the caller stopped waiting: Ctrl-C ends checks that have begun.
        crew.dismiss()
        for thread in threads:
            thread.join()


@dataclass
class _Crew:
    """Threads with a checking process each, and the state that they share.

    Attributes
    ----------
    parts
        What is left to ask; the next one that is free takes the next.
    answers
        Verdicts, or the error that ended a thread.
    """

    root: Path
    parts: Iterator[Sequence[Pair]]
    answers: SimpleQueue[tuple[Pair, Verdict] | BaseException]
    processes: "list[subprocess.Popen[str]]"
    is_dismissed: bool = False

    def serve(self) -> None:
        """Ask a process part after part; start another where one ended."""
        process = None
        try:
            for part in self.parts:
                rest = part
                while rest and not self.is_dismissed:
                    process = process or self._start()
                    rest = rest[self._ask(process, rest) :]
                    if rest and not self.is_dismissed:
                        status = _end(process)
                        words = f"the checker's process ended with status {status}"
                        self.answers.put((rest[0], Verdict(words, False)))
                        process, rest = None, rest[1:]
        except BaseException as error:
            self.answers.put(error)
        finally:
            if process is not None:
                _end(process)

    def dismiss(self) -> None:
        """End all processes, and with them the threads that wait for their answers."""
        self.is_dismissed = True
        for process in [*self.processes]:
            process.kill()

    def _ask(self, process: "subprocess.Popen[str]", pairs: Sequence[Pair]) -> int:
        """Put the verdicts on documents in order, and return how many there are."""
        assert process.stdin is not None
        assert process.stdout is not None
        # If it has ended, what it has answered until then can be read.
        with suppress(OSError):
            process.stdin.write("".join(f"{json.dumps(pair)}\n" for pair in pairs))
            process.stdin.flush()
        for done, pair in enumerate(pairs):
            line = process.stdout.readline()
            if not line.endswith("\n"):
                return done
            self.answers.put((pair, Verdict(*json.loads(line))))
        return len(pairs)

    def _start(self) -> "subprocess.Popen[str]":
        module = "boundmark.reports.stored.verification"
        try:
            process = subprocess.Popen(
                # Nothing is imported from the folder that people happen to be in.
                [sys.executable, "-P", "-m", module, str(self.root)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                encoding="utf-8",
                # Ctrl-C is for the command, which then ends this.
                start_new_session=True,
            )
        except OSError as error:
            raise StoreError(f"the checker cannot be started: {error.strerror}.") from error
        self.processes.append(process)
        assert process.stdout is not None
        if process.stdout.readline() != READY and not self.is_dismissed:
            raise StoreError(
                f"the checker cannot be started: `python -m {module}` ended with status "
                f"{_end(process)}."
            )
        return process


def _end(process: "subprocess.Popen[str]") -> int:
    """Kill a process, and return the status with which it had ended before, if it had."""
    assert process.stdin is not None
    assert process.stdout is not None
    process.kill()
    process.stdout.close()
    # What was written for it is not read any more.
    with suppress(OSError):
        process.stdin.close()
    return process.wait()


def _cores() -> int:
    return len(os.sched_getaffinity(0))


# Reasons are cut off here, so that the answers to many requests fit into a pipe.
LONGEST_REASON = 300


# First line that a checking process writes.
READY = "ready\n"


OWN_PROBLEMS = frozenset(checker.KINDS.values())


def main() -> None:
    """Answer the requests on standard input until it ends."""
    root = Path(sys.argv[1])
    # What checkers of other packages print is no answer.
    with os.fdopen(os.dup(1), "w", encoding="utf-8") as answers:
        os.dup2(2, 1)
        answers.write(READY)
        answers.flush()
        for line in sys.stdin:
            digest, name = json.loads(line)
            answers.write(json.dumps(_answer(root, digest, name)) + "\n")
            answers.flush()


def _answer(root: Path, digest: str, name: str) -> tuple[str | None, bool]:
    try:
        instance = _instance(root / "instances" / f"{digest}.json")
        document = checker.read_document(root / name)
        is_own = instance.get("problem") in OWN_PROBLEMS
        is_solution = name.startswith("solutions/")
        check = checker.check_solution if is_solution else checker.check_certificate
        check(instance, document)
    except checker.Rejected as error:
        return checker.printable(str(error))[:LONGEST_REASON], False
    except Exception as error:
        # A check that ends otherwise has proven nothing.
        words = f"the checker failed, {type(error).__name__}: {error}"
        return checker.printable(words)[:LONGEST_REASON], False
    return None, is_own


@lru_cache(1)
def _instance(path: Path) -> dict[str, Any]:
    """Return an instance, which several requests in a row are about."""
    return checker.read_document(path)


if __name__ == "__main__":
    main()
