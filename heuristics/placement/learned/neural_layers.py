"""Layers of neural networks on named parameters, and Adam's state. Needs JAX."""

import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np
from jax.example_libraries import optimizers

# Arrays by name: what a checkpoint holds.
Parameters: TypeAlias = dict[str, Any]
Array: TypeAlias = Any

# Logit of a choice that is not allowed.
NEVER = -1e9


def initial_layers(name: str, widths: Sequence[int], generator: np.random.Generator) -> Parameters:
    """Return the parameters of dense layers between widths.

    Weights are uniform in +-sqrt(6 / (inputs + outputs)) (Glorot and Bengio, 2010), biases 0.
    """
    found: Parameters = {}
    for number, (inputs, outputs) in enumerate(itertools.pairwise(widths)):
        limit = np.sqrt(6 / (inputs + outputs))
        drawn = generator.uniform(-limit, limit, size=(inputs, outputs))
        found[f"{name}.{number}.weights"] = drawn.astype(np.float32)
        found[f"{name}.{number}.bias"] = np.zeros(outputs, dtype=np.float32)
    return found


def dense(parameters: Mapping[str, Array], name: str, rows: Array) -> Array:
    """Return a dense layer's outputs, shape (..., outputs)."""
    return rows @ parameters[f"{name}.weights"] + parameters[f"{name}.bias"]


def perceptron(
    parameters: Mapping[str, Array], name: str, rows: Array, *, ends_active: bool
) -> Array:
    """Return the outputs of dense layers with ReLU between, and after the last if `ends_active`."""
    layers = sum(key.startswith(f"{name}.") and key.endswith(".bias") for key in parameters)
    for number in range(layers):
        rows = dense(parameters, f"{name}.{number}", rows)
        if ends_active or number + 1 < layers:
            rows = jax.nn.relu(rows)
    return rows


def added_up(rows: Array, into: Array, count: int) -> Array:
    """Return the sums of the rows with each index, shape (count, ...)."""
    return jax.ops.segment_sum(rows, into, num_segments=count)


def log_likelihood(logits: Array, chosen: Array, counts: Array) -> Array:
    """Return the log probability of the choices in the rows that count.

    Logits have the shape (rows, D); `counts` is 1 for rows that count and 0 for others.
    """
    logs = jax.nn.log_softmax(logits)
    return (jnp.take_along_axis(logs, chosen[:, None], axis=1)[:, 0] * counts).sum()


def updating(loss: Callable[..., Array]) -> Callable[..., Array]:
    """Return the compiled step of Adam that makes a loss of parameters and other arguments smaller.

    It takes Adam's state, the number of the step, the learning rate and the loss's other arguments,
    and returns the next state.
    """

    def update(moments: Array, number: Array, rate: Array, *arguments: Array) -> Array:
        _, change, current = optimizers.adam(lambda _: rate)
        return change(number, jax.grad(loss)(current(moments), *arguments), moments)

    return jax.jit(update)  # type: ignore[no-any-return]


def adam_state(parameters: Parameters) -> Array:
    """Return Adam's state for initial parameters."""
    return optimizers.adam(0.0)[0](parameters)


def parameters_of(moments: Array) -> Parameters:
    """Return the parameters in Adam's state."""
    found: Parameters = optimizers.adam(0.0)[2](moments)
    return found
