"""Checks solutions and certificates given as files."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from boundmark.benchmarks.folder_check.documents import DIGEST
from boundmark.benchmarks.folder_check.verdict import Verdict, attempt
from boundmark.bounds import checker
from boundmark.problems.errors import InvalidInputError

Instances = dict[str, dict[str, Any]]


def check_files(paths: Sequence[Path]) -> Iterator[Verdict]:
    """Yield a verdict on solutions and certificates whose instance is among the files.

    An instance is also looked for where a results folder keeps it, in ``../instances``.

    Raises
    ------
    InvalidInputError
        If none of the files is a solution or a certificate.
    """
    instances: Instances = {}
    documents = []
    for path in paths:
        document, reason = attempt(checker.read_document, path)
        if document is None:
            yield Verdict(str(path), reason)
        elif document.get("format") == checker.INSTANCE_FORMAT:
            digest, reason = attempt(checker.instance_sha256, document)
            if digest is None:
                yield Verdict(str(path), reason)
            else:
                instances[digest] = document
        else:
            documents.append((path, document))
    if paths and not documents and instances:
        raise InvalidInputError(
            f"{paths[0]}: only instances were given; expected solutions or certificates too."
        )
    for path, document in documents:
        _, reason = attempt(_check, path, document, instances)
        yield Verdict(str(path), reason)


def _check(path: Path, document: dict[str, Any], instances: Instances) -> int:
    wanted = document.get("instance_sha256")
    if type(wanted) is not str or not DIGEST.fullmatch(wanted):
        raise checker.Rejected("its instance_sha256 is not a hash of 64 hexadecimal digits")
    beside = path.parent.parent / "instances" / f"{wanted}.json"
    if wanted not in instances and beside.is_file():
        found = checker.read_document(beside)
        instances[checker.instance_sha256(found)] = found
    if wanted not in instances:
        raise checker.Rejected(f"its instance {wanted} was not given")
    if document.get("format") == checker.SOLUTION_FORMAT:
        return checker.check_solution(instances[wanted], document)
    return checker.check_certificate(instances[wanted], document)
