import xml.etree.ElementTree as ET

import pytest

from boundmark.benchmarks.cli.graph_drawing import MOST_KINDS, OTHER, Picture, kinds, to_dot, to_svg
from boundmark.problems.dag import Dag
from boundmark.problems.graph_layout import LEVELS_PER_STRIP, layered

SVG = "{http://www.w3.org/2000/svg}"

DIAMOND = Dag.from_edges(4, [(0, 1), (0, 2), (1, 3), (2, 3)])


def picture(*, are_parts: bool = False, label: str = "Conv") -> Picture:
    """Return the picture of a diamond, whose first two nodes are of one group."""
    names = [f"n{v} <&\"'>" for v in range(4)]
    return Picture(DIAMOND, [label] * 4, names, ["s 0", "s 0", "s 1", "s 1"], are_parts)


def test_svg_has_everything() -> None:
    """It is XML with a box and a hint for each node, a line for each edge, and a legend."""
    root = ET.fromstring(to_svg(picture()))
    assert [title.text for title in root.iter(f"{SVG}title")] == [f"n{v} <&\"'>" for v in range(4)]
    assert len(list(root.iter(f"{SVG}path"))) == 4
    texts = [text.text for text in root.iter(f"{SVG}text")]
    assert texts[:2] == ["s 0", "s 1"]
    assert texts[2:] == ["Conv"] * 4


def test_boxes_do_not_overlap() -> None:
    """Nodes of a row stand side by side, consumers below producers."""
    layout = layered(DIAMOND)
    assert layout.rows == [0, 1, 1, 2]
    assert abs(layout.columns[1] - layout.columns[2]) >= 1
    assert len(set(zip(layout.columns, layout.rows, strict=True))) == 4
    assert min(layout.columns) >= 0


def test_long_graphs_are_folded() -> None:
    """A chain continues in a second strip to the right, at the top."""
    nodes = LEVELS_PER_STRIP + 3
    layout = layered(Dag.from_edges(nodes, [(v, v + 1) for v in range(nodes - 1)]))
    assert layout.rows[LEVELS_PER_STRIP] == 0
    assert layout.columns[LEVELS_PER_STRIP] > layout.columns[0]
    assert layout.height == LEVELS_PER_STRIP


def test_transfers_stand_out() -> None:
    """Of the parts of a solution, lines between two are drawn differently."""
    plain, parts = to_svg(picture()), to_svg(picture(are_parts=True))
    assert plain.count('stroke-width="2"') == 0
    # 0 -> 2 and 1 -> 3.
    assert parts.count('stroke-width="2"') == 2
    assert to_dot(picture(are_parts=True)).count("penwidth") == 2


def test_dot() -> None:
    """Nodes, edges, and texts with quotes as graphviz wants them."""
    text = to_dot(picture(label='a "b" \\ c'))
    assert text.startswith("digraph")
    assert text.count(" -> ") == 4
    assert r'label="a \"b\" \\ c"' in text


@pytest.mark.parametrize("label", ["\x00\x1b[31m", "x" * 99])
def test_odd_labels(label: str) -> None:
    """Control characters and long texts spoil no file."""
    ET.fromstring(to_svg(picture(label=label)))


def test_rare_kinds_share_a_colour() -> None:
    """Of many kinds the most frequent ones have a colour each."""
    many = [f"k{number}" for number in range(30)] + ["k0"] * 5
    assert len(set(kinds(many))) == MOST_KINDS + 1
    assert kinds(many)[0] == "k0"
    assert OTHER in kinds(many)


def test_colours_differ() -> None:
    """Sixteen stages have sixteen colours, in the order of the stages."""
    dag = Dag.from_edges(16, [])
    names = [f"stage {v}" for v in range(16)]
    colours = Picture(dag, names, names, names[::-1], are_parts=True).colours()
    assert len(set(colours.values())) == 16
    assert list(colours) == names
