"""What is printed for tools, read by the code of these tools, whose releases `tools` fetches.

Functions are taken out of wheels and source archives and run by themselves: the packages want GPUs.
"""

import __future__

import ast
import itertools
import os
import re
import shlex
import tarfile
import tempfile
import zipfile
from collections.abc import Iterator
from fnmatch import fnmatch
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from boundmark.datasets.layers.families import ALIASES, FAMILIES
from boundmark.datasets.layers.language_models import load, published
from boundmark.heuristics.layers.defaults import balanced_counts, even, uniform_counts, weighted
from boundmark.problems.layers import PROBLEM, LayerAssignment, LayersInstance, Stage
from boundmark.problems.layers.tools.formats import TOOLS, write_as
from boundmark.problems.layers.tools.launch import Launch
from boundmark.problems.layers.tools.llama_cpp import ALL_LAYERS, MOST_DEVICES, OPTIONS

FOLDER = os.environ.get("BOUNDMARK_TOOLS", "")

pytestmark = pytest.mark.skipif(not FOLDER, reason="session `tools` fetches the releases")

# One model of each family that generates tokens.
MODELS = sorted(
    {
        str(one["config"]["model_type"]): name
        for name, one in published().items()
        if FAMILIES[ALIASES.get(one["config"]["model_type"], one["config"]["model_type"])].has_cache
    }.items()
)


# By family, the tools that have taken all splits of its model.
TAKEN: dict[str, list[str]] = {family: [] for family, _ in MODELS}


def archive_of(package: str) -> Path:
    """Return the newest archive of a package, and say which it is."""
    found = sorted(Path(FOLDER).glob(f"{package}-*"))
    if not found:
        pytest.skip(f"{package} was not fetched")
    return found[-1]


def source(package: str, path: str) -> str:
    """Return a source file of a package."""
    archive = archive_of(package)
    if archive.suffix == ".whl":
        with zipfile.ZipFile(archive) as wheel:
            return wheel.read(path).decode()
    with tarfile.open(archive) as sdist:
        member = next(one for one in sdist if fnmatch(one.name, f"*/{path}"))
        file = sdist.extractfile(member)
        assert file is not None
        return file.read().decode()


def defined(package: str, path: str, *names: str, **given: Any) -> SimpleNamespace:
    """Return functions and classes of a source file, which see nothing but what is given."""
    tree = ast.parse(source(package, path))
    own = [one for one in tree.body if getattr(one, "name", "") in names]
    assert len(own) == len(names), f"{path} of {archive_of(package).name} has not {names}"
    space = dict(given)
    code = compile(ast.Module(own, []), path, "exec", __future__.annotations.compiler_flag)
    exec(code, space)
    return SimpleNamespace(**{name: space[name] for name in names})


@cache
def large_device() -> str:
    """Return a file with a device that has memory enough for anything."""
    path = Path(tempfile.mkdtemp()) / "large.toml"
    path.write_text(
        "[devices.large]\nsource = 'none'\nmemory_gib = 100000\nmemory_bandwidth_gb_per_s = 1000\n"
        "op_overhead_us = 1\n[devices.large.peak_tera_ops_per_s]\nfloat16 = 1\n"
    )
    return f"{path}:large"


def instance(model: str, devices: str, **given: int | str) -> LayersInstance:
    """Return a model on devices with memory enough."""
    usual = {"devices": devices, "phase": "decode", "batch": 1, "context": 64}
    found = PROBLEM.maker(load(model))({**usual, **given})
    assert isinstance(found, LayersInstance)
    return found


def splits(model: str, **given: int | str) -> Iterator[tuple[LayersInstance, LayerAssignment]]:
    """Yield uneven splits of a model over two to five devices, not in their order."""
    for count in range(2, 6):
        sample = instance(model, f"{count}x{large_device()}", **given)
        (before, behind), n = sample.chain.outer, sample.chain.layers
        inner = n - before - behind
        ends = [before + 1 + (at + 1) ** 2 * (inner - 1) // count**2 for at in range(count - 1)]
        starts = [0, *ends]
        stages = (
            Stage((at + 1) % count, a, b)
            for at, (a, b) in enumerate(zip(starts, [*ends, n], strict=True))
        )
        yield sample, LayerAssignment.of_stages(stages)


def line_of(text: str) -> tuple[dict[str, str], dict[str, str]]:
    """Return the variables and the options of a line, as a shell has them."""
    (line,) = [one for one in text.splitlines() if not one.startswith("#")]
    words = shlex.split(line)
    variables = dict(one.split("=", 1) for one in words if re.match(r"[A-Z_]+=", one))
    options = {a: b for a, b in itertools.pairwise(words) if a.startswith("-")}
    return variables, options


def inner_counts(sample: LayersInstance, solution: LayerAssignment) -> list[int]:
    """Return how many repeated layers each stage has."""
    (before, behind), stages = sample.chain.outer, solution.stages
    counts = [stage.end - stage.first for stage in stages]
    counts[0] -= before
    counts[-1] -= behind
    return counts


SERVERS = [
    ("vllm", "vllm", "vllm/distributed/utils.py", "--pipeline-parallel-size"),
    ("sglang", "sglang", "sglang/srt/distributed/utils.py", "--pp-size"),
]


@pytest.mark.parametrize(("tool", "package", "path", "size"), SERVERS)
@pytest.mark.parametrize(("family", "model"), MODELS)
def test_servers(
    tool: str, package: str, path: str, size: str, family: str, model: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    """Each rank builds the layers of its stage."""
    envs, logger = SimpleNamespace(), SimpleNamespace(info=lambda *given: None)
    ns = defined(package, path, "get_pp_indices", envs=envs, logger=logger, os=os, Tuple=tuple)
    for sample, solution in splits(model, rules=tool):
        variables, options = line_of(write_as(tool, Launch(sample, solution)))
        (name,) = (one for one in variables if one.endswith("_PP_LAYER_PARTITION"))
        setattr(envs, name, variables[name])
        monkeypatch.setenv(name, variables[name])
        count, first, found = int(options[size]), sample.chain.outer[0], []
        layers = sum(inner_counts(sample, solution))
        for rank in range(count):
            a, b = ns.get_pp_indices(layers, rank, count)
            assert a + first == (solution.stages[rank].first or first)
            found.append(b - a)
        assert found == inner_counts(sample, solution)
        order = list(map(int, variables["CUDA_VISIBLE_DEVICES"].split(",")))
        assert order == [stage.device for stage in solution.stages]
        assert variables["CUDA_DEVICE_ORDER"] == "PCI_BUS_ID"
    TAKEN[family].append(tool)


def test_options_of_servers() -> None:
    """They are there, under these names."""
    vllm = source("vllm", "vllm/engine/arg_utils.py")
    for name in ("--pipeline-parallel-size", "--tensor-parallel-size", "--nnodes", "--node-rank"):
        assert f'"{name}"' in vllm
    assert "--headless" in source("vllm", "vllm/entrypoints/cli/serve.py")


def test_vllms_default() -> None:
    """What `vllm-even` says."""
    path = "vllm/distributed/utils.py"
    envs, logger = SimpleNamespace(VLLM_PP_LAYER_PARTITION=None), SimpleNamespace(info=print)
    ns = defined("vllm", path, "get_pp_indices", envs=envs, logger=logger)
    for layers in range(1, 90):
        for size in range(1, min(layers, 12)):
            parts = [ns.get_pp_indices(layers, rank, size) for rank in range(size)]
            assert [b - a for a, b in parts] == even(layers, size)


# Some models of OPT have these projections, others have not.
@pytest.mark.filterwarnings(r"ignore:.*keys do not match any submodules in the model. \['model.dec")
@pytest.mark.parametrize(("family", "model"), MODELS)
def test_device_maps(family: str, model: str) -> None:
    """Accelerate's check takes the map of a model of each family, on the meta device."""
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    config = dict(published()[model]["config"])
    known = transformers.CONFIG_MAPPING
    if family not in known:
        pytest.skip(f"transformers has no {family}")
    ns = defined(
        "accelerate", "accelerate/utils/modeling.py", "check_device_map", nn=torch.nn,
        warnings=__import__("warnings"), Union=Any,
    )  # fmt: skip
    (sample, solution), *_ = splits(model)
    text = write_as("accelerate", Launch(sample, solution))
    kind = re.search(r"AutoModel\w+", text)
    assert kind is not None
    made = known[family](
        **{
            key: value
            for key, value in config.items()
            # Of EXAONE, a text, which is for models without lists of windows.
            if key != "model_type" and not (key == "sliding_window_pattern" and value == "LLLG")
        }
    )
    with torch.device("meta"):
        whole = getattr(transformers, kind[0]).from_config(made)
    tree = next(one for one in ast.parse(text).body if isinstance(one, ast.Assign))
    ns.check_device_map(whole, ast.literal_eval(tree.value))
    TAKEN[family].append("accelerate")


@pytest.mark.parametrize(("family", "model"), MODELS)
def test_megatron(family: str, model: str) -> None:
    """Its layouts are read as they are meant, multi-token prediction included."""
    enums = defined(
        "megatron_core", "megatron/core/transformer/enums.py", "LayerType", enum=__import__("enum")
    )
    path = "megatron/core/transformer/pipeline_parallel_layer_layout.py"
    ns = defined(
        "megatron_core", path, "PipelineParallelLayerLayout", LayerType=enums.LayerType,
        copy=__import__("copy"), re=re, lru_cache=lambda: lambda x: x,
    )  # fmt: skip
    given = {"phase": "training", "rules": "megatron", "in_flight": 1}
    for sample, solution in splits(model, **given):
        if sample.chain.outer[0] != 1:
            pytest.skip("the model has no embedding")
        _, options = line_of(write_as("megatron", Launch(sample, solution)))
        size = int(options["--pipeline-model-parallel-size"])
        layout = ns.PipelineParallelLayerLayout(options["--pipeline-model-parallel-layout"], size)
        predicting = options.get("--mtp-num-layers")
        layout.validate_layer_layout(int(options["--num-layers"]), int(predicting or 0) or None)
        assert [len(layout.layout[rank][0]) for rank in range(size)] == [
            stage.end - stage.first for stage in solution.stages
        ]
    TAKEN[family].append("megatron")


@pytest.mark.parametrize(("family", "model"), MODELS)
def test_deepspeed(family: str, model: str) -> None:
    """The subclass that is printed sets the bounds of each stage."""
    for sample, solution in splits(model):
        text = write_as("deepspeed", Launch(sample, solution))
        found: list[tuple[int, int]] = []

        class PipelineModule:
            """What the subclass needs of DeepSpeed's."""

            def __init__(self, layers: Any, num_stages: int) -> None:
                for rank in range(num_stages):
                    self.global_rank = 0
                    self._topo = SimpleNamespace(
                        get_coord=lambda _, at=rank: SimpleNamespace(pipe=at)
                    )
                    self._partition_layers(method="parameters")  # type: ignore[attr-defined]

            def _set_bounds(self, start: int, stop: int, into: Any = found) -> None:
                into.append((start, stop))

        exec(text.replace("from deepspeed.pipe import PipelineModule", ""), {
            "PipelineModule": PipelineModule, "specs": [],
        })  # fmt: skip
        assert found == [(stage.first, stage.end) for stage in solution.stages]
    TAKEN[family].append("deepspeed")
    module = source("deepspeed", "deepspeed/runtime/pipe/module.py")
    assert "self._partition_layers(method=partition_method)" in module
    assert "def _set_bounds(self, start=None, stop=None):" in module


def test_deepspeeds_defaults() -> None:
    """What `deepspeed-uniform` and `deepspeed-parameters` say."""
    path = "deepspeed/runtime/utils.py"
    uniform = defined("deepspeed", path, "partition_uniform").partition_uniform
    balanced = defined(
        "deepspeed", path, "partition_balanced", partition_uniform=uniform
    ).partition_balanced
    for seed in range(300):
        sizes = [(7 * seed + 13 * at * at) % 11 for at in range(1 + seed % 17)]
        for stages in range(1, 7):
            for found, own in (
                (uniform(len(sizes), stages), uniform_counts(len(sizes), stages)),
                (balanced(sizes, stages), balanced_counts(sizes, stages)),
            ):
                assert [b - a for a, b in itertools.pairwise(found)] == own


@pytest.mark.parametrize(("family", "model"), MODELS)
def test_torchtitan(family: str, model: str) -> None:
    """Its splitter leaves each module in one part, and its own split is `torchtitan-weighted`."""
    torch = pytest.importorskip("torch")
    nn, path = torch.nn, "torchtitan/distributed/pipeline_parallel.py"
    ns = defined(
        "torchtitan", path, "_split_module", "_generate_llm_fqn_per_model_part", nn=nn,
        copy=__import__("copy"), ModuleDict=nn.ModuleDict, ModuleList=nn.ModuleList,
    )  # fmt: skip
    for sample, solution in splits(model, rules="torchtitan"):
        layers = sum(inner_counts(sample, solution))
        whole = nn.Module()
        whole.tok_embeddings, whole.norm, whole.lm_head = (nn.Linear(1, 1) for _ in range(3))
        whole.layers = nn.ModuleDict({str(at): nn.Linear(1, 1) for at in range(layers)})
        text = write_as("torchtitan", Launch(sample, solution))
        space: dict[str, Any] = {"ParallelismConfig": dict}
        exec(text, space)
        parallelism = space["parallelism"]
        parts = parallelism["module_fqns_per_model_part"]
        assert len(parts) == parallelism["pipeline_parallel_degree"] == len(solution.stages)
        seen: list[str] = []
        for part in parts:
            left = ns._split_module(whole, part)
            seen += [name for name, one in left.named_modules() if isinstance(one, nn.Linear)]
        assert sorted(seen) == sorted(
            name for name, one in whole.named_modules() if isinstance(one, nn.Linear)
        )
        own = ns._generate_llm_fqn_per_model_part(len(parts), layers)
        counts = [sum(name.startswith("layers.") for name in part) for part in own]
        meant = weighted(sample, len(parts))
        meant[0], meant[-1] = meant[0] - sample.chain.outer[0], meant[-1] - sample.chain.outer[1]
        assert counts == meant
    TAKEN[family].append("torchtitan")


def test_llama_cpp() -> None:
    """Its options are there, and its sources have the rules that are restated."""
    options = source("llama_cpp_python", "vendor/llama.cpp/common/arg.cpp")
    for name in OPTIONS:
        assert f'"{name}"' in options, name
    model = source("llama_cpp_python", "vendor/llama.cpp/src/llama-model.cpp")
    for rule in (
        "std::max(n_layer_all + 1 - n_gpu_layers, 0)",
        "std::min(n_gpu_layers, n_layer_all + 1)",
        "std::upper_bound(splits.begin(), splits.begin() + n_devices(), "
        "float(il - i_gpu_start)/act_gpu_layers)",
        "pimpl->dev_layer.resize(n_layer_all)",
        "pimpl->dev_output = get_layer_buft_list(n_layer_all)",
    ):
        assert rule in model, rule
    devices = source("llama_cpp_python", "vendor/llama.cpp/src/llama.cpp")
    assert re.search(rf"llama_max_devices\(void\) {{\s*return {MOST_DEVICES};", devices)
    limit = source("llama_cpp_python", "vendor/llama.cpp/src/llama-hparams.h")
    assert int(re.search(r"LLAMA_MAX_LAYERS\s+(\d+)", limit)[1]) < ALL_LAYERS  # type: ignore[index]


def test_releases() -> None:
    """What was fetched, what the formats say that they are for, and which splits were taken."""
    for path in sorted(Path(FOLDER).iterdir()):
        print(f"fetched {path.name}")
    for name, tool in TOOLS.items():
        print(f"{name}: written for {tool.release}")
    for family, model in MODELS:
        print(f"{model} ({family}): taken by {', '.join(TAKEN[family]) or 'none'}")
