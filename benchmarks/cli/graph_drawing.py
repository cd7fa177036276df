"""Describe graphs, their size, shape and operators, and draw them as SVG or DOT."""

import colorsys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from boundmark.benchmarks.solving.solution_file import numbered_rows, read_solution_file
from boundmark.problems.catalog import datasets, problems
from boundmark.problems.computation_graph import ComputationGraph
from boundmark.problems.dag import Dag
from boundmark.problems.errors import InvalidInputError, find, quoted
from boundmark.problems.files import naming
from boundmark.problems.graph_layout import layered
from boundmark.problems.graph_statistics import depth, down_sets, width
from boundmark.problems.problem import Instance

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
    columns = max(layout.width * COLUMN, min(len(colours), LEGEND_COLUMNS) * LEGEND_COLUMN)
    across, height = columns + 2 * MARGIN, top + layout.height * ROW + MARGIN
    lefts = [MARGIN + column * COLUMN for column in layout.columns]
    tops = [top + row * ROW for row in layout.rows]
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{across:g}" height="{height:g}" '
        f'viewBox="0 0 {across:g} {height:g}" font-family="sans-serif" font-size="10">',
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


@runtime_checkable
class NamedGraph(Protocol):
    """A graph whose nodes have names."""

    @property
    def dag(self) -> Dag:
        """Nodes and edges."""

    @property
    def names(self) -> tuple[str, ...]:
        """The nodes' names, by number."""


def graph_of(name: str, source: Any) -> NamedGraph:
    """Return the graph in a file, in a data set's member or of an instance."""
    inner = getattr(source, "graph", None) if isinstance(source, Instance) else source
    if isinstance(inner, NamedGraph):
        return inner
    raise InvalidInputError(f"{name} is a {type(source).__name__}; expected a graph.")


def facts(name: str, graph: NamedGraph) -> dict[str, Any]:
    """Return a graph's facts by name, as JSON values; more for a `ComputationGraph` or a member."""
    counted = down_sets(graph.dag)
    found: dict[str, Any] = {
        "name": name,
        "nodes": graph.dag.nodes,
        "edges": graph.dag.edges,
        "depth": depth(graph.dag),
        "width": width(graph.dag),
        # More digits than JSON readers keep.
        "down_sets": counted.number if counted.number < 2**53 else str(counted.number),
        "down_sets_exact": counted.is_exact,
    }
    if isinstance(graph, ComputationGraph):
        found |= _of_computation(graph)
    origin = origin_of(name)
    return found | ({"origin": origin} if origin else {})


@runtime_checkable
class Described(Protocol):
    """A model that says of itself what people ask, such as a language model's configuration."""

    notes: tuple[str, ...]

    def describe(self) -> dict[str, str]:
        """Return facts in words, by what they are called."""


def described_facts(name: str, model: Described) -> dict[str, Any]:
    """Return the facts of a model that describes itself."""
    described = model.describe()
    if not described:
        raise InvalidInputError(f"{name} is a {type(model).__name__}; expected a graph.")
    origin = origin_of(name)
    found = {"name": name, **described, "notes": list(model.notes)}
    return found | ({"origin": origin} if origin else {})


def origin_of(name: str) -> dict[str, Any]:
    """Return the origin of a data set's member; empty for files."""
    dataset, _, member = name.partition("/")
    if dataset not in datasets() or Path(name).exists():
        return {}
    return dict(find("data set", dataset, datasets()).about(member))


def _of_computation(graph: ComputationGraph) -> dict[str, Any]:
    weights = [graph.tensors[number] for number in graph.parameters]
    return {
        "dtype": graph.dtype,
        "flops": int(graph.flops.sum()),
        "parameters": graph.parameter_count,
        "parameter_bytes": sum(tensor.bytes for tensor in weights),
        "output_bytes": int(graph.output_bytes.sum()),
        "inputs": {graph.tensors[x].name: _in_words(graph, x) for x in graph.inputs},
        "results": {graph.tensors[x].name: _in_words(graph, x) for x in graph.results},
        "operators": dict(Counter(graph.op_types).most_common()),
        "notes": list(graph.notes),
    }


def _in_words(graph: ComputationGraph, number: int) -> str:
    tensor = graph.tensors[number]
    return f"{tensor.dtype}{list(tensor.shape)}"


def picture(graph: NamedGraph, solution: Path | None = None, problem: str | None = None) -> Picture:
    """Return the nodes and edges that a drawing of a graph shows."""
    labels: Sequence[str] = graph.names
    groups: Sequence[str] = ["node"] * len(graph.names)
    hints: Sequence[str] = graph.names
    if isinstance(graph, ComputationGraph):
        labels, groups = graph.op_types, kinds(graph.op_types)
        counted = zip(graph.names, graph.flops.tolist(), strict=True)
        hints = [f"{name} ({flops:,} operations)" for name, flops in counted]
    if solution is not None:
        groups = _parts(graph, solution, problem or next(iter(problems())))
    return Picture(graph.dag, labels, hints, groups, are_parts=solution is not None)


def _parts(graph: NamedGraph, path: Path, name: str) -> list[str]:
    """Return the stage or device of each node, as text."""
    chosen = find("problem", name, problems())
    table = chosen.table
    if table is None or len(table.columns) != 2:
        raise InvalidInputError(
            f"solutions of problem {name!r} do not say of each operator where it is; "
            "expected those of another problem."
        )
    with naming(path):
        found = read_solution_file(path, table)
        if isinstance(found, Mapping):
            rows = list(table.rows(chosen.solution_from_json(found)))
            if len(rows) != len(graph.names):
                raise InvalidInputError(
                    f"the solution has {len(rows)} rows; expected one for each of the "
                    f"{len(graph.names)} nodes."
                )
        else:
            # Without an instance, devices are called what the file calls them.
            called = tuple(dict.fromkeys(str(row[-1]) for row in found))
            is_named = any(not text.isdecimal() for text in called)
            named = {table.columns[-1]: called} if is_named else {}
            rows = numbered_rows(found, graph.names, table, named)
            if is_named:
                return [f"{table.columns[-1]} {called[part]}" for _, part in sorted(rows)]
    parts = {row[0]: f"{table.columns[-1]} {row[-1]}" for row in rows}
    if len(parts) != len(graph.names):
        raise InvalidInputError(f"{quoted(str(path))} has no {table.columns[-1]} for some nodes.")
    return [parts[node] for node in range(len(graph.names))]
