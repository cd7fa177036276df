"""Networks for text, speech, and text with images, as the package transformers defines them."""

from collections.abc import Callable, Mapping
from typing import Any

import torch

from boundmark.datasets.zoo.export.recipe import Recipe, for_training
from boundmark.datasets.zoo.export.vision import MODELS as _TORCHVISION_IS_THERE

# Import of transformers looks for torchvision.
assert _TORCHVISION_IS_THERE
import transformers  # noqa: E402

# Sizes of inputs by argument, in tokens, or pixels, or frames.
Sizes = Mapping[str, tuple[int, ...]]

_PIXELS = ("pixel_values", "input_values", "input_features")


def _inputs(sizes: Sizes) -> Callable[[], dict[str, torch.Tensor]]:
    def make() -> dict[str, torch.Tensor]:
        return {
            name: torch.empty(size) if name in _PIXELS else torch.zeros(size, dtype=torch.long)
            for name, size in sizes.items()
        }

    return make


def _recipe(
    name: str,
    kind: str,
    paper: str,
    settings: Mapping[str, Any],
    sizes: Sizes,
    output: str = "last_hidden_state",
    dtype: torch.dtype = torch.float32,
) -> Recipe:
    """Return the recipe of a model with a configuration that differs from the default in settings.

    Attention is made of its operators, products and Softmax, and no cache is written.
    """

    def module() -> Any:
        model = getattr(transformers, kind)
        config = model.config_class(attn_implementation="eager", **settings)
        for one in (config, *(getattr(config, x, None) for x in ("encoder", "decoder"))):
            if one is not None and hasattr(one, "use_cache"):
                one.use_cache = False
        return model(config)

    shown = {key: str(value) if callable(value) else value for key, value in settings.items()}
    configuration = {"class": kind, **shown, "dtype": str(dtype).removeprefix("torch.")}
    configuration["inputs"] = {key: list(size) for key, size in sizes.items()}
    return Recipe(
        name,
        f"{paper}; transformers.{kind}",
        configuration,
        module,
        _inputs(sizes),
        output,
        dtype,
    )


def _tokens(batch: int, length: int) -> Sizes:
    return {"input_ids": (batch, length)}


def _pairs(batch: int, length: int) -> Sizes:
    return {"input_ids": (batch, length), "decoder_input_ids": (batch, length)}


_IMAGE: Sizes = {"pixel_values": (1, 3, 224, 224)}

_GPT2 = "Radford et al., 2019"
_GPT3 = "Brown et al., NeurIPS 2020, as configured in Moirai, Table IV"
_SWIN = (
    "Liu et al., CVPR 2022 (Swin V2), after Moirai, Table IV; depths are our reading of its layers"
)
_T5 = "Raffel et al., JMLR 2020"


def _gpt(
    name: str, paper: str, layers: int, hidden: int, heads: int, length: int, half: bool
) -> Recipe:
    settings = {"n_layer": layers, "n_embd": hidden, "n_head": heads, "n_positions": length}
    dtype = torch.float16 if half else torch.float32
    sizes = _tokens(1, length)
    return _recipe(name, "GPT2LMHeadModel", paper, settings, sizes, "logits", dtype)


def _swin(name: str, hidden: int, heads: int, depths: tuple[int, ...]) -> Recipe:
    settings = {
        "image_size": 1100,
        "embed_dim": hidden,
        "num_heads": [heads * 2**stage for stage in range(4)],
        "depths": list(depths),
        "window_size": 12,
    }
    sizes = {"pixel_values": (1, 3, 1100, 1100)}
    return _recipe(name, "Swinv2Model", _SWIN, settings, sizes, dtype=torch.float16)


def _flava(name: str, paper: str, layers: int, hidden: int, heads: int, half: bool) -> Recipe:
    one = {
        "num_hidden_layers": layers,
        "hidden_size": hidden,
        "num_attention_heads": heads,
        "intermediate_size": 4 * hidden,
    }
    mixed = {**one, "num_hidden_layers": layers // 2}
    settings = {
        "text_config": one, "image_config": one, "multimodal_config": mixed,
        "hidden_size": hidden, "projection_dim": hidden,
    }  # fmt: skip
    sizes = {**_tokens(1, 77), **_IMAGE}
    dtype = torch.float16 if half else torch.float32
    return _recipe(name, "FlavaModel", paper, settings, sizes, "multimodal_output", dtype)


_LLAMA2 = {
    "num_hidden_layers": 32, "hidden_size": 4096, "intermediate_size": 11008,
    "num_attention_heads": 32, "num_key_value_heads": 32, "vocab_size": 32000,
}  # fmt: skip

_LLAMA3 = {
    "num_hidden_layers": 32, "hidden_size": 4096, "intermediate_size": 14336,
    "num_attention_heads": 32, "num_key_value_heads": 8, "vocab_size": 128256,
    "rope_theta": 500000.0,
}  # fmt: skip

_MT5 = "Xue et al., NAACL 2021"

RECIPES = (
    _recipe("bert-base", "BertModel", "Devlin et al., NAACL 2019", {}, _tokens(1, 128)),
    _recipe(
        "bert-large", "BertModel", "Devlin et al., NAACL 2019",
        {"num_hidden_layers": 24, "hidden_size": 1024, "num_attention_heads": 16,
         "intermediate_size": 4096},
        _tokens(1, 384),
    ),
    _gpt("gpt-2", _GPT2, 12, 768, 12, 1024, half=False),
    _gpt("gpt-3-330m", _GPT3, 24, 1024, 16, 2048, half=True),
    _gpt("gpt-3-1.3b", _GPT3, 32, 2048, 32, 2048, half=True),
    _gpt("gpt-3-2.7b", _GPT3, 32, 2560, 32, 2048, half=True),
    _gpt("gpt-3-13b", _GPT3, 40, 5120, 40, 2048, half=True),
    _swin("swin-1.8b", 512, 16, (2, 2, 26, 2)),
    _swin("swin-6.6b", 768, 24, (2, 2, 40, 4)),
    _swin("swin-13b", 1024, 32, (2, 2, 48, 4)),
    _recipe(
        "mt5-base", "MT5ForConditionalGeneration", _MT5,
        {"num_layers": 12, "num_decoder_layers": 12, "d_model": 768, "d_ff": 2048, "num_heads": 12},
        _pairs(1, 512), "logits",
    ),
    _recipe(
        "mt5-1.8b", "MT5ForConditionalGeneration",
        f"{_MT5}, as configured in Tessel, Table III: 48 layers are 24 in encoder and decoder each",
        {"num_layers": 24, "num_decoder_layers": 24, "d_model": 1024, "d_kv": 64, "d_ff": 4096,
         "num_heads": 16, "vocab_size": 512000},
        _pairs(1, 1024), "logits", torch.float16,
    ),
    _flava("flava-base", "Singh et al., CVPR 2022", 12, 768, 12, half=False),
    _flava(
        "flava-tessel", "Singh et al., CVPR 2022, as configured in Tessel, Figure 15",
        24, 4096, 32, half=True,
    ),
    _recipe(
        "t5-base", "T5ForConditionalGeneration", _T5,
        {"num_layers": 12, "num_decoder_layers": 12, "d_model": 768, "d_ff": 3072, "num_heads": 12},
        _pairs(1, 512), "logits",
    ),
    _recipe(
        "bart-large", "BartForConditionalGeneration", "Lewis et al., ACL 2020", {},
        _pairs(1, 512), "logits",
    ),
    _recipe("distilbert-base", "DistilBertModel", "Sanh et al., arXiv:1910.01108", {},
            _tokens(1, 128)),
    _recipe("albert-base", "AlbertModel", "Lan et al., ICLR 2020",
            {"hidden_size": 768, "num_attention_heads": 12, "intermediate_size": 3072},
            _tokens(1, 128)),
    _recipe("llama-2-7b", "LlamaForCausalLM", "Touvron et al., arXiv:2307.09288", _LLAMA2,
            _tokens(1, 2048), "logits", torch.float16),
    _recipe("llama-3-8b", "LlamaForCausalLM", "Grattafiori et al., arXiv:2407.21783", _LLAMA3,
            _tokens(1, 2048), "logits", torch.float16),
    _recipe(
        "whisper-small", "WhisperForConditionalGeneration", "Radford et al., ICML 2023",
        {"d_model": 768, "encoder_layers": 12, "decoder_layers": 12, "encoder_attention_heads": 12,
         "decoder_attention_heads": 12, "encoder_ffn_dim": 3072, "decoder_ffn_dim": 3072},
        {"input_features": (1, 80, 3000), "decoder_input_ids": (1, 128)}, "logits",
    ),
    _recipe("wav2vec2-base", "Wav2Vec2Model", "Baevski et al., NeurIPS 2020", {},
            {"input_values": (1, 160000)}),
    _recipe("clip-vit-b-32", "CLIPModel", "Radford et al., ICML 2021", {},
            {**_tokens(2, 77), "pixel_values": (2, 3, 224, 224)}, "logits_per_image"),
    _recipe(
        "detr-resnet-50", "DetrForObjectDetection", "Carion et al., ECCV 2020",
        {"use_timm_backbone": False, "use_pretrained_backbone": False, "backbone": None,
         "backbone_config": {"model_type": "resnet", "out_features": ["stage4"]}},
        {"pixel_values": (1, 3, 800, 1066)}, "logits",
    ),
    _recipe("segformer-b0", "SegformerForSemanticSegmentation", "Xie et al., NeurIPS 2021",
            {"num_labels": 150}, {"pixel_values": (1, 3, 512, 512)}, "logits"),
    _recipe(
        "segformer-b5", "SegformerForSemanticSegmentation", "Xie et al., NeurIPS 2021",
        {"num_labels": 150, "hidden_sizes": [64, 128, 320, 512], "depths": [3, 6, 40, 3],
         "decoder_hidden_size": 768},
        {"pixel_values": (1, 3, 640, 640)}, "logits",
    ),
)  # fmt: skip

_OF_BERT = _recipe(
    "bert-base", "BertForMaskedLM", "Devlin et al., NAACL 2019", {}, _tokens(1, 128), "logits"
)

_TRAINED = ("gpt-2", "gpt-3-1.3b", "mt5-base", "mt5-1.8b")

TRAINING = (
    for_training(_OF_BERT),
    *(for_training(recipe) for recipe in RECIPES if recipe.name in _TRAINED),
)
