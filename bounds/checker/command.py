"""The command line: one line per document, and an exit code for all of them."""

import sys
from pathlib import Path
from typing import Any

from .documents import SOLUTION_FORMAT, read_documents
from .values import Rejected, printable
from .verdicts import check_certificate, check_instance, check_solution


def main(arguments: list[str]) -> int:
    """Check files against an instance, the first document; return the exit code."""
    rejected = documents = 0
    instance: dict[str, Any] | None = None
    for name in arguments:
        try:
            read = read_documents(Path(name))
            if instance is None:
                instance, *read = read
                check_instance(instance)
        except Rejected as reason:
            if name == arguments[0]:
                print(f"{printable(name)}: {reason}", file=sys.stderr)
                return 2
            print(f"{printable(name)}: rejected, {reason}")
            documents, rejected = documents + 1, rejected + 1
            continue
        for document in read:
            documents += 1
            try:
                print(f"{printable(name)}: accepted, {verdict(instance, document)}")
            except Rejected as reason:
                print(f"{printable(name)}: rejected, {reason}")
                rejected += 1
    if not documents:
        print("usage: checker instance.json certificate_or_solution.json...", file=sys.stderr)
        return 2
    return 1 if rejected else 0


def verdict(instance: dict[str, Any], document: dict[str, Any]) -> str:
    """Check a document against an instance and return the verdict as a line of text."""
    if document.get("format") == SOLUTION_FORMAT:
        return f"OPT <= {check_solution(instance, document)}"
    return f"OPT >= {check_certificate(instance, document)}"
