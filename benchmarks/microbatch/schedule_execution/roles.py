"""Assigns the blocks of a layout their parts of a network."""

from dataclasses import dataclass

from boundmark.problems.errors import UnsupportedError
from boundmark.problems.microbatch import BlockLayout
from boundmark.problems.microbatch.layout import Kind
from boundmark.problems.microbatch.partners import backward_partners, forward_partners


@dataclass(frozen=True)
class Role:
    """The computation of a block.

    Attributes
    ----------
    forward
        The forward block whose layer it belongs to, itself if it is one.
    inputs
        Blocks whose results it adds up: outputs going forward, gradients going backward. None of
        them means that it reads the micro-batch, or the loss.
    computes_weights
        Whether it computes the gradient of the layer's weights.
    """

    kind: Kind
    forward: int
    inputs: tuple[int, ...]
    computes_weights: bool


def roles_of(layout: BlockLayout) -> tuple[Role, ...]:
    """Return the role of each block.

    Raises
    ------
    UnsupportedError
        If blocks do not pair up, or a backward block does not wait for a gradient that it needs.
    """
    forward_of, weight_of = forward_partners(layout), backward_partners(layout)
    _check_that_all_pair_up(layout, forward_of, weight_of)
    backward_of = {forward: backward for backward, forward in forward_of.items()}
    roles = []
    for i, block in enumerate(layout.blocks):
        producers = layout.dag.producers_of(i).tolist()
        if block.kind == "forward":
            inputs = [p for p in producers if layout.blocks[p].kind == "forward"]
            roles.append(Role("forward", i, tuple(inputs), False))
        elif block.kind == "backward":
            forward = forward_of[i]
            readers = layout.dag.consumers_of(forward).tolist()
            gradients = [backward_of[r] for r in readers if layout.blocks[r].kind == "forward"]
            for gradient in gradients:
                if gradient not in producers:
                    raise UnsupportedError(
                        f"block {block.name!r} does not wait for "
                        f"{layout.blocks[gradient].name!r}; expected that a backward block "
                        "waits for the gradients of all that read its forward block's result."
                    )
            roles.append(Role("backward", forward, tuple(gradients), i not in weight_of.values()))
        else:
            roles.append(Role("weight", forward_of[weight_of[i]], (), True))
    return tuple(roles)


def _check_that_all_pair_up(
    layout: BlockLayout, forward_of: dict[int, int], weight_of: dict[int, int]
) -> None:
    is_training = any(block.kind != "forward" for block in layout.blocks)
    paired = {*forward_of, *weight_of, *forward_of.values()}
    for i, block in enumerate(layout.blocks):
        if i not in paired and (is_training or block.kind != "forward"):
            wanted = {
                "forward": "backward block",
                "backward": "forward block",
                "weight": "backward block of its own",
            }
            raise UnsupportedError(
                f"block {block.name!r} has no {wanted[block.kind]} on the same devices; "
                "expected one."
            )
