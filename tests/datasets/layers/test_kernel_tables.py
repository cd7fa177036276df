"""Measured times: interpolated within tables, refused outside of them."""

import itertools
import math
from importlib.util import find_spec
from pathlib import Path

import pandas as pd
import pytest

from boundmark.datasets.layers import kernel_tables
from boundmark.datasets.layers.kernel_tables import Table, interpolated
from boundmark.datasets.layers.language_models import load
from boundmark.problems.errors import InvalidInputError
from boundmark.problems.layers import PROBLEM, LayersInstance, Workload

GRID = Table({(m, n): float(m * n) for m in (1, 4, 16) for n in (10, 1000)})


@pytest.fixture
def tables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Install tables: a tick for each million operations of products, a microsecond of attention.

    Rows of other types of numbers do not count.
    """
    sides, heads = (64, 65536), {"num_heads": 32, "num_key_value_heads": 8, "head_dim": 128}
    products = [
        {"gemm_dtype": dtype, "m": m, "n": n, "k": k, "latency": scale * m * n * k}
        for dtype, scale in (("bfloat16", 2e-9), ("fp8", 1e-9))
        for m, n, k in itertools.product((1, 64), sides, sides)
    ]
    attention = [
        heads
        | {"attn_dtype": "bfloat16", "kv_cache_dtype": cache, "batch_size": b, "latency": latency}
        | {"isl": c, "step": c}
        for cache, latency in (("bfloat16", 1e-3), ("fp8", 1e-4))
        for b, c in itertools.product((1, 64), (16, 4096))
    ]
    package = tmp_path / kernel_tables.PACKAGE
    for system in ("a100_sxm", "h100_sxm"):
        for name, rows in (
            ("gemm/vllm/1.0/gemm_perf", products),
            ("attention/vllm/1.0/context_attention_perf", attention),
            ("attention/vllm/1.0/generation_attention_perf", attention),
        ):
            path = package / "systems" / "data" / system / f"{name}.parquet"
            path.parent.mkdir(parents=True, exist_ok=True)
            pd.DataFrame(rows).to_parquet(path)
    (package / "__init__.py").write_text("")
    monkeypatch.syspath_prepend(tmp_path)


def test_between_entries() -> None:
    """A power law is met exactly, also on the grid."""
    assert interpolated(GRID, (4, 10), "x") == pytest.approx(40)
    assert interpolated(GRID, (2, 100), "x") == pytest.approx(200)
    assert interpolated(GRID, (16, 1000), "x") == pytest.approx(16000)


@pytest.mark.parametrize(
    ("at", "expected"),
    [
        ((32, 10), "32 is not from 1 to 16; expected that, or roofline"),
        ((0.5, 10), "is not from 1 to 16"),
        ((1, 9), "9 is not from 10 to 1000"),
    ],
)
def test_outside(at: tuple[int, int], expected: str) -> None:
    """Nothing is extrapolated."""
    with pytest.raises(InvalidInputError, match=expected):
        interpolated(GRID, at, "x")


def test_a_hole_in_the_grid() -> None:
    """The entry is named."""
    table = Table({key: ms for key, ms in GRID.entries.items() if key != (4, 10)})
    with pytest.raises(InvalidInputError, match=r"there is no entry \(4, 10\)"):
        interpolated(table, (2, 20), "x")


def instance(model: str, devices: str) -> LayersInstance:
    """Return a decoding model with measured times."""
    for cached in (kernel_tables.load_tables, kernel_tables._seconds):
        cached.cache_clear()
    given = {
        "devices": devices,
        "phase": "decode",
        "batch": 4,
        "context": 1024,
        "costs": "measured",
    }
    found = PROBLEM.maker(load(model))(given)
    assert isinstance(found, LayersInstance)
    return found


@pytest.mark.usefixtures("tables")
def test_layers_are_their_products_and_attention() -> None:
    """Scores of 128,256 words are two products."""
    sample = instance("llama-3-8b", "2xA100-80GB,1xH100")
    width, inner = 4096, 14336
    products = width * (4096 + 2 * 1024) + width * 4096 + 3 * width * inner
    expected = 1e6 * 2e-9 * 4 * products + 1000
    assert sample.chain.time[0, 1] == pytest.approx(expected, abs=2)
    assert sample.chain.time[1, -1] == pytest.approx(1e6 * 2e-9 * 4 * width * 128256, abs=2)
    assert sample.parameters["costs"] == "measured"


@pytest.mark.parametrize(
    ("model", "devices", "expected"),
    [
        ("llama-3-8b", "2xT4", "no tables of 'nvidia-t4'; expected one of nvidia-a100"),
        ("mixtral-8x7b", "2xA100-80GB", "has experts, a latent space"),
        ("llama-3-70b", "4xA100-80GB", "with 64 heads of which 8 have keys; expected roofline"),
    ],
)
@pytest.mark.usefixtures("tables")
def test_what_tables_do_not_cover(model: str, devices: str, expected: str) -> None:
    """The layer, the device, and what is missing."""
    with pytest.raises(InvalidInputError, match=expected):
        instance(model, devices)


@pytest.mark.skipif(find_spec("aiconfigurator_core") is None, reason="aiconfigurator-core missing")
def test_tables_of_the_package() -> None:
    """A layer of Llama 3 8B takes between the roofline's time and ten times that on an A100."""
    kernel_tables.load_tables.cache_clear()
    kernel_tables._seconds.cache_clear()
    workload = Workload("decode", 4, 1024, measured_on=("nvidia-a100",))
    layer = load("llama-3-8b").layers(workload)[1]
    assert 2e-4 < layer.seconds["nvidia-a100"] < 2e-3
    assert math.isfinite(layer.seconds["nvidia-a100"])
