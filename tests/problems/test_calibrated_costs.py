"""Calibrated costs: classes of operators by hand, sums of a curve's terms, and where they apply."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from boundmark.problems.calibrated_costs import (
    OperatorSizes,
    calibrated_seconds,
    first_producers,
    kernel_sizes,
    operator_class,
    types_behind,
)
from boundmark.problems.catalog import datasets
from boundmark.problems.computation_graph import (
    ComputationGraph,
    Operator,
    Tensor,
    bytes_read,
    kernels_of,
)
from boundmark.problems.devices import (
    Device,
    EfficiencyTable,
    calibrated,
    efficiency_of,
    find_device,
)
from boundmark.problems.devices.efficiency import OTHER, Curve
from boundmark.problems.errors import InvalidInputError
from boundmark.problems.roofline import operation_seconds

MICROSECOND = 1e-6


def convolution(
    channels_in: int, channels: int, width: int, window: int, stride: int = 1, groups: int = 1,
    behind: tuple[str, ...] = ("Relu",), is_window_known: bool = True,
) -> OperatorSizes:  # fmt: skip
    """Return the sizes of a convolution of one image with equal sides, in float16, without bias."""
    steps = channels_in // groups * window**2
    outputs = channels * width**2
    inputs = channels_in * (width * stride) ** 2
    return OperatorSizes(
        "Conv", 2 * steps * outputs, 2 * inputs, 2 * outputs, 2 * channels * steps, 2, behind,
        window**2 if is_window_known else 0,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("sizes", "expected"),
    [
        (convolution(3, 64, 112, 7, 2, behind=()), "first-convolution"),
        (convolution(3, 768, 14, 16, 16, behind=()), "patch-convolution"),
        (convolution(64, 64, 56, 3), "convolution"),
        (convolution(256, 64, 56, 1), "pointwise-convolution"),
        (convolution(256, 512, 28, 1, 2), "pointwise-convolution"),
        (convolution(112, 672, 14, 1), "unaligned-pointwise-convolution"),
        (convolution(24, 144, 56, 1), "unaligned-pointwise-convolution"),
        (convolution(96, 96, 56, 3, 2, groups=96), "depthwise-convolution"),
        (convolution(240, 240, 28, 5, groups=240), "depthwise-convolution"),
        (convolution(64, 64, 56, 31, groups=64), "depthwise-convolution"),
        # ResNeXt's, with 4 and 32 channels in a group, and RegNet's, where groups read as much as
        # a convolution of width 1 does.
        (convolution(128, 128, 56, 3, groups=32), "convolution"),
        (convolution(1024, 1024, 7, 3, 2, groups=32), "convolution"),
        (convolution(432, 432, 14, 3, groups=9), "convolution"),
        (convolution(240, 240, 28, 1, groups=3), "unaligned-pointwise-convolution"),
        (OperatorSizes("MatMul", 100, 10, 10, 10, 2, ("Add",)), "matrix-product"),
        (OperatorSizes("MatMul", 100, 20, 10, 0, 2, ("Add",)), "batched-product"),
        (OperatorSizes("Gelu", 100, 20, 20, 0, 2, ("Gemm",)), "elementwise"),
        (OperatorSizes("MatMulNBits", 100, 10, 10, 10, 2, ("Add",)), "matrix-product"),
        (OperatorSizes("FusedMatMul", 100, 20, 10, 0, 2, ("Add",)), "batched-product"),
        (OperatorSizes("QLinearAdd", 100, 20, 20, 0, 1, ("QGemm",)), "elementwise"),
        (OperatorSizes("DequantizeLinear", 100, 20, 80, 4, 4, ("Conv",)), "elementwise"),
        (OperatorSizes("GroupQueryAttention", 100, 20, 20, 0, 2, ("MatMulNBits",)), "attention"),
        (OperatorSizes("SkipLayerNormalization", 9, 9, 9, 4, 2, ("Gemm",)), "layernormalization"),
        (OperatorSizes("BatchNormalization", 9, 20, 20, 4, 2, ("Conv",)), "batchnormalization"),
        (OperatorSizes("Reshape", 0, 20, 20, 0, 2, ("Gemm",)), "view"),
        (OperatorSizes("Reshape", 0, 20, 20, 0, 2, ("Transpose", "MatMul")), "copy"),
        (OperatorSizes("Reshape", 0, 20, 20, 0, 2, ("Transpose", "Attention")), "view"),
        (OperatorSizes("Reshape", 0, 20, 20, 0, 2, ("Expand", "Unsqueeze", "Add")), "copy"),
        (OperatorSizes("Transpose", 0, 20, 20, 0, 2, ("MatMul",)), "view"),
    ],
)
def test_classes_are_those_of_library_programs(sizes: OperatorSizes, expected: str) -> None:
    """Each size, worked out by hand from a layer that people know, falls into its class."""
    assert operator_class(sizes) == expected


@pytest.mark.parametrize(
    ("channels_in", "channels", "width", "window", "stride", "groups"),
    [
        (64, 64, 56, 3, 1, 1), (256, 512, 28, 1, 2, 1), (24, 144, 56, 1, 1, 1),
        (96, 96, 56, 3, 2, 96), (240, 240, 28, 5, 1, 240), (42, 42, 83, 7, 1, 42),
        (128, 128, 56, 3, 1, 32), (1024, 1024, 7, 3, 2, 32), (256, 256, 14, 3, 1, 8),
    ],
)  # fmt: skip
def test_sizes_tell_usual_windows(
    channels_in: int, channels: int, width: int, window: int, stride: int, groups: int
) -> None:
    """Files of times have no windows, and nearly all convolutions are in their class without."""
    known, unknown = (
        convolution(channels_in, channels, width, window, stride, groups, is_window_known=one)
        for one in (True, False)
    )
    assert operator_class(known) == operator_class(unknown)


def test_a_graph_has_windows() -> None:
    """A grouped convolution of a graph is one of its window, and no product."""
    graph = datasets()["onnx-light"].load("shufflenet")
    kernels, first = kernels_of(graph), first_producers(graph)
    found = Counter(
        (graph.operators[one.bearer].attributes["kernel_shape"],
         operator_class(kernel_sizes(graph, one, 10**6, 10**6, first)))
        for one in kernels
        if graph.op_types[one.bearer] == "Conv" and first[one.bearer] >= 0
    )  # fmt: skip
    assert set(found) == {
        ((1, 1), "unaligned-pointwise-convolution"), ((3, 3), "depthwise-convolution")
    }  # fmt: skip


def test_a_lookup_reads_its_rows() -> None:
    """Of a table of 1,000 rows of 64 numbers, 3 are read and written, with 3 positions."""
    tensors = (
        Tensor("table", (1000, 64), "float16"), Tensor("at", (3,), "int64"),
        Tensor("rows", (3, 64), "float16"),
    )  # fmt: skip
    operators = (Operator("lookup", "Gather", 0, (0, 1), (2,), {"axis": 0}),)
    graph = ComputationGraph(operators, tensors, frozenset({0}), (2,), "float16")
    moved = 2 * 3 * 64 * 2 + 3 * 8
    plain = device()
    assert operation_seconds(graph, plain) == pytest.approx([5e-6 + moved / 1e11])
    own = replace(plain, efficiency=table(gather=Curve(launch_us=3, activations=2)))
    assert operation_seconds(graph, own) == pytest.approx([3e-6 + 2 * moved / 1e11])
    # What is kept in memory is the whole table.
    assert graph.param_bytes.tolist() == [128_000]


@pytest.mark.parametrize(
    ("rows", "expected"), [(3, 3 * 64 + 3 * 4 * 2 + 24), (5000, 1000 * (64 + 4 * 2) + 40_000)]
)
def test_scales_are_looked_up_with_their_rows(rows: int, expected: int) -> None:
    """A table of bytes with 4 scales a row; more rows than it has do not read it twice."""
    tensors = (
        Tensor("table", (1000, 64), "int8"), Tensor("at", (rows,), "int64"),
        Tensor("scales", (1000, 4), "float16"), Tensor("rows", (rows, 64), "float16"),
    )  # fmt: skip
    operators = (Operator("lookup", "GatherBlockQuantized", 0, (0, 1, 2), (3,), {}),)
    graph = ComputationGraph(operators, tensors, frozenset({0, 2}), (3,), "float16")
    (kernel,) = kernels_of(graph)
    assert bytes_read(graph, kernel, kernel.reads | kernel.parameters) == expected


def table(**curves: Curve) -> EfficiencyTable:
    """Return a table of a device with an own curve for some classes."""
    return EfficiencyTable("h", ("float16",), "", {OTHER: Curve(launch_us=7), **curves})


def device() -> Device:
    """Return a device that computes 10^12 operations and moves 10^11 bytes a second."""
    return Device("d", {"float16": 1e12, "float32": 1e11}, 1e11, 10**9, 5e-6, "")


PRODUCT = OperatorSizes("Gemm", 2_000_000, 30_000, 20_000, 10_000, 2, ("Add",))


def test_a_time_is_the_sum_of_its_terms() -> None:
    """2 + 100 steps of 3 ns + 4 * 2 us + 5 * .5 us + 6 * .1 us, all computed by hand."""
    own = table(**{"matrix-product": Curve(2, 3, 4, 5, 6)})
    found = calibrated_seconds(PRODUCT, device(), "float16", own, launches=True)
    assert found == pytest.approx((2 + 0.3 + 8 + 2.5 + 0.6) * MICROSECOND)


def test_what_is_fused_is_not_launched() -> None:
    """The time without the launch."""
    own = table(**{"matrix-product": Curve(2, 3, 4, 5, 6)})
    found = calibrated_seconds(PRODUCT, device(), "float16", own, launches=False)
    assert found == pytest.approx((0.3 + 8 + 2.5 + 0.6) * MICROSECOND)


def test_another_dtype_takes_at_least_its_arithmetic() -> None:
    """2 us at the rate of float16, which was measured, are too few for float32's 20 us."""
    own = table(**{"matrix-product": Curve(0, 0, 1)})
    assert calibrated_seconds(PRODUCT, device(), "float16", own, launches=True) == pytest.approx(
        2 * MICROSECOND
    )
    assert calibrated_seconds(PRODUCT, device(), "float32", own, launches=True) == pytest.approx(
        20 * MICROSECOND
    )


def test_classes_without_a_curve_have_that_of_others() -> None:
    """A type of operator that nobody measured."""
    sizes = OperatorSizes("Unheard", 0, 20, 20, 0, 2, ("Conv",))
    found = calibrated_seconds(sizes, device(), "float16", table(), launches=True)
    assert found == pytest.approx(7 * MICROSECOND)


def test_views_are_followed_to_what_computes_them() -> None:
    """Through transposing and splitting up to the product, and no further."""
    types = ("Relu", "Gemm", "Split", "Transpose", "Reshape")
    assert types_behind(types, (-1, 0, 1, 2, 3), 4) == ("Transpose", "Split", "Gemm")
    assert types_behind(types, (-1, 0, 1, 2, 3), 0) == ()


def relu_graph(elements: int = 1000) -> ComputationGraph:
    """Return a graph of two elementwise operators in a row."""
    tensors = tuple(Tensor(name, (elements,), "float16") for name in "abc")
    operators = (
        Operator("relu", "Relu", elements, (0,), (1,), {}),
        Operator("gelu", "Gelu", elements, (1,), (2,), {}),
    )
    return ComputationGraph(operators, tensors, frozenset(), (2,), "float16")


def test_graphs_have_the_times_of_the_device_s_table() -> None:
    """Each operator launches and moves 4,000 bytes; fused, the tensor between does not move."""
    own = table(elementwise=Curve(launch_us=3, activations=2))
    plain = replace(device(), efficiency=own)
    assert operation_seconds(relu_graph(), plain) == pytest.approx([3.08e-6, 3.08e-6])
    fusing = replace(plain, fuses=True)
    assert operation_seconds(relu_graph(), fusing) == pytest.approx([3.04e-6, 0.04e-6])


def test_shipped_tables_order_sizes() -> None:
    """On the H100, what is larger takes no less, in every class, and all takes some time."""
    h100 = calibrated(find_device("nvidia-h100"))
    assert isinstance(h100, Device)
    assert h100.efficiency is not None
    for name in h100.efficiency.curves:
        small = OperatorSizes(name, 10**6, 10**5, 10**5, 10**4, 2, ("Add",))
        large = OperatorSizes(name, 10**10, 10**8, 10**8, 10**7, 2, ("Add",))
        times = [
            calibrated_seconds(one, h100, "float16", h100.efficiency, launches=True)
            for one in (small, large)
        ]
        assert 0 < times[0] <= times[1], name


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("raspberry-pi-5", "'raspberry-pi-5' has no table of efficiencies"),
        ("hsdag-server", "has no table of efficiencies"),
    ],
)
def test_devices_without_a_table_are_refused(name: str, expected: str) -> None:
    """The error names the device and what has one."""
    with pytest.raises(InvalidInputError, match=expected):
        find_device(f"{name}+calibrated")


def test_makers_share_a_table() -> None:
    """Of another device of the same maker, the multiples of its own rates are taken."""
    assert efficiency_of("nvidia-a100") is efficiency_of("nvidia-h100")
    fast, slow = (find_device(f"nvidia-{name}+calibrated") for name in ("h100", "a100"))
    assert isinstance(fast, Device)
    assert isinstance(slow, Device)
    times = [operation_seconds(relu_graph(10**9), one).sum() for one in (fast, slow)]
    assert np.isclose(times[1] / times[0], fast.memory_bandwidth / slow.memory_bandwidth, rtol=0.01)


@pytest.mark.parametrize("curve", [{"launch_us": -1.0}, {"arithmetic": float("inf")}])
def test_curves_are_checked(curve: dict[str, float]) -> None:
    """No time is negative or endless."""
    with pytest.raises(InvalidInputError, match="expected numbers that are not negative"):
        Curve(**curve)


def test_tables_have_a_curve_for_all_others() -> None:
    """Without, some operators would have no time."""
    with pytest.raises(InvalidInputError, match="no class 'other'"):
        EfficiencyTable("h", ("float16",), "", {})
