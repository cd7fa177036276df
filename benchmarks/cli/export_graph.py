"""`boundmark datasets export`: a graph as a file that other programs, and boundmark, read."""

from pathlib import Path

import click

from boundmark.benchmarks.cli.dimensions import dim_option


@click.command("export")
@click.argument("name", metavar="NAME|FILE")
@click.argument("out", metavar="OUT", type=click.Path(path_type=Path, dir_okay=False))
@dim_option
@click.option("--quiet", is_flag=True, help="Print nothing.")
def export_graph(name: str, out: Path, dims: dict[str, int], quiet: bool) -> None:
    """Write a model's graph into a .json or .parquet file, from which it is read back the same.

    NAME is a data set's member, e.g. zoo/bert-base; a FILE is one that `solve` reads. Pictures come
    from `boundmark datasets show NAME --draw`, instances with costs from `boundmark solve --out`.
    """
    from boundmark.benchmarks.graph_facts import origin_of
    from boundmark.datasets import graph_file, graph_json
    from boundmark.datasets.graph_rows import GraphOrigin
    from boundmark.datasets.resolve import load_source
    from boundmark.problems.computation_graph import ComputationGraph
    from boundmark.problems.errors import InvalidInputError
    from boundmark.reports.stored.durable import write_durably

    if out.suffix.lower() not in (".json", ".parquet"):
        raise InvalidInputError(f"{out} has the suffix {out.suffix!r}; expected .json or .parquet.")
    graph = load_source(name, dims)
    if not isinstance(graph, ComputationGraph):
        raise InvalidInputError(
            f"{name} is a {type(graph).__name__}; expected a model whose costs depend on a device."
        )
    known = origin_of(name)
    origin = GraphOrigin(
        source=known.get("source", name),
        configuration=known.get("configuration", dims),
        versions=known.get("versions", {}),
        parameters=known.get(
            "weights", sum(graph.tensors[number].elements for number in graph.parameters)
        ),
    )
    if out.suffix.lower() == ".json":
        content = graph_json.to_json(graph, origin).encode()
    else:
        content = graph_file.to_parquet(graph, origin)
    write_durably(out, content)
    if not quiet:
        click.echo(f"{out}: {graph.dag.nodes:,} operators, {len(graph.tensors):,} tensors")
