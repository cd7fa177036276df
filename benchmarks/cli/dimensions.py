"""The option `--dim NAME=SIZE`."""

import click


def read_dims(
    context: click.Context, parameter: click.Parameter, value: tuple[str, ...]
) -> dict[str, int]:
    """Return the sizes of open dimensions by name."""
    found: dict[str, int] = {}
    for text in value:
        name, separator, size = text.rpartition("=")
        if not separator or not name or not size.isascii() or not size.isdecimal():
            raise click.BadParameter(f"{text!r}; expected NAME=SIZE, e.g. batch=8.")
        if len(size) > 10:
            raise click.BadParameter(f"{text!r:.80}; expected a size of at most ten digits.")
        if name in found:
            raise click.BadParameter(f"{name!r} is given twice; expected one size.")
        found[name] = int(size)
    return found


dim_option = click.option(
    "--dim", "dims", multiple=True, metavar="NAME=SIZE", callback=read_dims,
    help="Size of a dimension that the model leaves open, 1 if not given; may be repeated.",
)  # fmt: skip
