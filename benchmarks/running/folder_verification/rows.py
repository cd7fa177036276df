"""Derives every row of the results from the documents it refers to.

A row is a claim like any other: whatever it states of instance, cost and bound has to follow from
the folder's accepted documents, and its identity from what was run. How its task ended, where, and
what was measured are observations, which nothing can derive.
"""

import json
import math
from collections.abc import Iterator, Mapping
from typing import Any, get_args

import pandas as pd

from boundmark.benchmarks.running.execution.task import Task, producer_of
from boundmark.benchmarks.running.folder_verification.documents import (
    DIGEST,
    Documents,
    Shelf,
    VerifiedFind,
)
from boundmark.problems.method import Kind

# A hash in quotes fits.
LONGEST_QUOTE = 70

KINDS = get_args(Kind)


def row_faults(row: Mapping[str, Any], documents: Documents) -> Iterator[str]:
    """Yield a clause for each value in a row that does not follow from the documents."""
    if row["method_kind"] not in KINDS:
        yield f"method_kind is {_short(row['method_kind'])}; expected one of {', '.join(KINDS)}"
    yield from _identity_faults(row)
    yield from _instance_faults(row, documents)
    columns = ("objective", "solution_sha256")
    yield from _document_faults(row, columns, "solution", documents.solutions)
    yield from _certificate_faults(row, documents)
    claimed = row["bound_claimed"]
    if claimed is not None and not math.isfinite(claimed):
        yield "bound_claimed is no finite number"


def rows_of(results: pd.DataFrame) -> Iterator[dict[str, Any]]:
    """Yield the rows as mappings in which missing values are None."""
    for row in results.to_dict("records"):
        yield {str(name): None if _is_missing(value) else value for name, value in row.items()}


def row_label(row: Mapping[str, Any]) -> str:
    """Return a text that identifies a row: its task and its method."""
    return f"row of task {_short(row['task_id'])} ({_short(row['method'])})"


def contradictions(rows: list[dict[str, Any]]) -> Iterator[tuple[str, str]]:
    """Yield row and reason where a cost is below a certified bound of the same instance."""
    best: dict[str, Mapping[str, Any]] = {}
    for row in rows:
        if row["bound_certified"] is not None:
            known = best.setdefault(row["instance_sha256"], row)
            if row["bound_certified"] > known["bound_certified"]:
                best[row["instance_sha256"]] = row
    for row in rows:
        other = best.get(row["instance_sha256"])
        if other is None or row["objective"] is None:
            continue
        if row["objective"] < other["bound_certified"]:
            yield (
                row_label(row),
                f"its objective {row['objective']} is below the certified bound "
                f"{other['bound_certified']} in the {row_label(other)}",
            )


def _identity_faults(row: Mapping[str, Any]) -> Iterator[str]:
    try:
        params = json.loads(row["params"])
        task = Task(
            instance_sha256=row["instance_sha256"],
            problem=row["problem"],
            method=row["method"],
            method_version=row["method_version"],
            params=params,
            seed=row["seed"],
            time_limit_seconds=row["time_limit_seconds"],
            memory_limit_bytes=row["memory_limit_bytes"],
            threads=row["threads"],
        )
        expected = task.task_id
    except (TypeError, ValueError, RecursionError):
        yield "its task cannot be identified; expected method, params, seed and limits"
        return
    if row["task_id"] != expected:
        yield "task_id is not the hash of instance, method, params, seed and limits"


def _instance_faults(row: Mapping[str, Any], documents: Documents) -> Iterator[str]:
    digest = row["instance_sha256"]
    fault = _hash_fault("instance_sha256", digest) or documents.instances.fault(digest)
    if fault:
        yield f"its instance cannot be used: {fault}"
        return
    instance = documents.instances.accepted[digest]
    for name in ("problem", "nodes", "edges"):
        stated, found = row[name], getattr(instance, name)
        if stated != found:
            yield f"{name} is {_short(stated)}; its instance has {_short(found)}"
    try:
        parameters = json.loads(row["instance_params"])
    except (TypeError, ValueError, RecursionError):
        parameters = None
    if parameters != dict(instance.parameters):
        yield (
            f"instance_params is {_short(row['instance_params'])}; "
            f"its instance has {_short(json.dumps(dict(instance.parameters)))}"
        )


def _certificate_faults(row: Mapping[str, Any], documents: Documents) -> Iterator[str]:
    columns = ("bound_certified", "certificate_sha256")
    yield from _document_faults(row, columns, "certificate", documents.certificates)
    known = documents.certificates.accepted.get(row["certificate_sha256"])
    if known is not None and row["bound_kind"] != known.kind:
        yield f"bound_kind is {_short(row['bound_kind'])}; its certificate's is {known.kind!r}"
    is_claimed = row["bound_claimed"] is not None
    if row["certificate_sha256"] is None and is_claimed != (row["bound_kind"] is not None):
        yield "only one of bound_kind and bound_claimed is given; expected both or neither"


def _document_faults(
    row: Mapping[str, Any], columns: tuple[str, str], what: str, shelf: Shelf[VerifiedFind]
) -> Iterator[str]:
    value_column, hash_column = columns
    value, digest = row[value_column], row[hash_column]
    if value is None and digest is None:
        return
    if value is None or digest is None:
        missing, given = sorted((value_column, hash_column), key=lambda name: row[name] is not None)
        yield f"{given} is given and {missing} is missing; expected both or neither"
        return
    fault = _hash_fault(hash_column, digest) or shelf.fault(digest)
    if fault:
        yield f"its {what} cannot be used: {fault}"
        return
    found = shelf.accepted[digest]
    if found.instance_sha256 != row["instance_sha256"]:
        yield f"its {what} is about another instance"
    if value != found.value:
        yield f"{value_column} is {_short(value)}; its {what} has {found.value}"
    expected = producer_of(row["method"], row["method_version"])
    if found.producer != expected:
        by = found.producer
        told = "names no producer" if by is None else f"was found by {_short(by)}"
        yield f"its {what} {told}; expected {_short(expected)}, the row's method and its version"


def _hash_fault(column: str, digest: object) -> str | None:
    if isinstance(digest, str) and DIGEST.fullmatch(digest):
        return None
    return f"{column} is {_short(digest)}; expected 64 hexadecimal digits"


def _is_missing(value: object) -> bool:
    # NaN is what pandas makes of a missing float, NaT of a missing time.
    return value is None or value is pd.NA or value is pd.NaT or value != value


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= LONGEST_QUOTE else f"{text[: LONGEST_QUOTE - 3]}..."
