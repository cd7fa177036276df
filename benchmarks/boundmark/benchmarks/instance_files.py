"""Instances in a results folder, named after the hash that identifies them."""

import hashlib

from boundmark.problems.errors import StoreError
from boundmark.problems.problem import Instance
from boundmark.reports.stored.documents import write_document
from boundmark.reports.stored.store import ResultStore


def store_instance(store: ResultStore, instance: Instance) -> None:
    """Store an instance unless it is there."""
    if not (store.instances / f"{instance.sha256}.json").exists():
        write_document(store.instances, instance.to_json())


def read_instance(store: ResultStore, sha256: str) -> bytes:
    """Return the canonical JSON of a stored instance.

    Raises
    ------
    StoreError
        If it cannot be read, or its content is not what its name says.
    """
    path = store.instances / f"{sha256}.json"
    try:
        content = path.read_bytes()
    except OSError as error:
        raise StoreError(f"{path} cannot be read: {error.strerror}.") from error
    if hashlib.sha256(content).hexdigest() != sha256:
        raise StoreError(f"{path} was changed; expected the content with the hash that names it.")
    return content
