"""The job of a verifying process: ask the checker about reported documents.

It imports the standard library and the checker, and nothing of what produced the documents.

Certificates of kinds that the checker does not know may be for another package to check. It names,
in an entry point of the group ``boundmark.certificate_kinds`` that is called like the problem, a
mapping from kinds to functions of an instance's document and a payload, each of which returns the
bound that the payload proves. A bound that such a function accepts is a claim, marked with the
package: it is worth as much as that package, and nothing here counts it as certified.
"""

import hashlib
import importlib
import json
from collections.abc import Callable, Mapping
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from boundmark.benchmarks.execution.child_process import Channel, Job
from boundmark.benchmarks.execution.frames import Frame, FrameReader
from boundmark.bounds import checker
from boundmark.problems.json_documents import canonical_json

# Whoever reads the document later must not run out of stack.
DEEPEST = 300

GROUP = "boundmark.certificate_kinds"

# Of a package's reason.
LONGEST_REASON = 300

Proves = Callable[[dict[str, Any], Any], int]


def prepare(checker: str) -> Job:
    """Return the job, which sends a verdict for each document, in order.

    The documents are frames: the instance, then those whose headers have the ``kind``,
    ``"solution"`` or ``"certificate"``, and the ``value`` that was reported.
    """
    module: Any = importlib.import_module(checker)

    def job(request: Mapping[str, Any], channel: Channel) -> None:
        first, *items = FrameReader().feed(channel.documents())
        sha256 = hashlib.sha256(first.body).hexdigest()
        if sha256 != request["instance_sha256"]:
            raise ValueError(f"the instance has the hash {sha256}")
        instance = json.loads(first.body)
        channel.start()
        if request.get("accept"):
            package, why_not = accepted(instance, items[0])
            channel.report({"kind": "verdict", "package": package, "refusal": why_not})
            return
        for item in items:
            why = refusal(module, instance, sha256, item)
            channel.report({"kind": "verdict", "refusal": why})

    return job


def accepted(instance: dict[str, Any], item: Frame) -> tuple[str, str]:
    """Return the package that accepts a certificate, or why none does; the other text is empty.

    The package's code runs in this process.
    """
    certificate = json.loads(item.body)
    kind, bound = str(certificate["kind"]), certificate["bound"]
    if canonical_json(certificate).encode() != item.body or bound != item.header["value"]:
        return "", "its document is not what was reported"
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


def may_be_accepted(document: bytes) -> bool:
    """Whether a certificate's kind is unknown to the checker, but maybe not to a package."""
    try:
        certificate = json.loads(document)
        problem, kind = certificate["problem"], certificate["kind"]
    except (ValueError, LookupError, TypeError, RecursionError):
        return False
    return isinstance(kind, str) and kind not in checker.KINDS and bool(_points(problem))


def _points(problem: object) -> list[EntryPoint]:
    return list(entry_points(group=GROUP, name=problem)) if isinstance(problem, str) else []


def refusal(
    checker: Any, instance: dict[str, Any], instance_sha256: str, item: Frame
) -> str | None:
    """Return why a document is refused, None if it is accepted and has the reported value.

    Parameters
    ----------
    checker
        The module `boundmark.bounds.checker`, or one like it.
    """
    try:
        document = json.loads(item.body)
        if canonical_json(document).encode() != item.body:
            return "its document is not canonical JSON"
        if _is_nested_deeper(document, item.body, DEEPEST):
            return f"its document is nested more than {DEEPEST} deep"
        if document["instance_sha256"] != instance_sha256:
            return "it is about another instance"
        if item.header["kind"] == "solution":
            stated = document["objective"]
            checker.check_solution(instance, document)
        else:
            stated = document["bound"]
            checker.check_certificate(instance, document)
    except checker.Rejected as error:
        return str(error)
    except Exception as error:
        # The checker's own failure proves nothing either.
        return f"{type(error).__name__}: {error}"
    if stated != item.header["value"]:
        return f"its document states {stated!a:.60}"
    return None


def _is_nested_deeper(value: Any, text: bytes, levels: int) -> bool:
    """Whether there are more levels of lists and objects in a JSON text than allowed."""
    if text.count(b"[") + text.count(b"{") <= levels:
        return False
    level = [value]
    for _ in range(levels):
        level = [
            inner
            for outer in level
            for inner in (outer.values() if type(outer) is dict else outer)
            if type(inner) in (dict, list)
        ]
        if not level:
            return False
    return True
