"""Draws a graph: its layers, and its nodes and edges as SVG or DOT."""

import colorsys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from boundmark.problems.dag import Dag
from boundmark.problems.graph_layout import layered

# More kinds of operators than these share one colour.
MOST_KINDS = 11

OTHER = "other"

# Between hues of neighbouring stages, as a part of the circle: no two soon look alike.
GOLDEN_RATIO = 0.381966


@dataclass(frozen=True)
class Picture:
    """A graph with the texts of its boxes.

    Attributes
    ----------
    labels
        Short, one for each node, e.g. its operator's type.
    hints
        What to show when pointed at, e.g. the operator's name.
    groups
        What each node belongs to: its stage, or its kind of operator. A node's colour.
    are_parts
        Whether groups are parts of a solution, so that lines between them are transfers.
    """

    dag: Dag
    labels: Sequence[str]
    hints: Sequence[str]
    groups: Sequence[str]
    are_parts: bool = False

    def colours(self) -> dict[str, str]:
        """Return the colour of each group, the order being that of a legend."""
        if self.are_parts:
            order = sorted(set(self.groups), key=lambda name: (len(name), name))
        else:
            order = [name for name, _ in Counter(self.groups).most_common()]
        return {name: _colour(at) for at, name in enumerate(order)}


def kinds(op_types: Sequence[str]) -> list[str]:
    """Return the operators' types, the rare ones as ``"other"``."""
    usual = {name for name, _ in Counter(op_types).most_common(MOST_KINDS)}
    return [name if name in usual else OTHER for name in op_types]


def _colour(at: int) -> str:
    red, green, blue = colorsys.hls_to_rgb(0.58 + at * GOLDEN_RATIO, 0.78 - 0.1 * (at % 3), 0.55)
    return f"#{round(red * 255):02x}{round(green * 255):02x}{round(blue * 255):02x}"


def to_dot(picture: Picture) -> str:
    """Return a directed graph with the boxes and lines of a picture; `dot -Tpdf` draws it."""
    colours = picture.colours()
    lines = [
        "digraph model {",
        '  node [shape=box, style="rounded,filled", fontname="sans-serif"];',
    ]
    for node, group in enumerate(picture.groups):
        lines.append(
            f"  n{node} [label={_quoted(picture.labels[node])}, "
            f"tooltip={_quoted(picture.hints[node])}, fillcolor={_quoted(colours[group])}];"
        )
    for tail, head in picture.dag.edge_pairs().tolist():
        crosses = picture.are_parts and picture.groups[tail] != picture.groups[head]
        lines.append(
            f"  n{tail} -> n{head}" + (' [color="#c03028", penwidth=2];' if crosses else ";")
        )
    return "\n".join([*lines, "}", ""])


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


# In pixels.
COLUMN, ROW, BOX_WIDTH, BOX_HEIGHT = 104, 34, 92, 18
MARGIN = 16
LEGEND_COLUMN, LEGEND_ROW, LEGEND_COLUMNS = 140, 18, 4

# Characters that fit into a box.
LONGEST_LABEL = 15

# What XML 1.0 cannot hold, however it is written.
_FORBIDDEN = dict.fromkeys((*range(9), 11, 12, *range(14, 32), 127), "?")


def to_svg(picture: Picture) -> str:
    """Return a picture with a box for each node, its name when pointed at, and a legend."""
    layout = layered(picture.dag)
    colours = picture.colours()
    legend_rows = -(-len(colours) // LEGEND_COLUMNS)
    top = 2 * MARGIN + legend_rows * LEGEND_ROW
    width = max(layout.width * COLUMN, min(len(colours), LEGEND_COLUMNS) * LEGEND_COLUMN)
    width, height = width + 2 * MARGIN, top + layout.height * ROW + MARGIN
    lefts = [MARGIN + column * COLUMN for column in layout.columns]
    tops = [top + row * ROW for row in layout.rows]
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:g}" height="{height:g}" '
        f'viewBox="0 0 {width:g} {height:g}" font-family="sans-serif" font-size="10">',
        '<rect width="100%" height="100%" fill="white"/>',
        *_legend(colours),
        '<g fill="none" stroke="#888">',
    ]
    for tail, head in picture.dag.edge_pairs().tolist():
        start = (lefts[tail] + BOX_WIDTH / 2, tops[tail] + BOX_HEIGHT)
        end = (lefts[head] + BOX_WIDTH / 2, tops[head])
        style = ""
        if picture.are_parts and picture.groups[tail] != picture.groups[head]:
            style = ' stroke="#c03028" stroke-width="2"'
        if layout.strips[tail] != layout.strips[head]:
            style += ' stroke-dasharray="4 4"'
        lines.append(f'<path d="{_curve(start, end)}"{style}/>')
    lines.append('</g><g stroke="#555" stroke-width="0.5">')
    for node, group in enumerate(picture.groups):
        lines.append(
            f'<rect x="{lefts[node]:g}" y="{tops[node]:g}" width="{BOX_WIDTH}" '
            f'height="{BOX_HEIGHT}" rx="4" fill="{colours[group]}">'
            f"<title>{_text(picture.hints[node])}</title></rect>"
        )
    lines.append('</g><g text-anchor="middle" pointer-events="none">')
    for node, label in enumerate(picture.labels):
        short = label if len(label) <= LONGEST_LABEL else f"{label[: LONGEST_LABEL - 2]}.."
        x, y = lefts[node] + BOX_WIDTH / 2, tops[node] + BOX_HEIGHT - 5
        lines.append(f'<text x="{x:g}" y="{y:g}">{_text(short)}</text>')
    return "\n".join([*lines, "</g></svg>", ""])


def _curve(start: tuple[float, float], end: tuple[float, float]) -> str:
    bend = max(10.0, abs(end[1] - start[1]) / 3)
    return (
        f"M{start[0]:g} {start[1]:g}C{start[0]:g} {start[1] + bend:g} "
        f"{end[0]:g} {end[1] - bend:g} {end[0]:g} {end[1]:g}"
    )


def _legend(colours: dict[str, str]) -> list[str]:
    lines = []
    for at, (name, colour) in enumerate(colours.items()):
        x = MARGIN + at % LEGEND_COLUMNS * LEGEND_COLUMN
        y = MARGIN + at // LEGEND_COLUMNS * LEGEND_ROW
        lines.append(
            f'<rect x="{x}" y="{y}" width="12" height="12" fill="{colour}" stroke="#555"/>'
            f'<text x="{x + 18}" y="{y + 10}">{_text(name)}</text>'
        )
    return lines


def _text(text: str) -> str:
    return escape(text.translate(_FORBIDDEN))
