"""Share a search's wall time between methods and checks."""

import time
from dataclasses import dataclass, field, replace

# Time kept for checking what methods have found: a fraction of all, and at most so much.
CHECKING_FRACTION = 0.15
MOST_CHECKING_SECONDS = 10.0

# Longest time that methods take to return when they are asked to.
GRACE_SECONDS = 1.2

# Time by which checks that are nearly done may end late.
PATIENCE_SECONDS = 1.0


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
        return self.started + self.seconds + PATIENCE_SECONDS

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
