"""One package whose layers are folders at the root of the repository, and how that could break."""

import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
LAYERS = ("problems", "datasets", "heuristics", "bounds", "benchmarks", "reports")


@pytest.mark.parametrize("layer", LAYERS)
def test_the_package_links_to_each_layer(layer: str) -> None:
    """By a relative link, so that a checkout can be moved."""
    link = ROOT / "src" / "boundmark" / layer
    assert link.readlink() == Path("..", "..", layer)
    assert (link / "__init__.py").exists()


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


def built(target: str, source: Path, out: Path) -> Path:
    """Build a distribution of a source tree, and return its path."""
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", target, "-d", str(out)],
        cwd=source, check=True, capture_output=True, timeout=120,
    )  # fmt: skip
    (path,) = out.glob("*.whl" if target == "wheel" else "*.tar.gz")
    return path


def members(wheel: Path) -> set[str]:
    """Return the paths in a wheel."""
    with zipfile.ZipFile(wheel) as archive:
        return set(archive.namelist())


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a wheel that is built from the checkout."""
    return built("wheel", ROOT, tmp_path_factory.mktemp("wheel"))


def test_wheel_holds_the_layers_and_nothing_else(wheel: Path) -> None:
    """Tests and micro-benchmarks stay out; suites, data, templates and typing markers are in."""
    names = members(wheel)
    roots = {name.split("/")[0] for name in names}
    assert {root for root in roots if not root.endswith(".dist-info")} == {"boundmark"}
    assert {"boundmark/__init__.py", "boundmark/py.typed"} <= names
    assert "boundmark/__main__.py" in names
    assert "boundmark/benchmarks/suites/demo.toml" in names
    assert "boundmark/datasets/measured/data/h100/resnet-50-b32.json.gz" in names
    assert not any("/micro/" in name or "/baselines/" in name for name in names)
    assert not any("__pycache__" in name for name in names)
    assert "boundmark/examples/own_transformer.py" in names
    for layer in LAYERS:
        assert f"boundmark/{layer}/py.typed" in names


def test_wheel_holds_the_entries_of_the_library(wheel: Path) -> None:
    """They alone, so that an installed package knows what a checkout does."""
    with zipfile.ZipFile(wheel) as archive:
        found = [name for name in archive.namelist() if name.startswith("boundmark/library/")]
        assert found == ["boundmark/library/entries.jsonl"]
        assert archive.read(found[0]) == (ROOT / "library" / "entries.jsonl").read_bytes()


def test_wheel_by_way_of_an_sdist_is_the_same(wheel: Path, tmp_path: Path) -> None:
    """An sdist holds the layers themselves, without the links."""
    sdist = built("sdist", ROOT, tmp_path / "sdist")
    with tarfile.open(sdist) as archive:
        archive.extractall(tmp_path / "unpacked", filter="data")
    (source,) = (tmp_path / "unpacked").iterdir()
    assert members(built("wheel", source, tmp_path / "wheel")) == members(wheel)
