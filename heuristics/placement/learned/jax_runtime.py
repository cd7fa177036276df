"""JAX as policies use it: on the processor, with as many threads as the budget has."""

import os

from boundmark.problems.errors import UnsupportedError


def prepare_jax(threads: int) -> None:
    """Set up JAX before it is imported; call this before importing a module that needs it.

    Raises
    ------
    UnsupportedError
        If it is not installed.
    """
    import importlib.util

    if importlib.util.find_spec("jax") is None:
        raise UnsupportedError("jax is not installed; expected it, as in boundmark[learned].")
    if threads == 1:
        # The second one is no flag of its own, but read from the same text.
        os.environ.setdefault(
            "XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
        )
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
