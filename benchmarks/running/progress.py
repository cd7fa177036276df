"""Progress on a terminal or in a notebook: a bar for a run, a line for each round of methods."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec

from rich.console import Console, Group
from rich.live import Live
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.text import Text

from boundmark.benchmarks.running.execution.task import Outcome
from boundmark.benchmarks.running.planning import PlannedTask
from boundmark.benchmarks.solving.rounds import Rounds
from boundmark.problems.errors import printable
from boundmark.reports.text import gap_percent

REFRESHES_A_SECOND = 4


class _Lines:
    """Lines of progress, drawn anew whenever the terminal asks; finished rounds keep their line."""

    def __init__(self, rounds: Rounds) -> None:
        self._rounds = rounds
        self._lines: dict[int, Text] = {}

    def __rich__(self) -> Group:
        number = self._rounds.round
        if number:
            self._lines[number] = Text(line_of(self._rounds), no_wrap=True, overflow="ellipsis")
        return Group(*self._lines.values())


def line_of(rounds: Rounds) -> str:
    """Return the line of a round: incumbent, bound, gap, time left, methods that run."""
    upper, lower = rounds.objective, rounds.bound
    if rounds.is_importing:
        return f"round {rounds.round}/{rounds.most}  importing methods, with kernels compiled once"
    parts = [
        f"round {rounds.round}/{rounds.most}",
        f"best {'-' if upper is None else f'{upper:,}'}",
        f"bound {'-' if lower is None else f'{lower:,}'}",
        f"gap {gap_percent(upper / lower - 1, '%', 2) if upper is not None and lower else '-'}",
        f"{rounds.clock.remaining():.0f} s left",
        printable(", ".join(rounds.running)) or "checking",
    ]
    return "  ".join(parts)


def progress_console(quiet: bool) -> Console:
    """Return the console on standard error where progress is shown, or nothing if it is quiet."""
    console = Console(stderr=True, quiet=quiet)
    if console.is_jupyter and not is_live(console):
        console.quiet = True
    return console


def is_live(console: Console) -> bool:
    """Whether lines can be drawn anew: on terminals, and in notebooks that have ipywidgets."""
    return console.is_terminal or (console.is_jupyter and find_spec("ipywidgets") is not None)


@contextmanager
def live_lines(console: Console, rounds: Rounds) -> Iterator[None]:
    """Show a live line per round on a terminal or in a notebook; nothing elsewhere."""
    if console.quiet or not is_live(console):
        yield
        return
    lines = _Lines(rounds)
    with Live(lines, console=console,
              refresh_per_second=REFRESHES_A_SECOND):  # fmt: skip
        yield


@contextmanager
def told_if_long(console: Console, sentence: str, seconds: float = 2.0) -> Iterator[None]:
    """Print a sentence if a block takes longer, except where live lines say what goes on."""
    timer = threading.Timer(seconds, console.print, [sentence], {"soft_wrap": True})
    timer.daemon = True
    if not is_live(console):
        timer.start()
    try:
        yield
    finally:
        timer.cancel()


@contextmanager
def task_progress(
    console: Console, name: str
) -> Iterator[tuple[Callable[[int, int], None], Callable[[PlannedTask, Outcome], None]]]:
    """Show how many tasks are done, and a line for every task that failed."""
    bar = Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
        TextColumn("{task.fields[label]}", style="dim", markup=False),
        console=console,
        transient=True,
    )
    running = bar.add_task(printable(name), total=None, label="loading instances")

    def on_start(planned: int, to_do: int) -> None:
        bar.update(running, total=planned, completed=planned - to_do, label="")

    def on_finish(planned: PlannedTask, outcome: Outcome) -> None:
        bar.update(running, advance=1, label=printable(planned.label))
        if outcome.status not in ("ok", "unsupported"):
            bar.console.print(
                printable(f"{outcome.status}: {planned.label}: {outcome.status_detail}"),
                markup=False,
                highlight=False,
                soft_wrap=True,
            )

    with bar:
        yield on_start, on_finish
