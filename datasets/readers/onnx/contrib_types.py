"""Output types of onnxruntime's own operators, from the types of their inputs.

For attention, sizes come first, from which both types and operations follow. Queries may share
keys, queries, keys and values may be one tensor or still have to be computed, and the cache of keys
and values may be one tensor, two, or pages.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod
from typing import TypeAlias

import numpy as np
import onnx.defs
import onnx.helper
import onnx.shape_inference
from onnx import TensorProto

from boundmark.datasets.readers.onnx.flops import (
    ROTATION,
    Attributes,
    Inputs,
    Outputs,
    Rule,
    attention_flops,
    given,
    optional,
)
from boundmark.datasets.readers.onnx.operators import KnownType
from boundmark.problems.computation_graph import Shape


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
        Elements of a head of the queries and keys, and of the values.
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
        """Return the operations of scores, softmax and weighted sum."""
        keys = self.new + self.past
        rows = prod(self.leading) * self.heads
        return attention_flops(
            rows * self.width, rows * self.depth, rows, min(keys, window) if window > 0 else keys
        )


Sizes: TypeAlias = Callable[[Inputs, Attributes], AttentionSizes]


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


def multi_head(inputs: Inputs, attributes: Attributes) -> AttentionSizes:
    """Return sizes where each query has its key.

    Keys are (batch, length, width of all heads), (batch, length, heads, 2, width) with the values,
    or (batch, heads, length, width) if they come from a cache; queries may be
    (batch, length, heads, 3, width).
    """
    query, key, value = given(inputs, 0), optional(inputs, 1), optional(inputs, 2)
    heads = attributes["num_heads"]
    # Packed queries, keys and values are as wide as one another.
    width = query[-1] if len(query) == 5 else query[-1] // heads // (3 if key is None else 1)
    depth = width
    if value is not None:
        depth = value[-1] if len(value) == 4 else value[-1] // heads
    new = query[1] if key is None else key[2 if len(key) == 4 else 1]
    past = _length(optional(inputs, 6), 2)
    return AttentionSizes(query[:2], heads, heads, width, depth, new, past)


def projected(past_at: int) -> Sizes:
    """Return how sizes follow where queries, keys and values are products of the first input."""

    def sizes(inputs: Inputs, attributes: Attributes) -> AttentionSizes:
        data, heads = given(inputs, 0), attributes["num_heads"]
        each = list(attributes.get("qkv_hidden_sizes", ())) or [given(inputs, 1)[-1] // 3] * 3
        past = _length(optional(inputs, past_at), 3)
        width, depth = each[0] // heads, each[2] // heads
        return AttentionSizes(data[:-1], heads, heads, width, depth, data[1], past)

    return sizes


def attending(sizes: Sizes, bias_at: int | None = None) -> Rule:
    """Return a rule that counts attention, and the bias and rotation of queries and keys."""

    def rule(inputs: Inputs, outputs: Outputs, attributes: Attributes) -> int:
        found = sizes(inputs, attributes)
        turned = prod(found.leading) * found.heads * found.width
        turned += found.new_keys * found.kept * found.width
        before = ROTATION * turned if attributes.get("do_rotary", 0) else 0
        if optional(inputs, bias_at) is not None:
            before += turned + found.new_keys * found.kept * found.depth
        return before + found.flops(attributes.get("local_window_size", -1))

    return rule


def projecting(sizes: Sizes) -> Rule:
    """Return a rule that counts the product that yields queries, keys and values, and attention."""

    def rule(inputs: Inputs, outputs: Outputs, attributes: Attributes) -> int:
        data = given(inputs, 0)
        steps = 2 * data[-1] + (optional(inputs, 2) is not None)
        columns = given(inputs, 1)[-1]
        return prod(data[:-1]) * columns * steps + attending(sizes)(inputs, outputs, attributes)

    return rule


def updating_states(inputs: Inputs, outputs: Outputs, attributes: Attributes) -> int:
    """Count what a token does to each head's state: decay, correction, update and readout."""
    query, value = given(inputs, 0), given(inputs, 2)
    heads: int = attributes["q_num_heads"]
    kept: int = attributes["kv_num_heads"]
    state = (query[-1] // heads) * (value[-1] // kept)
    kind = attributes.get("update_rule", "gated_delta")
    update = 2 + ("gated" in kind) + 2 * ("delta" in kind)
    return prod(query[:-1]) * state * (kept * update + 2 * max(heads, kept))


@dataclass(frozen=True)
class Call:
    """A node of an operator as far as its output types hang on it.

    Attributes
    ----------
    inputs
        Types by position, None where an input is left out.
    integers
        Returns the values of the constant at a position if it is one of few integers.
    """

    inputs: Sequence[KnownType | None]
    attributes: Attributes
    integers: Callable[[int], tuple[int, ...] | None]

    def kind(self, at: int) -> KnownType:
        """Return the type of an input that has to be there."""
        found = self.inputs[at]
        if found is None:
            raise KeyError(at)
        return found

    def shape(self, at: int) -> Shape:
        """Return the shape of an input that has to be there."""
        return self.kind(at)[0]

    @property
    def shapes(self) -> Inputs:
        """The shapes of all inputs."""
        return [None if kind is None else kind[0] for kind in self.inputs]

    def given(self, at: int) -> KnownType | None:
        """Return the type of an optional input."""
        return self.inputs[at] if at < len(self.inputs) else None

    def constant(self, at: int) -> tuple[int, ...]:
        """Return the values of an input that has to be a constant."""
        found = self.integers(at)
        if found is None:
            raise KeyError(at)
        return found


Types: TypeAlias = Callable[[Call], Sequence[KnownType | None]]


def like(*positions: int) -> Types:
    """Return types of outputs that are like the inputs at these positions."""
    return lambda call: [call.kind(at) for at in positions]


def with_elements(rule: Types, source: int, otherwise: int | None = None) -> Types:
    """Return the type of the first output of a rule, with other elements."""

    def types(call: Call) -> list[KnownType]:
        first = rule(call)[0]
        element = otherwise if (kind := call.given(source)) is None else kind[1]
        if first is None or element is None:
            raise KeyError(source)
        return [(first[0], element)]

    return types


def widened(width: str) -> Types:
    """Return types of outputs that are like the first input but for the width, an attribute."""
    return lambda call: [((*call.shape(0)[:-1], call.attributes[width]), call.kind(0)[1])]


def normalised(call: Call) -> list[KnownType]:
    """Return types of a normalised sum, of its mean, of its deviation, and of the sum."""
    shape, element = call.kind(0)
    statistics = ((*shape[:-1], 1), int(TensorProto.FLOAT))
    return [(shape, element), statistics, statistics, (shape, element)]


def simplified(call: Call) -> list[KnownType]:
    """Return types of a tensor normalised from an axis on, and of its deviation."""
    shape, element = call.kind(0)
    axis = call.attributes.get("axis", -1) % len(shape)
    return [(shape, element), ((*shape[:axis], *(1,) * (len(shape) - axis)), TensorProto.FLOAT)]


def broadcast(*positions: int) -> Types:
    """Return the type of what combines the inputs at these positions, with the last's elements."""
    return lambda call: [
        (np.broadcast_shapes(*(call.shape(at) for at in positions)), call.kind(positions[-1])[1])
    ]


def _product(one: Shape, other: Shape) -> Shape:
    """Return the shape of a product of matrices."""
    if len(one) == 1 or len(other) == 1 or one[-1] != other[-2]:
        raise ValueError(one)
    return (*np.broadcast_shapes(one[:-2], other[:-2]), one[-2], other[-1])


def turned(shape: Shape, attributes: Attributes, side: str) -> Shape:
    """Return the shape of a factor whose rows or batches an attribute transposes."""
    if attributes.get(f"transBatch{side}", 0):
        shape = (*shape[1:-1], shape[0], shape[-1])
    if attributes.get(f"trans{side}", 0) and len(shape) > 1:
        shape = (*shape[:-2], shape[-1], shape[-2])
    return shape


def products(second: int = 1) -> Types:
    """Return the type of a product of the first input and that at another position."""

    def types(call: Call) -> list[KnownType]:
        factors = zip((0, second), "AB", strict=True)
        both = [turned(call.shape(at), call.attributes, side) for at, side in factors]
        return [(_product(*both), call.kind(0)[1])]

    return types


def of_weights(rows_at: int) -> Types:
    """Return the type of a product with weights that have a row for each output."""
    return lambda call: [((*call.shape(0)[:-1], call.shape(rows_at)[0]), call.kind(0)[1])]


def as_onnx(op_type: str, *positions: int, version: int = 21) -> Types:
    """Return the types that ONNX infers for one of its own operators."""

    def types(call: Call) -> list[KnownType]:
        if call.attributes.get("channels_last", 0):
            # No exporter writes this: it is what onnxruntime makes of a model for some processors.
            raise KeyError("channels_last")
        schema = onnx.defs.get_schema(op_type, version)
        kinds = {f"i{at}": call.given(at) for at in positions}
        named = {name: kind for name, kind in kinds.items() if kind is not None}
        names = [name if name in named else "" for name in kinds]
        attributes = {k: v for k, v in call.attributes.items() if k in schema.attributes}
        node = onnx.helper.make_node(op_type, names, ["y"], **attributes)
        # The definitions in ONNX are for float.
        given = {
            name: onnx.helper.make_tensor_type_proto(TensorProto.FLOAT, shape)
            for name, (shape, _) in named.items()
        }
        found = onnx.shape_inference.infer_node_outputs(schema, node, given)["y"].tensor_type
        return [(tuple(dim.dim_value for dim in found.shape.dim), call.kind(positions[0])[1])]

    return types


def concatenated(call: Call) -> list[KnownType]:
    """Return the type of parts behind one another.

    Each has a scale and a zero point behind it, and the output's come first.
    """
    shapes = [call.shape(at) for at in range(2, len(call.inputs), 3)]
    axis = call.attributes["axis"] % len(shapes[0])
    length = sum(shape[axis] for shape in shapes)
    return [((*shapes[0][:axis], length, *shapes[0][axis + 1 :]), call.kind(1)[1])]


def gathered(call: Call) -> list[KnownType]:
    """Return the type of chosen rows, whose elements may be packed along the last dimension."""
    data, element = call.kind(0)
    shape = list(data)
    if element == TensorProto.UINT8:
        shape[-1] *= 8 // call.attributes.get("bits", 4)
    axis = call.attributes.get("gather_axis", 0) % len(shape)
    return [((*shape[:axis], *call.shape(1), *shape[axis + 1 :]), call.kind(2)[1])]


def embedded(element_at: int) -> Types:
    """Return types of embedded words, of the lengths of sentences, and of the words' sums."""

    def types(call: Call) -> list[KnownType]:
        ids = call.shape(0)
        hidden = ((*ids, call.shape(2)[-1]), call.kind(element_at)[1])
        return [hidden, ((ids[0],), TensorProto.INT32), hidden]

    return types


def recurrent_types(call: Call) -> list[KnownType]:
    """Return types of all outputs of a recurrence, of the last one, and of the last state."""
    length, batch = call.shape(0)[:2]
    directions, units, element = call.shape(2)[0], call.shape(2)[1], call.kind(0)[1]
    last = ((directions, batch, units), element)
    return [((length, directions, batch, units), element), last, last]


def carried(call: Call) -> list[KnownType]:
    """Return types of the output of a causal convolution, and of the inputs it reaches back to."""
    data, weights = call.kind(0), call.shape(1)
    past = call.given(3)
    if past is None:
        length = (weights[-1] - 1) * call.attributes.get("dilation", 1)
        batch, *between, _ = data[0]
        kept = (batch, *between, length)
        if call.attributes.get("channels_last", 0):
            kept = (batch, length, *data[0][2:])
        past = (kept, data[1])
    return [data, past]


def linear_attention_types(call: Call) -> list[KnownType]:
    """Return types of the output and of the state of each head."""
    query, element = call.kind(0)
    heads, kept = call.attributes["q_num_heads"], call.attributes["kv_num_heads"]
    wide, deep = query[-1] // heads, call.shape(2)[-1] // kept
    past = call.given(3) or ((query[0], kept, wide, deep), element)
    return [((*query[:-1], max(heads, kept) * deep), element), past]


def attended(sizes: Sizes, past_at: int, total_at: int | None = None) -> Types:
    """Return types of attention's output, of the keys and values to keep, and of the scores."""

    def types(call: Call) -> list[KnownType]:
        found, element = sizes(call.shapes, call.attributes), call.kind(0)[1]
        total = None if total_at is None else call.integers(total_at)
        length = found.past + found.new if total is None else max(found.past, *total)
        length = _kept_length(call, found.past, length)
        kept = []
        for at, width in ((past_at, found.width), (past_at + 1, found.depth)):
            past = call.given(at) or ((found.leading[0], found.kept, 0, width), element)
            (batch, heads, _, last), kind = past
            kept.append(((batch, heads, length, last), kind))
        scores = (found.leading[0], found.heads, found.leading[1], length)
        return [(found.output, element), *kept, (scores, element)]

    return types


def self_attended(past_at: int, element_at: int = 0) -> Types:
    """Return types of attention's output, and of the keys and values to keep, in one tensor."""
    sizes = projected(past_at)

    def types(call: Call) -> list[KnownType]:
        found, element = sizes(call.shapes, call.attributes), call.kind(element_at)[1]
        length = _kept_length(call, found.past, found.past + found.new)
        kept = (2, found.leading[0], found.heads, length, found.width)
        return [(found.output, element), (kept, element)]

    return types


def _kept_length(call: Call, past: int, length: int) -> int:
    """Return for how many keys there is room in what is kept; buffers may have more of it."""
    is_shared = call.attributes.get("past_present_share_buffer", 0)
    return past if is_shared and past else length


def paged_types(call: Call) -> list[KnownType | None]:
    """Return types of attention's output and of the pages of keys and values, as they come in."""
    output = (paged(call.shapes, call.attributes).output, call.kind(0)[1])
    return [output, call.kind(3), call.given(4)]
