"""Make the table of published language models in docs/datasets.md anew.

    python docs/tables/language_models.py

Columns are computed from the configurations that come with the package, but for the parameters
that the authors state.
"""

from collections.abc import Iterator

from results_page import DOCS, make_page, markdown

from boundmark.datasets.layers.language_models import load, published
from boundmark.datasets.layers.transformer import Transformer

HEAD = (
    "model", "source", "stated, billions", "read, billions", "active", "weights, GB",
    "cache for a token, KiB", "bounded cache of a sequence, MiB",
)  # fmt: skip


def table() -> str:
    """Return one row per model, as Markdown."""
    return markdown(HEAD, rows(), 2)


def rows() -> Iterator[tuple[str, ...]]:
    """Yield the row of each model."""
    for name, entry in published().items():
        model = load(name)
        assert isinstance(model, Transformer)
        totals, source = model.totals, entry["source"]
        yield (
            f"`{name}`",
            f"[{source}](https://huggingface.co/{source})",
            " / ".join(f"{number:,}" for number in entry["billions"]),
            f"{totals.parameters / 1e9:,.3f}",
            f"{totals.active / 1e9:,.2f}" if totals.active < totals.parameters else "",
            f"{totals.size / 1e9:,.2f}",
            "" if totals.cache is None else f"{totals.cache / 2**10:,.4g}",
            f"{totals.state / 2**20:,.4g}" if totals.state else "",
        )


if __name__ == "__main__":
    make_page(DOCS / "datasets.md", lambda: {"language-models": table()})
