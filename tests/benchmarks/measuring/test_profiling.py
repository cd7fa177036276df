"""Profiles: what needs no runtime."""

import sys
from pathlib import Path

import pytest
import torch_archives

import boundmark
from boundmark.benchmarks.measuring.profiling import device_of_gpu
from boundmark.benchmarks.running.environment import FIELDS, gpu


def test_without_torch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A program is refused with what to install, and a file of another kind for what it is."""
    monkeypatch.setitem(sys.modules, "torch", None)
    path = torch_archives.write(tmp_path, torch_archives.two_layers())
    with pytest.raises(boundmark.Error, match=r"PyTorch is not installed; .* extra 'torch': pip"):
        boundmark.profile(path)
    with pytest.raises(boundmark.Error, match=r"suffix '.xml'; expected .onnx, or .pt2"):
        boundmark.profile("model.xml")


def test_names_of_gpus() -> None:
    """They are those of devices, if all words of one are in it."""
    for title, name in (
        ("NVIDIA H100 80GB HBM3", "nvidia-h100"),
        ("NVIDIA A100-SXM4-40GB", "nvidia-a100-40gb"),
        ("NVIDIA A100-SXM4-80GB", "nvidia-a100"),
        ("NVIDIA GeForce RTX 4090", "nvidia-rtx-4090"),
        ("Tesla V100-SXM2-16GB", None),
        ("NVIDIA L40", "nvidia-l40"),
        ("NVIDIA L45", None),
        ("", None),
    ):
        found = device_of_gpu(title)
        assert (found.name if found else None) == name


def test_what_is_known_of_a_gpu(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its driver and clocks are asked for by its number; nothing is known where nobody answers."""
    monkeypatch.setenv("PATH", str(tmp_path))
    assert gpu() is None
    program = tmp_path / "nvidia-smi"
    program.write_text(
        f"""#!/bin/sh
[ "$*" = "-i GPU-7 --query-gpu={FIELDS} --format=csv,noheader" ] || exit 6
echo "NVIDIA H100 80GB HBM3, 580.95.05, 1410 MHz, 1980 MHz, 2619 MHz, 700.00 W"
"""
    )
    program.chmod(0o755)
    found = gpu("GPU-7")
    assert found is not None
    assert found[:2] == ("NVIDIA H100 80GB HBM3", "580.95.05")
    assert found.clocks == (
        "SM 1410 MHz after the runs, at most 1980 MHz; memory 2619 MHz; power limit 700.00 W"
    )
    assert gpu("GPU-8") is None
