"""The time of a search: what is kept for checks, what methods get, and when all ends."""

import signal
import time

import pytest

from boundmark.benchmarks.solving.ending import (
    GRACE_SECONDS,
    INTERRUPT,
    WallClock,
    ending_gently,
)


@pytest.mark.parametrize("seconds", [0.1, 1.0, 6.0, 60.0, 3600.0])
def test_parts_fit_into_the_whole(seconds: float) -> None:
    """Checks leave most of the time; methods are ended before all is."""
    clock = WallClock(seconds)
    assert clock.checking_seconds <= 0.15 * seconds
    assert clock.checking_seconds <= 10
    assert clock.for_methods() <= clock.remaining() <= seconds
    assert clock.end_at <= clock.started + seconds + 1
    assert clock.kill_at <= clock.started + seconds + GRACE_SECONDS


def test_nothing_is_left_after_the_end() -> None:
    """Never less than nothing."""
    clock = WallClock(5.0, time.monotonic() - 100)
    assert (clock.remaining(), clock.for_methods()) == (0.0, 0.0)
    assert clock.spent() >= 100


def test_a_clock_begins_anew_with_all_its_time() -> None:
    """What came before does not count, but what is said to have been spent."""
    clock = WallClock(5.0, started=time.monotonic() - 100)
    before = time.monotonic()
    assert clock.begun_anew().started >= before
    assert clock.begun_anew(2.0).spent() >= 2.0
    assert clock.begun_anew().seconds == clock.seconds


def test_ctrl_c_while_kernels_compile_ends_at_once() -> None:
    """Then nothing runs that could still report; once methods run, the first one only asks."""
    told: list[str] = []
    with ending_gently(told.append) as begin:
        begin(None)
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
    with ending_gently(told.append) as begin:
        begin(None)
        begin(WallClock(60.0))
        signal.raise_signal(signal.SIGINT)
        assert told == [INTERRUPT, INTERRUPT]
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
    assert len(told) == 2
