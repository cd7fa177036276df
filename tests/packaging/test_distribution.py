"""One package whose layers are folders at the root of the repository, and how that could break."""

import email
import re
import runpy
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
LAYERS = ("problems", "datasets", "heuristics", "bounds", "benchmarks", "reports")


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
    """Every module and data file of each layer but micro-benchmarks and baselines; no tests."""
    left_out = ("benchmarks/micro/", "benchmarks/baselines/")
    files = [path for layer in LAYERS for path in (ROOT / layer).rglob("*") if path.is_file()]
    files = [path.relative_to(ROOT) for path in files if path.parent.name != "__pycache__"]
    expected = {f"boundmark/{path}" for path in files if not str(path).startswith(left_out)}
    names = {name for name in members(wheel) if ".dist-info/" not in name}
    beside = {"boundmark/__init__.py", "boundmark/__main__.py", "boundmark/py.typed"}
    examples = [path.name for path in (ROOT / "docs" / "examples").iterdir() if path.is_file()]
    beside |= {f"boundmark/examples/{name}" for name in examples}
    # They alone, so that an installed package knows what a checkout does.
    beside |= {"boundmark/library/entries.jsonl"}
    assert names == expected | beside


def test_wheel_by_way_of_an_sdist_is_the_same(wheel: Path, tmp_path: Path) -> None:
    """An sdist holds what the links lead to, so that it can be installed in any way."""
    sdist = built("sdist", ROOT, tmp_path / "sdist")
    with tarfile.open(sdist) as archive:
        archive.extractall(tmp_path / "unpacked", filter="data")
    (source,) = (tmp_path / "unpacked").iterdir()
    assert members(built("wheel", source, tmp_path / "wheel")) == members(wheel)
    package = {str(path.relative_to(source / "src")) for path in source.rglob("src/boundmark/**/*")}
    assert {name for name in members(wheel) if ".dist-info/" not in name} <= package


def test_description_is_the_readme_without_links_that_lead_nowhere(wheel: Path) -> None:
    """An index has no files beside it; no address of the project is known, and none is invented."""
    with zipfile.ZipFile(wheel) as archive:
        (name,) = [name for name in archive.namelist() if name.endswith(".dist-info/METADATA")]
        described = email.message_from_bytes(archive.read(name))
    text = str(described.get_payload())
    assert text.startswith("# boundmark\n")
    assert "## Two commands" in text
    assert re.findall(r"\]\((?!https?:)|<picture>", text) == []
    assert described.get_all("Project-URL") is None


def test_with_an_address_links_and_pictures_lead_into_the_repository() -> None:
    """Every file that the README names is there."""
    hook = runpy.run_path(str(ROOT / "hatch_build.py"))
    address = "https://example.org/boundmark"
    text = hook["description"]((ROOT / "README.md").read_text(), address)
    linked = re.findall(rf'{address}/(?:blob|raw)/HEAD/([^)"#]+)', text)
    assert len(linked) > 20
    assert [name for name in linked if not (ROOT / name).exists()] == []
    assert re.findall(r'\]\((?!https?:|#)|src(?:set)?="(?!https?:)', text) == []
    assert set(hook["addresses"](address).values()) >= {address}


def test_licences_of_all_data_are_told() -> None:
    """Every folder or file of data in a layer is in the table."""
    table = (ROOT / "DATA-LICENSES.md").read_text()
    named = re.findall(r"`((?:datasets|problems|library|benchmarks)[\w/.-]*)`", table)
    data = [
        path.relative_to(ROOT)
        for layer in ("datasets", "problems", "library", "benchmarks/baselines")
        for path in (ROOT / layer).rglob("*")
        if path.is_file()
        and path.suffix not in {".py", ".md", ".toml"}
        and "__pycache__" not in path.parts
    ]
    assert data
    untold = {str(path) for path in data if not any(path.is_relative_to(one) for one in named)}
    assert untold == set()
