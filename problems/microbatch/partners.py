"""Pairs of blocks that belong to the same layers of the network."""

from boundmark.problems.microbatch.layout import BlockLayout


def forward_partners(layout: BlockLayout) -> dict[int, int]:
    """Return the forward block of each backward block that has one.

    A backward block belongs to a forward block on the same devices whose result it needs. What is
    left on the same devices is paired from the outside in: the last backward block with the first
    forward block, as in the sharded embeddings of [TESSEL24], Figure 8.
    """
    blocks = layout.blocks
    order = layout.dag.topological_order.tolist()
    backward = [i for i in order if blocks[i].kind == "backward"]
    partners: dict[int, int] = {}
    for i in backward:
        for p in layout.dag.producers_of(i).tolist():
            is_partner = blocks[p].kind == "forward" and blocks[p].devices == blocks[i].devices
            if is_partner and p not in partners.values():
                partners[i] = p
                break
    paired = set(partners.values())
    left = [i for i in order if blocks[i].kind == "forward" and i not in paired]
    for i in backward:
        candidates = [p for p in left if blocks[p].devices == blocks[i].devices]
        if i not in partners and candidates:
            partners[i] = candidates[-1]
            left.remove(candidates[-1])
    return partners


def backward_partners(layout: BlockLayout) -> dict[int, int]:
    """Return the backward block of each block of kind weight that has one.

    It is the one on the same devices whose result the block needs.
    """
    blocks = layout.blocks
    partners: dict[int, int] = {}
    for i, block in enumerate(blocks):
        if block.kind == "weight":
            candidates = [
                p
                for p in layout.dag.producers_of(i).tolist()
                if blocks[p].kind == "backward" and blocks[p].devices == block.devices
            ]
            if len(candidates) == 1 and candidates[0] not in partners.values():
                partners[i] = candidates[0]
    return partners
