"""The table in docs/zoo.md; `python tests/datasets/zoo/test_documentation.py` prints it."""

from pathlib import Path

from boundmark.datasets.zoo import index

DOCUMENTATION = Path(__file__).parents[3] / "docs" / "zoo.md"


def table() -> str:
    """Return the table of all graphs as Markdown."""
    lines = [
        "| graph | nodes | edges | GFLOPs | Mweights | source |",
        "|---|---:|---:|---:|---:|---|",
    ]
    for name, entry in index().items():
        lines.append(
            f"| {name} | {entry['nodes']:,} | {entry['edges']:,} | {entry['flops'] / 1e9:,.3f} "
            f"| {entry['parameters'] / 1e6:,.3f} | {entry['source']} |"
        )
    return "\n".join(lines)


def test_the_table_is_up_to_date() -> None:
    """The documentation lists every graph with the figures of the index."""
    assert table() in DOCUMENTATION.read_text()


if __name__ == "__main__":
    print(table())
