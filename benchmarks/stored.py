"""Read instances and solutions from files that `boundmark solve --out` and `run` have written."""

from pathlib import Path
from typing import TypeVar

from boundmark.datasets.resolve import load_file
from boundmark.problems.catalog import problems
from boundmark.problems.errors import InvalidInputError
from boundmark.problems.files import LARGEST_FILE, naming, read_bytes
from boundmark.problems.json_documents import json_object
from boundmark.problems.problem import SOLUTION_FORMAT, Solution

InstanceKind = TypeVar("InstanceKind")


def load_instance(path: Path, kind: type[InstanceKind]) -> InstanceKind:
    """Read an instance of one problem.

    Raises
    ------
    InvalidInputError
        If the file holds anything else.
    """
    found = load_file(path)
    if not isinstance(found, kind):
        raise InvalidInputError(
            f"{path} holds a {type(found).__name__}; expected a {kind.__name__}."
        )
    return found


def load_solution(path: Path, problem: str, instance_sha256: str) -> Solution:
    """Read a solution of an instance.

    Raises
    ------
    InvalidInputError
        If the file holds anything else, or a solution of another instance.
    """
    content = read_bytes(path, "a solution", LARGEST_FILE)
    with naming(path):
        document = json_object(content)
        if document.get("format") != SOLUTION_FORMAT:
            raise InvalidInputError(f"format is not {SOLUTION_FORMAT!r}; expected a solution.")
        if document.get("problem") != problem:
            raise InvalidInputError(
                f"problem is {document.get('problem')!r}; expected {problem!r}."
            )
        if document.get("instance_sha256") != instance_sha256:
            raise InvalidInputError(
                f"instance_sha256 is {document.get('instance_sha256')!r}; "
                f"expected that of the given instance, {instance_sha256!r}."
            )
        return problems()[problem].solution_from_json(document)
