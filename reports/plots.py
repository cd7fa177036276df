"""Plots of a page: their style, their drawing as SVG and PNG, and hints over marks."""

import io
import itertools
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import cycle, islice
from typing import TYPE_CHECKING, Any, NamedTuple

import pandas as pd

from boundmark.problems.method import require_module
from boundmark.reports.text import amount, natural_order, visible

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


COLOURS = (
    "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#756421", "#A625B8",
    "#96B43C", "#6536FF", "#00C300", "#FF005A", "#366D6D", "#B4A596", "#B496FF", "#B53636",
    "#1E69FF", "#FF0FE1", "#FF3CA5", "#FF0000",
)  # fmt: skip

# Letters are shapes by name; of three numbers, the first is that of corners.
MARKERS: tuple[Any, ...] = (
    "o", "s", "^", "D", "v", "P", "X", "<", ">", "p", "*", "h", "d", "8", (4, 1, 0), (6, 1, 0),
    (3, 1, 0), (3, 1, 180), (4, 1, 45), (8, 1, 0), (5, 0, 180),
)  # fmt: skip

# Marks of series on pages, where these are text.
GLYPHS = "●■▲◆▼✚✖◀▶⬟★⬢◊○□△◇▽◁▷☆"
DASHES: tuple[Any, ...] = ("-", (0, (5, 1.5)), (0, (1, 1)), (0, (5, 1.5, 1, 1.5)), (0, (9, 2)))

# Colour of lines that only help the eye, on any page.
GREY = "#808080"

# Stands for the colour of the surrounding text, which SVG calls currentColor.
INK = "#010101"

# What every figure is drawn and written with; the salt makes identifiers the same in every run.
_SETTINGS: Any = {
    "axes.edgecolor": INK,
    "axes.grid": True,
    "axes.labelcolor": INK,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlesize": 10,
    "axes.titleweight": "bold",
    "figure.facecolor": "none",
    "axes.facecolor": "none",
    "font.family": "DejaVu Sans",
    "font.size": 9,
    "grid.alpha": 0.3,
    "grid.color": GREY,
    "grid.linewidth": 0.6,
    "legend.frameon": False,
    "legend.handlelength": 3.0,
    "lines.linewidth": 1.6,
    "lines.markersize": 5,
    "savefig.facecolor": "none",
    "svg.fonttype": "none",
    "svg.hashsalt": "boundmark",
    "text.color": INK,
    # Names may hold dollar signs; no text of a plot is a formula.
    "text.parse_math": False,
    "xtick.color": INK,
    "ytick.color": INK,
}


class Look(NamedTuple):
    """The colour, the marker and the line of one series."""

    color: str
    marker: Any
    linestyle: Any


Looks = Mapping[str, Look]


def looks(names: Sequence[str]) -> dict[str, Look]:
    """Return a look for each name; the first 420 differ."""
    cycles = zip(cycle(COLOURS), cycle(MARKERS), cycle(DASHES), strict=False)
    return {name: Look(*look) for name, look in zip(names, islice(cycles, len(names)), strict=True)}


def settings() -> Any:
    """Return the context within which figures are drawn and written."""
    require_module("matplotlib")
    import matplotlib as mpl

    return mpl.rc_context(_SETTINGS)


def plain_log_ticks(axis: Any) -> None:
    """Label a logarithmic axis with plain numbers, the more of them the shorter its range."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    low, high = sorted(axis.get_view_interval())
    subs: tuple[float, ...] = (1.0,)
    if high < 10 * low:
        subs = (1.0, 1.5, 2.0, 3.0, 5.0, 7.0)
    elif high < 1000 * low:
        subs = (1.0, 2.0, 5.0)
    axis.set_major_locator(LogLocator(subs=subs))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.set_minor_formatter(NullFormatter())


def integer_ticks(axis: Any) -> None:
    """Label an axis with integers only."""
    from matplotlib.ticker import MaxNLocator

    axis.set_major_locator(MaxNLocator(integer=True))


def include_zero(axes: "Axes", x: float) -> None:
    """Let the vertical axis reach down to 0, with the margin that it has at the top.

    Parameters
    ----------
    x
        Some place within the horizontal axis.
    """
    axes.update_datalim([(x, 0.0)])
    axes.autoscale_view(scalex=False)


def names_below(axes: "Axes", names: list[str]) -> None:
    """Put names under the places 0, 1, 2, ... of the horizontal axis."""
    axes.set_xticks(range(len(names)), names, rotation=60, ha="right", rotation_mode="anchor")
    axes.grid(visible=False, axis="x")


@dataclass(frozen=True)
class Panels:
    """Axes side by side with a common vertical axis, one for each value of a column.

    Attributes
    ----------
    title
        Returns what stands above the panel of a value.
    has_common_x
        Whether the horizontal axis is common too.
    rows
        A column of text with a row of panels for each value, e.g. for each data set; empty for one
        row. The plot's height is that of a row.
    """

    column: str
    title: Callable[[Any], str]
    has_common_x: bool = True
    rows: str = ""


@dataclass(frozen=True)
class Plot:
    """A plot of a section.

    Attributes
    ----------
    name
        Name of its files, `plots/<problem>/<name>.svg`; no two plots of a problem share one.
    data
        Exactly what is drawn. Without rows there is no plot.
    draw
        Draws data into axes, and labels what belongs into the legend. It gets all data, or with
        `panels` those of one panel. No text is taken for a formula, so logarithmic axes need
        `plain_log_ticks`.
    width, height
        Size of the figure without its legend, in inches.
    legend_is_above
        Whether the legend stands in the upper right corner instead of below the axes.
    instance
        Hash of the instance that is drawn, whose details then lead here; empty if it is not one.
    """

    name: str
    title: str
    caption: str
    data: pd.DataFrame
    draw: Callable[[pd.DataFrame, "Axes"], None]
    panels: Panels | None = None
    width: float = 7.4
    height: float = 3.4
    legend_is_above: bool = False
    instance: str = ""


def distinct_names(data: pd.DataFrame) -> "pd.Series[str]":
    """Return the names of instances, behind their data set where several have the same name.

    Parameters
    ----------
    data
        With columns `dataset` and `instance`.
    """
    several = data.groupby("instance")["dataset"].transform("nunique") > 1
    return data["instance"].where(~several, data["dataset"] + "/" + data["instance"])


def instance_plot(
    kind: str,
    row: Any,
    caption: str,
    data: pd.DataFrame,
    draw: Callable[[pd.DataFrame, "Axes"], None],
) -> Plot:
    """Return the plot of one instance: named after it, and where its details lead.

    Parameters
    ----------
    kind
        What the name of its files begins with, e.g. ``"partition"``.
    row
        With `instance`, `parameters` and `instance_sha256`.
    """
    title = f"{row.instance}, {row.parameters}"
    words = re.sub(r"[^a-z0-9]+", "_", title.lower()).strip("_")
    name = f"{kind}_{words}_{row.instance_sha256[:8]}"
    return Plot(name, title, caption, data, draw, instance=str(row.instance_sha256))


# An artist carries its words as its id into the SVG, where `page_svg` makes titles of them.
PREFIX = "hint:"

# Only the name is shown for lines with more marks.
MOST_MARKS = 100


def hint(artist: "Artist", text: str, marks: Sequence[str] = ()) -> None:
    """Set the hint of an artist.

    Parameters
    ----------
    marks
        What to show at each of a line's marks instead.
    """
    # Lines separate the texts, and matplotlib writes ids with these quotes in others.
    lines = [visible(one).replace("\n", " ").replace('"', "'") for one in (text, *marks)]
    artist.set_gid(PREFIX + "\n".join(lines))


def add_hints(axes: "Axes") -> None:
    """Add a hint to each series without one: its name, and the values of its marks and bars."""
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


# What an entry of a legend takes, at the size of text below.
LEGEND_MARK_INCHES, LEGEND_LETTER_INCHES, LEGEND_LINE_INCHES = 0.75, 0.075, 0.18
MOST_LEGEND_COLUMNS = 6

# About what stands left and right of the axes; the layout finds it out when all is drawn.
LEFT_INCHES, RIGHT_INCHES = 0.6, 0.2


@dataclass(frozen=True)
class Drawing:
    """A drawn plot, as SVG and perhaps as PNG.

    Attributes
    ----------
    png
        None if it was not asked for: it takes half as long as all the rest.
    """

    svg: str
    png: bytes | None


def drawing_of(plot: Plot, identifier: str, *, with_png: bool = False) -> Drawing:
    """Draw a plot; the ids within its SVG begin with an identifier."""
    with settings():
        figure = figure_of(plot)
        svg = page_svg(_svg(figure), identifier)
        if not with_png:
            return Drawing(svg, None)
        # What takes the most time, and would come to the same.
        figure.set_layout_engine("none")
        return Drawing(svg, _png(figure))


def figure_of(plot: Plot) -> "Figure":
    """Return the figure of a plot, with its panels and its legend."""
    # What draws takes long to import, and commands that show texts need none of it.
    from matplotlib.figure import Figure, SubplotParams

    margins = SubplotParams(
        left=LEFT_INCHES / plot.width, right=1 - RIGHT_INCHES / plot.width
    )  # Functions that draw read the width of the axes from here.
    size = (plot.width, plot.height)
    figure = Figure(figsize=size, layout="constrained", subplotpars=margins)
    if plot.panels is None:
        plot.draw(plot.data, figure.subplots())
    else:
        _draw_panels(plot, figure)
    for axes in figure.axes:
        add_hints(axes)
    _add_legend(plot, figure)
    _make_visible(figure)
    return figure


def _make_visible(figure: "Figure") -> None:
    """Write invisible characters in the figure's texts as escapes.

    Data and labels of series stay what they are: names are keys, and texts are for people.
    """
    from matplotlib.text import Text
    from matplotlib.ticker import FuncFormatter

    for axes in figure.axes:
        for axis in (axes.xaxis, axes.yaxis):
            # Names at ticks; the others are numbers.
            formatter = axis.get_major_formatter()
            if isinstance(formatter, FuncFormatter):
                axis.set_major_formatter(FuncFormatter(_visibly(formatter.func)))
    for text in figure.findobj(Text):
        assert isinstance(text, Text)
        text.set_text(visible(text.get_text()))


def _visibly(name: Callable[..., str]) -> Callable[..., str]:
    """Return a function that writes invisible characters as escapes."""
    return lambda *args: visible(name(*args))


def _draw_panels(plot: Plot, figure: "Figure") -> None:
    assert plot.panels is not None
    column = plot.data[plot.panels.column]
    is_text = column.map(lambda value: isinstance(value, str)).any()
    values: list[Any] = natural_order(column) if is_text else sorted(set(column))
    of_row = plot.data[plot.panels.rows] if plot.panels.rows else pd.Series("", plot.data.index)
    rows = natural_order(of_row)
    figure.set_figheight(plot.height * len(rows))
    all_axes = figure.subplots(
        len(rows), len(values), sharex=plot.panels.has_common_x, sharey=True, squeeze=False
    )
    for (row, value), axes in zip(itertools.product(rows, values), all_axes.flat, strict=True):
        title = plot.panels.title(value)
        axes.set_title(f"{row}, {title}" if len(rows) > 1 else title)
        plot.draw(plot.data[(of_row == row) & (column == value)], axes)
        axes.label_outer()


def _add_legend(plot: Plot, figure: "Figure") -> None:
    handles: dict[str, Any] = {}
    for axes in figure.axes:
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
            handles.setdefault(label, handle)
    labels = list(handles) if plot.panels is None else natural_order(handles)
    if not labels:
        return
    shown = [handles[label] for label in labels]
    if plot.legend_is_above:
        figure.legend(
            shown, labels, loc="outside upper right", ncols=len(labels), handlelength=1.2,
            fontsize=8.5,
        )  # fmt: skip
        return
    widest = LEGEND_MARK_INCHES + LEGEND_LETTER_INCHES * max(map(len, labels))
    columns = max(1, min(MOST_LEGEND_COLUMNS, len(labels), int(plot.width / widest)))
    height = figure.get_figheight()
    figure.set_figheight(height + LEGEND_LINE_INCHES * -(-len(labels) // columns))
    figure.legend(shown, labels, loc="outside lower center", ncols=columns)


def _svg(figure: "Figure") -> str:
    """Return the figure as matplotlib writes it."""
    buffer = io.StringIO()
    figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
    return buffer.getvalue()


def _png(figure: "Figure") -> bytes:
    """Return the figure as PNG on white."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=160, facecolor="white", metadata={"Software": None})
    return buffer.getvalue()


# Matplotlib escapes these characters in texts and in attributes: a tag ends where it seems to.
TAG = re.compile(r"<[^>]+>")

HINTED = re.compile(rf'<g id="{PREFIX}([^"]*)">(.*?)(?=<g id="|\Z)', re.DOTALL)
MARK = re.compile(r"(<use [^>]*)/>")
COORDINATES = re.compile(r'(?<= )([dxy])="([^"]*)"')
STYLE = re.compile(r' style="([^"]*)"')
ID = re.compile(r' id="([^"]*)"')
REFERENCE = re.compile(r'(url\(#|href="#)([^")]*)')

# A hundredth of a point is not seen.
LONG_DECIMAL = re.compile(r"-?\d*\.\d{3,}")

# A style that is used less often takes no more room where it is.
LEAST_USES = 3


def page_svg(written: str, identifier: str) -> str:
    """Return a figure as SVG that takes its ink from the page and shows its hints.

    Parameters
    ----------
    written
        By matplotlib, without metadata.
    identifier
        What the ids within the SVG are to begin with.
    """
    text = written[written.index("<svg") :].replace(INK, "currentColor")
    text = re.sub(r"\s*<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    text = re.sub(r"\n\s*", "\n", text)
    text = HINTED.sub(_with_titles, text)
    uses = Counter(style for tag in TAG.findall(text) for style in STYLE.findall(tag))
    classes = {
        style: f"p{at}" for at, style in enumerate(s for s, n in uses.items() if n >= LEAST_USES)
    }
    wanted = {name for tag in TAG.findall(text) for _, name in REFERENCE.findall(tag)}

    def tidied(found: re.Match[str]) -> str:
        tag = COORDINATES.sub(_rounded, found[0])
        tag = STYLE.sub(lambda style: _class(style, classes), tag)
        tag = ID.sub(lambda name: f' id="{identifier}-{name[1]}"' if name[1] in wanted else "", tag)
        return REFERENCE.sub(rf"\g<1>{identifier}-\g<2>", tag)

    # Only of this figure: others of the page have classes of the same names.
    rules = "".join(
        f'[id="{identifier}-figure"] .{name}{{{style}}}' for style, name in classes.items()
    )
    text = TAG.sub(tidied, text)
    text = text.replace("</style>", f"{rules}</style>", 1)
    return text.replace("<svg ", f'<svg id="{identifier}-figure" ', 1)


def _with_titles(group: re.Match[str]) -> str:
    """Return a group with its title, and titles of its marks if there is one for each."""
    text, *marks = group[1].split("\n")
    content = group[2]
    if marks and len(MARK.findall(content)) == len(marks):
        titles = iter(marks)
        content = MARK.sub(lambda use: f"{use[1]}><title>{next(titles)}</title></use>", content)
    return f"<g><title>{text}</title>{content}"


def _class(style: re.Match[str], classes: dict[str, str]) -> str:
    name = classes.get(style[1])
    return f' class="{name}"' if name else style[0]


def _rounded(attribute: re.Match[str]) -> str:
    numbers = LONG_DECIMAL.sub(
        lambda one: f"{float(one[0]):.2f}".rstrip("0").rstrip("."), attribute[2]
    )
    return f'{attribute[1]}="{numbers}"'
