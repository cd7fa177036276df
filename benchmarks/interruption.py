"""Stops methods at Ctrl-C or the deadline, keeps their results, then exits."""

import math
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType

import psutil

from boundmark.benchmarks.wall_clock import WallClock

# What the processes that run methods are started with.
METHOD_JOB = "boundmark.benchmarks.execution.method_job"


# The reasons to stop, as they follow "because": the user's wish, the clock, and success.
INTERRUPT = "of Ctrl-C"
TIME_IS_UP = "the time was up"
PROVEN = "the optimum was proven"


def ended_because(why: str) -> str:
    """Return the detail of a task that was ended for a reason."""
    return f"ended because {why}"


class TimeIsUpError(Exception):
    """The time is up: results that are not checked by now do not count."""


@contextmanager
def ending_gently(
    stop: Callable[[str], None], patience_seconds: float = 5.0
) -> Iterator[Callable[[WallClock], None]]:
    """End running methods at the first Ctrl-C or when time is up, and keep their results.

    Yields a function that takes the clock when its time begins, and not before: until then there
    is no end. Any thread may call it.

    A second Ctrl-C raises `KeyboardInterrupt`, and the end of the time `TimeIsUpError`, which
    after a Ctrl-C comes within the patience. Does nothing in other threads than the main one,
    where signals arrive.

    Parameters
    ----------
    stop
        Called with the reason, as a clause, before methods are ended.
    patience_seconds
        After Ctrl-C, for checking what the methods have found.
    """
    if threading.current_thread() is not threading.main_thread():
        yield lambda clock: None
        return
    stopped: list[str] = []
    end_at = math.inf

    def begin(clock: WallClock) -> None:
        nonlocal end_at
        end_at = clock.end_at
        signal.setitimer(signal.ITIMER_REAL, _until(clock.kill_at))

    def end(why: str) -> None:
        stopped.append(why)
        stop(why)
        end_running_methods()

    def on_interrupt(number: int, frame: FrameType | None) -> None:
        if INTERRUPT in stopped:
            raise KeyboardInterrupt
        end(INTERRUPT)
        moment = min(end_at, time.monotonic() + patience_seconds)
        signal.setitimer(signal.ITIMER_REAL, _until(moment))

    def on_alarm(number: int, frame: FrameType | None) -> None:
        if stopped:
            # Whoever waits for a task must not wait for ever.
            stop(TIME_IS_UP)
            raise TimeIsUpError
        end(TIME_IS_UP)
        signal.setitimer(signal.ITIMER_REAL, _until(end_at))

    before = {
        number: signal.signal(number, handler)
        for number, handler in ((signal.SIGINT, on_interrupt), (signal.SIGALRM, on_alarm))
    }
    try:
        yield begin
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        for number, handler in before.items():
            signal.signal(number, handler)


def _until(moment: float) -> float:
    # A timer of 0 seconds would never ring.
    return max(0.01, moment - time.monotonic() + 0.01)


def end_running_methods() -> None:
    """Kill the processes that methods run in; their supervisors keep the results so far.

    Below this process there is a guard for each warm process, below which methods are forked.
    """
    for guard in psutil.Process().children():
        # Whatever ends by itself meanwhile is as good.
        with suppress(psutil.Error):
            if METHOD_JOB in guard.cmdline():
                for server in guard.children():
                    for job in server.children():
                        with suppress(psutil.Error):
                            job.kill()
