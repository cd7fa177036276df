"""Published language models: parameters, bytes and caches are those that their authors state."""

import json

import pytest
from published_data import published_data

from boundmark.datasets.layers.hf_config import transformer
from boundmark.datasets.layers.language_models import load, published
from boundmark.datasets.layers.transformer import Transformer
from boundmark.problems.layers import Workload

# Bytes of a token in the cache, by hand: 2 (keys and values) x 2 bytes x heads x dimensions x
# layers that see everything; rank and rotary dimensions in a latent space.
CACHE = {
    "llama-3-70b": 2 * 2 * 8 * 128 * 80,
    "deepseek-v3": 2 * (512 + 64) * 61,
    "gpt-oss-20b": 2 * 2 * 8 * 64 * 12,
    "gemma-2-9b": 2 * 2 * 8 * 256 * 21,
    "gemma-3-27b": 2 * 2 * 16 * 128 * 10,
    "llama-4-scout": 2 * 2 * 8 * 128 * 12,
    "command-r7b": 2 * 2 * 8 * 128 * 8,
    "exaone-4.0-32b": 2 * 2 * 8 * 128 * 16,
    "ministral-8b": 2 * 2 * 8 * 128 * 9,
    "qwen2.5-7b-awq": 2 * 2 * 4 * 128 * 28,
    "minicpm3-4b": 2 * (256 + 32) * 62,
    "falcon-7b": 2 * 2 * 64 * 32,
    "jamba-v0.1": 2 * 2 * 8 * 128 * 4,
    "opt-66b": 2 * 2 * 72 * 128 * 64,
}

# GB of the files on Hugging Face, without layers of multi-token prediction.
FILES = {
    "qwen2.5-7b-awq": 5.57, "mistral-7b-awq": 4.15, "llama-3.1-8b-w4a16": 5.70,
    "gpt-oss-20b": 13.76, "gpt-oss-120b": 65.25, "llama-3-8b": 16.06, "mixtral-8x7b": 93.4,
}  # fmt: skip

# Of families with recurrences, or of none that is known.
HYBRID = {
    "falcon-h1-7b", "granite-4.0-h-small", "minimax-m2", "nemotron-nano-9b-v2", "qwen3-next-80b",
}  # fmt: skip

# Parameters as the model classes of transformers 5.24 count them, without images' parts.
COUNTED = {
    "deepseek-v2": 235_741_434_880, "deepseek-v2-lite": 15_706_484_224,
    "deepseek-v3": 671_026_404_352, "gemma-3-1b": 999_885_952, "llama-3-70b": 70_553_706_496,
    "minicpm3-4b": 4_073_875_968, "ministral-8b": 8_019_808_256, "phi-4": 14_659_507_200,
    "qwen3-235b-a22b": 235_093_634_560, "qwen3-30b-a3b": 30_532_122_624,
    "command-r7b": 8_028_033_024, "granite-3.1-8b": 8_170_848_256, "jamba-v0.1": 51_570_323_328,
    "gpt-neox-20b": 20_554_567_680, "falcon-7b": 6_921_720_704, "bloom-176b": 176_247_271_424,
    "smollm3-3b": 3_075_098_624, "seed-oss-36b": 36_151_104_512, "olmo-2-13b": 13_716_198_400,
    "starcoder2-15b": 15_957_889_024, "glm-4.5-air": 106_852_245_504,
    "phi-3.5-moe": 41_873_153_344, "ernie-4.5-21b-a3b": 21_825_437_888,
}  # fmt: skip


def of(name: str) -> Transformer:
    """Return a published model."""
    model = load(name)
    assert isinstance(model, Transformer)
    return model


@pytest.mark.parametrize("name", sorted(published()))
def test_parameters_are_those_that_are_stated(name: str) -> None:
    """Within .5 %; those that a token meets as far as stated numbers are rounded."""
    total, *active = published()[name]["billions"]
    found = of(name).totals
    assert found.parameters / 1e9 == pytest.approx(total, rel=0.005)
    for stated in active:
        # Some count the embedding, whose rows are looked up, and some do not.
        embedding = of(name).first.parameters / 1e9
        low, high = found.active / 1e9 - embedding, found.active / 1e9
        assert 0.93 * low <= stated <= 1.03 * high


@pytest.mark.parametrize("name", COUNTED)
def test_parameters_are_counted_right(name: str) -> None:
    """They are counted to the last one."""
    assert of(name).totals.parameters == COUNTED[name]


@pytest.mark.parametrize("name", CACHE)
def test_caches(name: str) -> None:
    """Exactly, and the same by the difference of two long contexts."""
    model = of(name)
    assert model.totals.cache == CACHE[name]
    near, far = (
        sum(layer.held for layer in model.layers(Workload("decode", 3, context)))
        for context in (2**21, 2**21 + 10)
    )
    assert far - near == 3 * 10 * CACHE[name]


@pytest.mark.parametrize("name", FILES)
def test_bytes_are_those_of_the_files(name: str) -> None:
    """Within .5 %."""
    assert of(name).totals.size / 1e9 == pytest.approx(FILES[name], rel=0.005)


@pytest.mark.parametrize("name", sorted(published()))
def test_no_field_is_left_unread(name: str) -> None:
    """Notes name fields that are not understood; published models have none."""
    assert not [note for note in of(name).notes if "not used" in note or "not known" in note]


def test_layers_add_up() -> None:
    """The layers' bytes are the model's, and a window's cache is bounded."""
    name = "gpt-oss-20b"
    model = of(name)
    layers = model.layers(Workload("decode", 8, 131072))
    assert sum(layer.weights for layer in layers) == model.totals.size
    assert sum(layer.held for layer in layers) == 8 * (
        131072 * CACHE[name] + 12 * 128 * 2 * 2 * 8 * 64
    )
    assert sum(layer.held for layer in layers) / 2**30 == pytest.approx(24, rel=0.01)


def test_configurations_as_published() -> None:
    """All are read, with no field that costs left out; sizes are those of the shipped ones."""
    folder = published_data() / "cases" / "configs"
    shipped = {"kimi-k2": "kimi-k2", "gpt-oss-20b": "gpt-oss-20b", "phi4": "phi-4"}
    read: dict[str, Transformer] = {}
    for path in sorted(folder.glob("*.json")):
        document = json.loads(path.read_text())
        if "model_type" in document and path.stem not in HYBRID:
            read[path.stem] = transformer(document)
    assert len(read) == 29
    assert read["apertus-70b"].totals.parameters / 1e9 == pytest.approx(70.60, abs=0.005)
    assert read["kimi-k2-thinking"].totals.size / 1e9 == pytest.approx(594.21, abs=0.005)
    assert not [note for model in read.values() for note in model.notes if "not used" in note]
    assert {stem: read[stem].totals for stem in shipped} == {
        stem: of(name).totals for stem, name in shipped.items()
    }
    sparse = read["qwen3moe-sparse-step2"]
    assert sum(any(m.copies > 1 for m in block.matrices) for block in sparse.blocks) == 24
