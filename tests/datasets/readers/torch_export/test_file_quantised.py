"""Quantised weights of programs of torch.export are parameters as they are stored."""

from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")
from torch import nn  # noqa: E402

from boundmark.datasets.resolve import load_file  # noqa: E402
from boundmark.problems.computation_graph import LEFT_OUT, ComputationGraph  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore")


class Nibbles(nn.Module):  # type: ignore[misc]
    """A product with weights of 4 bits, two in a byte, and a scale for 32 of them."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("packed", torch.zeros(64, 32, dtype=torch.uint8))
        self.register_buffer("scale", torch.ones(64, 2))

    def forward(self, x: Any) -> Any:
        """Return the result."""
        low, high = (self.packed & 15).to(torch.int8) - 8, (self.packed >> 4).to(torch.int8) - 8
        numbers = torch.stack([low, high], -1).reshape(64, 2, 32).to(x.dtype)
        return x @ (numbers * self.scale[:, :, None]).reshape(64, 64).t()


class Words(nn.Module):  # type: ignore[misc]
    """The same with eight in a word of 32 bits, shifted by a list, with zero points (AWQ, GPTQ)."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("packed", torch.zeros(64, 8, dtype=torch.int32))
        self.register_buffer("zero", torch.zeros(64, 1, dtype=torch.int32))
        self.register_buffer("scale", torch.ones(64, 1))
        self.register_buffer("shifts", torch.arange(0, 32, 4, dtype=torch.int32))

    def forward(self, x: Any) -> Any:
        """Return the result."""
        numbers = ((self.packed[:, :, None] >> self.shifts) & 15).reshape(64, 64)
        weights = (numbers - self.zero).to(x.dtype) * self.scale
        return nn.functional.linear(x, weights, self.scale.reshape(64))


class Bytes(nn.Module):  # type: ignore[misc]
    """A product with weights of 8 bits and a scale for each row."""

    def __init__(self, dtype: Any) -> None:
        super().__init__()
        self.register_buffer("weight", torch.zeros(64, 64).to(dtype))
        self.register_buffer("scale", torch.ones(64, 1))

    def forward(self, x: Any) -> Any:
        """Return the result."""
        return nn.functional.linear(x, self.weight.to(x.dtype) * self.scale)


class Positions(nn.Module):  # type: ignore[misc]
    """A table of angles, which are numbers of 32 bits, and integers that are data."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("places", torch.arange(64))

    def forward(self, x: Any) -> Any:
        """Return the result."""
        angles = self.places.to(x.dtype)[:, None] * torch.ones(32)[None, :]
        return x[:, :32] + angles[:4] + self.places[:32]


def loaded(module: Any, path: Path) -> ComputationGraph:
    """Export a module and read the file."""
    torch.export.save(torch.export.export(module.eval(), (torch.randn(4, 64),)), path)
    graph = load_file(path)
    assert isinstance(graph, ComputationGraph)
    return graph


@pytest.mark.parametrize(
    ("module", "size"),
    [
        (Nibbles(), 64 * 64 // 2 + 64 * 2 * 4),
        # Of the bias, 64 numbers; a list of shifts belongs to the elements.
        (Words(), 64 * 64 // 2 + 64 * (4 + 4) + 64 * 4 + 8 * 4),
        (Bytes(torch.int8), 64 * 64 + 64 * 4),
        (Bytes(torch.float8_e4m3fn), 64 * 64 + 64 * 4),
        (nn.Linear(64, 64), 64 * 65 * 4),
    ],
    ids=["nibbles", "words", "bytes", "float8", "plain"],
)
def test_weights_have_the_bytes_that_are_stored(module: Any, size: int, tmp_path: Path) -> None:
    """With scales and zero points; the product is that of the numbers."""
    graph = loaded(module, tmp_path / "model.pt2")
    (product,) = graph.operators
    assert graph.param_bytes.tolist() == [size]
    assert product.flops in (2 * 4 * 64 * 64, 2 * 4 * 64 * 64 + 4 * 64)
    assert graph.dtype == "float32"


def test_a_scale_is_no_bias(tmp_path: Path) -> None:
    """It stands behind all inputs that a product may have."""
    (product,) = loaded(Bytes(torch.int8), tmp_path / "model.pt2").operators
    assert product.reads[2] == LEFT_OUT
    assert len(product.reads) == 4


def test_other_integers_are_no_weights(tmp_path: Path) -> None:
    """Positions that are made into numbers stay numbers."""
    graph = loaded(Positions(), tmp_path / "model.pt2")
    assert sum(graph.param_bytes.tolist()) == 4 * 32 * 4 + 32 * 8
