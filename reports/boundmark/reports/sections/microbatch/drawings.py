"""The schedules themselves."""

from collections.abc import Sequence

from boundmark.reports.number_text import count
from boundmark.reports.page import Plot, Section


def drawing_section(plots: Sequence[Plot], left_out: int) -> Section | None:
    """Return the drawings, and how many instances have none; None without any."""
    if not plots:
        return None
    text = (
        "The best verified schedule of an instance: a row a device, the number of the micro-batch "
        "in each block, and red bars around one period on each device. Where the number of "
        "micro-batches is open, two repetitions more than the least are drawn."
    )
    if left_out:
        text += (
            f" Not drawn: {count(left_out, 'schedule')} of other instances. Each layout is "
            "drawn with the least memory that allows its smallest bubble rate."
        )
    return Section("Schedules", plots=tuple(plots), paragraphs=(text,))
