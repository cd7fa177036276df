"""`python -m boundmark.datasets.zoo.export`: make the graphs of the zoo anew."""

import hashlib
import json
import platform
import sys
import time
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import click

from boundmark.datasets.readers.graph_file import GraphOrigin, to_parquet
from boundmark.datasets.readers.torch_export.graph_module import to_graph
from boundmark.datasets.zoo.export import own, published
from boundmark.datasets.zoo.export.recipe import Recipe, exported
from boundmark.problems.errors import InvalidInputError

RECIPES = (*published.RECIPES, *own.RECIPES, *published.TRAINING)


PACKAGES = ("torch", "torchvision", "transformers")


@click.command()
@click.argument("names", nargs=-1)
@click.option(
    "--out", type=click.Path(path_type=Path), default=Path(__file__).parent.parent / "data"
)
def main(names: tuple[str, ...], out: Path) -> None:
    """Write the graphs of the named recipes, or of all."""
    recipes = {recipe.name: recipe for recipe in RECIPES}
    failed = False
    for name in names or recipes:
        start = time.perf_counter()
        try:
            line = write(recipes[name], out)
        except Exception as error:
            failed = True
            line = f"{name}: {type(error).__name__}: {error}"
        click.echo(f"{line} ({time.perf_counter() - start:.1f} s)")
    sys.exit(int(failed))


def write(recipe: Recipe, out: Path) -> str:
    """Write one graph and its line of the index, and return a summary."""
    result = exported(recipe)
    graph = to_graph(result.program, result.prefix)
    if graph.notes:
        # A published graph with guessed operations would be worth less than none.
        raise InvalidInputError(graph.notes[0])
    origin = GraphOrigin(recipe.source, dict(recipe.configuration), versions(), result.parameters)
    content = to_parquet(graph, origin)
    out.mkdir(parents=True, exist_ok=True)
    (out / f"{recipe.name}.parquet").write_bytes(content)
    index = out / "index.json"
    entries = json.loads(index.read_text()) if index.exists() else {}
    entries[recipe.name] = {
        "sha256": hashlib.sha256(content).hexdigest(),
        "source": recipe.source,
        "nodes": graph.dag.nodes,
        "edges": graph.dag.edges,
        "flops": int(graph.flops.sum()),
        "parameters": result.parameters,
    }
    order = [recipe.name for recipe in RECIPES]
    known = {name: entries[name] for name in order if name in entries}
    index.write_text(json.dumps(known, indent=1) + "\n")
    return (
        f"{recipe.name}: {graph.dag.nodes} nodes, {graph.dag.edges} edges, "
        f"{graph.flops.sum() / 1e9:.4f} GFLOPs, {result.parameters / 1e6:.3f} Mparams, "
        f"{len(content)} bytes, {graph.dtype}"
    )


def versions() -> dict[str, str]:
    """Return the versions of Python and of the packages that the models come from."""
    found = {"python": platform.python_version()}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


if __name__ == "__main__":
    main()
