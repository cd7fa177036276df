"""The command line: one line per file, and an exit code for all of them."""

import sys
from pathlib import Path
from typing import Any

from .documents import SOLUTION_FORMAT, read_document
from .values import Rejected, printable
from .verdicts import check_certificate, check_instance, check_solution


def main(arguments: list[str]) -> int:
    """Check files against an instance; return the exit code."""
    if len(arguments) < 2:
        print("usage: checker instance.json certificate_or_solution.json...", file=sys.stderr)
        return 2
    try:
        instance = read_document(Path(arguments[0]))
        check_instance(instance)
    except Rejected as reason:
        print(f"{printable(arguments[0])}: {reason}", file=sys.stderr)
        return 2
    rejected = 0
    for name in arguments[1:]:
        try:
            print(f"{printable(name)}: accepted, {check_file(instance, Path(name))}")
        except Rejected as reason:
            print(f"{printable(name)}: rejected, {reason}")
            rejected += 1
    return 1 if rejected else 0


def check_file(instance: dict[str, Any], path: Path) -> str:
    """Check one file against an instance and return the verdict as a line of text."""
    document = read_document(path)
    if document.get("format") == SOLUTION_FORMAT:
        return f"OPT <= {check_solution(instance, document)}"
    return f"OPT >= {check_certificate(instance, document)}"
