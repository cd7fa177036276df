"""End a search when its time is up, or at Ctrl-C or SIGTERM, and keep its results."""

import math
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from types import FrameType

# What the processes that run methods are started with.
METHOD_JOB = "boundmark.benchmarks.running.execution.method_job"

# Time kept for checking what methods have found: a fraction of all, and at most so much.
CHECKING_FRACTION = 0.15
MOST_CHECKING_SECONDS = 10.0

# Longest time that methods take to return when they are asked to.
GRACE_SECONDS = 1.2

# Time by which checks that are nearly done may end late.
LATE_SECONDS = 1.0

# The reasons to stop, as they follow "because": the user's wish, that of whoever ends processes,
# the clock, and success.
INTERRUPT = "of Ctrl-C"
TERMINATION = "of SIGTERM"
INTERRUPTIONS = (INTERRUPT, TERMINATION)
TIME_IS_UP = "the time was up"
PROVEN = "the optimum was proven"


@dataclass(frozen=True)
class WallClock:
    """Wall time of a search, from when it started.

    Attributes
    ----------
    seconds
        How long it may take.
    started
        By `time.monotonic()`.
    """

    seconds: float
    started: float = field(default_factory=time.monotonic)

    @property
    def checking_seconds(self) -> float:
        """Seconds that are kept for checking at the end."""
        return min(CHECKING_FRACTION * self.seconds, MOST_CHECKING_SECONDS)

    @property
    def kill_at(self) -> float:
        """Time at which methods that still run are ended, by `time.monotonic()`."""
        return self.started + self.seconds - self.checking_seconds + GRACE_SECONDS

    @property
    def end_at(self) -> float:
        """Time at which the search ends, whether all is checked or not, by `time.monotonic()`."""
        return self.started + self.seconds + LATE_SECONDS

    def begun_anew(self, spent: float = 0.0) -> "WallClock":
        """Return the clock with all its time, but what was spent before, from now on."""
        return replace(self, started=time.monotonic() - spent)

    def spent(self) -> float:
        """Return the seconds since the search started."""
        return time.monotonic() - self.started

    def remaining(self) -> float:
        """Return the seconds that are left, 0.0 when the time is up."""
        return max(0.0, self.seconds - self.spent())

    def for_methods(self) -> float:
        """Return the seconds that methods may still use, 0.0 if only checking may go on."""
        return max(0.0, self.remaining() - self.checking_seconds)


def ended_because(why: str) -> str:
    """Return the detail of a task that was ended for a reason."""
    return f"ended because {why}"


# After Ctrl-C, for checking what the methods have found.
PATIENCE_SECONDS = 5.0

# What a shell says of a command that SIGTERM has ended.
TERMINATED = 128 + signal.SIGTERM


class Terminated(KeyboardInterrupt):
    """SIGTERM came: whoever heeds Ctrl-C heeds this."""


def reason_of(error: KeyboardInterrupt) -> str:
    """Return the reason to stop that an exception stands for."""
    return TERMINATION if isinstance(error, Terminated) else INTERRUPT


@contextmanager
def heeding_sigterm() -> Iterator[None]:
    """Let SIGTERM end what runs as Ctrl-C does; if that ends the command, it exits with 143.

    For commands: a program that calls the package should end as it always does. Does nothing in
    other threads than the main one, or where SIGTERM is ignored.
    """
    is_main = threading.current_thread() is threading.main_thread()
    if not is_main or signal.getsignal(signal.SIGTERM) is signal.SIG_IGN:
        yield
        return
    has_come = False

    def on_terminate(number: int, frame: FrameType | None) -> None:
        nonlocal has_come
        has_come = True
        handler = signal.getsignal(signal.SIGINT)
        # Where Ctrl-C is ignored, as in a shell's background job, there is none to ask.
        if not callable(handler) or handler is signal.default_int_handler:
            raise Terminated
        handler(number, frame)

    before = signal.signal(signal.SIGTERM, on_terminate)
    try:
        yield
    except SystemExit as ending:
        if has_come and ending.code:
            sys.exit(TERMINATED)
        raise
    finally:
        signal.signal(signal.SIGTERM, before)


class TimeIsUpError(Exception):
    """The time is up: results that are not checked by now do not count."""


@contextmanager
def ending_gently(stop: Callable[[str], None]) -> Iterator[Callable[[WallClock | None], None]]:
    """End running methods at the first Ctrl-C or when time is up, and keep their results.

    Yields a function that takes the clock when its time begins, and None when it stands still:
    until then, there is no end. Any thread may call it.

    A second Ctrl-C raises `KeyboardInterrupt`, as does the first while the clock stands still and
    kernels compile; and the end of the time `TimeIsUpError`, which after a Ctrl-C comes within the
    patience. Does nothing in other threads than the main one,
    where signals arrive.
    """
    if threading.current_thread() is not threading.main_thread():
        yield lambda clock: None
        return
    stopped: list[str] = []
    end_at = math.inf
    is_compiling = False

    def begin(clock: WallClock | None) -> None:
        nonlocal end_at, is_compiling
        if stopped:
            return
        is_compiling = clock is None
        end_at = clock.end_at if clock else math.inf
        signal.setitimer(signal.ITIMER_REAL, _until(clock.kill_at) if clock else 0.0)

    def end(why: str) -> None:
        stopped.append(why)
        stop(why)
        end_running_methods()

    def on_interrupt(number: int, frame: FrameType | None) -> None:
        is_term = number == signal.SIGTERM
        is_first = not any(why in INTERRUPTIONS for why in stopped)
        if is_first:
            end(TERMINATION if is_term else INTERRUPT)
        if is_compiling or not is_first:
            raise Terminated if is_term else KeyboardInterrupt
        moment = min(end_at, time.monotonic() + PATIENCE_SECONDS)
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

    Below this process there are warm processes, below which methods are forked.
    """
    import psutil

    for server in psutil.Process().children():
        # Whatever ends by itself meanwhile is as good.
        with suppress(psutil.Error):
            if METHOD_JOB in server.cmdline():
                for job in server.children():
                    with suppress(psutil.Error):
                        job.kill()
