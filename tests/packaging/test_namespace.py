"""`boundmark` is a namespace package over several root folders; these are the ways to break it."""

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
LAYERS = ("problems", "datasets", "heuristics", "bounds", "benchmarks", "reports")


@pytest.mark.parametrize("layer", LAYERS)
def test_root_folders_are_no_packages(layer: str) -> None:
    """An `__init__.py` here would hide the other layers."""
    assert not (ROOT / layer / "__init__.py").exists()
    assert not (ROOT / layer / "boundmark" / "__init__.py").exists()
    assert (ROOT / layer / "boundmark" / layer / "__init__.py").exists()


@pytest.mark.parametrize("layer", LAYERS)
def test_every_layer_imports_from_any_folder(layer: str, tmp_path: Path) -> None:
    """The install, not the working directory, makes the layers importable."""
    subprocess.run(
        [sys.executable, "-c", f"import boundmark.{layer}"], cwd=tmp_path, check=True, timeout=60
    )


@pytest.mark.parametrize("layer", LAYERS)
def test_layer_names_stay_free(layer: str, tmp_path: Path) -> None:
    """`import datasets` must find Hugging Face's package or nothing, never ours."""
    code = f"from importlib.util import find_spec; print(vars(find_spec({layer!r}) or object))"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert str(ROOT) not in done.stdout


def test_module_runs_from_any_folder(tmp_path: Path) -> None:
    """`python -m boundmark` is the command."""
    done = subprocess.run(
        [sys.executable, "-m", "boundmark", "--help"],
        cwd=tmp_path, capture_output=True, text=True, check=True, timeout=60,
    )  # fmt: skip
    assert done.stdout.startswith("Usage: boundmark ")


def test_wheel_holds_the_layers_and_nothing_else(tmp_path: Path) -> None:
    """Tests and micro-benchmarks stay out; suites, templates and typing markers are in."""
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)],
        cwd=ROOT, check=True, capture_output=True, timeout=120,
    )  # fmt: skip
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    roots = {name.split("/")[0] for name in names}
    assert {root for root in roots if not root.endswith(".dist-info")} == {"boundmark"}
    assert "boundmark/__main__.py" in names
    assert "boundmark/__init__.py" not in names
    assert "boundmark/benchmarks/suites/demo.toml" in names
    assert not any("/micro/" in name or "__pycache__" in name for name in names)
    for layer in LAYERS:
        assert f"boundmark/{layer}/py.typed" in names
