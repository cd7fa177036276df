"""`boundmark export`: a certificate in a format that third-party programs check."""

from pathlib import Path

import click

from boundmark.benchmarks.cli.options import FILE, PATH


@click.command()
@click.argument("instance", metavar="INSTANCE.json", type=PATH)
@click.argument("certificate", metavar="CERTIFICATE.json", type=PATH)
@click.argument("out", metavar="OUT", type=FILE)
@click.option("--quiet", is_flag=True, help="Do not print the paths of the files.")
def export(instance: Path, certificate: Path, out: Path, quiet: bool) -> None:
    """Write a certificate in another format, such as VIPR.

    The format depends on the certificate's kind. Trees over mixed-integer programs become VIPR
    files, which programs such as viprchk check. A certificate with several statements becomes
    several files: OUT-0.vipr, OUT-1.vipr and so on for OUT.vipr. The certificate is checked
    first.
    """
    import io

    from boundmark.bounds import checker
    from boundmark.bounds.exporter import exporters
    from boundmark.problems.errors import InvalidInputError
    from boundmark.reports.stored.durable import writing_durably

    path = instance
    try:
        read_instance = checker.read_document(path)
        checker.check_instance(read_instance)
        path = certificate
        read_certificate = checker.read_document(path)
        checker.check_certificate(read_instance, read_certificate)
        exporter = exporters().get(f"{read_certificate['problem']} {read_certificate['kind']}")
        if exporter is None:
            kinds = " or ".join(repr(known.kind) for known in exporters().values()) or "none"
            raise InvalidInputError(f"kind is {read_certificate['kind']!r}; expected {kinds}.")
        number = exporter.files(read_instance)
        written = {}
        for part in range(number):
            path_of = out if number == 1 else out.with_name(f"{out.stem}-{part}{out.suffix}")
            arguments = (read_instance, read_certificate)
            with writing_durably(path_of) as file:
                text = io.TextIOWrapper(file, "utf-8")
                more = () if number == 1 else (part,)
                written[path_of] = exporter.write(*arguments, text, *more)
                text.detach()
    except checker.Rejected as error:
        raise InvalidInputError(f"{path}: {error}.") from error
    except InvalidInputError as error:
        raise InvalidInputError(f"{path}: {error}") from error
    if not quiet:
        bound = read_certificate["bound"]
        for path_of, words in written.items():
            click.echo(
                f"{path_of}: the minimum is at least {bound}, in {words} ({exporter.format})"
            )
