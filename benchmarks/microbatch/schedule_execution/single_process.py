"""The same training step in one process, one micro-batch after the other."""

from boundmark.benchmarks.microbatch.schedule_execution.network import (
    Array,
    backward_input,
    forward_input,
    shard,
)
from boundmark.benchmarks.microbatch.schedule_execution.roles import roles_of
from boundmark.problems.microbatch import BlockLayout


def weight_gradients(layout: BlockLayout, micro_batches: int, seed: int) -> dict[int, Array]:
    """Return the gradient of each layer's weights, by forward block; zeros in inference.

    Raises
    ------
    UnsupportedError
        If the blocks of the layout do not pair up.
    """
    roles = roles_of(layout)
    layers = {i: shard(i, seed) for i, role in enumerate(roles) if role.kind == "forward"}
    for number in range(micro_batches):
        results: dict[int, Array] = {}
        for i in layout.dag.topological_order.tolist():
            role = roles[i]
            layer, inputs = layers[role.forward], [results[j] for j in role.inputs]
            if role.kind == "forward":
                results[i] = layer.forward(
                    number, forward_input(role.forward, number, seed, inputs)
                )
            elif role.kind == "backward":
                output = results[role.forward]
                gradient = backward_input(role.forward, number, seed, inputs, output)
                results[i] = layer.backward(number, gradient)
            if role.computes_weights:
                layer.add_weights_gradient(number)
    return {i: layer.gradient for i, layer in layers.items()}
