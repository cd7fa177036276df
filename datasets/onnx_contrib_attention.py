"""Attention in onnxruntime's own operators: sizes, from which shapes and operations follow.

Queries may share keys, queries, keys and values may be packed in one tensor or still have to be
computed, and the cache of keys and values may be one tensor, two, or pages.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod
from typing import TypeAlias

from boundmark.datasets.onnx_flops import ROTATION, Attributes, Rule, attention_flops, given
from boundmark.problems.computation_graph import Shape

Inputs: TypeAlias = Sequence[Shape | None]


@dataclass(frozen=True)
class AttentionSizes:
    """Sizes of attention over queries, keys and values.

    Attributes
    ----------
    leading
        Dimensions of the queries before their width: batch and length, or the tokens of all
        sequences.
    heads, kept
        Heads of the queries, and of the keys and values.
    width, depth
        Of a head of the queries and keys, and of the values.
    new, past
        Keys of a sequence that are computed, and that a cache has.
    """

    leading: Shape
    heads: int
    kept: int
    width: int
    depth: int
    new: int
    past: int

    @property
    def output(self) -> Shape:
        """Shape of the output."""
        return (*self.leading, self.heads * self.depth)

    @property
    def new_keys(self) -> int:
        """Number of the keys of all sequences that are computed."""
        is_packed = len(self.leading) == 1
        return self.leading[0] if is_packed else self.leading[0] * self.new

    def flops(self, window: int) -> int:
        """Return the operations of scores, softmax and weighted sum.

        Parameters
        ----------
        window
            Keys that a query meets at most; -1 if it meets all.
        """
        keys = self.new + self.past
        rows = prod(self.leading) * self.heads
        return attention_flops(
            rows * self.width, rows * self.depth, rows, min(keys, window) if window > 0 else keys
        )


Sizes: TypeAlias = Callable[[Inputs, Attributes], AttentionSizes]


def optional(inputs: Inputs, at: int | None) -> Shape | None:
    """Return the shape of an input that may be left out."""
    return inputs[at] if at is not None and at < len(inputs) else None


def _length(shape: Shape | None, at: int) -> int:
    return 0 if shape is None else shape[at]


def _grouped_width(inputs: Inputs, attributes: Attributes) -> int:
    """Return the width of a head, where the queries may have keys and values beside them."""
    heads = attributes["num_heads"]
    if optional(inputs, 1) is None:
        heads += 2 * attributes["kv_num_heads"]
    width: int = given(inputs, 0)[-1] // heads
    return width


def grouped(past_at: int) -> Sizes:
    """Return how sizes follow where queries share keys."""

    def sizes(inputs: Inputs, attributes: Attributes) -> AttentionSizes:
        query, width = given(inputs, 0), _grouped_width(inputs, attributes)
        key = optional(inputs, 1) or query
        past = _length(optional(inputs, past_at), 2)
        heads, kept = attributes["num_heads"], attributes["kv_num_heads"]
        return AttentionSizes(query[:2], heads, kept, width, width, key[1], past)

    return sizes


def paged(inputs: Inputs, attributes: Attributes) -> AttentionSizes:
    """Return sizes where the cache is in pages; sequences are taken to fill theirs."""
    width = _grouped_width(inputs, attributes)
    depth = attributes.get("v_head_size", 0) or width
    keys = given(inputs, 7)[1] * given(inputs, 3)[1]
    heads, kept = attributes["num_heads"], attributes["kv_num_heads"]
    return AttentionSizes(given(inputs, 0)[:1], heads, kept, width, depth, 0, keys)


def multi_head(past_at: int) -> Sizes:
    """Return how sizes follow where each query has its key.

    Keys are (batch, length, width of all heads), (batch, length, heads, 2, width) with the values,
    or (batch, heads, length, width) if they come from a cache; queries may be
    (batch, length, heads, 3, width).
    """

    def sizes(inputs: Inputs, attributes: Attributes) -> AttentionSizes:
        query, key, value = given(inputs, 0), optional(inputs, 1), optional(inputs, 2)
        heads = attributes["num_heads"]
        # Of all that is packed, each is as wide as a query.
        width = query[-1] if len(query) == 5 else query[-1] // heads // (3 if key is None else 1)
        depth = width
        if value is not None:
            depth = value[-1] if len(value) == 4 else value[-1] // heads
        new = query[1] if key is None else key[2 if len(key) == 4 else 1]
        past = _length(optional(inputs, past_at), 2)
        return AttentionSizes(query[:2], heads, heads, width, depth, new, past)

    return sizes


def packed(inputs: Inputs, attributes: Attributes) -> AttentionSizes:
    """Return sizes where the tokens of all sequences are in one row.

    Each meets as many as the longest sequence has.
    """
    query, value = given(inputs, 0), optional(inputs, 2)
    heads = attributes["num_heads"]
    width = query[-1] if len(query) == 4 else query[-1] // heads
    depth = width if value is None else value[-1] // heads
    return AttentionSizes(query[:1], heads, heads, width, depth, given(inputs, 4)[1], 0)


def projected(
    past_at: int | None = None, offsets_at: int | None = None, parts_at: Sequence[int] = (1,)
) -> Sizes:
    """Return how sizes follow where queries, keys and values are products of the first input.

    Parameters
    ----------
    past_at
        Position of the cache of both keys and values.
    offsets_at
        Position of the tokens' offsets, where the tokens of all sequences are in one row.
    parts_at
        Positions of the weights; those of queries, keys and values may be one tensor.
    """

    def sizes(inputs: Inputs, attributes: Attributes) -> AttentionSizes:
        data, heads = given(inputs, 0), attributes["num_heads"]
        each = [given(inputs, at)[-1] for at in parts_at]
        if len(each) == 1:
            each = list(attributes.get("qkv_hidden_sizes", ())) or [each[0] // 3] * 3
        new = data[1] if offsets_at is None else given(inputs, offsets_at)[1]
        past = _length(optional(inputs, past_at), 3)
        width, depth = each[0] // heads, each[2] // heads
        return AttentionSizes(data[:-1], heads, heads, width, depth, new, past)

    return sizes


def attending(sizes: Sizes, bias_at: int | None = None) -> Rule:
    """Return a rule that counts attention, and the bias and rotation of queries and keys."""

    def rule(inputs: Inputs, outputs: Sequence[Shape], attributes: Attributes) -> int:
        found = sizes(inputs, attributes)
        turned = prod(found.leading) * found.heads * found.width
        turned += found.new_keys * found.kept * found.width
        before = ROTATION * turned if attributes.get("do_rotary", 0) else 0
        if optional(inputs, bias_at) is not None:
            before += turned + found.new_keys * found.kept * found.depth
        return before + found.flops(attributes.get("local_window_size", -1))

    return rule


def projecting(
    sizes: Sizes, parts_at: Sequence[int] = (1,), biases_at: Sequence[int] = (2,)
) -> Rule:
    """Return a rule that counts the products that yield queries, keys and values, and attention."""

    def rule(inputs: Inputs, outputs: Sequence[Shape], attributes: Attributes) -> int:
        data = given(inputs, 0)
        steps = 2 * data[-1] + all(optional(inputs, at) is not None for at in biases_at)
        columns = sum(given(inputs, at)[-1] for at in parts_at)
        return prod(data[:-1]) * columns * steps + attending(sizes)(inputs, outputs, attributes)

    return rule


def attending_nearby(inputs: Inputs, outputs: Sequence[Shape], attributes: Attributes) -> int:
    """Count the products and attention to a window on both sides; few tokens see all others."""
    data = given(inputs, 0)
    keys = min(data[1], 2 * attributes["window"] + 1)
    rows = prod(data[:-1]) * attributes["num_heads"]
    products = prod(data[:-1]) * given(inputs, 1)[-1] * (2 * data[-1] + 1)
    return products + attention_flops(prod(data), prod(data), rows, keys)


def updating_states(inputs: Inputs, outputs: Sequence[Shape], attributes: Attributes) -> int:
    """Count what a token does to each head's state: decay, correction, update and readout."""
    query, value = given(inputs, 0), given(inputs, 2)
    heads: int = attributes["q_num_heads"]
    kept: int = attributes["kv_num_heads"]
    state = (query[-1] // heads) * (value[-1] // kept)
    kind = attributes.get("update_rule", "gated_delta")
    update = 2 + ("gated" in kind) + 2 * ("delta" in kind)
    return prod(query[:-1]) * state * (kept * update + 2 * max(heads, kept))
