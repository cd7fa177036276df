"""Checks solutions and certificates given as files."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from boundmark.benchmarks.running.folder_verification.documents import DIGEST, Verdict, attempt
from boundmark.benchmarks.running.suite import Files
from boundmark.bounds import checker
from boundmark.datasets.resolve import load_member
from boundmark.problems.catalog import problems
from boundmark.problems.devices import find_device, is_device_file
from boundmark.problems.errors import BoundmarkError, InvalidInputError, find
from boundmark.problems.problem import Instance
from boundmark.reports.stored.store import ResultStore
from boundmark.reports.text import gap_percent

Instances = dict[str, dict[str, Any]]


def verify_files(paths: Sequence[Path]) -> Iterator[Verdict]:
    """Yield a verdict on solutions and certificates whose instance is among the files.

    An instance is also looked for where a results folder keeps it, in ``../instances``.
    """
    instances: Instances = {}
    documents = []
    for path in paths:
        found, reason = attempt(checker.read_documents, path)
        if found is None:
            yield Verdict(str(path), reason)
        for document in found or ():
            if document.get("format") != checker.INSTANCE_FORMAT:
                documents.append((path, document))
                continue
            digest, reason = attempt(checker.instance_sha256, document)
            if digest is None:
                yield Verdict(str(path), reason)
            else:
                instances[digest] = document
    if paths and not documents and instances:
        raise InvalidInputError(
            f"{paths[0]}: only instances were given; expected solutions or certificates too."
        )
    costs: dict[str, int] = {}
    # Solutions first, so that a bound is known to be one of an optimum.
    for path, document in sorted(documents, key=lambda one: not _is_solution(one[1])):
        proved, reason = attempt(_proved, path, document, instances, costs)
        yield Verdict(str(path), reason, proved or "")


def _is_solution(document: Mapping[str, Any]) -> bool:
    return document.get("format") == checker.SOLUTION_FORMAT


def _proved(
    path: Path, document: dict[str, Any], instances: Instances, costs: dict[str, int]
) -> str:
    """Return what a document shows of its instance; solutions add their cost to `costs`."""
    wanted = document.get("instance_sha256")
    if type(wanted) is not str or not DIGEST.fullmatch(wanted):
        raise checker.Rejected("its instance_sha256 is not a hash of 64 hexadecimal digits")
    beside = path.parent.parent / "instances" / f"{wanted}.json"
    if wanted not in instances and beside.is_file():
        found = checker.read_document(beside)
        instances[checker.instance_sha256(found)] = found
    if wanted not in instances:
        raise checker.Rejected(f"its instance {wanted} was not given")
    instance = instances[wanted]
    of = f"{instance['problem']} instance {wanted[:12]}"
    if _is_solution(document):
        cost = checker.check_solution(instance, document)
        costs[wanted] = min(cost, costs.get(wanted, cost))
        return f"{of}: the solution costs {cost:,}"
    bound = checker.check_certificate(instance, document)
    known = costs.get(wanted)
    proved = f"{of}: no solution costs less than {bound:,} (proof: {document['kind']})"
    if known is None:
        return proved
    if known == bound:
        return f"{proved}, so {known:,} is optimal"
    above = f"at most {gap_percent(known / bound - 1, '%', 2)} above" if bound else "above"
    return f"{proved}, so {known:,} is {above} the optimum"


MADE_FROM = ["problem", "dataset", "instance", "device"]

Make = Callable[[Mapping[str, int | str]], Instance]


def verify_sources(directory: Path) -> Iterator[Verdict]:
    """Yield a verdict on every instance that rows name: made again, it has the hash that they say.

    What cannot be made again here is rejected with the reason: it came from a file, its device is
    described in one, or its data set is not there.
    """
    results = ResultStore.open(directory).results()
    yield from verify_stated_sources(str(directory), results)


def verify_stated_sources(place: str, rows: pd.DataFrame) -> Iterator[Verdict]:
    """Yield a verdict on every instance that rows name, as `verify_sources` does."""
    stated = rows[[*MADE_FROM, "instance_params", "instance_sha256"]].drop_duplicates()
    for key, own in stated.groupby(MADE_FROM, sort=True, dropna=False):
        problem, dataset, member, device = map(str, key)
        make = reason = None
        try:
            make = _maker(problem, dataset, member, device)
        except Exception as error:
            reason = _not_made(error)
        for params, digest in zip(own["instance_params"], own["instance_sha256"], strict=True):
            subject = f"{place}: {problem} instance {dataset}/{member} {params!s:.70}"
            yield Verdict(subject, _fault(make, params, digest) if make else reason)


def _maker(problem: str, dataset: str, member: str, device: str) -> Make:
    """Return the function that makes a source's instances, each with the parameters given."""
    chosen = find("problem", problem, problems())
    if dataset == Files.dataset:
        raise InvalidInputError("it came from a file; expected a member of a data set.")
    if is_device_file(device) or "=" in device:
        raise InvalidInputError(f"device {device!r:.70} is in a file; expected a shipped one.")
    return chosen.maker(load_member(f"{dataset}/{member}"), find_device(device) if device else None)


def _fault(make: Make, params: Any, digest: Any) -> str | None:
    """Return why an instance contradicts its rows; None if it agrees with them."""
    try:
        given = json.loads(params)
        for name, value in given.items():
            # A file of this name that happens to be here is another one.
            if isinstance(value, str) and is_device_file(value):
                raise InvalidInputError(
                    f"{name} {value!r:.70} names a file; expected what comes with boundmark."
                )
        made = make(given)
        found = made.sha256
    except Exception as error:
        return _not_made(error)
    if found == digest:
        return None
    return f"made again, it has the hash {found}; the rows have {digest!s:.70}"


def _not_made(error: Exception) -> str:
    """Return a verdict that an instance could not be made; the code may be a plug-in's."""
    kind = "" if isinstance(error, BoundmarkError) else f"{type(error).__name__}: "
    return f"it cannot be made again here: {kind}{error}"
