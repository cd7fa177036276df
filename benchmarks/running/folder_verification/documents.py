"""The instances, solutions and certificates of a results folder, each checked once."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, ParamSpec, TypeVar

from boundmark.bounds import checker
from boundmark.problems.catalog import problems
from boundmark.problems.errors import BoundmarkError, find

P = ParamSpec("P")
T = TypeVar("T")


@dataclass(frozen=True)
class Verdict:
    """The outcome for one document or row; `reason` is None if it was accepted.

    Attributes
    ----------
    proved
        What a document that was given as a file shows, as a sentence.
    """

    subject: str
    reason: str | None
    proved: str = ""


def attempt(
    check: Callable[P, T], *args: P.args, **kwargs: P.kwargs
) -> tuple[T | None, str | None]:
    """Return the result of a check and None, or None and the reason why it rejects.

    Whatever else the check raises is a reason too: one file never keeps others from being checked.
    """
    try:
        return check(*args, **kwargs), None
    except checker.Rejected as error:
        return None, str(error)
    except Exception as error:
        return None, f"its check ended with an error, {type(error).__name__}, so nothing is shown"


Document = TypeVar("Document")

DIGEST = re.compile("[0-9a-f]{64}")


@dataclass(frozen=True)
class VerifiedInstance:
    """An accepted instance: its document, and the facts that rows repeat of it."""

    document: Mapping[str, Any]
    problem: str
    nodes: int
    edges: int
    parameters: Mapping[str, Any]


@dataclass(frozen=True)
class VerifiedFind:
    """An accepted solution or certificate: its instance, and its recomputed cost or proven bound.

    Attributes
    ----------
    producer
        None for a solution that names none.
    kind
        Kind of a certificate; empty for a solution.
    """

    instance_sha256: str
    value: int
    producer: str | None
    kind: str = ""


@dataclass(frozen=True)
class Shelf(Generic[Document]):
    """The accepted documents of one folder by hash, and why the others were rejected."""

    accepted: dict[str, Document] = field(default_factory=dict)
    rejected: dict[str, str] = field(default_factory=dict)

    def fault(self, digest: str) -> str | None:
        """Return why no accepted document has this hash; None if one has."""
        if digest in self.accepted:
            return None
        return self.rejected.get(digest, f"{digest}.json is not in the folder")


@dataclass(frozen=True)
class Documents:
    """The checked documents of a results folder, which its rows have to follow from."""

    instances: Shelf[VerifiedInstance] = field(default_factory=Shelf)
    solutions: Shelf[VerifiedFind] = field(default_factory=Shelf)
    certificates: Shelf[VerifiedFind] = field(default_factory=Shelf)


def verify_documents(directory: Path, documents: Documents) -> Iterator[Verdict]:
    """Check every document in the folder; yield a verdict on each, and keep those accepted.

    A document is accepted if its content hashes to its name and the checker accepts it.
    """
    yield from _check_all(directory / "instances", documents.instances, _instance)
    instances = documents.instances

    def solution(document: dict[str, Any], digest: str) -> VerifiedFind:
        owner = _owner(document, instances)
        objective = checker.check_solution(dict(instances.accepted[owner].document), document)
        return VerifiedFind(owner, objective, document.get("producer"))

    def certificate(document: dict[str, Any], digest: str) -> VerifiedFind:
        owner = _owner(document, instances)
        checker.check_certificate(dict(instances.accepted[owner].document), document)
        return VerifiedFind(owner, document["bound"], document["producer"], document["kind"])

    yield from _check_all(directory / "solutions", documents.solutions, solution)
    yield from _check_all(directory / "certificates", documents.certificates, certificate)


def _check_all(
    folder: Path, shelf: Shelf[Document], check: Callable[[dict[str, Any], str], Document]
) -> Iterator[Verdict]:
    for path in sorted(folder.glob("*.json")):
        digest = path.stem
        found, reason = attempt(_checked, path, check)
        if found is None:
            shelf.rejected[digest] = reason or "the check says nothing"
        else:
            shelf.accepted[digest] = found
        yield Verdict(str(path), reason)


def _checked(path: Path, check: Callable[[dict[str, Any], str], Document]) -> Document:
    # Refuses what is named after another hash.
    document = checker.read_document(path)
    if not DIGEST.fullmatch(path.stem):
        raise checker.Rejected("it is not named after the hash of its content")
    return check(document, path.stem)


def _instance(document: dict[str, Any], digest: str) -> VerifiedInstance:
    checker.check_instance(document)
    if checker.instance_sha256(document) != digest:
        raise checker.Rejected(
            "its text is not in canonical form, so that its name is not its hash"
        )
    try:
        problem = find("problem", document["problem"], problems())
        instance = problem.instance_from_json(document)
    except BoundmarkError as error:
        raise checker.Rejected(str(error)) from error
    return VerifiedInstance(
        document, problem.name, instance.nodes, instance.edges, instance.parameters
    )


def _owner(document: dict[str, Any], instances: Shelf[VerifiedInstance]) -> str:
    owner = document.get("instance_sha256")
    if type(owner) is not str or not DIGEST.fullmatch(owner):
        raise checker.Rejected("its instance_sha256 is not a hash of 64 hexadecimal digits")
    fault = instances.fault(owner)
    if fault is not None:
        raise checker.Rejected(f"its instance {owner} cannot be used: {fault}")
    return owner
