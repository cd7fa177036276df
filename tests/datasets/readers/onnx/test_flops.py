import itertools
from math import prod

import pytest

from boundmark.datasets.readers.onnx.flops import flops
from boundmark.problems.errors import InvalidInputError


@pytest.mark.parametrize(
    ("op_type", "inputs", "outputs", "attributes", "expected"),
    [
        # 7 x 7 outputs of 8 channels, each a sum of 3 x 5 x 5 products.
        ("Conv", [(1, 3, 9, 9), (8, 3, 5, 5)], [(1, 8, 7, 7)], {}, 2 * 8 * 49 * 75),
        ("Conv", [(1, 3, 9, 9), (8, 3, 5, 5), (8,)], [(1, 8, 7, 7)], {}, 8 * 49 * 151),
        ("Conv", [(2, 4, 8, 8), (6, 2, 3, 3)], [(2, 6, 4, 4)], {"group": 2}, 2 * 192 * 18),
        ("Conv", [(1, 4, 10), (4, 1, 3)], [(1, 4, 8)], {"group": 4}, 2 * 32 * 3),
        ("ConvInteger", [(1, 3, 9, 9), (8, 3, 5, 5), ()], [(1, 8, 7, 7)], {}, 2 * 8 * 49 * 75),
        (
            "QLinearConv",
            [(1, 3, 9, 9), (), (), (8, 3, 5, 5), (), (), (), ()],
            [(1, 8, 7, 7)],
            {},
            2 * 8 * 49 * 75,
        ),
        # Each of 4 x 5 x 5 inputs meets 3 x 2 x 2 weights.
        ("ConvTranspose", [(1, 4, 5, 5), (4, 3, 2, 2)], [(1, 3, 10, 10)], {}, 2 * 100 * 12),
        ("ConvTranspose", [(1, 4, 5, 5), (4, 3, 2, 2), (3,)], [(1, 3, 10, 10)], {}, 2700),
        ("Gemm", [(2, 3), (3, 5)], [(2, 5)], {}, 60),
        ("Gemm", [(2, 3), (5, 3), (5,)], [(2, 5)], {"transB": 1}, 70),
        ("Gemm", [(3, 2), (3, 5)], [(2, 5)], {"transA": 1}, 60),
        ("MatMul", [(4, 2, 3), (4, 3, 5)], [(4, 2, 5)], {}, 240),
        ("MatMul", [(7, 1, 2, 3), (6, 3, 5)], [(7, 6, 2, 5)], {}, 2 * 42 * 30),
        ("MatMul", [(3,), (3,)], [()], {}, 6),
        ("QLinearMatMul", [(2, 3), (), (), (3, 5), (), ()], [(2, 5)], {}, 60),
        ("Einsum", [(2, 3), (3, 5)], [(2, 5)], {"equation": "ij,jk->ik"}, 60),
        ("Einsum", [(4, 2, 3), (3, 5)], [(4, 2, 5)], {"equation": "...ij, jk -> ...ik"}, 240),
        ("Einsum", [(2, 3)], [(3, 2)], {"equation": "ij->ji"}, 6),
        ("MaxPool", [(1, 2, 8, 8)], [(1, 2, 4, 4)], {"kernel_shape": [3, 3]}, 32 * 9),
        ("GlobalAveragePool", [(1, 2, 7, 7)], [(1, 2, 1, 1)], {}, 98),
        ("BatchNormalization", [(1, 2, 7, 7), *[(2,)] * 4], [(1, 2, 7, 7)], {}, 196),
        ("LRN", [(1, 2, 7, 7)], [(1, 2, 7, 7)], {"size": 5}, 98 * 9),
        ("Softmax", [(1, 10)], [(1, 10)], {}, 50),
        ("LayerNormalization", [(4, 10), (10,), (10,)], [(4, 10)], {}, 280),
        ("RMSNormalization", [(4, 10), (10,)], [(4, 10)], {}, 160),
        ("RotaryEmbedding", [(4, 10), (9, 5), (9, 5)], [(4, 10)], {}, 120),
        ("Swish", [(3, 4)], [(3, 4)], {}, 12),
        ("TensorScatter", [(2, 9, 4), (2, 1, 4)], [(2, 9, 4)], {}, 0),
        ("DynamicQuantizeLinear", [(3, 4)], [(3, 4), (), ()], {}, 36),
        ("QuantizeLinear", [(3, 4), ()], [(3, 4)], {}, 12),
        ("ReduceMean", [(4, 10)], [(4, 1)], {}, 40),
        ("ReduceL2", [(4, 10)], [(4, 1)], {}, 80),
        ("Sum", [(3, 4)] * 3, [(3, 4)], {}, 24),
        ("Add", [(3, 4), (4,)], [(3, 4)], {}, 12),
        ("Relu", [(3, 4)], [(3, 4)], {}, 12),
        ("Transpose", [(3, 4)], [(4, 3)], {}, 0),
        ("Dropout", [(3, 4)], [(3, 4)], {}, 0),
        ("SomethingElse", [(3, 4)], [(5,), (2, 2)], {}, 9),
    ],
)
def test_operations_by_hand(op_type, inputs, outputs, attributes, expected):
    """Counts agree with those worked out from the operators' definitions."""
    assert flops(op_type, inputs, outputs, attributes) == expected


@pytest.mark.parametrize("groups", [1, 2, 4])
@pytest.mark.parametrize("stride", [1, 2])
@pytest.mark.parametrize("pad", [0, 1])
def test_convolution_agrees_with_its_loop_nest(groups, stride, pad):
    """The count equals the multiply-adds that the textbook loops execute, padding included."""
    channels, size, filters, kernel = 4, 7, 8, 3
    out = (size + 2 * pad - kernel) // stride + 1
    steps = itertools.product(
        range(filters), range(out), range(out), range(channels // groups), range(kernel**2)
    )
    shapes = [(1, channels, size, size), (filters, channels // groups, kernel, kernel)]
    assert flops("Conv", shapes, [(1, filters, out, out)], {}) == 2 * len(list(steps))


def test_attention_is_its_two_products_and_softmax():
    """Both layouts of Attention count like MatMul, Softmax, MatMul on the split heads."""
    batch, heads, queries, keys, width = 2, 3, 5, 7, 4
    scores = (batch, heads, queries, keys)
    split = [(batch, heads, length, width) for length in (queries, keys, keys)]
    expected = (
        flops("MatMul", [split[0], (batch, heads, width, keys)], [scores], {})
        + flops("Softmax", [scores], [scores], {})
        + flops("MatMul", [scores, split[2]], [split[0]], {})
    )
    assert flops("Attention", split, [split[0]], {}) == expected
    joined = [(batch, length, heads * width) for length in (queries, keys, keys)]
    attributes = {"q_num_heads": heads, "kv_num_heads": heads}
    assert flops("Attention", joined, [joined[0]], attributes) == expected


def test_attention_reads_cached_keys():
    """Keys of the past count like keys of the present."""
    query, both = (1, 2, 1, 4), (1, 2, 10, 4)
    new, past = (1, 2, 1, 4), (1, 2, 9, 4)
    with_cache = flops("Attention", [query, new, new, None, past, past], [query], {})
    assert with_cache == flops("Attention", [query, both, both], [query], {})


@pytest.mark.parametrize(("op_type", "gates"), [("RNN", 1), ("GRU", 3), ("LSTM", 4)])
def test_recurrent_layers_are_products_and_gates(op_type, gates):
    """Each step of each direction multiplies input and state, then adds and applies gates."""
    length, batch, width, units, directions = 6, 2, 5, 3, 2
    step = flops("MatMul", [(batch, width), (width, gates * units)], [(batch, gates * units)], {})
    step += flops("MatMul", [(batch, units), (units, gates * units)], [(batch, gates * units)], {})
    step += 2 * batch * gates * units
    inputs = [
        (length, batch, width),
        (directions, gates * units, width),
        (directions, gates * units, units),
    ]
    outputs = [(length, directions, batch, units)]
    assert flops(op_type, inputs, outputs, {"hidden_size": units}) == length * directions * step


@pytest.mark.parametrize(
    ("op_type", "inputs", "attributes"),
    [
        ("Conv", [(1, 3, 9, 9)], {}),
        ("Conv", [(1, 3, 9, 9), None], {}),
        ("Gemm", [(1, 2, 3), (3, 4)], {}),
        ("MatMul", [(), (3,)], {}),
        ("MaxPool", [(1, 3, 9, 9)], {}),
        ("Einsum", [(2, 3)], {"equation": "i->i"}),
    ],
)
def test_impossible_shapes_are_refused(op_type, inputs, attributes):
    """Shapes that the operator does not allow end in one sentence."""
    with pytest.raises(InvalidInputError, match=rf"that {op_type} allows, found shapes .*\.$"):
        flops(op_type, inputs, [(1, 3, 9, 9)], attributes)


def test_matrix_product_counts_every_entry():
    """A batched product counts 2 K operations for each of its entries."""
    for batch, rows, inner, columns in itertools.product((1, 3), (1, 4), (1, 5), (1, 6)):
        shapes = [(batch, rows, inner), (batch, inner, columns)]
        count = flops("MatMul", shapes, [(batch, rows, columns)], {})
        assert count == 2 * prod((batch, rows, inner, columns))
