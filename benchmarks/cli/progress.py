"""The progress bar of a run."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from boundmark.benchmarks.execution.task import Outcome
from boundmark.benchmarks.planning import PlannedTask
from boundmark.bounds.checker import printable


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
