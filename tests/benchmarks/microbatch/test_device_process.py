import threading
from multiprocessing import Pipe

import numpy as np
import pytest

from boundmark.benchmarks.microbatch.device_process import (
    BackgroundTransfers,
    receive,
    send,
)

TENSOR = np.arange(4.0)


def test_a_tensor_goes_through() -> None:
    """What is sent is received."""
    here, there = Pipe()
    sender = threading.Thread(target=send, args=(here, (1, 2), TENSOR, 0.0))
    sender.start()
    assert np.array_equal(receive(there, (1, 2)), TENSOR)
    sender.join()


def test_another_tensor_is_an_error() -> None:
    """Both ends have to mean the same tensor."""
    here, there = Pipe()
    there.send(((7, 0), None))
    with pytest.raises(RuntimeError, match=r"ready for \(7, 0\); expected \(1, 2\)"):
        send(here, (1, 2), TENSOR, 0.0)
    here.send(((7, 0), TENSOR))
    with pytest.raises(RuntimeError, match=r"received \(7, 0\); expected \(1, 2\)"):
        receive(there, (1, 2))


def test_background_transfers_keep_their_order() -> None:
    """Two devices that exchange tensors wait for what they need only."""
    here, there = Pipe()
    first, second = BackgroundTransfers({1: here}), BackgroundTransfers({0: there})
    first.begin_receive(1, (0, 0))
    second.begin_send(0, (0, 0), TENSOR, 0.0)
    first.begin_send(1, (1, 0), 2 * TENSOR, 0.0)
    second.begin_receive(0, (1, 0))
    assert np.array_equal(second.wait((1, 0)), 2 * TENSOR)
    assert np.array_equal(first.wait((0, 0)), TENSOR)
    first.finish()
    second.finish()


def test_background_failures_come_to_light() -> None:
    """Who waits for a tensor learns why it does not come."""
    here, there = Pipe()
    transfers = BackgroundTransfers({1: here})
    transfers.begin_receive(1, (0, 0))
    there.send(((7, 0), TENSOR))
    with pytest.raises(RuntimeError, match="expected"):
        transfers.wait((0, 0))
    with pytest.raises(RuntimeError, match="expected"):
        transfers.finish()
