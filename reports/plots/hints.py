"""Titles that a plot shows when one points at a mark or a bar; they need no script."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from boundmark.reports.text import amount, visible

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

# An artist carries its words as its id into the SVG, where `drawing` makes titles of them.
PREFIX = "hint:"

# Of lines with more marks, only the name is shown.
MOST_MARKS = 100


def hint(artist: "Artist", text: str, marks: Sequence[str] = ()) -> None:
    """Say what to show at an artist.

    Parameters
    ----------
    marks
        What to show at each of a line's marks instead.
    """
    # Lines separate the texts, and matplotlib writes ids with these quotes in others.
    lines = [visible(one).replace("\n", " ").replace('"', "'") for one in (text, *marks)]
    artist.set_gid(PREFIX + "\n".join(lines))


def add_hints(axes: "Axes") -> None:
    """Name every series, and tell the values of its marks and bars, where nothing else is said."""
    for artist, text, marks in _series(axes):
        if artist.get_gid() is None and text and not text.startswith("_"):
            hint(artist, text, marks)


def _series(axes: "Axes") -> Iterator[tuple["Artist", str, Sequence[str]]]:
    from matplotlib.container import BarContainer, ErrorbarContainer

    for container in axes.containers:
        name = str(container.get_label())
        if isinstance(container, BarContainer):
            for bar in container.patches:
                yield bar, f"{name}: {_extent(bar, container.orientation)}", ()
        elif isinstance(container, ErrorbarContainer) and container.lines[0] is not None:
            yield container.lines[0], name, _marks(container.lines[0], name)
    for line in axes.lines:
        yield line, str(line.get_label()), _marks(line, str(line.get_label()))
    for collection in axes.collections:
        yield collection, str(collection.get_label()), ()


def _extent(bar: Any, orientation: str | None) -> str:
    """Return where a bar ends, and where it begins if that is not at 0."""
    horizontal = orientation == "horizontal"
    start, length = (
        (bar.get_x(), bar.get_width()) if horizontal else (bar.get_y(), bar.get_height())
    )
    if horizontal and start:
        return f"{amount(start)} to {amount(start + length)}"
    return amount(length)


def _marks(line: Any, name: str) -> Sequence[str]:
    values = line.get_ydata()
    is_marked = line.get_marker() not in (None, "None", "", " ")
    if not is_marked or line.get_markevery() is not None or len(values) > MOST_MARKS:
        return ()
    return [f"{name}: {amount(value)}" for value in values]
