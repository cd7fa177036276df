"""Configurations of Hugging Face: families, windows, experts, and what is not understood."""

import json
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from boundmark.datasets.layers.blocks import Attention, Recurrence
from boundmark.datasets.layers.families import FAMILIES
from boundmark.datasets.layers.hf_config import transformer
from boundmark.datasets.layers.language_models import load
from boundmark.datasets.layers.transformer import Transformer
from boundmark.datasets.resolve import load_file, load_member
from boundmark.problems.errors import InvalidInputError, UnknownNameError
from boundmark.problems.layers import Workload

DECODE = Workload("decode", 1, 1024)
LLAMA = Path(__file__).parent / "configs" / "llama-3-70b.json"
BASE: dict[str, Any] = json.loads(LLAMA.read_text())
SMALL: dict[str, Any] = {
    "model_type": "llama", "hidden_size": 64, "num_attention_heads": 4, "num_hidden_layers": 6,
    "intermediate_size": 128, "vocab_size": 100, "torch_dtype": "bfloat16",
}  # fmt: skip


def windows(**changed: Any) -> list[int]:
    """Return the windows of a small model's layers."""
    model = transformer({**SMALL, **changed})
    return [block.mixer.window for block in model.blocks if isinstance(block.mixer, Attention)]


def with_experts(**changed: Any) -> list[int]:
    """Return which layers of a small model have experts."""
    experts = {"num_experts": 8, "num_experts_per_tok": 2, "moe_intermediate_size": 32}
    model = transformer({**SMALL, "model_type": "qwen3_moe", **experts, **changed})
    return [at for at, one in enumerate(model.blocks) if any(m.copies > 1 for m in one.network)]


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"model_type": "mistral", "sliding_window": 9}, [9] * 6),
        ({"model_type": "gemma2", "sliding_window": 9}, [9, 0] * 3),
        ({"model_type": "gemma3_text", "sliding_window": 9}, [9] * 5 + [0]),
        ({"model_type": "gemma3_text", "sliding_window": 9, "sliding_window_pattern": 3},
         [9, 9, 0] * 2),
        ({"model_type": "exaone4", "sliding_window": 9, "sliding_window_pattern": "LLLG"},
         [9, 9, 9, 0, 9, 9]),
        ({"model_type": "cohere2", "sliding_window": 9}, [9, 9, 9, 0, 9, 9]),
        ({"model_type": "qwen2", "sliding_window": 9, "use_sliding_window": True,
          "max_window_layers": 4}, [0] * 4 + [9] * 2),
        ({"model_type": "qwen2", "sliding_window": 9, "max_window_layers": 4}, [0] * 6),
        ({"model_type": "llama4_text", "intermediate_size_mlp": 128, "attention_chunk_size": 7},
         [7, 7, 7, 0, 7, 7]),
        ({"layer_types": ["full_attention", "sliding_attention"] * 3, "sliding_window": 5},
         [0, 5] * 3),
        ({"sliding_window": 9}, [0] * 6),
    ],
)  # fmt: skip
def test_which_layers_have_a_window(given: dict[str, Any], expected: list[int]) -> None:
    """As the configuration says, or else the family's classes; the full context if neither does."""
    assert windows(**given) == expected


def test_a_window_of_unknown_layers_is_named() -> None:
    """Full context is what memory has to do for."""
    notes = transformer({**SMALL, "sliding_window": 9}).notes
    assert any("it is not known which layers have the window of 9 tokens" in n for n in notes)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, [0, 1, 2, 3, 4, 5]),
        ({"decoder_sparse_step": 2}, [1, 3, 5]),
        ({"mlp_only_layers": [0, 3]}, [1, 2, 4, 5]),
        ({"first_k_dense_replace": 4}, [4, 5]),
        ({"moe_layer_freq": 2}, [0, 2, 4]),
        ({"moe_layer_freq": [0, 1, 1, 0, 0, 1]}, [1, 2, 5]),
        ({"interleave_moe_layer_step": 3}, [2, 5]),
        ({"expert_layer_period": 3, "expert_layer_offset": 1}, [1, 4]),
        ({"moe_layer_start_index": 2, "moe_layer_end_index": 4}, [2, 3, 4]),
    ],
)
def test_which_layers_have_experts(given: dict[str, Any], expected: list[int]) -> None:
    """Every rule that configurations have."""
    assert with_experts(**given) == expected


def test_a_single_expert_is_a_network() -> None:
    """As configurations of dense models in a family with experts have it."""
    dense = transformer({**SMALL, "num_experts": 1})
    assert dense.totals == transformer(SMALL).totals


def test_nested_configurations_inherit() -> None:
    """What stands outside counts: quantisation and type of a model of 24 billion parameters."""
    text = {k: v for k, v in BASE.items() if k != "torch_dtype"}
    outer = {
        "model_type": "mistral3", "text_config": {**text, "model_type": "mistral"},
        "torch_dtype": "bfloat16",
        "quantization_config": {"quant_method": "gptq", "bits": 4, "group_size": 128},
    }  # fmt: skip
    whole = transformer({**outer, "quantization_config": None}).totals.size
    model = transformer(outer)
    assert model.dtype == "bfloat16"
    assert model.totals.size < 0.3 * whole
    assert model.blocks[0].name == "model.language_model.layers.0"


def test_layers_of_prediction_are_for_training() -> None:
    """Multi-token prediction is a block and a matrix more, behind the others."""
    model = load("deepseek-v3")
    assert isinstance(model, Transformer)
    decode = model.layers(DECODE)
    training = model.layers(Workload("training", 1, 1024))
    assert (len(decode), len(training)) == (63, 64)
    assert training[-2].name == "model.layers.61"
    assert model.outer_in(Workload("training")) == (1, 2)
    assert any("multi-token prediction" in note for note in model.notes)


def test_blocks_of_their_own() -> None:
    """Nemotron-NAS: layers without attention, with a matrix instead, or with other widths."""
    blocks = [
        {"attention": {"n_heads_in_group": 4}, "ffn": {"ffn_mult": 1.0}},
        {"attention": {"no_op": True}, "ffn": {"ffn_mult": 6.0}},
        {"attention": {"replace_with_linear": True}, "ffn": {"no_op": True}},
    ]
    model = transformer(
        {**SMALL, "model_type": "nemotron-nas", "num_hidden_layers": 3, "block_configs": blocks}
    )
    first, second, third = model.blocks
    assert isinstance(first.mixer, Attention)
    assert first.mixer.shared == 1
    # Rounded up to a multiple of 256, as the model's class does.
    assert [m.inputs for m in first.network] == [64, 64, 256]
    assert second.mixer is None
    assert second.parameters == 3 * 64 * 256 + 2 * 64
    assert third.parameters == 64 * 64 + 2 * 64
    assert third.mixer is None
    assert [layer.held for layer in model.layers(DECODE)] == [0, 1024 * 2 * 2 * 16, 0, 0, 0]


def test_jamba_keeps_states_and_few_caches() -> None:
    """Of 32 layers, 4 have attention; states do not grow with the context."""
    model = load("jamba-v0.1")
    assert isinstance(model, Transformer)
    kinds = [isinstance(block.mixer, Recurrence) for block in model.blocks]
    assert kinds.count(False) == 4
    near, far = (model.layers(Workload("decode", 1, context))[1].held for context in (10, 10**6))
    # Numbers of a state of 16, in 32 bits, and three of a convolution of 4, in 16.
    assert near == far == 8192 * (4 * 16 + 2 * 3)


def test_phases() -> None:
    """A prompt takes 2 operations per parameter and token; training three times that, and more."""
    model = load("llama-3-8b")
    block = model.layers(Workload("prefill", 2, 512))[1]
    matrices = block.parameters / 2 - 2 * 4096
    assert block.operations[0].flops + block.operations[2].flops == 2 * 2 * 512 * matrices
    assert block.operations[1].flops == 4 * 2 * (512 * 513 / 2) * 32 * 128
    trained = model.layers(Workload("training", 2, 512))[1]
    assert trained.operations[0].flops == 3 * block.operations[0].flops
    assert trained.weights == 16 * block.parameters / 2
    assert trained.output == 2 * block.output
    assert trained.held == 34 * 2 * 512 * 4096


def test_experts() -> None:
    """All are kept; few tokens meet few of them, many meet all."""
    few, many = (
        load("mixtral-8x7b").layers(Workload("decode", batch, 16))[1].operations[2].moved
        for batch in (1, 512)
    )
    one = 3 * 4096 * 14336 * 2
    assert few == pytest.approx(2 * one, rel=0.01)
    assert many == pytest.approx(8 * one, rel=0.08)


def test_devices_in_parallel() -> None:
    """Heads of keys that are fewer than devices are kept several times, as is a latent cache."""
    model = load("llama-3-70b")
    alone = model.layers(DECODE)[1]
    for parallel, factor in ((2, 1), (8, 1), (16, 2), (64, 8)):
        layer = model.layers(Workload("decode", 1, 1024, tensor_parallel=parallel))[1]
        assert layer.held == factor * alone.held
        assert (layer.reductions, layer.reduced) == (2, 2 * 8192 * 2)
    latent = load("deepseek-v3")
    four = Workload("decode", 1, 1024, tensor_parallel=4)
    assert latent.layers(four)[5].held == 4 * latent.layers(DECODE)[5].held


def test_heads_that_do_not_divide() -> None:
    """Refused, with the layer and its heads."""
    with pytest.raises(InvalidInputError, match="tensor_parallel is 3, and layer"):
        load("llama-3-70b").layers(Workload("decode", 1, 1024, tensor_parallel=3))


def test_t5_bert_and_vit() -> None:
    """Encoder and decoder in a row; images have as many tokens as they have."""
    t5 = transformer(
        {"model_type": "t5", "d_model": 512, "num_heads": 8, "d_kv": 64, "d_ff": 2048,
         "num_layers": 6, "vocab_size": 32128, "torch_dtype": "float32"}
    )  # fmt: skip
    names = [layer.name for layer in t5.layers(DECODE)]
    assert names[1] == "encoder.block.0"
    assert names[-2] == "decoder.block.5"
    assert t5.totals.parameters / 1e6 == pytest.approx(60.5, rel=0.002)
    sizes = {
        "hidden_size": 768, "num_attention_heads": 12, "intermediate_size": 3072,
        "num_hidden_layers": 12, "torch_dtype": "float32",
    }  # fmt: skip
    vit = transformer({"model_type": "vit", **sizes})
    assert vit.layers(Workload("prefill", 1))[1].output == 197 * 768 * 2
    bert = transformer({"model_type": "bert", "vocab_size": 30522, **sizes})
    assert bert.totals.parameters / 1e6 == pytest.approx(109.5, rel=0.002)
    with pytest.raises(InvalidInputError, match="generates no tokens; expected prefill"):
        bert.layers(DECODE)


UNKNOWN = {**SMALL, "model_type": "brand_new"}


def test_families_that_are_not_known(tmp_path: Path) -> None:
    """Refused, the way out first, unless the user names one that is known."""
    path = tmp_path / "config.json"
    path.write_text(json.dumps(UNKNOWN))
    model = load_file(path)
    assert model.describe() == {"family": "'brand_new', which is not known"}
    beginning = (
        r"config.json: model_type is 'brand_new', and what its layers have is not known here"
    )
    for refused in (lambda: model.read_as(""), lambda: model.layers(DECODE)):
        with pytest.raises(InvalidInputError, match=f"{beginning}; .*: --family llama. Oth"):
            refused()
    with pytest.raises(
        InvalidInputError, match=r"family is 'gpt5'; expected one that .* lists, such as gptj"
    ):
        model.read_as("gpt5")
    read = model.read_as("llama")
    assert isinstance(read, Transformer)
    assert read.totals == transformer(SMALL).totals
    assert "model_type 'brand_new' is not known" in read.notes
    with pytest.raises(InvalidInputError, match=r"family is 'llama', and what .* is known; expect"):
        load_file(LLAMA).read_as("llama")


def test_a_table_to_begin_with(tmp_path: Path) -> None:
    """What is refused shows ten lines of its own dimensions, which can be solved."""
    config = {
        "model_type": "qwen9", "n_embd": 4096, "n_layer": 32, "n_head": 32, "vocab_size": 128256,
        "num_key_value_heads": 8, "intermediate_size": 14336, "ssm_rank": 8,
    }  # fmt: skip
    with pytest.raises(
        InvalidInputError, match=r"no family that .* lists has its fields"
    ) as caught:
        transformer(config)
    lines = str(caught.value).splitlines()[2:]
    path = tmp_path / "table.csv"
    path.write_text("\n".join(lines))
    assert len(lines) == 10
    assert lines[2].startswith("block0-3,")
    layers = load_file(path).layers(Workload())
    # The parameters of Llama-3-8B without normalisations, 2 bytes each, and its cache.
    assert sum(layer.weights for layer in layers) == 2 * (8_030_261_248 - 65 * 4096)
    assert sum(layer.held for layer in layers) == 4096 * 131072
    with pytest.raises(InvalidInputError) as few:
        transformer({**config, "n_layer": 2})
    assert [line.split(",")[0] for line in str(few.value).splitlines()[2:]] == [
        "layer", "embed", "block0", "block1", "head",
    ]  # fmt: skip
    for kind, field in (("llama", {"hidden_act": "swish9"}), ("qwen3", {"layer_types": ["x"]})):
        with pytest.raises(InvalidInputError, match=r"(?s)^(hidden_act|layer_types) .*\nlayer,we"):
            transformer({**config, "ssm_rank": 0, "model_type": kind, **field})
    for broken in ({"n_embd": None}, {"n_layer": "many"}, {"n_layer": -1}, {"n_embd": [1]}):
        with pytest.raises(InvalidInputError, match=r"xpected a table") as bare:
            transformer({**config, **broken})
        assert "\n" not in str(bare.value)


def test_what_an_unknown_family_has_beside_a_known_one() -> None:
    """A field that costs something is refused; of a known family, it is a note."""
    with pytest.raises(InvalidInputError, match=r"^ssm_state_size is 16, which changes what a lay"):
        transformer({**UNKNOWN, "ssm_state_size": 16}, "llama")
    named = transformer({**SMALL, "fancy_option": 3, "fancy_nothing": None, "rope_theta": 1e4})
    assert named.notes == ("not used, and not known to be harmless: fancy_option",)


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({"hidden_act": "xielu"}, "hidden_act is 'xielu', which may have parameters"),
        ({"hidden_act": "swiglu"}, "hidden_act is 'swiglu', which may have parameters"),
        ({"fancy_bias": True}, "fancy_bias is True, which changes what a layer has"),
        ({"qkv_norm": "rms"}, "qkv_norm is 'rms', which changes what a layer has"),
        ({"use_gated_mlp": True}, "use_gated_mlp is True, which changes what a layer has"),
    ],
)
def test_what_changes_a_block_and_is_not_understood(changed: dict[str, Any], expected: str) -> None:
    """Refused in every family but the one that has it."""
    nothing = {"attention": {"no_op": True}, "ffn": {"no_op": True}}
    for kind in FAMILIES:
        config = {**SMALL, "model_type": kind, "intermediate_size_mlp": 128, **changed}
        if kind == "nemotron-nas":
            config["block_configs"] = [nothing] * 6
        if "xielu" in changed.values() and FAMILIES[kind].activations:
            assert transformer(config).blocks[0].vectors == 2 * 64 + 2 * 16 + 2
            continue
        with pytest.raises(InvalidInputError, match=expected):
            transformer(config)


def test_apertus_has_no_gate() -> None:
    """The 70 billion parameters that it states, not the 98.8 of a Llama with its dimensions."""
    config = {
        **BASE, "model_type": "apertus", "vocab_size": 131072, "intermediate_size": 43008,
        "hidden_act": "xielu", "qk_norm": True,
    }  # fmt: skip
    assert transformer(config).totals.parameters / 1e9 == pytest.approx(70.60, abs=0.005)


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({"hidden_size": None}, "hidden_size is missing; expected an integer from 1"),
        ({"hidden_size": -4}, "hidden_size is -4; expected an integer from 1"),
        ({"num_hidden_layers": float("nan")}, "num_hidden_layers is nan; expected an integer"),
        ({"num_hidden_layers": 2**31 - 1}, "expected an integer from 1 to 16,382"),
        ({"num_key_value_heads": 7}, "num_key_value_heads is 7; expected a divisor of the 64"),
        ({"vocab_size": -5}, "vocab_size is -5; expected an integer from 1"),
        ({"torch_dtype": "float8"}, "torch_dtype is 'float8'; expected one of"),
        ({"torch_dtype": ["float16"]}, "torch_dtype is .* expected one of"),
        ({"model_type": ["llama"]}, "model_type is .* expected a text"),
        ({"sliding_window": -5}, "sliding_window is -5; expected an integer from 0"),
        ({"layer_types": ["full_attention"]}, "layer_types has 1 entries; expected one for each"),
        ({"layer_types": ["linear_attention"] * 80}, "layer_types has 'linear_attention'"),
        (
            {"num_experts": 4, "num_experts_per_tok": 5},
            "num_experts_per_tok is 5; expected an inte",
        ),
        ({"tie_word_embeddings": "yes"}, "tie_word_embeddings is 'yes'; expected true or false"),
        ({"quantization_config": {"quant_method": "quip"}}, "has the method 'quip'; expected one"),
        ({"quantization_config": {"quant_method": "awq"}}, "quantization_config.bits is missing"),
        ({"quantization_config": 4}, "quantization_config is 4; expected an object"),
        ({"block_configs": [1]}, "block_configs is no list of 80 objects"),
    ],
)
def test_configurations_that_are_none(
    changed: dict[str, Any], expected: str, tmp_path: Path
) -> None:
    """The file, the field, and what was expected."""
    path = tmp_path / "config.json"
    path.write_text(json.dumps({**BASE, **changed}))
    with pytest.raises(InvalidInputError, match=f"config.json: .*{expected}"):
        load_file(path)


@pytest.mark.parametrize(
    ("workload", "expected"),
    [
        (Workload(), "phase is not given; expected prefill, decode or training"),
        (Workload("decode"), "batch is not given"),
        (Workload("decode", 1), "context is not given"),
    ],
)
def test_what_is_unknown_is_asked_for(workload: Workload, expected: str) -> None:
    """A model alone has no workload."""
    with pytest.raises(InvalidInputError, match=expected):
        load_file(LLAMA).layers(workload)


def test_a_folder_is_its_configuration(tmp_path: Path) -> None:
    """And a name on a hub is told from a file."""
    (tmp_path / "config.json").write_text(json.dumps(BASE))
    assert load_file(tmp_path).totals == transformer(BASE).totals
    with pytest.raises(UnknownNameError, match=r"save its config\.json"):
        load_member("Qwen/Qwen2.5-7B")


CONFIG: dict[str, Any] = {
    "model_type": "llama", "hidden_size": 8, "num_attention_heads": 2, "num_hidden_layers": 2,
    "intermediate_size": 16, "vocab_size": 10, "torch_dtype": "bfloat16",
}  # fmt: skip


def tensors(layers: range = range(2)) -> dict[str, tuple[list[int], int]]:
    """Return shape and bytes of tensors, in three times the bytes that the dimensions mean."""
    found: dict[str, tuple[list[int], int]] = {
        "model.embed_tokens.weight": ([10, 8], 480), "lm_head.weight": ([10, 8], 481),
        "model.norm.weight": ([8], 48),
    }  # fmt: skip
    for at in layers:
        for name in ("q", "k", "v", "o"):
            found[f"model.layers.{at}.self_attn.{name}_proj.weight"] = ([8, 8], 384)
        for name in ("gate", "up", "down"):
            found[f"model.layers.{at}.mlp.{name}_proj.qweight"] = ([8, 16], 700 + at)
        found[f"model.layers.{at}.input_layernorm.weight"] = ([8], 48)
    return found


def written(path: Path, content: Mapping[str, tuple[list[int], int]]) -> None:
    """Write a header with these tensors."""
    document, at = {"__metadata__": {"format": "pt"}}, 0
    for name, (shape, size) in content.items():
        document[name] = {"dtype": "BF16", "shape": shape, "data_offsets": [at, at + size]}  # type: ignore[dict-item]
        at += size
    text = json.dumps(document).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text)


def folder(path: Path, **changed: Any) -> Path:
    """Write a configuration into a folder."""
    (path / "config.json").write_text(json.dumps({**CONFIG, **changed}))
    return path


def test_bytes_are_those_of_the_tensors(tmp_path: Path) -> None:
    """Of each part of a layer; parameters stay those of the dimensions."""
    folder(tmp_path)
    plain = load_file(tmp_path)
    written(tmp_path / "model.safetensors", tensors())
    model = load_file(tmp_path)
    assert [block.size for block in model.blocks] == [
        4 * 384 + 3 * (700 + at) + 48 for at in range(2)
    ]
    assert sum(one.size for one in model.blocks[1].network) == 3 * 701
    assert (model.first.size, model.last.size) == (480, 481 + 48)
    assert model.totals.parameters == plain.totals.parameters
    assert "bytes of weights are those of 1 safetensors files" in model.notes


def test_files_that_an_index_lists(tmp_path: Path) -> None:
    """All of them have to be there."""
    folder(tmp_path)
    content = tensors()
    parts = {name: f"model-0000{1 + ('layers.1' in name)}-of-00002.safetensors" for name in content}
    (tmp_path / "model.safetensors.index.json").write_text(json.dumps({"weight_map": parts}))
    names = sorted(set(parts.values()))
    written(tmp_path / names[0], {k: v for k, v in content.items() if parts[k] == names[0]})
    with pytest.raises(InvalidInputError, match=f"lists {names[1]}, which is not there"):
        load_file(tmp_path)
    written(tmp_path / names[1], {k: v for k, v in content.items() if parts[k] == names[1]})
    assert load_file(tmp_path).totals.size == sum(size for _, size in content.values())


def test_scores_that_are_the_embedding(tmp_path: Path) -> None:
    """They read its bytes, too, and share them."""
    folder(tmp_path, tie_word_embeddings=True)
    content = tensors()
    del content["lm_head.weight"]
    written(tmp_path / "model.safetensors", content)
    model = load_file(tmp_path)
    assert (model.first.size, model.last.size) == (480, 480 + 48)
    assert model.totals.size == sum(size for _, size in content.values())


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"", "is empty; expected a safetensors file"),
        (struct.pack("<Q", 2**60), "expected a safetensors file, with 2 to 2.28"),
        (struct.pack("<Q", 100) + b"{}", "it ends within its header"),
        (struct.pack("<Q", 2) + b"[]", r"its header: expected an object, found \[\]"),
        (struct.pack("<Q", 3) + b"abc", "its header: expected JSON; line 1"),
        (struct.pack("<Q", 7) + b'{"a":1}', "tensor 'a' is 1; expected shape and data_offsets"),
    ],
)
def test_files_that_are_none(content: bytes, expected: str, tmp_path: Path) -> None:
    """The file, and what was expected."""
    folder(tmp_path)
    (tmp_path / "model.safetensors").write_bytes(content)
    with pytest.raises(InvalidInputError, match=f"model.safetensors(: .*| ){expected}"):
        load_file(tmp_path)


def test_layers_without_tensors(tmp_path: Path) -> None:
    """A file that is a part of a model says so."""
    folder(tmp_path)
    written(tmp_path / "model.safetensors", tensors(range(1)))
    with pytest.raises(InvalidInputError, match="the files have no tensor of layer 1; expected"):
        load_file(tmp_path)


SPARSE: dict[str, Any] = {
    "model_type": "deepseek_v32", "hidden_size": 7168, "num_hidden_layers": 61,
    "num_attention_heads": 128, "num_key_value_heads": 128, "intermediate_size": 18432,
    "moe_intermediate_size": 2048, "n_routed_experts": 256, "n_shared_experts": 1,
    "num_experts_per_tok": 8, "first_k_dense_replace": 3, "moe_layer_freq": 1, "q_lora_rank": 1536,
    "kv_lora_rank": 512, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "v_head_dim": 128,
    "index_head_dim": 128, "index_n_heads": 64, "index_topk": 2048, "vocab_size": 129280,
    "num_nextn_predict_layers": 1, "torch_dtype": "bfloat16",
}  # fmt: skip
GLM5 = {
    **SPARSE, "model_type": "glm_moe_dsa", "hidden_size": 6144, "num_hidden_layers": 78,
    "num_attention_heads": 64, "num_key_value_heads": 64, "intermediate_size": 12288,
    "q_lora_rank": 2048, "qk_nope_head_dim": 192, "v_head_dim": 256, "index_n_heads": 32,
    "vocab_size": 154880,
}  # fmt: skip
MINIMAX_M2 = {
    "model_type": "minimax_m2", "attn_type_list": [1] * 62, "hidden_size": 3072,
    "intermediate_size": 1536, "num_hidden_layers": 62, "num_attention_heads": 48,
    "num_key_value_heads": 8, "head_dim": 128, "num_local_experts": 256, "num_experts_per_tok": 8,
    "shared_intermediate_size": 0, "use_qk_norm": True, "qk_norm_type": "per_layer",
    "num_mtp_modules": 3, "mtp_transformer_layers": 1, "use_mtp": True, "vocab_size": 200064,
    "torch_dtype": "bfloat16",
}  # fmt: skip
GEMMA3N = {
    "model_type": "gemma3n", "audio_config": {"hidden_size": 1536}, "torch_dtype": "bfloat16",
    "vision_config": {"model_type": "gemma3n_vision", "hidden_size": 2048},
    "text_config": {
        "model_type": "gemma3n_text", "hidden_size": 2048, "intermediate_size": [16384] * 35,
        "num_hidden_layers": 35, "num_attention_heads": 8, "num_key_value_heads": 2,
        "head_dim": 256, "num_kv_shared_layers": 15, "hidden_size_per_layer_input": 256,
        "vocab_size_per_layer_input": 262144, "vocab_size": 262400, "laurel_rank": 64,
        "altup_num_inputs": 4, "altup_coef_clip": 120.0, "sliding_window": 512,
        "layer_types": (["sliding_attention"] * 4 + ["full_attention"]) * 7,
        "activation_sparsity_pattern": [0.95] * 10 + [0.0] * 25,
    },
}  # fmt: skip
OMNI = {
    "model_type": "qwen3_omni_moe", "talker_config": {"a": 1}, "code2wav_config": {"a": 1},
    "thinker_config": {
        "audio_config": {"d_model": 1280}, "dtype": "bfloat16",
        "vision_config": {"depth": 27, "hidden_size": 1152, "intermediate_size": 4304},
        "text_config": {
            "model_type": "qwen3_omni_moe_text", "hidden_size": 2048, "num_hidden_layers": 48,
            "num_attention_heads": 32, "num_key_value_heads": 4, "head_dim": 128,
            "moe_intermediate_size": 768, "num_experts": 128, "num_experts_per_tok": 8,
            "vocab_size": 152064,
        },
    },
}  # fmt: skip
OLD_FALCON = {
    "model_type": "RefinedWebModel", "hidden_size": 4544, "multi_query": True, "n_head": 71,
    "n_layer": 32, "bias": False, "parallel_attn": True, "alibi": False, "vocab_size": 65024,
    "torch_dtype": "bfloat16",
}  # fmt: skip
BLOOM = {
    "model_type": "bloom", "n_embed": 4096, "n_layer": 30, "num_attention_heads": 32,
    "vocab_size": 250880, "torch_dtype": "float16",
}  # fmt: skip
CHATGLM = {
    "model_type": "chatglm", "hidden_size": 4096, "num_layers": 40, "ffn_hidden_size": 13696,
    "num_attention_heads": 32, "multi_query_attention": True, "multi_query_group_num": 2,
    "padded_vocab_size": 151552, "kv_channels": 128, "add_qkv_bias": True,
    "add_bias_linear": False, "torch_dtype": "bfloat16",
}  # fmt: skip
MIMO = {
    "model_type": "mimo_v2_flash", "hidden_size": 4096, "num_hidden_layers": 48,
    "num_attention_heads": 64, "num_key_value_heads": 4, "head_dim": 192, "v_head_dim": 128,
    "swa_num_key_value_heads": 8, "sliding_window": 128, "intermediate_size": 16384,
    "hybrid_layer_pattern": [0, 1, 1, 1, 1, 0, *([1, 1, 1, 1, 1, 0] * 7)],
    "moe_layer_freq": [0] + [1] * 47, "moe_intermediate_size": 2048, "n_routed_experts": 256,
    "num_experts_per_tok": 8, "vocab_size": 152576, "torch_dtype": "bfloat16",
}  # fmt: skip
LING = {
    "model_type": "bailing_moe_v2", "hidden_size": 4096, "num_hidden_layers": 32,
    "num_attention_heads": 32, "num_key_value_heads": 4, "head_dim": 128,
    "intermediate_size": 9216, "moe_intermediate_size": 1024, "num_experts": 256,
    "num_experts_per_tok": 8, "num_shared_experts": 1, "first_k_dense_replace": 1,
    "use_qk_norm": True, "vocab_size": 157184, "torch_dtype": "bfloat16",
}  # fmt: skip


@pytest.mark.parametrize(
    ("config", "billions", "cache", "state"),
    [
        (SPARSE, 671.9, 61 * 2 * (512 + 64 + 128), 0),
        (GLM5, 744, 78 * 2 * (512 + 64 + 128), 0),
        (MINIMAX_M2, 228.69, 62 * 2 * 2 * 1024, 0),
        # Of 20 layers with a cache of their own, 4 see everything.
        (GEMMA3N, 6.835, 4 * 2 * 2 * 512, 16 * 512 * 2 * 2 * 512),
        (OMNI, 30.53 + 0.42, 48 * 2 * 2 * 512, 0),
        # Files have the scores of words a second time: 7.217.
        (OLD_FALCON, 6.922, 32 * 2 * 2 * 64, 0),
        (BLOOM, 7.069, 30 * 2 * 2 * 4096, 0),
        (CHATGLM, 9.4, 40 * 2 * 2 * 256, 0),
        (MIMO, 308.8, 9 * 2 * 4 * (192 + 128), 39 * 128 * 2 * 8 * (192 + 128)),
        (LING, 102.9, 32 * 2 * 2 * 512, 0),
    ],
)
def test_published_models(config: dict[str, Any], billions: float, cache: int, state: int) -> None:
    """Parameters within half a percent of what is published; bytes for a sequence by hand."""
    totals = transformer(config).totals
    assert totals.parameters / 1e9 == pytest.approx(billions, rel=0.005)
    assert (totals.cache, totals.state) == (cache, state)


def test_sparse_attention() -> None:
    """An indexer reads a key of every token, and attention the tokens that it chooses."""
    attention = [
        transformer(SPARSE).layers(Workload("decode", 1, context))[1].operations[1]
        for context in (2048, 100_000)
    ]
    through, latent, key = 2 * 2 * 128 * 192, 2 * 576, 2 * 128
    assert [one.moved for one in attention] == [
        2048 * (latent + key) + through, 2048 * latent + 100_000 * key + through,
    ]  # fmt: skip
    chosen = 4 * 2048 * 128 * 576
    assert [one.flops for one in attention] == [
        chosen + 2 * 64 * 128 * context for context in (2048, 100_000)
    ]


def test_what_passes_between_layers_of_several_streams() -> None:
    """Gemma-3n: four streams, and what later layers read of their own."""
    layers = transformer(GEMMA3N).layers(Workload("decode", 2, 10))
    assert layers[1].output == 2 * 2 * (4 * 2048 + 34 * 256)
    assert layers[35].output == 2 * 2 * 4 * 2048
    # The last 15 have no cache of their own.
    assert [layer.held > 0 for layer in layers] == [False] + [True] * 20 + [False] * 16


def test_heads_of_layers_with_and_without_a_window() -> None:
    """Gemma-4: other heads where there is no window, whose values are keys."""
    config = {
        **SMALL, "model_type": "gemma4_text", "num_hidden_layers": 4, "num_key_value_heads": 4,
        "head_dim": 16, "layer_types": ["sliding_attention", "full_attention"] * 2,
        "sliding_window": 8, "global_head_dim": 32, "num_global_key_value_heads": 2,
        "attention_k_eq_v": True, "num_kv_shared_layers": 2, "use_double_wide_mlp": True,
        "hidden_size_per_layer_input": 0, "num_experts": None,
    }  # fmt: skip
    model = transformer(config)
    assert [layer.held for layer in model.layers(DECODE)[1:5]] == [
        8 * 2 * 2 * 4 * 16, 1024 * 2 * 2 * 2 * 32, 0, 0,
    ]  # fmt: skip
    norms = 4 * 64
    assert [block.parameters for block in model.blocks] == [
        4 * 64 * 4 * 16 + 3 * 64 * 128 + norms + 2 * 16,
        64 * 32 * (4 + 2 + 4) + 3 * 64 * 128 + norms + 2 * 32,
        2 * 64 * 4 * 16 + 3 * 64 * 256 + norms + 16,
        2 * 64 * 4 * 32 + 3 * 64 * 256 + norms + 32,
    ]
    listed = {at: {"head_dim": 32, "num_key_value_heads": 2} for at in ("01", "03")}
    today = {**config, "global_head_dim": 16, "num_global_key_value_heads": None}
    assert transformer({**today, "per_layer_config": listed}).blocks == model.blocks
    for field, value in (("num_global_key_value_heads", 3), ("global_head_dim", -1)):
        with pytest.raises(InvalidInputError, match=r"heads of keys; expected|_dim is -1; expec"):
            transformer({**config, field: value})


def test_what_is_left_out_is_said() -> None:
    """Prediction of several words, and towers that are not read."""
    assert "multi-token prediction, num_mtp_modules, is left out" in transformer(MINIMAX_M2).notes
    said = "what talker_config, code2wav_config, audio_config describe is not counted"
    assert said in transformer(OMNI).notes


def test_matrices_of_low_rank_are_kept() -> None:
    """Phi-4-multimodal: beside the fused ones of 32 layers, for images and for sound."""
    config = {
        "model_type": "phi4mm", "hidden_size": 3072, "num_hidden_layers": 32,
        "num_attention_heads": 24, "num_key_value_heads": 8, "intermediate_size": 8192,
        "vocab_size": 200064, "tie_word_embeddings": True, "sliding_window": 262144,
        "max_position_embeddings": 131072, "embd_layer": {"a": 1}, "audio_processor": {"a": 1},
        "torch_dtype": "bfloat16",
    }  # fmt: skip
    plain = transformer(config)
    both = transformer({**config, "vision_lora": {"r": 256}, "speech_lora": {"r": 320}})
    assert plain.totals.parameters / 1e9 == pytest.approx(3.836, rel=0.0005)
    each = (3072 + 5120) + 2 * 3072 + (3072 + 16384) + (8192 + 3072)
    assert both.totals.parameters - plain.totals.parameters == 32 * (256 + 320) * each
    assert both.totals.size - plain.totals.size == 2 * 32 * (256 + 320) * each
    assert plain.layers(DECODE)[1].operations == both.layers(DECODE)[1].operations
    assert any("audio_processor, embd_layer" in note for note in both.notes)
    with pytest.raises(InvalidInputError, match=r"vision_lora.r is missing; expected an integer"):
        transformer({**config, "vision_lora": {"alpha": 1}})


def test_lists_by_layer() -> None:
    """Hunyuan: experts of each layer, as many as its lists say."""
    config = {
        **SMALL, "model_type": "hunyuan_v1_moe", "num_hidden_layers": 2, "num_experts": 8,
        "moe_topk": [2, 4], "moe_intermediate_size": [32, 16], "num_shared_expert": [1, 0],
    }  # fmt: skip
    first, second = transformer(config).blocks
    assert [(one.copies, one.active, one.outputs) for one in first.network[1:3]] == [(8, 2, 32)] * 2
    assert [(one.copies, one.active, one.outputs) for one in second.network[1:3]] == [
        (8, 4, 16), (8, 4, 16),
    ]  # fmt: skip
    assert (len(first.network), len(second.network)) == (7, 4)
    for broken in ({"moe_topk": [2]}, {"moe_intermediate_size": [32, "x"]}, {"moe_topk": [2, 9]}):
        with pytest.raises(InvalidInputError, match=f"^{next(iter(broken))} (has|is)"):
            transformer({**config, **broken})


def test_a_window_as_long_as_all_positions_is_none() -> None:
    """Such as Phi-4-mini's of 262,144 tokens."""
    given = {**SMALL, "model_type": "phi3", "sliding_window": 262144}
    assert transformer({**given, "max_position_embeddings": 131072}).totals.state == 0
    assert transformer({**given, "max_position_embeddings": 2**20}).totals.cache == 0
