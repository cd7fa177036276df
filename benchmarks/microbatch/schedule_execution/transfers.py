"""Tensors between processes, through pipes."""

import queue
import threading
import time
from collections.abc import Mapping
from multiprocessing.connection import Connection
from typing import Any

from boundmark.benchmarks.microbatch.schedule_execution.network import Array

# Block and micro-batch that a tensor belongs to.
Key = tuple[int, int]


def send(connection: Connection, key: Key, tensor: Array, seconds: float) -> None:
    """Wait until the other end is ready for this tensor, and send it after some seconds."""
    wanted, _ = connection.recv()
    if wanted != key:
        raise RuntimeError(f"the other end is ready for {wanted}; expected {key}.")
    time.sleep(seconds)
    connection.send((key, tensor))


def receive(connection: Connection, key: Key) -> Array:
    """Say that this end is ready for a tensor, and wait for it."""
    connection.send((key, None))
    found, tensor = connection.recv()
    if found != key or tensor is None:
        raise RuntimeError(f"received {found}; expected {key}.")
    return tensor  # type: ignore[no-any-return]


class BackgroundTransfers:
    """A thread that sends and receives in the order in which it was told to."""

    def __init__(self, connections: Mapping[int, Connection]) -> None:
        self._connections = connections
        self._jobs: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._arrived: dict[Key, Array] = {}
        self._changed = threading.Condition()
        self._failure: BaseException | None = None
        self._thread = threading.Thread(target=self._work, daemon=True)
        self._thread.start()

    def begin_send(self, to: int, key: Key, tensor: Array, seconds: float) -> None:
        """Send a tensor when it is its turn."""
        self._jobs.put((send, self._connections[to], key, tensor, seconds))

    def begin_receive(self, source: int, key: Key) -> None:
        """Receive a tensor when it is its turn."""
        self._jobs.put((receive, self._connections[source], key))

    def wait(self, key: Key) -> Array:
        """Return a tensor once it is there."""
        with self._changed:
            self._changed.wait_for(lambda: key in self._arrived or self._failure is not None)
            if self._failure is not None:
                raise self._failure
            return self._arrived.pop(key)

    def finish(self) -> None:
        """Wait until everything is sent and received."""
        self._jobs.put(None)
        self._thread.join()
        if self._failure is not None:
            raise self._failure

    def _work(self) -> None:
        try:
            while (job := self._jobs.get()) is not None:
                function, connection, key, *rest = job
                tensor = function(connection, key, *rest)
                if tensor is not None:
                    with self._changed:
                        self._arrived[key] = tensor
                        self._changed.notify_all()
        except BaseException as error:
            with self._changed:
                self._failure = error
                self._changed.notify_all()
