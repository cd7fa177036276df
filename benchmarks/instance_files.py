"""Instances in a results folder, named after the hash that identifies them, and their labels."""

import hashlib
from contextlib import suppress

from boundmark.benchmarks.suite import NamedInstance
from boundmark.problems.canonical import canonical_json
from boundmark.problems.catalog import problems
from boundmark.problems.errors import InvalidInputError, StoreError
from boundmark.problems.labels import Labels, names_of, read_labels
from boundmark.problems.problem import Instance
from boundmark.problems.regular_file import read_regular
from boundmark.reports.stored.documents import write_document
from boundmark.reports.stored.durable import write_durably
from boundmark.reports.stored.store import ResultStore


def store_instance(store: ResultStore, instance: Instance) -> None:
    """Store an instance unless it is there."""
    if not (store.instances / f"{instance.sha256}.json").exists():
        write_document(store.instances, instance.to_json())


def labels_of(source: NamedInstance) -> Labels:
    """Return what an instance and its nodes are called; nodes may have their numbers only."""
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
    """Store what an instance and its nodes are called, unless the folder knows the same names."""
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
    """Return the canonical JSON of a stored instance.

    Raises
    ------
    StoreError
        If it cannot be read, or its content is not what its name says.
    """
    path = store.instances / f"{sha256}.json"
    try:
        content = read_regular(path)
    except OSError as error:
        raise StoreError(f"{path} cannot be read: {error.strerror}.") from error
    if hashlib.sha256(content).hexdigest() != sha256:
        raise StoreError(f"{path} was changed; expected the content with the hash that names it.")
    return content
