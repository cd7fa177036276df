"""Programs of torch.export: read where torch is installed, and explained where it is not."""

import importlib.util
from pathlib import Path

import pytest

from boundmark.datasets.any_file import load_file
from boundmark.problems.errors import InvalidInputError

HAS_TORCH = importlib.util.find_spec("torch") is not None


@pytest.mark.skipif(HAS_TORCH, reason="torch is installed")
def test_without_torch(tmp_path: Path) -> None:
    """The error says what to install."""
    path = tmp_path / "own.pt2"
    path.write_bytes(b"PK")
    with pytest.raises(InvalidInputError, match=r"own\.pt2: torch is not installed; expected boun"):
        load_file(path)


@pytest.mark.skipif(not HAS_TORCH, reason="torch is not installed")
def test_a_program(tmp_path: Path) -> None:
    """Operators are called after their modules, and weights are parameters."""
    import torch

    path = tmp_path / "own.pt2"
    module = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 4))
    torch.export.save(torch.export.export(module, (torch.zeros(3, 8),)), path)
    graph = load_file(path)
    assert graph.op_types == ("Gemm", "Relu", "Gemm")
    assert graph.names == ("0/Gemm", "1/Relu", "2/Gemm")
    assert graph.flops.tolist() == [3 * 16 * (2 * 8 + 1), 3 * 16, 3 * 4 * (2 * 16 + 1)]
    assert graph.param_bytes.tolist() == [4 * 16 * 9, 0, 4 * 4 * 17]
    path.write_bytes(path.read_bytes()[:100])
    with pytest.raises(InvalidInputError, match=r"own\.pt2: expected a program of torch"):
        load_file(path)
