"""Networks as torchvision and the package transformers define them: recipes of their exports."""

from collections.abc import Callable, Mapping
from typing import Any

import torch

from boundmark.datasets.zoo.export.recipe import Recipe, for_training, image


def _without_compiled_operators() -> Any:
    """Return torchvision's models, also if its compiled part was built for another torch.

    Nothing here runs the operators of that part, but torchvision wants to know of two of them.
    """
    try:
        from torchvision import models
    except RuntimeError:
        library = torch.library.Library("torchvision", "FRAGMENT")
        for name in ("nms", "qnms"):
            library.define(f"{name}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
        _KEPT.append(library)
        from torchvision import models
    return models


# What a library registers goes with it.
_KEPT: list[Any] = []

MODELS = _without_compiled_operators()

# Its import looks for torchvision.
import transformers  # noqa: E402

# Name, torchvision's name, edge of the image in pixels, who published it.
_CLASSIFIERS = (
    ("inception-v3", "inception_v3", 299, "Szegedy et al., CVPR 2016"),
    ("resnet-18", "resnet18", 224, "He et al., CVPR 2016"),
    ("resnet-50", "resnet50", 224, "He et al., CVPR 2016"),
    ("resnet-101", "resnet101", 224, "He et al., CVPR 2016"),
    ("resnet-152", "resnet152", 224, "He et al., CVPR 2016"),
    ("resnext-101-32x8d", "resnext101_32x8d", 224, "Xie et al., CVPR 2017"),
    ("wide-resnet-101-2", "wide_resnet101_2", 224, "Zagoruyko and Komodakis, BMVC 2016"),
    ("alexnet", "alexnet", 224, "Krizhevsky, arXiv:1404.5997"),
    ("vgg-16", "vgg16", 224, "Simonyan and Zisserman, ICLR 2015"),
    ("googlenet", "googlenet", 224, "Szegedy et al., CVPR 2015"),
    ("squeezenet-1.1", "squeezenet1_1", 224, "Iandola et al., arXiv:1602.07360"),
    ("densenet-201", "densenet201", 224, "Huang et al., CVPR 2017"),
    ("shufflenet-v2-2.0", "shufflenet_v2_x2_0", 224, "Ma et al., ECCV 2018"),
    ("mnasnet-1.0", "mnasnet1_0", 224, "Tan et al., CVPR 2019"),
    ("mobilenet-v2", "mobilenet_v2", 224, "Sandler et al., CVPR 2018"),
    ("mobilenet-v3-large", "mobilenet_v3_large", 224, "Howard et al., ICCV 2019"),
    ("efficientnet-b0", "efficientnet_b0", 224, "Tan and Le, ICML 2019"),
    ("efficientnet-b7", "efficientnet_b7", 600, "Tan and Le, ICML 2019"),
    ("efficientnet-v2-l", "efficientnet_v2_l", 480, "Tan and Le, ICML 2021"),
    ("regnet-y-16gf", "regnet_y_16gf", 224, "Radosavovic et al., CVPR 2020"),
    ("convnext-tiny", "convnext_tiny", 224, "Liu et al., CVPR 2022"),
    ("convnext-large", "convnext_large", 224, "Liu et al., CVPR 2022"),
    ("vit-b-16", "vit_b_16", 224, "Dosovitskiy et al., ICLR 2021"),
    ("vit-l-16", "vit_l_16", 224, "Dosovitskiy et al., ICLR 2021"),
    ("swin-b", "swin_b", 224, "Liu et al., ICCV 2021"),
    ("maxvit-t", "maxvit_t", 224, "Tu et al., ECCV 2022"),
)

_SEGMENTERS = (
    ("deeplab-v3-resnet-101", "deeplabv3_resnet101", 520, "Chen et al., arXiv:1706.05587"),
    ("fcn-resnet-50", "fcn_resnet50", 520, "Long et al., CVPR 2015"),
)

_VIDEO = (
    ("r2plus1d-18", "r2plus1d_18", (16, 112, 112), "Tran et al., CVPR 2018"),
    ("mvit-v2-s", "mvit_v2_s", (16, 224, 224), "Li et al., CVPR 2022"),
)


def _classifier(name: str, function: str, edge: int, paper: str) -> Recipe:
    def module() -> Any:
        # Auxiliary heads serve training only.
        extra = {"aux_logits": False, "init_weights": False}
        extra = extra if function in ("googlenet", "inception_v3") else {}
        return getattr(MODELS, function)(weights=None, **extra)

    return Recipe(
        name,
        f"{paper}; torchvision.models.{function}",
        {"function": function, **image(1, edge)},
        module,
        _pixels(1, 3, edge, edge),
    )


def _pixels(*shape: int) -> Callable[[], dict[str, torch.Tensor]]:
    return lambda: {"x": torch.empty(shape)}


def _segmenter(name: str, function: str, edge: int, paper: str) -> Recipe:
    return Recipe(
        name,
        f"{paper}; torchvision.models.segmentation.{function}",
        {"function": function, **image(1, edge)},
        lambda: getattr(MODELS.segmentation, function)(weights=None, weights_backbone=None),
        _pixels(1, 3, edge, edge),
        output="out",
    )


def _of_video(name: str, function: str, size: tuple[int, int, int], paper: str) -> Recipe:
    return Recipe(
        name,
        f"{paper}; torchvision.models.video.{function}",
        {"function": function, "batch": 1, "video": [3, *size]},
        lambda: getattr(MODELS.video, function)(weights=None),
        _pixels(1, 3, *size),
    )


_VISION = (
    *(_classifier(*row) for row in _CLASSIFIERS),
    *(_segmenter(*row) for row in _SEGMENTERS),
    *(_of_video(*row) for row in _VIDEO),
)


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
    *_VISION,
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
