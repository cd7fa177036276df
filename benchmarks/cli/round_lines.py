"""One line per round of methods while `solve` runs: what is known, and how much time is left."""

from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console, Group
from rich.live import Live
from rich.text import Text

from boundmark.benchmarks.method_rounds import MethodRounds
from boundmark.bounds.checker import printable

REFRESHES_A_SECOND = 4


class _Lines:
    """Drawn anew whenever the terminal asks for it; rounds that are over keep their line."""

    def __init__(self, rounds: MethodRounds) -> None:
        self._rounds = rounds
        self._lines: dict[int, Text] = {}

    def __rich__(self) -> Group:
        number = self._rounds.round
        if number:
            self._lines[number] = Text(line_of(self._rounds), no_wrap=True, overflow="ellipsis")
        return Group(*self._lines.values())


def line_of(rounds: MethodRounds) -> str:
    """Return what is known in a round: incumbent, bound, gap, time left, methods that run."""
    upper, lower = rounds.objective, rounds.bound
    parts = [
        f"round {rounds.round}/{rounds.rounds}",
        f"best {'-' if upper is None else f'{upper:,}'}",
        f"bound {'-' if lower is None else f'{lower:,}'}",
        f"gap {f'{upper / lower - 1:.2%}' if upper is not None and lower else '-'}",
        f"{rounds.clock.remaining():.0f} s left",
        printable(", ".join(rounds.running)) or "checking",
    ]
    return "  ".join(parts)


@contextmanager
def live_lines(console: Console, rounds: MethodRounds) -> Iterator[None]:
    """Show a live line per round on a terminal; nothing elsewhere."""
    if not console.is_terminal or console.quiet:
        yield
        return
    lines = _Lines(rounds)
    with Live(lines, console=console,
              refresh_per_second=REFRESHES_A_SECOND):  # fmt: skip
        yield
