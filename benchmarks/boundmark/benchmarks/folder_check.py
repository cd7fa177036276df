"""Re-checks everything that a results folder claims, with the solver-free checker alone."""

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ParamSpec

from boundmark.bounds import checker
from boundmark.problems.errors import InvalidInputError
from boundmark.reports.store import ResultStore

P = ParamSpec("P")


@dataclass(frozen=True)
class Verdict:
    """What the checker said of one file; `reason` is None if it was accepted."""

    path: Path
    reason: str | None


def check_folder(directory: Path) -> Iterator[Verdict]:
    """Yield a verdict on every instance, solution and certificate that the folder holds.

    A file is accepted if its content hashes to its name and the checker accepts it, and if the
    rows that refer to it say what it proves. Files that rows refer to and that are missing are
    rejected.

    Raises
    ------
    StoreError
        If the folder holds no results.
    """
    rows = ResultStore.open(directory).results()
    instances: dict[str, dict[str, Any]] = {}
    for path in sorted((directory / "instances").glob("*.json")):
        yield _verdict(path, _check_instance, path, instances)
    for folder, hash_column, value_column, check in (
        ("solutions", "solution_sha256", "objective", checker.check_solution),
        ("certificates", "certificate_sha256", "bound_certified", checker.check_certificate),
    ):
        stated: dict[str, set[int]] = {}
        for digest, value in rows[[hash_column, value_column]].dropna().itertuples(index=False):
            stated.setdefault(digest, set()).add(int(value))
        stored = {path.stem for path in (directory / folder).glob("*.json")}
        for digest in sorted(stored | set(stated)):
            path = directory / folder / f"{digest}.json"
            values = stated.get(digest, set())
            yield _verdict(path, _check_document, path, instances, check, values)


def check_files(paths: list[Path]) -> Iterator[Verdict]:
    """Yield a verdict on solutions and certificates whose instance is among the files.

    An instance is also looked for where a results folder keeps it, in ``../instances``.

    Raises
    ------
    InvalidInputError
        If none of the files is a solution or a certificate.
    """
    instances: dict[str, dict[str, Any]] = {}
    documents = []
    for path in paths:
        try:
            document = checker.read_document(path)
        except checker.Rejected as error:
            yield Verdict(path, str(error))
            continue
        if document.get("format") == checker.INSTANCE_FORMAT:
            instances[checker.instance_sha256(document)] = document
        else:
            documents.append((path, document))
    if paths and not documents and instances:
        raise InvalidInputError(
            f"{paths[0]}: only instances were given; expected solutions or certificates too."
        )
    for path, document in documents:
        wanted = str(document.get("instance_sha256"))
        beside = path.parent.parent / "instances" / f"{wanted}.json"
        if wanted not in instances and beside.is_file():
            instances[wanted] = checker.read_document(beside)
        yield _verdict(path, _check, document, wanted, instances)


def _verdict(path: Path, check: Callable[P, None], *args: P.args, **kwargs: P.kwargs) -> Verdict:
    try:
        check(*args, **kwargs)
    except checker.Rejected as error:
        return Verdict(path, str(error))
    return Verdict(path, None)


def _check_instance(path: Path, instances: dict[str, dict[str, Any]]) -> None:
    document = _read_named_by_hash(path)
    instances[path.stem] = document
    checker.check_instance(document)


def _check_document(
    path: Path,
    instances: dict[str, dict[str, Any]],
    check: Callable[[dict[str, Any], dict[str, Any]], int],
    stated: set[int],
) -> None:
    document = _read_named_by_hash(path)
    wanted = str(document.get("instance_sha256"))
    if wanted not in instances:
        raise checker.Rejected(f"its instance {wanted} is not in the folder")
    proved = check(instances[wanted], document)
    field = "bound" if "bound" in document else "objective"
    for value in stated - {document[field]}:
        raise checker.Rejected(f"a row states {value}, the file {document[field]}, proved {proved}")


def _check(document: dict[str, Any], wanted: str, instances: dict[str, dict[str, Any]]) -> None:
    if wanted not in instances:
        raise checker.Rejected(f"its instance {wanted} was not given")
    if document.get("format") == checker.SOLUTION_FORMAT:
        checker.check_solution(instances[wanted], document)
    else:
        checker.check_certificate(instances[wanted], document)


def _read_named_by_hash(path: Path) -> dict[str, Any]:
    document = checker.read_document(path)
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    if digest != path.stem:
        raise checker.Rejected(f"its content hashes to {digest}, not to its name")
    return document
