"""Reports without pictures, for tests that look at everything but them."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest


@contextmanager
def nothing_drawn() -> Iterator[None]:
    """Let the plots of reports in this process be empty: drawing takes most of a report's time."""
    from boundmark.reports import report as problem_part
    from boundmark.reports.plots import Drawing, Plot

    def drawing_of(plot: Plot, identifier: str, *, with_png: bool = False) -> Drawing:
        return Drawing("<svg/>", b"" if with_png else None)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(problem_part, "drawing_of", drawing_of)
        yield
