"""`boundmark export`: a certificate in a format that third-party programs check."""

from pathlib import Path

import click


@click.command()
@click.argument("instance", metavar="INSTANCE.json", type=click.Path(path_type=Path))
@click.argument("certificate", metavar="CERTIFICATE.json", type=click.Path(path_type=Path))
@click.argument("out", metavar="OUT.vipr", type=click.Path(path_type=Path, dir_okay=False))
@click.option("--quiet", is_flag=True, help="Print nothing.")
def export(instance: Path, certificate: Path, out: Path, quiet: bool) -> None:
    """Write a certificate of kind mip-tree/1 as a VIPR file.

    The certificate is checked first. Programs such as viprchk confirm the file's bound.
    """
    import io

    from boundmark.bounds import checker
    from boundmark.bounds.pipeline.vipr.export import write_vipr
    from boundmark.problems.errors import InvalidInputError
    from boundmark.reports.stored.durable import writing_durably

    path = instance
    try:
        read_instance = checker.read_document(path)
        checker.check_instance(read_instance)
        path = certificate
        read_certificate = checker.read_document(path)
        with writing_durably(out) as file:
            text = io.TextIOWrapper(file, "ascii")
            lines = write_vipr(read_instance, read_certificate, text)
            text.detach()
    except checker.Rejected as error:
        raise InvalidInputError(f"{path}: {error}.") from error
    except InvalidInputError as error:
        raise InvalidInputError(f"{path}: {error}") from error
    if not quiet:
        bound = read_certificate["bound"]
        click.echo(f"{out}: the minimum is at least {bound}, in {lines:,} derived constraints")
