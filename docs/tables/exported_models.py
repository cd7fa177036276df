"""Export models of timm and transformers by torch.export, and read them: `exported_models.py`.

Prints the lines of exported_models.tsv, of which docs/pytorch.md has a summary: 100 models each of
both packages. Takes half an hour on two cores and 16 GiB; needs torch, transformers, timm and
torchvision. Models have no list of users that could be asked: the choice is ours, of all families.
To have another one of timm, add a line with its name to the file.

Models have random weights. Those of timm are as their names say. Those of transformers have the
widths of their default configuration, but two layers where the default has more, since layers have
the same operators; language models with a default width of 2,048 and more are narrower, `NARROW`.
"""

import argparse
import contextlib
import csv
import multiprocessing
import resource
import sys
import tempfile
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass, fields
from math import prod
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from results_page import markdown

STORED = Path(__file__).with_name("exported_models.tsv")

LAYERS: Mapping[str, Any] = {"num_hidden_layers": 2}

NARROW: Mapping[str, Any] = {
    **LAYERS, "hidden_size": 512, "intermediate_size": 1024, "num_attention_heads": 8,
    "num_key_value_heads": 4, "head_dim": 64, "vocab_size": 32000, "pad_token_id": 0,
    "bos_token_id": 1, "eos_token_id": 2,
}  # fmt: skip

# Two layers of encoder and decoder.
BOTH: Mapping[str, Any] = {"encoder_layers": 2, "decoder_layers": 2}

T5: Mapping[str, Any] = {"num_layers": 2, "num_decoder_layers": 2}

PAIR: Mapping[str, Any] = {"text_config": LAYERS, "vision_config": LAYERS}

EXPERTS: Mapping[str, Any] = {
    **NARROW, "num_experts": 8, "num_local_experts": 8, "n_routed_experts": 8,
    "moe_intermediate_size": 256, "shared_expert_intermediate_size": 512,
}  # fmt: skip

# Shapes of inputs by argument: integers below 100 for names in _NUMBERS, else random.
WORDS = {"input_ids": (1, 128)}
LONG = {"input_ids": (1, 1024)}
WORD_PAIRS = {**WORDS, "decoder_input_ids": (1, 128)}
IMAGE = {"pixel_values": (1, 3, 224, 224)}
SCENE = {"pixel_values": (1, 3, 512, 512)}
VIDEO = {"pixel_values": (1, 8, 3, 224, 224)}
SOUND = {"input_values": (1, 16000)}
BOXES = {**WORDS, "bbox": (1, 128, 4)}
CAPTION = {"input_ids": (1, 16), "attention_mask": (1, 16), **IMAGE}

# Names, inputs, and what differs from the default configuration.
_GROUPS: Sequence[tuple[str, Mapping[str, tuple[int, ...]], Mapping[str, Any]]] = (
    (
        "BertModel RobertaModel XLMRobertaModel AlbertModel ElectraModel MPNetModel DebertaModel "
        "DebertaV2Model MobileBertModel ConvBertModel SqueezeBertModel FNetModel LayoutLMModel "
        "ModernBertModel RoFormerModel",
        WORDS, LAYERS,
    ),
    ("DistilBertModel", WORDS, {"n_layers": 2}),
    ("FunnelModel", WORDS, {"block_sizes": [1, 1, 1]}),
    ("XLNetModel", WORDS, {"n_layer": 2}),
    ("BigBirdModel", LONG, LAYERS),
    ("LongformerModel", LONG, {**LAYERS, "attention_window": 256}),
    ("EsmModel", WORDS, {**LAYERS, "vocab_size": 33, "pad_token_id": 1, "mask_token_id": 32}),
    ("LayoutLMv3Model", {**BOXES, **IMAGE}, LAYERS),
    ("GPT2LMHeadModel OPTForCausalLM", WORDS, LAYERS),
    ("GPTNeoForCausalLM", WORDS, {
        "num_layers": 2, "attention_types": [[["global", "local"], 1]]
    }),
    ("GPTJForCausalLM", WORDS, {**NARROW, "rotary_dim": 32}),
    (
        "GPTNeoXForCausalLM BloomForCausalLM LlamaForCausalLM MistralForCausalLM Qwen2ForCausalLM "
        "Qwen3ForCausalLM GemmaForCausalLM Gemma2ForCausalLM Gemma3ForCausalLM PhiForCausalLM "
        "Phi3ForCausalLM MptForCausalLM StableLmForCausalLM Starcoder2ForCausalLM "
        "Olmo2ForCausalLM CohereForCausalLM GraniteForCausalLM MambaForCausalLM",
        WORDS, NARROW,
    ),
    # Step by step.
    ("RwkvForCausalLM", {"input_ids": (1, 32)}, NARROW),
    ("FalconForCausalLM", WORDS, {k: v for k, v in NARROW.items() if k != "head_dim"}),
    (
        "MixtralForCausalLM Qwen2MoeForCausalLM Qwen3MoeForCausalLM GptOssForCausalLM",
        WORDS, EXPERTS,
    ),
    ("DeepseekV3ForCausalLM", WORDS, {
        **EXPERTS, "num_key_value_heads": 8, "first_k_dense_replace": 1, "n_group": 2,
        "topk_group": 1, "num_experts_per_tok": 2,
    }),
    ("Mamba2ForCausalLM", WORDS, {**NARROW, "num_heads": 16, "state_size": 64, "n_groups": 1}),
    ("JambaForCausalLM", WORDS, {
        **EXPERTS, "attn_layer_period": 2, "attn_layer_offset": 1, "use_mamba_kernels": False
    }),
    ("RecurrentGemmaForCausalLM", {"input_ids": (1, 32)}, {
        **NARROW, "num_hidden_layers": 3, "lru_width": 512
    }),
    ("T5Model MT5Model", WORD_PAIRS, T5),
    ("LongT5Model", {**LONG, "attention_mask": (1, 1024), "decoder_input_ids": (1, 128)}, T5),
    ("SwitchTransformersModel", WORD_PAIRS, {
        **T5, "num_sparse_encoder_layers": 1, "num_sparse_decoder_layers": 1
    }),
    ("BartModel MBartModel PegasusModel M2M100Model MarianModel", WORD_PAIRS, BOTH),
    ("LEDModel", {**LONG, "decoder_input_ids": (1, 128)}, {**BOTH, "attention_window": 256}),
    ("WhisperModel", {"input_features": (1, 80, 3000), "decoder_input_ids": (1, 64)}, BOTH),
    ("Speech2TextModel", {"input_features": (1, 500, 80), "decoder_input_ids": (1, 64)}, BOTH),
    ("Wav2Vec2Model HubertModel WavLMModel", SOUND, LAYERS),
    ("EncodecModel", {"input_values": (1, 1, 24000)}, {}),
    ("ViTModel DeiTModel BeitModel Dinov2Model", IMAGE, LAYERS),
    ("SwinModel Swinv2Model ConvNextModel ResNetModel PvtModel LevitModel", IMAGE, {}),
    ("MobileViTModel", {"pixel_values": (1, 3, 256, 256)}, {}),
    ("EfficientNetModel", IMAGE, {
        "width_coefficient": 1.0, "depth_coefficient": 1.0, "hidden_dim": 1280
    }),
    ("SegformerForSemanticSegmentation", SCENE, {}),
    ("DPTForDepthEstimation", {"pixel_values": (1, 3, 384, 384)}, {}),
    ("DepthAnythingForDepthEstimation", {"pixel_values": (1, 3, 518, 518)}, {
        "backbone_config": {
            "model_type": "dinov2", "image_size": 518, "patch_size": 14, "num_hidden_layers": 4,
            "hidden_size": 384, "num_attention_heads": 6, "out_indices": [1, 2, 3, 4],
            "apply_layernorm": True, "reshape_hidden_states": False,
        },
        "reassemble_hidden_size": 384,
    }),
    ("YolosForObjectDetection", {"pixel_values": (1, 3, 512, 864)}, LAYERS),
    ("DetrForObjectDetection DeformableDetrForObjectDetection", SCENE, {
        **BOTH, "use_timm_backbone": False, "use_pretrained_backbone": False, "backbone": None,
        "backbone_config": {"model_type": "resnet", "out_features": ["stage4"]},
    }),
    ("RTDetrForObjectDetection", {"pixel_values": (1, 3, 640, 640)}, {}),
    ("Mask2FormerForUniversalSegmentation", SCENE, {}),
    ("SamModel", {"pixel_values": (1, 3, 1024, 1024), "input_points": (1, 1, 1, 2)}, {
        "vision_config": {**LAYERS, "global_attn_indexes": [1]},
    }),
    ("VideoMAEModel TimesformerModel", VIDEO, {**LAYERS, "num_frames": 8}),
    ("CLIPModel BlipModel", CAPTION, PAIR),
    ("SiglipModel", {"input_ids": (1, 64), **IMAGE}, PAIR),
    (
        "OwlViTForObjectDetection",
        {"input_ids": (4, 16), "attention_mask": (4, 16), "pixel_values": (1, 3, 768, 768)},
        PAIR,
    ),
    ("ViltModel", {"input_ids": (1, 16), **IMAGE}, LAYERS),
    ("PatchTSTForPrediction", {"past_values": (1, 512, 7)}, {
        "num_input_channels": 7, "context_length": 512, "patch_length": 16, "patch_stride": 8,
        "prediction_length": 96,
    }),
    (
        "TimeSeriesTransformerModel",
        {
            "past_values": (1, 55), "past_time_features": (1, 55, 2),
            "past_observed_mask": (1, 55), "future_values": (1, 24),
            "future_time_features": (1, 24, 2),
        },
        {"prediction_length": 24, "context_length": 48, "num_time_features": 2, **BOTH},
    ),
)  # fmt: skip

TRANSFORMERS = {
    name: (inputs, settings) for names, inputs, settings in _GROUPS for name in names.split()
}

_NUMBERS = frozenset({"input_ids", "decoder_input_ids", "attention_mask", "bbox"})


@dataclass(frozen=True)
class Row:
    """What became of a model.

    Attributes
    ----------
    package, model
        Who defines it, and what it is called there.
    outcome
        ``"loads"``, ``"refused"`` by boundmark, ``"not exported"`` by torch, or not made; or
        ``"not finished"``.
    reason
        The first line of the error.
    operators
        Number of operators.
    without_rule
        Types that are costed by bytes alone, and how often each occurs.
    operations
        Operations of the forward pass.
    products
        Those of them that are multiply-adds of products of matrices, convolutions and attention.
    counted
        The same by `torch.utils.flop_counter` in a forward pass; empty if that fails.
    """

    package: str
    model: str
    outcome: str
    reason: str = ""
    operators: int | str = ""
    without_rule: str = ""
    operations: int | str = ""
    products: int | str = ""
    counted: int | str = ""


def _of_timm(name: str) -> tuple[Any, dict[str, Any]]:
    """Return a model and its inputs."""
    import timm
    import torch

    model = timm.create_model(name, pretrained=False)
    return model, {"x": torch.randn(1, *model.pretrained_cfg["input_size"])}


def _of_transformers(name: str) -> tuple[Any, dict[str, Any]]:
    """Return a model and its inputs; language models write no cache."""
    import torch
    import transformers

    sizes, settings = TRANSFORMERS[name]
    kind = getattr(transformers, name)
    config = kind.config_class(**settings)
    for one in (config, getattr(config, "text_config", None)):
        if one is not None:
            one.use_cache = False
    inputs = {
        key: torch.randint(1, 30, size) if key in _NUMBERS else torch.rand(size)
        for key, size in sizes.items()
    }
    return kind(config), inputs


MAKERS: Mapping[str, Callable[[str], tuple[Any, dict[str, Any]]]] = {
    "timm": _of_timm,
    "transformers": _of_transformers,
}


def models() -> list[tuple[str, str]]:
    """Return package and name of each model; the file has the names of those of timm."""
    timm = [row.model for row in stored() if row.package == "timm"]
    return [("timm", name) for name in timm] + [("transformers", name) for name in TRANSFORMERS]


def row_of(package: str, name: str) -> Row:
    """Make a model, export it, read the file, and make an instance of the problem `pipeline`."""
    import torch

    import boundmark
    from boundmark.benchmarks.solving.model import choose

    torch.manual_seed(1)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "own.pt2"
        try:
            model, inputs = MAKERS[package](name)
            model.eval().requires_grad_(requires_grad=False)
            placed = () if package == "transformers" else tuple(inputs.values())
            named = inputs if package == "transformers" else {}
            with torch.no_grad():
                program = torch.export.export(model, placed, named, strict=False)
            torch.export.save(program, path)
        except Exception as error:
            return Row(package, name, "not exported", _first_line(error))
        try:
            model_read = boundmark.load(path)
            choose(model_read, {"k": 4}, "pipeline").make({"k": 4})
        except Exception as error:
            return Row(package, name, "refused", _first_line(error).replace(str(path), "own.pt2"))
    graph = model_read.source
    # Types of ONNX have no dot, those of operators that are only named have.
    unknown = Counter(kind for kind in graph.op_types if "." in kind)
    return Row(
        package,
        name,
        "loads",
        "",
        len(graph.operators),
        ", ".join(f"{kind} ({often})" for kind, often in sorted(unknown.items())),
        int(graph.flops.sum()),
        products(graph),
        _counted(model, placed, named),
    )


def _first_line(error: Exception) -> str:
    line = next(iter(str(error).strip().splitlines()), "")
    return f"{type(error).__name__}: {' '.join(line.split())}"[:200]


def _counted(model: Any, placed: tuple[Any, ...], named: Mapping[str, Any]) -> int | str:
    """Return what torch counts in a forward pass; nothing if that fails."""
    import torch
    from torch.nn.attention import SDPBackend, sdpa_kernel
    from torch.utils.flop_counter import FlopCounterMode

    counter = FlopCounterMode(display=False)
    try:
        if hasattr(model, "set_experts_implementation"):
            # Nor products of rows with matrices of their own.
            model.set_experts_implementation("eager")
        # It does not know the kernel of attention that a processor runs.
        with torch.no_grad(), sdpa_kernel(SDPBackend.MATH), counter:
            model(*placed, **named)
    except Exception:
        return ""
    return int(counter.get_total_flops())


def products(graph: Any) -> int:
    """Return the operations of a graph that `torch.utils.flop_counter` counts too.

    It leaves out biases, and the softmax of attention.
    """
    total = 0
    for one in graph.operators:
        shapes = [None if at < 0 else graph.tensors[at].shape for at in one.reads]
        written = prod(graph.tensors[one.writes[0]].shape)
        if one.op_type in ("Conv", "ConvTranspose", "Gemm"):
            bias = len(shapes) > 2 and shapes[2] is not None
            total += one.flops - written * bias
        elif one.op_type == "Attention":
            query, key = shapes[:2]
            total += one.flops - 5 * prod(query[:-1]) * key[-2]
        elif one.op_type in ("MatMul", "Einsum"):
            total += one.flops
    return total


def _send(pipe: Connection, package: str, name: str, gib: int) -> None:
    """Send the row of a model, which may hold some memory at most."""
    resource.setrlimit(resource.RLIMIT_AS, (gib << 30, gib << 30))
    warnings.simplefilter("ignore")
    with contextlib.redirect_stdout(sys.stderr):
        pipe.send(row_of(package, name))


def rows(chosen: list[tuple[str, str]], seconds: float, gib: int) -> Iterator[Row]:
    """Yield a row for each model, computed in a process of its own."""
    import timm
    import torch
    import transformers

    import boundmark

    # The processes below are copies of this one, which has imported them.
    _ = boundmark, timm, torch, transformers
    context = multiprocessing.get_context("fork")
    for package, name in chosen:
        ours, theirs = context.Pipe()
        process = context.Process(target=_send, args=(theirs, package, name, gib))
        process.start()
        theirs.close()
        row = Row(package, name, "not finished", f"not within {seconds:g} s and {gib} GiB")
        if ours.poll(seconds):
            with contextlib.suppress(EOFError):
                row = ours.recv()
        process.kill()
        process.join()
        yield row


def stored() -> list[Row]:
    """Return the rows of the file."""
    with STORED.open(newline="") as file:
        return [Row(**line) for line in csv.DictReader(file, delimiter="\t")]


def table() -> list[str]:
    """Return a line for each package, and one for both, of the stored rows."""
    lines = []
    found = stored()
    for package in (*MAKERS, ""):
        own = [row for row in found if package in ("", row.package)]
        exported = [row for row in own if row.outcome in ("loads", "refused")]
        read = [row for row in exported if row.outcome == "loads"]
        ruled = [row for row in read if not row.without_rule]
        sizes = [f"{len(exported)} of {len(own)}", str(len(read)), str(len(ruled))]
        lines.append([package or "both", *sizes])
    head = ["models of", "made and exported", "read", "a rule for every operator"]
    return markdown(head, lines).splitlines()


def main() -> None:
    """Print a row for each model."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", nargs="*")
    parser.add_argument("--seconds", type=float, default=90)
    parser.add_argument("--gib", type=int, default=16)
    given = parser.parse_args()
    chosen = [one for one in models() if not given.models or one[1] in given.models]
    print(*(field.name for field in fields(Row)), sep="\t")
    for row in rows(chosen, given.seconds, given.gib):
        print(*astuple(row), sep="\t", flush=True)


if __name__ == "__main__":
    main()
