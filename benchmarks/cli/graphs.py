"""`boundmark datasets show` and `export`: a graph's facts, picture and file."""

import json
import textwrap
from pathlib import Path
from typing import Any

import click

from boundmark.benchmarks.cli.listing import as_json
from boundmark.benchmarks.cli.options import FILE, PATH, dim_option

LABEL_WIDTH = 12

# Kinds of operators that are counted on the page; JSON has all.
MOST_TYPES = 8

# Inputs and results likewise; those of a step of training are the gradients of all weights.
MOST_TENSORS = 8


@click.command("show")
@click.argument("name", metavar="NAME|FILE")
@dim_option
@as_json
@click.option(
    "--draw", "picture_file", metavar="FILE", type=FILE,
    help="Draw the graph into this .svg or .dot file, coloured by type of operator, or by "
    "--solution.",
)  # fmt: skip
@click.option(
    "--solution", metavar="FILE", type=PATH,
    help="Colour the operators by their stages or devices in this solution, a file that "
    "`evaluate` reads.",
)  # fmt: skip
@click.option(
    "--problem",
    metavar="NAME",
    help="Problem that --solution solves; by default, the first that suits the graph.",
)
def show(
    name: str,
    dims: dict[str, int],
    as_json: bool,
    picture_file: Path | None,
    solution: Path | None,
    problem: str | None,
) -> None:
    """Print properties of a graph or language model.

    Graphs are drawn as well.

    NAME is a data set's member, e.g. zoo/bert-base; FILE is one that `solve` reads.
    """
    from boundmark.benchmarks.cli.graph_drawing import (
        Described,
        described_facts,
        facts,
        graph_of,
        picture,
        to_dot,
        to_svg,
    )
    from boundmark.datasets.resolve import load_source
    from boundmark.problems.errors import InvalidInputError
    from boundmark.reports.stored.durable import write_durably

    forms = {".svg": to_svg, ".dot": to_dot}
    if picture_file is not None and picture_file.suffix.lower() not in forms:
        raise InvalidInputError(
            f"{picture_file} has the suffix {picture_file.suffix!r}; expected .svg or .dot."
        )
    if solution is not None and picture_file is None:
        raise InvalidInputError("--solution colours a picture; expected --draw FILE with it.")
    source = load_source(name, dims)
    if isinstance(source, Described) and picture_file is None:
        found = described_facts(name, source)
        click.echo(json.dumps(found, indent=2)) if as_json else _print_described(found)
        return
    graph = graph_of(name, source)
    found = facts(name, graph)
    if picture_file is not None:
        content = forms[picture_file.suffix.lower()](picture(graph, solution, problem))
        write_durably(picture_file, content.encode())
        found["picture"] = str(picture_file)
    if as_json:
        click.echo(json.dumps(found, indent=2))
    else:
        _print(found)


def _print_described(found: dict[str, Any]) -> None:
    """Print what a model says of itself, one fact per line or paragraph."""
    _say("model", found["name"])
    for label, text in found.items():
        if label not in ("name", "notes", "origin"):
            _say(label, text)
    if "source" in found.get("origin", {}):
        _say("source", found["origin"]["source"])
    for note in found["notes"]:
        _say("note", note)


def _print(found: dict[str, Any]) -> None:
    """Print the facts, one per line or paragraph."""
    origin = found.get("origin", {})
    _say("graph", found["name"])
    if "source" in origin:
        _say("source", origin["source"])
    if origin.get("configuration"):
        _say(
            "set to", ", ".join(f"{key} {_plain(x)}" for key, x in origin["configuration"].items())
        )
    if origin.get("versions"):
        _say("made with", ", ".join(f"{key} {x}" for key, x in origin["versions"].items()))
    _say("size", f"{found['nodes']:,} nodes, {found['edges']:,} edges")
    _say("shape", f"depth {found['depth']:,}, width {found['width']:,}")
    number = found["down_sets"]
    text = f"{number:,}" if isinstance(number, int) else _rounded(number)
    _say("down-sets", text if found["down_sets_exact"] else f"at least {text}")
    if "flops" in found:
        _say("arithmetic", f"{found['flops'] / 1e9:,.3f} GFLOPs, mostly {found['dtype']}")
        megabytes = found["parameter_bytes"] / 2**20
        _say("parameters", f"{found['parameters'] / 1e6:,.3f} million, {megabytes:,.1f} MiB")
        _say("tensors", f"{found['output_bytes'] / 2**20:,.1f} MiB written by operators")
        for label in ("inputs", "results"):
            each = [f"{name} {shape}" for name, shape in found[label].items()]
            more = [f"{len(each) - MOST_TENSORS} more"] if len(each) > MOST_TENSORS else []
            _say(label, ", ".join(each[:MOST_TENSORS] + more))
        often = [f"{count} {kind}" for kind, count in found["operators"].items()]
        more = [f"{len(often) - MOST_TYPES} more kinds"] if len(often) > MOST_TYPES else []
        _say("operators", ", ".join(often[:MOST_TYPES] + more))
        for note in found["notes"]:
            _say("note", note)
    if "picture" in found:
        _say("picture", found["picture"])


def _say(label: str, text: str) -> None:
    from boundmark.problems.errors import printable

    first = f"{label:{LABEL_WIDTH}}"
    indent = " " * LABEL_WIDTH
    click.echo(
        textwrap.fill(
            printable(text), 80, initial_indent=first, subsequent_indent=indent,
            break_long_words=False, break_on_hyphens=False,
        )
    )  # fmt: skip


def _plain(value: Any) -> str:
    if isinstance(value, dict):
        return "(" + ", ".join(f"{key} {_plain(x)}" for key, x in value.items()) + ")"
    return str(value)


def _rounded(digits: str) -> str:
    """Return a large number in powers of ten, rounded down."""
    return f"{digits[0]}.{digits[1:3]}e{len(digits) - 1}"


@click.command("export")
@click.argument("name", metavar="NAME|FILE")
@click.argument("out", metavar="OUT", type=FILE)
@dim_option
@click.option("--quiet", is_flag=True, help="Do not print what was written.")
def export_graph(name: str, out: Path, dims: dict[str, int], quiet: bool) -> None:
    """Write a model's graph into a .json file.

    boundmark reads the same graph back from that file, OUT. NAME is a data set's member, e.g.
    zoo/bert-base; FILE is one that `solve` reads. Pictures come from `boundmark datasets show NAME
    --draw`, instances with costs from `boundmark solve --out`.
    """
    from boundmark.benchmarks.cli.graph_drawing import origin_of
    from boundmark.datasets.readers.graph_file import GraphOrigin, to_json
    from boundmark.datasets.resolve import load_source
    from boundmark.problems.computation_graph import ComputationGraph
    from boundmark.problems.errors import InvalidInputError
    from boundmark.reports.stored.durable import write_durably

    if out.suffix.lower() != ".json":
        raise InvalidInputError(f"{out} has the suffix {out.suffix!r}; expected .json.")
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
        parameters=known.get("weights", graph.parameter_count),
    )
    write_durably(out, to_json(graph, origin).encode())
    if not quiet:
        click.echo(f"{out}: {graph.dag.nodes:,} operators, {len(graph.tensors):,} tensors")
