"""Make the graphs of the data set `zoo` from models of torchvision and transformers.

`python -m boundmark.datasets.zoo.export [NAME...]` does; it needs the extra `zoo`. Nothing is
downloaded and nothing is computed: models are built on torch's device `meta`, whose tensors have
shapes and no contents, and `torch.export` records which operators they would run. Of the networks
of the zoo that are not in `MODELS`, only the graphs are kept.

For training, torch's autograd runs backwards through the recorded forward pass while every operator
that it runs is recorded as well. What the forward pass computed and the backward pass reads are
tensors of the same graph: saved activations, with their sizes. Optimisers are left out.
"""

import gzip
import hashlib
import importlib
import json
import platform
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import reduce
from importlib.metadata import version
from pathlib import Path
from typing import Any

import click
import torch
from torch._functorch._aot_autograd.logging_utils import setup_stacktrace_preservation_hooks
from torch.fx.experimental.proxy_tensor import make_fx
from torch.fx.traceback import preserve_node_meta

from boundmark.datasets.readers.graph_file import GraphOrigin, to_json
from boundmark.datasets.readers.torch_export.graph_module import IS_GRADIENT, functional, to_graph
from boundmark.problems.errors import InvalidInputError


@dataclass(frozen=True)
class Model:
    """A model, and the input with which it is recorded.

    Attributes
    ----------
    name
        In the zoo: lower-case letters, digits, dots and dashes.
    made_by
        The function of torchvision, or the class of transformers, that makes it.
    paper
        Who published the architecture.
    settings
        Arguments of the function, or fields of the configuration that differ from the default.
    inputs
        Sizes of the arguments by name, in tokens, pixels or frames.
    output
        Attribute of the result that counts; empty for all of it.
    dtype
        Type of the weights, as torch calls it.
    is_training
        Whether the graph is a step of training: the loss of logits, given ``labels``, and the
        gradients of all weights.
    """

    name: str
    made_by: str
    paper: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    inputs: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    output: str = ""
    dtype: str = "float32"
    is_training: bool = False


def _image(
    name: str, function: str, edge: int, paper: str, output: str = "", **settings: Any
) -> Model:
    function = f"torchvision.models.{function}"
    return Model(name, function, paper, settings, {"x": (1, 3, edge, edge)}, output)


def _video(name: str, function: str, edge: int, paper: str) -> Model:
    function = f"torchvision.models.video.{function}"
    return Model(name, function, paper, inputs={"x": (1, 3, 16, edge, edge)})


def _language(
    name: str, kind: str, paper: str, settings: Mapping[str, Any], inputs: Mapping[str, Any],
    output: str = "last_hidden_state", dtype: str = "float32",
) -> Model:  # fmt: skip
    return Model(name, f"transformers.{kind}", paper, settings, inputs, output, dtype)


def _tokens(batch: int, length: int) -> dict[str, tuple[int, ...]]:
    return {"input_ids": (batch, length)}


def _pairs(length: int) -> dict[str, tuple[int, ...]]:
    return {"input_ids": (1, length), "decoder_input_ids": (1, length)}


_GPT3 = "Brown et al., NeurIPS 2020, as configured in Moirai, Table IV"
_SWIN = (
    "Liu et al., CVPR 2022 (Swin V2), after Moirai, Table IV; depths are our reading of its layers"
)
_MT5 = "Xue et al., NAACL 2021"


def _gpt(
    name: str, paper: str, layers: int, hidden: int, heads: int, length: int, dtype: str
) -> Model:
    settings = {"n_layer": layers, "n_embd": hidden, "n_head": heads, "n_positions": length}
    return _language(name, "GPT2LMHeadModel", paper, settings, _tokens(1, length), "logits", dtype)


def _swin(name: str, hidden: int, heads: int, depths: list[int]) -> Model:
    settings = {
        "image_size": 1100,
        "embed_dim": hidden,
        "num_heads": [heads * 2**stage for stage in range(4)],
        "depths": depths,
        "window_size": 12,
    }
    sizes = {"pixel_values": (1, 3, 1100, 1100)}
    return _language(name, "Swinv2Model", _SWIN, settings, sizes, dtype="float16")


def _flava(name: str, paper: str, layers: int, hidden: int, heads: int, dtype: str) -> Model:
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
    sizes = {**_tokens(1, 77), "pixel_values": (1, 3, 224, 224)}
    return _language(name, "FlavaModel", paper, settings, sizes, "multimodal_output", dtype)


def _for_training(model: Model) -> Model:
    return replace(model, name=f"{model.name}-training", is_training=True)


_WITHOUT_HEADS: Mapping[str, Any] = {"aux_logits": False, "init_weights": False}
_WITHOUT_WEIGHTS: Mapping[str, Any] = {"weights": None, "weights_backbone": None}

_FORWARD = (
    # Auxiliary heads serve training only.
    _image("inception-v3", "inception_v3", 299, "Szegedy et al., CVPR 2016", **_WITHOUT_HEADS),
    _image("resnet-18", "resnet18", 224, "He et al., CVPR 2016"),
    _image("resnet-50", "resnet50", 224, "He et al., CVPR 2016"),
    _image("resnet-101", "resnet101", 224, "He et al., CVPR 2016"),
    _image("resnet-152", "resnet152", 224, "He et al., CVPR 2016"),
    _image("resnext-101-32x8d", "resnext101_32x8d", 224, "Xie et al., CVPR 2017"),
    _image("wide-resnet-101-2", "wide_resnet101_2", 224, "Zagoruyko and Komodakis, BMVC 2016"),
    _image("alexnet", "alexnet", 224, "Krizhevsky, arXiv:1404.5997"),
    _image("vgg-16", "vgg16", 224, "Simonyan and Zisserman, ICLR 2015"),
    _image("googlenet", "googlenet", 224, "Szegedy et al., CVPR 2015", **_WITHOUT_HEADS),
    _image("squeezenet-1.1", "squeezenet1_1", 224, "Iandola et al., arXiv:1602.07360"),
    _image("densenet-201", "densenet201", 224, "Huang et al., CVPR 2017"),
    _image("shufflenet-v2-2.0", "shufflenet_v2_x2_0", 224, "Ma et al., ECCV 2018"),
    _image("mnasnet-1.0", "mnasnet1_0", 224, "Tan et al., CVPR 2019"),
    _image("mobilenet-v2", "mobilenet_v2", 224, "Sandler et al., CVPR 2018"),
    _image("mobilenet-v3-large", "mobilenet_v3_large", 224, "Howard et al., ICCV 2019"),
    _image("efficientnet-b0", "efficientnet_b0", 224, "Tan and Le, ICML 2019"),
    _image("efficientnet-b7", "efficientnet_b7", 600, "Tan and Le, ICML 2019"),
    _image("efficientnet-v2-l", "efficientnet_v2_l", 480, "Tan and Le, ICML 2021"),
    _image("regnet-y-16gf", "regnet_y_16gf", 224, "Radosavovic et al., CVPR 2020"),
    _image("convnext-tiny", "convnext_tiny", 224, "Liu et al., CVPR 2022"),
    _image("convnext-large", "convnext_large", 224, "Liu et al., CVPR 2022"),
    _image("vit-b-16", "vit_b_16", 224, "Dosovitskiy et al., ICLR 2021"),
    _image("vit-l-16", "vit_l_16", 224, "Dosovitskiy et al., ICLR 2021"),
    _image("swin-b", "swin_b", 224, "Liu et al., ICCV 2021"),
    _image("maxvit-t", "maxvit_t", 224, "Tu et al., ECCV 2022"),
    _image("deeplab-v3-resnet-101", "segmentation.deeplabv3_resnet101", 520,
           "Chen et al., arXiv:1706.05587", "out", **_WITHOUT_WEIGHTS),
    _image("fcn-resnet-50", "segmentation.fcn_resnet50", 520, "Long et al., CVPR 2015", "out",
           **_WITHOUT_WEIGHTS),
    _video("r2plus1d-18", "r2plus1d_18", 112, "Tran et al., CVPR 2018"),
    _video("mvit-v2-s", "mvit_v2_s", 224, "Li et al., CVPR 2022"),
    _language("bert-base", "BertModel", "Devlin et al., NAACL 2019", {}, _tokens(1, 128)),
    _language(
        "bert-large", "BertModel", "Devlin et al., NAACL 2019",
        {"num_hidden_layers": 24, "hidden_size": 1024, "num_attention_heads": 16,
         "intermediate_size": 4096},
        _tokens(1, 384),
    ),
    _gpt("gpt-2", "Radford et al., 2019", 12, 768, 12, 1024, "float32"),
    _gpt("gpt-3-330m", _GPT3, 24, 1024, 16, 2048, "float16"),
    _gpt("gpt-3-1.3b", _GPT3, 32, 2048, 32, 2048, "float16"),
    _gpt("gpt-3-2.7b", _GPT3, 32, 2560, 32, 2048, "float16"),
    _gpt("gpt-3-13b", _GPT3, 40, 5120, 40, 2048, "float16"),
    _swin("swin-1.8b", 512, 16, [2, 2, 26, 2]),
    _swin("swin-6.6b", 768, 24, [2, 2, 40, 4]),
    _swin("swin-13b", 1024, 32, [2, 2, 48, 4]),
    _language(
        "mt5-base", "MT5ForConditionalGeneration", _MT5,
        {"num_layers": 12, "num_decoder_layers": 12, "d_model": 768, "d_ff": 2048, "num_heads": 12},
        _pairs(512), "logits",
    ),
    _language(
        "mt5-1.8b", "MT5ForConditionalGeneration",
        f"{_MT5}, as configured in Tessel, Table III: 48 layers are 24 in encoder and decoder each",
        {"num_layers": 24, "num_decoder_layers": 24, "d_model": 1024, "d_kv": 64, "d_ff": 4096,
         "num_heads": 16, "vocab_size": 512000},
        _pairs(1024), "logits", "float16",
    ),
    _flava("flava-base", "Singh et al., CVPR 2022", 12, 768, 12, "float32"),
    _flava("flava-tessel", "Singh et al., CVPR 2022, as configured in Tessel, Figure 15",
           24, 4096, 32, "float16"),
    _language(
        "t5-base", "T5ForConditionalGeneration", "Raffel et al., JMLR 2020",
        {"num_layers": 12, "num_decoder_layers": 12, "d_model": 768, "d_ff": 3072, "num_heads": 12},
        _pairs(512), "logits",
    ),
    _language("bart-large", "BartForConditionalGeneration", "Lewis et al., ACL 2020", {},
              _pairs(512), "logits"),
    _language("distilbert-base", "DistilBertModel", "Sanh et al., arXiv:1910.01108", {},
              _tokens(1, 128)),
    _language("albert-base", "AlbertModel", "Lan et al., ICLR 2020",
              {"hidden_size": 768, "num_attention_heads": 12, "intermediate_size": 3072},
              _tokens(1, 128)),
    _language(
        "llama-2-7b", "LlamaForCausalLM", "Touvron et al., arXiv:2307.09288",
        {"num_hidden_layers": 32, "hidden_size": 4096, "intermediate_size": 11008,
         "num_attention_heads": 32, "num_key_value_heads": 32, "vocab_size": 32000},
        _tokens(1, 2048), "logits", "float16",
    ),
    _language(
        "llama-3-8b", "LlamaForCausalLM", "Grattafiori et al., arXiv:2407.21783",
        {"num_hidden_layers": 32, "hidden_size": 4096, "intermediate_size": 14336,
         "num_attention_heads": 32, "num_key_value_heads": 8, "vocab_size": 128256,
         "rope_theta": 500000.0},
        _tokens(1, 2048), "logits", "float16",
    ),
    _language(
        "whisper-small", "WhisperForConditionalGeneration", "Radford et al., ICML 2023",
        {"d_model": 768, "encoder_layers": 12, "decoder_layers": 12, "encoder_attention_heads": 12,
         "decoder_attention_heads": 12, "encoder_ffn_dim": 3072, "decoder_ffn_dim": 3072},
        {"input_features": (1, 80, 3000), "decoder_input_ids": (1, 128)}, "logits",
    ),
    _language("wav2vec2-base", "Wav2Vec2Model", "Baevski et al., NeurIPS 2020", {},
              {"input_values": (1, 160000)}),
    _language("clip-vit-b-32", "CLIPModel", "Radford et al., ICML 2021", {},
              {**_tokens(2, 77), "pixel_values": (2, 3, 224, 224)}, "logits_per_image"),
    _language(
        "detr-resnet-50", "DetrForObjectDetection", "Carion et al., ECCV 2020",
        {"use_timm_backbone": False, "use_pretrained_backbone": False, "backbone": None,
         "backbone_config": {"model_type": "resnet", "out_features": ["stage4"]}},
        {"pixel_values": (1, 3, 800, 1066)}, "logits",
    ),
    _language("segformer-b0", "SegformerForSemanticSegmentation", "Xie et al., NeurIPS 2021",
              {"num_labels": 150}, {"pixel_values": (1, 3, 512, 512)}, "logits"),
    _language(
        "segformer-b5", "SegformerForSemanticSegmentation", "Xie et al., NeurIPS 2021",
        {"num_labels": 150, "hidden_sizes": [64, 128, 320, 512], "depths": [3, 6, 40, 3],
         "decoder_hidden_size": 768},
        {"pixel_values": (1, 3, 640, 640)}, "logits",
    ),
)  # fmt: skip

_OF_BERT = _language(
    "bert-base", "BertForMaskedLM", "Devlin et al., NAACL 2019", {}, _tokens(1, 128), "logits"
)
_TRAINED = ("gpt-2", "gpt-3-1.3b", "mt5-base", "mt5-1.8b")

MODELS = (
    *_FORWARD,
    _for_training(_OF_BERT),
    *(_for_training(model) for model in _FORWARD if model.name in _TRAINED),
)

DATA = Path(__file__).parent / "data"

# What a model's arguments of real numbers are called.
_REAL = ("x", "pixel_values", "input_values", "input_features")


@click.command()
@click.argument("names", nargs=-1)
@click.option("--out", type=click.Path(path_type=Path), default=DATA)
def main(names: tuple[str, ...], out: Path) -> None:
    """Write the graphs of the named models, or of all."""
    models = {model.name: model for model in MODELS}
    failed = False
    for name in names or models:
        start = time.perf_counter()
        try:
            line = write(models[name], out)
        except Exception as error:
            failed = True
            line = f"{name}: {type(error).__name__}: {error}"
        click.echo(f"{line} ({time.perf_counter() - start:.1f} s)")
    sys.exit(int(failed))


def write(model: Model, out: Path) -> str:
    """Write one graph and its line of the index, and return a summary."""
    module = made(model)
    graph = to_graph(recorded(module, model), "model.")
    if graph.notes:
        # A published graph with guessed operations would be worth less than none.
        raise InvalidInputError(graph.notes[0])
    parameters = sum({id(one): one.numel() for one in module.parameters()}.values())
    source = f"{model.paper}; {model.made_by}"
    configuration = {
        **model.settings,
        "dtype": model.dtype,
        "inputs": {name: list(size) for name, size in model.inputs.items()},
        **({"training": "loss and gradients, no dropout"} if model.is_training else {}),
    }
    packages = ("torch", model.made_by.partition(".")[0])
    versions = {name: version(name) for name in packages}
    origin = GraphOrigin(
        source, configuration, {"python": platform.python_version(), **versions}, parameters
    )
    content = to_json(graph, origin).encode()
    out.mkdir(parents=True, exist_ok=True)
    (out / f"{model.name}.json.gz").write_bytes(gzip.compress(content, mtime=0))
    index = out / "index.json"
    entries = json.loads(index.read_text()) if index.exists() else {}
    entries[model.name] = {
        "sha256": hashlib.sha256(content).hexdigest(),
        "source": source,
        "nodes": graph.dag.nodes,
        "edges": graph.dag.edges,
        "flops": int(graph.flops.sum()),
        "parameters": parameters,
    }
    index.write_text(json.dumps(entries, indent=1) + "\n")
    return (
        f"{model.name}: {graph.dag.nodes} nodes, {graph.dag.edges} edges, "
        f"{graph.flops.sum() / 1e9:.4f} GFLOPs, {parameters / 1e6:.3f} Mparams, "
        f"{len(content)} bytes, {graph.dtype}"
    )


def made(model: Model) -> torch.nn.Module:
    """Return a model without contents, in evaluation mode."""
    library, *path = model.made_by.split(".")
    maker: Any = reduce(getattr, path, importlib.import_module(library))
    with torch.no_grad():
        try:
            with torch.device("meta"):
                module = _made(maker, model)
        except NotImplementedError:
            # Some architectures compute their widths with tensors.
            module = _made(maker, model).to("meta")
        module = module.to(getattr(torch, model.dtype)).eval()
    return module.requires_grad_(model.is_training)


def _made(maker: Any, model: Model) -> torch.nn.Module:
    """Return a model; attention is made of its operators, and no cache is written."""
    if not hasattr(maker, "config_class"):
        return maker(**model.settings)
    config = maker.config_class(attn_implementation="eager", **model.settings)
    for one in (config, *(getattr(config, x, None) for x in ("encoder", "decoder"))):
        if hasattr(one, "use_cache"):
            one.use_cache = False
    return maker(config)


def recorded(module: torch.nn.Module, model: Model) -> Any:
    """Record a model on its inputs, as a program without in-place writes."""
    dtype = getattr(torch, model.dtype)
    with torch.device("meta"), torch.set_grad_enabled(model.is_training):
        inputs = {
            name: torch.empty(size, dtype=dtype if name in _REAL else torch.long)
            for name, size in model.inputs.items()
        }
        if model.is_training:
            inputs["labels"] = torch.empty_like(list(inputs.values())[-1])
        wrapped = _Wrapped(module, "" if model.is_training else model.output)
        program = functional(torch.export.export(wrapped, (), inputs, strict=False))
    return with_gradients(program) if model.is_training else program


class _Wrapped(torch.nn.Module):
    """A model with one output of several, or with the loss of its logits, given ``labels``."""

    def __init__(self, model: torch.nn.Module, output: str) -> None:
        super().__init__()
        self.model = model
        self.output = output

    def forward(self, labels: Any = None, **inputs: Any) -> Any:
        """Return the output, or the mean of the cross-entropy over all positions."""
        result = self.model(**inputs)
        if labels is not None:
            return torch.nn.functional.cross_entropy(result.logits.flatten(0, -2), labels.flatten())
        if not self.output:
            return result
        return result[self.output] if isinstance(result, dict) else getattr(result, self.output)


@dataclass(frozen=True)
class TrainingProgram:
    """A recorded step of training, with the interface that `graph_module.to_graph` reads.

    Attributes
    ----------
    graph
        Its result is the loss, then the gradients.
    graph_signature
        Which of its placeholders are weights.
    """

    graph: torch.fx.Graph
    graph_signature: Any


def with_gradients(program: Any) -> TrainingProgram:
    """Record the gradients of a program's loss, its only output, with respect to its weights.

    Weights that two modules share are one placeholder of the program and have one gradient; other
    names of theirs are placeholders that nobody uses.
    """
    signature = program.graph_signature
    placeholders = [node for node in program.graph.nodes if node.op == "placeholder"]
    weights = [
        at
        for at, node in enumerate(placeholders)
        if node.name in signature.inputs_to_parameters and node.users
    ]

    def step(*values: Any) -> tuple[Any, ...]:
        (loss,) = torch.fx.Interpreter(program.graph_module).run(*values)
        # Tells the recorder from which operator of the forward pass a gradient comes.
        setup_stacktrace_preservation_hooks([loss.grad_fn])
        return loss, *torch.autograd.grad(loss, [values[at] for at in weights])

    shapes = [node.meta["val"] for node in placeholders]
    with next(one.fake_mode for one in shapes if hasattr(one, "fake_mode")), preserve_node_meta():
        values = [one.detach().requires_grad_(at in weights) for at, one in enumerate(shapes)]
        graph = make_fx(step)(*values).graph
    recorded = (node for node in graph.nodes if node.op == "placeholder")
    for node, original in zip(recorded, placeholders, strict=True):
        node.name = original.name
    _name_gradients(graph)
    return TrainingProgram(graph, signature)


def _name_gradients(graph: torch.fx.Graph) -> None:
    """Say of each gradient's operator which module's forward pass it belongs to.

    A gradient has the number of the operator that it is the gradient of. Sums of gradients of a
    tensor that several operators read have the number of none, which is the largest, and belong
    where the last of the gradients does.
    """
    calls = [node for node in graph.nodes if node.op == "call_function"]
    of_none = max(node.meta["seq_nr"] for node in calls)
    modules: dict[int, Any] = {}
    for node in calls:
        number, stack = node.meta["seq_nr"], node.meta.get("nn_module_stack")
        if stack is not None:
            modules.setdefault(number, stack)
            continue
        sources = (one.meta.get("nn_module_stack") for one in reversed(node.all_input_nodes))
        last: Any = next((one for one in sources if one is not None), {})
        node.meta["nn_module_stack"] = last if number == of_none else modules.get(number, last)
        node.meta[IS_GRADIENT] = True


if __name__ == "__main__":
    main()
