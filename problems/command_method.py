"""Runs an executable as a method: an instance goes in as JSON, solutions come out line by line."""

import json
import select
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, Any

from boundmark.problems.certificate import Certificate, Claim
from boundmark.problems.entry_points import problems
from boundmark.problems.errors import BoundmarkError, MissingFileError, quoted
from boundmark.problems.json_documents import canonical_json
from boundmark.problems.problem import Instance, Solution

if TYPE_CHECKING:
    from boundmark.problems.method import Budget, Progress

# Characters of a line; longer ones are no solutions of anything that fits into memory.
LONGEST_LINE = 2**28

# Seconds between the polite signal and the other one.
PATIENCE = 0.5


@dataclass(frozen=True)
class CommandRun:
    """The function of a method that is an executable.

    Attributes
    ----------
    argv
        The executable and its arguments. ``{seed}``, ``{seconds}`` and ``{threads}`` in an argument
        stand for the task's.
    name
        Name of the method.
    """

    argv: tuple[str, ...]
    name: str

    def __call__(
        self, instance: Instance, budget: "Budget", seed: int, progress: "Progress"
    ) -> None:
        """Start the executable, report what it writes, and end it when the time is up."""
        given = {
            "{seed}": str(seed),
            "{seconds}": f"{max(0.0, budget.remaining()):.3f}",
            "{threads}": str(budget.threads),
        }
        argv = [_filled(argument, given) for argument in self.argv]
        process = self._started(argv)
        writer = threading.Thread(target=_write, args=(process, instance), daemon=True)
        writer.start()
        try:
            assert process.stdout is not None
            for number, line in enumerate(_lines(process.stdout, budget), 1):
                self._report(line, number, instance, progress)
            if budget.is_spent():
                return
            # Its output is over, and it need not be.
            code = process.wait(max(PATIENCE, budget.remaining()))
        except subprocess.TimeoutExpired:
            return
        finally:
            _end(process)
        if code < 0:
            raise BoundmarkError(f"{self.argv[0]} was ended by signal {-code}.")
        if code:
            raise BoundmarkError(f"{self.argv[0]} ended with exit code {code}; expected 0.")

    def _started(self, argv: list[str]) -> "subprocess.Popen[bytes]":
        try:
            # In the group of the task, so that whoever ends the task ends it too.
            return subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            raise MissingFileError(
                f"{self.argv[0]} cannot be started: {reason}; expected an executable."
            ) from error

    def _report(self, line: bytes, number: int, instance: Instance, progress: "Progress") -> None:
        found = self._object(line, number)
        if found is None:
            return
        try:
            match found:
                case {"claimed_bound": bool()}:
                    raise TypeError("claimed_bound is no number")
                case {"claimed_bound": int() | float() as bound}:
                    progress.bound(Claim(self.name, float(bound)))
                case {"certificate": {"kind": str(kind), "bound": int(bound), "payload": payload}}:
                    progress.bound(Certificate.of(instance, kind, bound, payload, self.name))
                case _:
                    solution: Solution = problems()[instance.problem].solution_from_json(found)
                    progress.solution(solution)
        except (BoundmarkError, LookupError, TypeError, ValueError, AttributeError) as error:
            reason = " ".join(str(error).split()).rstrip(".")
            raise BoundmarkError(
                f"line {number} of {self.argv[0]} is no solution: {reason}; expected one of "
                f"{instance.problem!r} as JSON."
            ) from error

    def _object(self, line: bytes, number: int) -> dict[str, Any] | None:
        """Return the object on a line; None for one that is empty."""
        text = line.decode(errors="replace").strip()
        if not text:
            return None
        try:
            found = json.loads(text)
        except (ValueError, RecursionError):
            found = None
        if not isinstance(found, dict):
            raise BoundmarkError(
                f"line {number} of {self.argv[0]} is {quoted(text)}; expected a JSON object, such "
                "as a solution."
            )
        return found


def _filled(argument: str, given: dict[str, str]) -> str:
    for name, value in given.items():
        argument = argument.replace(name, value)
    return argument


def _write(process: "subprocess.Popen[bytes]", instance: Instance) -> None:
    """Give the instance; a solver that does not read it to the end has its reasons."""
    assert process.stdin is not None
    with suppress(OSError):
        process.stdin.write(canonical_json(instance.to_json()).encode() + b"\n")
        process.stdin.close()


def _lines(stream: IO[bytes], budget: "Budget") -> Iterator[bytes]:
    """Yield the lines of a stream as they come, until its end or that of the time."""
    waiting, is_first = bytearray(), True
    while not budget.is_spent():
        ready, _, _ = select.select([stream], [], [], max(0.0, min(0.1, budget.remaining())))
        if not ready:
            continue
        read: Callable[[int], bytes] = stream.read1  # type: ignore[attr-defined]
        content = read(2**16)
        if not content:
            if waiting:
                yield bytes(waiting)
            return
        *lines, rest = content.split(b"\n")
        for line in lines:
            yield bytes(waiting + line)
            waiting.clear()
            is_first = False
        waiting += rest
        if len(waiting) > LONGEST_LINE:
            raise BoundmarkError(
                f"a line has more than {LONGEST_LINE:,} characters; expected a solution."
            )
    if waiting and is_first:
        raise BoundmarkError(
            f"it had written {len(waiting):,} characters and no end of a line when its time was "
            "up; expected a JSON object on each line."
        )


def _end(process: "subprocess.Popen[bytes]") -> None:
    """End a process that still runs, and close what leads to it."""
    if process.poll() is None:
        process.terminate()
        try:
            process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
    for stream in (process.stdin, process.stdout):
        if stream is not None:
            with suppress(OSError):
                stream.close()
