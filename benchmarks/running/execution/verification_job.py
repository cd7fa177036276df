"""The job of a verifying process: ask the checker about reported documents.

It imports the standard library and the checker, and nothing of what produced the documents.
"""

import hashlib
import importlib
import json
from collections.abc import Mapping
from typing import Any

from boundmark.benchmarks.running.execution.child_process import Channel, Job
from boundmark.benchmarks.running.execution.frames import Frame, FrameReader


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
        for item in items:
            why = refusal(module, instance, sha256, item)
            channel.report({"kind": "verdict", "refusal": why})

    return job


def refusal(
    checker: Any, instance: dict[str, Any], instance_sha256: str, item: Frame
) -> str | None:
    """Return why a document is refused, None if it is accepted and has the reported value."""
    try:
        document = json.loads(item.body)
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
