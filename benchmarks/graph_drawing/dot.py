"""Graphs in the language of graphviz."""

from boundmark.benchmarks.graph_drawing.picture import Picture


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
