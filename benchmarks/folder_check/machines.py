"""The records of where tasks ran: each file is named after the hash of what it says."""

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from boundmark.benchmarks.folder_check.documents import Shelf
from boundmark.benchmarks.folder_check.verdict import Verdict
from boundmark.benchmarks.rows import environment_sha256
from boundmark.bounds import checker
from boundmark.problems.errors import StoreError
from boundmark.reports.stored.documents import read_json
from boundmark.reports.stored.machine import read_seconds, seconds_sha256
from boundmark.reports.stored.store import ResultStore


def check_machines(store: ResultStore, environments: Shelf[str]) -> Iterator[Verdict]:
    """Yield a verdict on each record of machine and software and on each of a machine's speed.

    Parameters
    ----------
    environments
        Gets the host of each accepted record, by the record's hash.
    """
    for path in sorted(store.environments.glob("*.json")):
        reason = _fault(partial(_check_environment, path, environments))
        if reason is not None:
            environments.rejected[path.stem] = reason
        yield Verdict(str(path), reason)
    if store.environment.exists():
        yield Verdict(str(store.environment), _fault(partial(_check_newest, store, environments)))
    for path in sorted(store.machine.glob("*.json")):
        yield Verdict(str(path), _fault(partial(_check_speed, path)))


def _fault(check: Callable[[], None]) -> str | None:
    try:
        check()
    except (StoreError, checker.Rejected) as error:
        return str(error)
    return None


def _check_environment(path: Path, environments: Shelf[str]) -> None:
    record, digest = _read_environment(path)
    if digest != path.stem:
        raise checker.Rejected(f"its content hashes to {digest}, not to its name")
    environments.accepted[digest] = str(record["host"])


def _check_newest(store: ResultStore, environments: Shelf[str]) -> None:
    """Refuse a record of the newest run that is none of the records that rows can name."""
    _, digest = _read_environment(store.environment)
    fault = environments.fault(digest)
    if fault is not None:
        raise checker.Rejected(f"it is no record that rows can name: {fault}")


def _read_environment(path: Path) -> tuple[dict[str, Any], str]:
    record = read_json(path)
    if not isinstance(record, dict) or not isinstance(record.get("host"), str):
        raise checker.Rejected("it is no object with a host")
    try:
        return record, environment_sha256(record)
    except ValueError as error:
        raise checker.Rejected("it holds a number that JSON does not have") from error


def _check_speed(path: Path) -> None:
    digest = seconds_sha256(read_seconds(path))
    if digest != path.stem:
        raise checker.Rejected(f"its content hashes to {digest}, not to its name")
