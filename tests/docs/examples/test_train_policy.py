"""The script of docs/problems/placement.md that trains one policy on several models."""

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

from boundmark.heuristics.placement.learned.hsdag import load_checkpoint

SCRIPT = Path(__file__).parents[3] / "docs" / "examples" / "train_policy.py"


@pytest.mark.slow
def test_a_policy_for_several_models(tmp_path: Path) -> None:
    """Each model is visited in every round, and the policy has columns for whatever graph."""
    if importlib.util.find_spec("jax") is None:
        pytest.skip("the extra `learned` is not installed")
    path = tmp_path / "policy.npz"
    models = ("zoo/alexnet", "zoo/squeezenet-1.1")
    limits = ("--rounds", "2", "--evaluations", "20")
    command = [sys.executable, str(SCRIPT), str(path), *models, *limits]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    lines = [line.split(":")[0] for line in done.stdout.splitlines()]
    assert lines == [f"round {number}, {model}" for number in (1, 2) for model in models]
    kept = load_checkpoint(path)
    assert kept.layout.has_others
    assert kept.devices == 3
