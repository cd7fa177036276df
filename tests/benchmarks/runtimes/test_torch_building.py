"""Random weights and inputs: ordinary numbers, in the range of what they choose."""

from typing import Any

import pytest

torch = pytest.importorskip("torch")

from boundmark.benchmarks.runtimes.torch_building import (  # noqa: E402
    RandomValues,
    rows_of,
    torch_dtype,
)
from boundmark.datasets.readers.torch_export.file import DTYPES  # noqa: E402
from boundmark.datasets.readers.torch_export.writes import StoredTensor  # noqa: E402


@pytest.mark.parametrize("name", sorted(set(DTYPES.values())))
@pytest.mark.parametrize("shape", [(), (0,), (7,), (3, 4)])
def test_every_type_has_values(name: str, shape: tuple[int, ...]) -> None:
    """Weights and inputs of each type that the reader knows; those of rows are 0 and 1."""
    dtype = torch_dtype(name)
    random = RandomValues("cpu")
    for found in (random.weight(shape, dtype, 2), random.result(shape, dtype, 2)):
        assert found.shape == shape
        assert found.dtype == dtype
        wide = found.to(torch.complex64 if dtype.is_complex else torch.float32)
        assert wide.abs().isfinite().all()
        if not (dtype.is_floating_point or dtype.is_complex):
            assert ((found == 0) | (found == 1)).all()
        if dtype == torch.bool:
            assert found.all()


def test_weights_keep_their_size() -> None:
    """Scales and variances are positive; sums over many terms stay of size 1, none is tiny."""
    random = RandomValues("cpu")
    scale = random.weight((1000,), torch.float32, 2)
    assert scale.min() >= 0.5
    assert scale.max() <= 1.5
    kernel = random.weight((64, 32, 3, 3), torch.float32, 2)
    assert 0.9 < kernel.flatten(1).square().sum(1).mean() < 1.1
    tiny = torch.finfo(torch.float32).tiny
    assert (kernel.abs() >= tiny).all()


def test_values_are_the_same_each_time() -> None:
    """So that the times of two runs are of the same values."""
    one, other = (RandomValues("cpu").result((5,), torch.float32, 2) for _ in range(2))
    assert torch.equal(one, other)


def test_order_of_dimensions() -> None:
    """It is kept if the tensor has neither gaps nor overlaps, which nobody could fill."""
    random = RandomValues("cpu")
    shape = (2, 3, 4, 4)
    last = (48, 1, 12, 3)
    assert random.weight(shape, torch.float32, 2, last).stride() == last
    for strides in ((0, 16, 4, 1), (96, 32, 8, 2)):
        assert random.weight(shape, torch.float32, 2, strides).is_contiguous()


def lookups(rows: int, *, is_direct: bool) -> Any:
    """Return a graph's input that chooses rows of a table, behind an addition or at once."""
    graph = torch.fx.Graph()
    table, words = graph.placeholder("table"), graph.placeholder("words")
    table.meta["val"] = StoredTensor((rows, 8), "float32")
    words.meta["val"] = StoredTensor((5,), "int64")
    chosen = words
    if not is_direct:
        chosen = graph.call_function(torch.ops.aten.add.Scalar, (words, 1))
        chosen.meta["val"] = StoredTensor((5,), "int64")
    found = graph.call_function(torch.ops.aten.embedding.default, (table, chosen))
    found.meta["val"] = StoredTensor((5, 8), "float32")
    graph.output((found,))
    return words


def test_rows_of_a_table() -> None:
    """What chooses rows at once may choose any; what does so in the end, the first ones."""
    assert rows_of(lookups(30, is_direct=True)) == 30
    assert rows_of(lookups(1, is_direct=True)) == 1
    assert rows_of(lookups(30, is_direct=False)) == 2
    assert rows_of(lookups(1, is_direct=False)) == 1


@pytest.mark.parametrize(
    ("target", "arguments", "rows"),
    [
        ("index_select.default", lambda x, i: (x, 1, i), 7),
        ("gather.default", lambda x, i: (x, -1, i), 7),
        ("index.Tensor", lambda x, i: (x, [None, i]), 7),
        ("index.Tensor", lambda x, i: (x, [i, i]), 4),
        ("add.Tensor", lambda x, i: (x, i), 2),
    ],
)
def test_rows_of_other_lookups(target: str, arguments: Any, rows: int) -> None:
    """They are along the dimension that is chosen from."""
    graph = torch.fx.Graph()
    table, chosen = graph.placeholder("table"), graph.placeholder("chosen")
    table.meta["val"] = StoredTensor((4, 7), "float32")
    chosen.meta["val"] = StoredTensor((4,), "int64")
    packet, _, overload = target.partition(".")
    operator = getattr(getattr(torch.ops.aten, packet), overload)
    graph.call_function(operator, arguments(table, chosen)).meta["val"] = table.meta["val"]
    assert rows_of(chosen) == rows
