"""Kinds of certificates that other packages check, for the problems of this one.

A package names, in an entry point of the group ``boundmark.certificate_kinds`` that is called like
the problem, a mapping from kinds to functions of an instance's document and a payload, each of
which returns the bound that the payload proves. A bound that such a function accepts is a claim,
marked with the package: it is worth as much as that package, and nothing here counts it as
certified.
"""

import json
from collections.abc import Callable, Mapping
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from boundmark.bounds import checker

GROUP = "boundmark.certificate_kinds"

# Of a package's reason.
LONGEST_REASON = 300

Proves = Callable[[dict[str, Any], Any], int]


def may_be_accepted(document: bytes) -> bool:
    """Whether a certificate's kind is unknown to the checker, but maybe not to a package."""
    try:
        certificate = json.loads(document)
        problem, kind = certificate["problem"], certificate["kind"]
    except (ValueError, LookupError, TypeError, RecursionError):
        return False
    return isinstance(kind, str) and kind not in checker.KINDS and bool(_points(problem))


def acceptance(instance: dict[str, Any], document: bytes) -> tuple[str, str]:
    """Return the package that accepts a certificate, or why none does; the other text is empty.

    The package's code runs in this process.
    """
    certificate = json.loads(document)
    kind, bound = str(certificate["kind"]), certificate["bound"]
    reason = f"no package knows the kind {kind!a:.80}"
    for point in _points(certificate["problem"]):
        package = point.dist.name if point.dist is not None else point.value
        try:
            known: Mapping[str, Proves] = point.load()
            if kind not in known:
                continue
            proved = known[kind](instance, certificate["payload"])
        except (Exception, SystemExit) as error:
            reason = f"{package} does not accept it: {type(error).__name__}: {error}"
            continue
        if type(proved) is int and type(bound) is int and proved >= bound:
            return package, ""
        reason = f"{package} says that it proves {proved!a:.40}, which is less than {bound!a:.40}"
    return "", " ".join(reason.split())[:LONGEST_REASON]


def _points(problem: object) -> list[EntryPoint]:
    return list(entry_points(group=GROUP, name=problem)) if isinstance(problem, str) else []
