"""Checks documents one after another, as a process of its own; `checking` starts it and asks.

    python -P -m boundmark.reports.stored.checker_process DIR

A request is a line of JSON, the hash of an instance and the name of a document in the results
folder DIR. The answer is one, too: why the document is rejected (null if it is accepted), and
whether that depends on the files and the checker of this package alone.
"""

import json
import os
import sys
from functools import lru_cache
from pathlib import Path
from typing import Any

from boundmark.bounds import checker

# Reasons are cut off here, so that the answers to many requests fit into a pipe.
LONGEST_REASON = 300

# What the process says first.
READY = "ready\n"

OWN_PROBLEMS = frozenset(checker.KINDS.values())


def main() -> None:
    """Answer the requests on standard input until it ends."""
    root = Path(sys.argv[1])
    # What checkers of other packages print is no answer.
    with os.fdopen(os.dup(1), "w", encoding="utf-8") as answers:
        os.dup2(2, 1)
        answers.write(READY)
        answers.flush()
        for line in sys.stdin:
            digest, name = json.loads(line)
            answers.write(json.dumps(_answer(root, digest, name)) + "\n")
            answers.flush()


def _answer(root: Path, digest: str, name: str) -> tuple[str | None, bool]:
    try:
        instance = _instance(root / "instances" / f"{digest}.json")
        document = checker.read_document(root / name)
        is_own = instance.get("problem") in OWN_PROBLEMS
        is_solution = name.startswith("solutions/")
        check = checker.check_solution if is_solution else checker.check_certificate
        check(instance, document)
    except checker.Rejected as error:
        return checker.printable(str(error))[:LONGEST_REASON], False
    except Exception as error:
        # A check that ends otherwise has proven nothing.
        words = f"the checker failed, {type(error).__name__}: {error}"
        return checker.printable(words)[:LONGEST_REASON], False
    return None, is_own


@lru_cache(1)
def _instance(path: Path) -> dict[str, Any]:
    """Return an instance, which several requests in a row are about."""
    return checker.read_document(path)


if __name__ == "__main__":
    main()
