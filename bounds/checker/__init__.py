"""Checks solutions and certificates, from the instance alone.

    python checker instance.json certificate_or_solution.json...
    python checker bundle.jsonl.gz

A bundle has a document in each line, the instance first.

This folder needs Python 3.11 and nothing else; a copy of it runs anywhere. It uses integers
throughout, trusts nothing that a producer wrote, and prints one line per file. It exits with 0 if
every file is accepted, 1 if not, and 2 if the instance cannot be read.

The folders are named after the problems. Each says what its certificates prove, and why. Other
problems are checked by packages that bring them, if they are installed; see `third_party`.
"""

from .documents import (
    CERTIFICATE_FORMAT,
    INSTANCE_FORMAT,
    SOLUTION_FORMAT,
    instance_sha256,
    read_document,
    read_documents,
)
from .registry import KINDS
from .values import CheckFailed, Rejected, TooLarge, printable, quoted
from .verdicts import check_certificate, check_instance, check_solution

__all__ = [
    "CERTIFICATE_FORMAT",
    "INSTANCE_FORMAT",
    "KINDS",
    "SOLUTION_FORMAT",
    "CheckFailed",
    "Rejected",
    "TooLarge",
    "check_certificate",
    "check_instance",
    "check_solution",
    "instance_sha256",
    "printable",
    "quoted",
    "read_document",
    "read_documents",
]
