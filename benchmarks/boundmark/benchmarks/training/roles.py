"""What the blocks of a placement do in a network."""

from dataclasses import dataclass

from boundmark.problems.errors import UnsupportedError
from boundmark.problems.microbatch import Placement
from boundmark.problems.microbatch.block import Kind


@dataclass(frozen=True)
class Role:
    """What a block computes.

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


def roles_of(placement: Placement) -> tuple[Role, ...]:
    """Return the role of each block.

    A backward block belongs to the forward block on the same devices whose result it needs. Those
    that need none are the backward blocks of what is left, the last one first. A block of kind
    weight belongs to the backward block on the same devices that it needs.

    Raises
    ------
    UnsupportedError
        If blocks do not pair up, or a backward block does not wait for a gradient that it needs.
    """
    forward_of = _pairs(placement)
    backward_of = {forward: backward for backward, forward in forward_of.items()}
    weight_of = _weights(placement, forward_of)
    roles = []
    for i, block in enumerate(placement.blocks):
        producers = placement.dag.producers_of(i).tolist()
        if block.kind == "forward":
            inputs = [p for p in producers if placement.blocks[p].kind == "forward"]
            roles.append(Role("forward", i, tuple(inputs), False))
        elif block.kind == "backward":
            forward = forward_of[i]
            readers = placement.dag.consumers_of(forward).tolist()
            gradients = [backward_of[r] for r in readers if placement.blocks[r].kind == "forward"]
            for gradient in gradients:
                if gradient not in producers:
                    raise UnsupportedError(
                        f"block {block.name!r} does not wait for "
                        f"{placement.blocks[gradient].name!r}; expected that a backward block "
                        "waits for the gradients of all that read its forward block's result."
                    )
            roles.append(Role("backward", forward, tuple(gradients), i not in weight_of.values()))
        else:
            roles.append(Role("weight", forward_of[weight_of[i]], (), True))
    return tuple(roles)


def _pairs(placement: Placement) -> dict[int, int]:
    """Return the forward block of each backward block."""
    blocks = placement.blocks
    order = placement.dag.topological_order.tolist()
    pairs: dict[int, int] = {}
    for i in order:
        if blocks[i].kind == "backward":
            for p in placement.dag.producers_of(i).tolist():
                is_partner = blocks[p].kind == "forward" and blocks[p].devices == blocks[i].devices
                if is_partner and p not in pairs.values():
                    pairs[i] = p
                    break
    has_backward = any(block.kind == "backward" for block in blocks)
    left = [i for i in order if blocks[i].kind == "forward" and i not in pairs.values()]
    for i in order:
        if blocks[i].kind == "backward" and i not in pairs:
            partners = [p for p in left if blocks[p].devices == blocks[i].devices]
            if not partners:
                raise UnsupportedError(
                    f"block {blocks[i].name!r} has no forward block on the same devices; "
                    "expected one."
                )
            pairs[i] = partners[-1]
            left.remove(partners[-1])
    if has_backward and left:
        raise UnsupportedError(
            f"block {blocks[left[0]].name!r} has no backward block on the same devices; "
            "expected one."
        )
    return pairs


def _weights(placement: Placement, forward_of: dict[int, int]) -> dict[int, int]:
    """Return the backward block of each block of kind weight."""
    found: dict[int, int] = {}
    for i, block in enumerate(placement.blocks):
        if block.kind != "weight":
            continue
        partners = [
            p
            for p in placement.dag.producers_of(i).tolist()
            if p in forward_of and placement.blocks[p].devices == block.devices
        ]
        if len(partners) != 1 or partners[0] in found.values():
            raise UnsupportedError(
                f"block {block.name!r} does not follow one backward block on the same devices; "
                "expected one of its own."
            )
        found[i] = partners[0]
    return found
