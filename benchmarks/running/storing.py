"""Stores outcomes in a results folder: rows, their traces, and the documents that rows name."""

import fcntl
import hashlib
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from boundmark.benchmarks.running.environment import describe_environment
from boundmark.benchmarks.running.execution.task import Outcome
from boundmark.benchmarks.running.planning import NamedInstance, PlannedTask
from boundmark.problems.catalog import problems
from boundmark.problems.errors import InvalidInputError, StoreError
from boundmark.problems.files import open_regular, read_regular
from boundmark.problems.json_documents import canonical_json, sha256_hex
from boundmark.problems.labels import Labels, names_of, read_labels
from boundmark.problems.problem import Instance
from boundmark.reports.stored.durable import FILES_AT_A_TIME, write_durably
from boundmark.reports.stored.store import ResultStore, write_document


class RowWriter:
    """Stores outcomes in a results folder, from one thread.

    Raises
    ------
    StoreError
        From `write`, if the folder cannot take it.
    """

    def __init__(self, store: ResultStore) -> None:
        self._store = store
        self._environments: set[str] = set()

    def write(self, finished: Sequence[tuple[PlannedTask, Outcome]]) -> None:
        """Store tasks that have ended: for each, the documents and then the row that names them."""
        environments = [self._environment(outcome) for _, outcome in finished]
        if len(finished) == 1:
            self._write(finished[0], environments[0])
            return
        with ThreadPoolExecutor(min(len(finished), FILES_AT_A_TIME)) as pool:
            written = [
                pool.submit(self._write, *item) for item in zip(finished, environments, strict=True)
            ]
        # All others are stored if one cannot be.
        for one in written:
            one.result()

    def _write(self, finished: tuple[PlannedTask, Outcome], environment: tuple[str, str]) -> None:
        planned, outcome = finished
        host, environment_sha256 = environment
        row = {
            **_facts(planned),
            **_ending(outcome),
            "solution_sha256": _stored(self._store.solutions, outcome.stored_solution()),
            "certificate_sha256": _stored(self._store.certificates, outcome.stored_certificate()),
            "host": host,
            "environment_sha256": environment_sha256,
        }
        self._store.append(row, _trace(outcome))

    def _environment(self, outcome: Outcome) -> tuple[str, str]:
        """Return host and hash of the environment that ran a task, and store its record."""
        record = outcome.environment or describe_environment()
        digest = environment_sha256(record)
        if digest not in self._environments:
            store_environment(self._store, record)
            self._environments.add(digest)
        return record["host"], digest


def _stored(folder: Path, document: Mapping[str, Any] | None) -> str | None:
    return None if document is None else write_document(folder, document)


def environment_sha256(record: Mapping[str, Any]) -> str:
    """Return the hash of an environment, without the machine's load."""
    return sha256_hex(canonical_json({**record, "load_at_start": None}))


def store_environment(store: ResultStore, record: Mapping[str, Any]) -> None:
    """Store an environment record under its hash."""
    path = store.environments / f"{environment_sha256(record)}.json"
    write_durably(path, canonical_json(record).encode())


def _facts(planned: PlannedTask) -> dict[str, Any]:
    """Return the columns of a row that are known before its task runs."""
    task, instance = planned.task, planned.source.instance
    return {
        "task_id": task.task_id,
        "suite": planned.suite,
        "problem": task.problem,
        "dataset": planned.source.dataset,
        "instance": planned.source.member,
        "device": planned.source.device,
        "instance_sha256": task.instance_sha256,
        "instance_params": json.dumps(dict(instance.parameters), sort_keys=True),
        "nodes": instance.nodes,
        "edges": instance.edges,
        "method": task.method,
        "method_kind": planned.method_kind,
        "method_version": task.method_version,
        "params": json.dumps(dict(task.params), sort_keys=True),
        "seed": task.seed,
        "time_limit_seconds": task.time_limit_seconds,
        "memory_limit_bytes": task.memory_limit_bytes,
        "threads": task.threads,
    }


def _ending(outcome: Outcome) -> dict[str, Any]:
    """Return the columns of a row that were measured and verified."""
    return {
        "status": outcome.status,
        "status_detail": outcome.status_detail,
        "exit_code": outcome.exit_code,
        "exit_signal": outcome.exit_signal,
        "stderr_tail": outcome.stderr_tail,
        "objective": outcome.objective,
        "bound_certified": outcome.bound_certified,
        "bound_claimed": outcome.bound_claimed,
        "bound_kind": outcome.bound_kind,
        "verify_seconds": outcome.verify_seconds,
        "wall_seconds": outcome.wall_seconds,
        "cpu_seconds": outcome.cpu_seconds,
        "peak_rss_bytes": outcome.peak_rss_bytes,
        "started_at": outcome.started_at,
    }


def _trace(outcome: Outcome) -> list[dict[str, Any]]:
    return [
        {
            "task_id": outcome.task.task_id,
            "seconds": event.seconds,
            "kind": event.kind,
            "value": float(event.value),
        }
        for event in outcome.events
    ]


def store_instance(store: ResultStore, instance: Instance) -> None:
    """Store an instance unless it is there."""
    if not (store.instances / f"{instance.sha256}.json").exists():
        write_document(store.instances, instance.to_json())


def labels_of(source: NamedInstance) -> Labels:
    """Return the names of an instance and its nodes; nodes may have their numbers only."""
    instance = source.instance
    naming = problems()[instance.problem].naming
    return Labels(
        names=names_of(naming, instance),
        tick=naming.tick(instance) if naming else "unit",
        device=source.device,
        # Names of files may hold bytes that are no text.
        source=f"{source.dataset}/{source.member}".encode(errors="replace").decode(),
    )


def store_labels(store: ResultStore, source: NamedInstance) -> None:
    """Store the names of an instance and its nodes, unless the folder has the same names."""
    instance = source.instance
    path = store.labels / f"{instance.sha256}.json"
    labels = labels_of(source)
    if path.exists():
        # A stored instance that is solved again came with the names that are there.
        with suppress(InvalidInputError):
            known = read_labels(
                path,
                problem=instance.problem,
                instance_sha256=instance.sha256,
                nodes=instance.nodes,
            )
            if known.names == labels.names:
                return
    document = labels.to_json(instance.problem, instance.sha256)
    write_durably(path, canonical_json(document).encode())


def read_instance(store: ResultStore, sha256: str) -> bytes:
    """Return the canonical JSON of a stored instance."""
    path = store.instances / f"{sha256}.json"
    try:
        content = read_regular(path)
    except OSError as error:
        raise StoreError(f"{path} cannot be read: {error.strerror}.") from error
    if hashlib.sha256(content).hexdigest() != sha256:
        raise StoreError(f"{path} was changed; expected the content with the hash that names it.")
    return content


@contextmanager
def storing(
    source: NamedInstance, directory: Path
) -> Iterator[Callable[[Sequence[tuple[PlannedTask, Outcome]]], None]]:
    """Yield a function that stores tasks about one instance, which have ended, in a folder."""
    with only_writer(directory) as store:
        store.remove_partial_files()
        store_beforehand(store, [source])
        try:
            yield RowWriter(store).write
        finally:
            store.compact()


def store_beforehand(store: ResultStore, sources: Iterable[NamedInstance]) -> None:
    """Store what rows refer to and is known before any task runs: instances, environment."""
    for source in sources:
        store_instance(store, source.instance)
        store_labels(store, source)
    record = describe_environment()
    store_environment(store, record)
    write_durably(store.environment, canonical_json(record).encode())


@contextmanager
def only_writer(directory: Path) -> Iterator[ResultStore]:
    """Lock a folder before anything in it is read or made, and open it.

    What the last writer has left must not change between opening and locking.
    """
    with locked(directory):
        yield ResultStore.create_or_open(directory)


@contextmanager
def locked(directory: Path) -> Iterator[None]:
    """Be the only one who writes into a folder, which is made if need be."""
    try:
        directory.mkdir(parents=True, exist_ok=True)
        lock = os.fdopen(open_regular(directory / ".lock", os.O_RDWR | os.O_CREAT), "r+")
    except OSError as error:
        raise StoreError(
            f"{directory} cannot be used as a results folder: {error.strerror}."
        ) from error
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            reason = (
                "another command is writing to this folder; expected to be the only one"
                if isinstance(error, BlockingIOError)
                else f"the folder cannot be locked: {error.strerror}"
            )
            raise StoreError(f"{directory}: {reason}.") from error
        yield
