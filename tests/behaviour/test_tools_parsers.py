"""What is printed for tools, read by the code of these tools, whose releases `tools` fetches.

Functions are taken out of wheels and source archives and run by themselves: the packages want GPUs.
llama.cpp's servers are built, and spread empty models over processes on this computer.
"""

import __future__

import ast
import itertools
import math
import os
import random
import re
import shlex
import socket
import struct
import subprocess
import tarfile
import tempfile
import textwrap
import time
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
from boundmark.problems.arrays import frozen
from boundmark.problems.layers import PROBLEM, LayerAssignment, LayersInstance, Stage
from boundmark.problems.layers.tools.formats import TOOLS, write_as
from boundmark.problems.layers.tools.launch import Launch
from boundmark.problems.layers.tools.llama_cpp import (
    ALL_LAYERS,
    MOST_DEVICES,
    OPTIONS,
    counts_by_shares,
)

FOLDER = os.environ.get("BOUNDMARK_TOOLS", "")
LLAMA = os.environ.get("BOUNDMARK_LLAMA", "")

pytestmark = pytest.mark.skipif(not FOLDER, reason="session `tools` fetches the releases")

# One model of each family that generates tokens.
MODELS = sorted(
    {
        str(one["config"]["model_type"]): name
        for name, one in published().items()
        if FAMILIES[ALIASES.get(one["config"]["model_type"], one["config"]["model_type"])].has_cache
    }.items()
)


# By family and tool, whether it has taken all splits of its model, or why this is not known.
TAKEN: dict[tuple[str, str], str] = {}


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
    TAKEN[family, tool] = "yes"


def test_options_of_servers() -> None:
    """They are there, under these names."""
    vllm = source("vllm", "vllm/engine/arg_utils.py")
    for name in ("--pipeline-parallel-size", "--tensor-parallel-size", "--nnodes", "--node-rank"):
        assert f'"{name}"' in vllm
    assert "--headless" in source("vllm", "vllm/entrypoints/cli/serve.py")


def test_vllms_replicas() -> None:
    """Which replicas a host has follows from its rank, and hosts of a replica from their number."""
    text = source("vllm", "vllm/engine/arg_utils.py")
    assert '"--data-parallel-size"' in text
    start = text.index("            local_world_size = world_size // self.nnodes")
    end = text.index(
        "            if self.data_parallel_size > 1 and self.data_parallel_external_lb"
    )
    rank = compile(textwrap.dedent(text[start:end]), "arg_utils.py", "exec")
    config = source("vllm", "vllm/config/parallel.py")
    start = config.index("        data_parallel_node_size = (")
    end = config.index("        if self.data_parallel_external_lb:", start)
    within = compile(textwrap.dedent(config[start:end]), "parallel.py", "exec")
    for replicas, size, hosts in ((4, 4, 2), (2, 16, 4), (8, 1, 1), (1, 8, 2)):
        for host in range(hosts):
            own = SimpleNamespace(
                nnodes=hosts, node_rank=host, data_parallel_size=replicas,
                data_parallel_size_local=max(1, replicas * size // hosts // size),
            )  # fmt: skip
            space = {"self": own, "world_size": replicas * size, "world_size_within_dp": size}
            exec(rank, space)
            exec(within, space)
            assert space["inferred_data_parallel_rank"] == replicas * host // hosts
            assert space["nnodes_within_dp"] == max(1, hosts // replicas)


def test_megatrons_order_of_ranks() -> None:
    """With the option that is printed, all stages of a replica come before the next replica."""
    ns = defined(
        "megatron_core", "megatron/core/parallel_state.py", "RankGenerator",
        "generate_masked_orthogonal_rank_groups", List=list,
    )  # fmt: skip
    ranks = ns.RankGenerator(tp=2, ep=1, dp=3, pp=4, cp=1, order="tp-cp-ep-pp-dp")
    assert ranks.get_ranks("tp-pp") == [[*range(at, at + 8)] for at in range(0, 24, 8)]
    assert ranks.get_ranks("pp")[0] == [0, 2, 4, 6]
    usual = ns.RankGenerator(tp=2, ep=1, dp=3, pp=4, cp=1, order="tp-cp-ep-dp-pp")
    assert usual.get_ranks("pp")[0] == [0, 6, 12, 18]


def test_vllms_default() -> None:
    """What `vllm-even` says."""
    path = "vllm/distributed/utils.py"
    envs = SimpleNamespace(VLLM_PP_LAYER_PARTITION=None)
    logger = SimpleNamespace(info=lambda *given: None)
    ns = defined("vllm", path, "get_pp_indices", envs=envs, logger=logger)
    for layers in range(1, 90):
        for size in range(1, min(layers, 12)):
            parts = [ns.get_pp_indices(layers, rank, size) for rank in range(size)]
            assert [b - a for a, b in parts] == even(layers, size)


def test_a_stage_of_vllm_without_layers() -> None:
    """Its blocks of the cache have no bytes, by which vLLM divides, or says that there are some."""
    path = "vllm/v1/core/kv_cache_planning.py"
    none = type(None)
    ns = defined(
        "vllm", path, "_project_kv_cache_groups_to_worker", "_get_kv_cache_bytes_per_block",
        UniformTypeKVCacheSpecs=none, HiSparseHotSpec=none, math=math, round_up=max,
        KVCacheGroupSpec=lambda names, spec, **given: SimpleNamespace(
            layer_names=names, kv_cache_spec=spec
        ),
        _get_per_layer_spec=lambda one, name: one.kv_cache_spec,
        _get_layer_block_stride=lambda spec: spec.page_size_bytes,
    )  # fmt: skip
    page = SimpleNamespace(page_size_bytes=64, get_block_stride_alignment=lambda: 1)
    group = SimpleNamespace(
        layer_names=["a", "b"], kv_cache_spec=page, is_eagle_group=False, host_resident=False,
        enable_kv_transfer=False, role=None,
    )  # fmt: skip

    def size(layers: tuple[str, ...], layout: SimpleNamespace) -> int:
        found = ns._project_kv_cache_groups_to_worker([group], dict.fromkeys(layers, page))
        assert len(found) == 1
        return int(ns._get_kv_cache_bytes_per_block(found, layout))

    inner, outer = (SimpleNamespace(is_block_outermost=one) for one in (False, True))
    assert size(("a",), inner) == size(("a",), outer) == 64
    assert size((), inner) == 0
    with pytest.raises(AssertionError):
        size((), outer)
    assert "one_worker // bytes_per_block if projected_groups else 1" in source("vllm", path)


# Some models of OPT have these projections, others have not.
@pytest.mark.filterwarnings(r"ignore:.*keys do not match any submodules in the model. \['model.dec")
@pytest.mark.parametrize(("family", "model"), MODELS)
def test_device_maps(family: str, model: str) -> None:
    """Accelerate's check takes the map of a model of each family, which has all split points."""
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    config = dict(published()[model]["config"])
    known = transformers.CONFIG_MAPPING
    if family not in known:
        TAKEN[family, "accelerate"] = f"no class in transformers {transformers.__version__}"
        pytest.skip(TAKEN[family, "accelerate"])
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
    TAKEN[family, "accelerate"] = "yes"
    points = re.findall(r'"([^"]+)": Split', write_as("torch-pipelining", Launch(sample, solution)))
    assert points
    assert not set(points) - {name for name, _ in whole.named_modules()}


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
        if "--hybrid-layer-pattern" in options:
            # Of main; releases know the letters, and cut evenly, whatever a layout says.
            path = "megatron/core/ssm/mamba_hybrid_layer_allocation.py"
            letters = options["--hybrid-layer-pattern"].replace("|", "")
            known = defined("megatron_core", path, "Symbols", "_allocate_override")
            assert known._allocate_override(len(letters), letters) == list(letters)
            assert "layout" not in source("megatron_core", "megatron/core/ssm/mamba_block.py")
            TAKEN[family, "megatron"] = "letters of the pattern"
            continue
        size = int(options["--pipeline-model-parallel-size"])
        layout = ns.PipelineParallelLayerLayout(options["--pipeline-model-parallel-layout"], size)
        predicting = options.get("--mtp-num-layers")
        layout.validate_layer_layout(int(options["--num-layers"]), int(predicting or 0) or None)
        assert [len(layout.layout[rank][0]) for rank in range(size)] == [
            stage.end - stage.first for stage in solution.stages
        ]
    TAKEN.setdefault((family, "megatron"), "yes")


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
    TAKEN[family, "deepspeed"] = "yes"
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


def test_names_of_torchtitan() -> None:
    """They are those that the lists have."""
    decoder = source("torchtitan", "torchtitan/models/common/decoder.py")
    for name in ("tok_embeddings", "layers", "norm", "lm_head"):
        assert f"self.{name} = " in decoder


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
    TAKEN[family, "torchtitan"] = "yes"


def test_sources_of_llama_cpp() -> None:
    """Its options are there, with the limits that are restated."""
    options = source("llama_cpp_python", "vendor/llama.cpp/common/arg.cpp")
    for name in OPTIONS:
        assert f'"{name}"' in options, name
    devices = source("llama_cpp_python", "vendor/llama.cpp/src/llama.cpp")
    assert re.search(rf"llama_max_devices\(void\) {{\s*return {MOST_DEVICES};", devices)
    limit = source("llama_cpp_python", "vendor/llama.cpp/src/llama-hparams.h")
    assert int(re.search(r"LLAMA_MAX_LAYERS\s+(\d+)", limit)[1]) < ALL_LAYERS  # type: ignore[index]


def empty_model(path: Path, layers: int, predicting: int = 0, experts: int = 0) -> Path:
    """Write a GGUF file of 32 dimensions and zeros."""

    def text(value: str) -> bytes:
        return struct.pack("<Q", len(value)) + value.encode()

    def array(kind: int, values: list[bytes]) -> bytes:
        return struct.pack("<IIQ", 9, kind, len(values)) + b"".join(values)

    words = ["<unk>", "<s>", "</s>", *(f"<0x{at:02X}>" for at in range(256))]
    numbers = {
        "block_count": layers + predicting, "nextn_predict_layers": predicting,
        "context_length": 128, "embedding_length": 32, "feed_forward_length": 32,
        "attention.head_count": 1, "expert_count": experts, "expert_used_count": min(1, experts),
    }  # fmt: skip
    entries = {f"llama.{name}": struct.pack("<II", 4, one) for name, one in numbers.items()}
    entries |= {
        "general.architecture": struct.pack("<I", 8) + text("llama"),
        "llama.attention.layer_norm_rms_epsilon": struct.pack("<If", 6, 1e-5),
        "tokenizer.ggml.model": struct.pack("<I", 8) + text("llama"),
        "tokenizer.ggml.tokens": array(8, list(map(text, words))),
        "tokenizer.ggml.scores": array(6, [bytes(4)] * len(words)),
        "tokenizer.ggml.token_type": array(5, [struct.pack("<i", 6)] * len(words)),
    }
    shapes = {"token_embd": (32, len(words)), "output_norm": (32,), "output": (32, len(words))}
    for at in range(layers):
        inner = dict.fromkeys(("attn_norm", "ffn_norm"), (32,))
        inner |= {f"attn_{name}": (32, 32) for name in ("q", "k", "v", "output")}
        several = {f"ffn_{name}_exps": (32, 32, experts) for name in ("up", "gate", "down")}
        one = {f"ffn_{name}": (32, 32) for name in ("up", "gate", "down")}
        inner |= {"ffn_gate_inp": (32, experts), **several} if experts else one
        shapes |= {f"blk.{at}.{name}": shape for name, shape in inner.items()}
    listed, size = b"", 0
    for name, shape in shapes.items():
        listed += text(f"{name}.weight") + struct.pack(f"<I{len(shape)}Q", len(shape), *shape)
        listed += struct.pack("<IQ", 0, size)
        size += 4 * math.prod(shape)
    head = b"GGUF" + struct.pack("<IQQ", 3, len(shapes), len(entries))
    head += b"".join(text(name) + value for name, value in entries.items()) + listed
    path.write_bytes(head + bytes(-len(head) % 32 + size))
    return path


def free_port() -> int:
    """Return the number of a port that nobody has."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


@pytest.fixture(scope="module")
def remote() -> Iterator[list[str]]:
    """Start five processes that each are a device."""
    if not LLAMA:
        pytest.skip("session `tools` builds llama.cpp's servers")
    places = [f"127.0.0.1:{free_port()}" for _ in range(5)]
    command = [f"{LLAMA}/ggml-rpc-server", "-H", "127.0.0.1", "-p"]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    started = [subprocess.Popen([*command, one.split(":")[1]], **quiet) for one in places]  # type: ignore[call-overload]
    for one in places:
        for attempt in itertools.count():
            try:
                socket.create_connection(("127.0.0.1", int(one.split(":")[1]))).close()
                break
            except OSError:
                assert attempt < 100, "a server does not start"
                time.sleep(0.1)
    yield places
    for process in started:
        process.kill()
        process.wait()


def told_by_server(model: Path, remote: list[str], options: list[str]) -> str:
    """Return what llama.cpp's server logs with devices and options until it is ready, or fails."""
    command = [f"{LLAMA}/llama-server", "-m", str(model), "-v", "--port", str(free_port())]
    devices = ["--rpc", ",".join(remote)] if remote else []
    with subprocess.Popen(
        [*command, *devices, *options], stderr=subprocess.STDOUT, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        lines = []
        for line in process.stdout:
            lines.append(line)
            if "listening on" in line:
                process.kill()
    return "".join(lines)


def placed(told: str) -> list[int]:
    """Return the device of each layer and of the output, -1 for the host, of the last loading."""
    found: dict[int, int] = {}
    for layer, name in re.findall(r"layer +(\d+) assigned to device (\w+)", told):
        found[int(layer)] = -1 if name == "CPU" else int(name.removeprefix("RPC"))
    return [found[at] for at in range(len(found))]


def options_of_split(text: str) -> list[str]:
    """Return the options of a line of llama.cpp, without the model."""
    (line,) = [one for one in text.splitlines() if not one.startswith("#")]
    return shlex.split(line.split("MODEL.gguf")[1])


@pytest.mark.parametrize(("family", "model"), MODELS)
def test_llama_cpp(family: str, model: str, remote: list[str], tmp_path: Path) -> None:
    """Its server has each layer, and the output, on the device of its stage."""
    for sample, solution in splits(model, rules="llama.cpp"):
        stages, (before, behind) = solution.stages, sample.chain.outer
        layers = sum(inner_counts(sample, solution))
        file = empty_model(tmp_path / "model.gguf", layers, sample.chain.origin.predicting)
        options = options_of_split(write_as("llama.cpp", Launch(sample, solution)))
        found = placed(told_by_server(file, remote[: len(stages)], options))
        ranks = [at for at, one in enumerate(stages) for _ in range(one.first, one.end)]
        meant = ranks[before : before + layers]
        assert [*found[:layers], found[-1]] == [*meant, ranks[-1]]
        assert len(found) == layers + sample.chain.origin.predicting + 1
        assert behind == 1
    TAKEN[family, "llama.cpp"] = "yes"


def test_llama_cpp_with_a_host(remote: list[str], tmp_path: Path) -> None:
    """Whole layers are on the host, and experts of the first ones."""
    file = empty_model(tmp_path / "model.gguf", 24, experts=2)
    given: dict[str, int | str] = {"rules": "llama.cpp", "goal": "latency", "context": 64}
    sample = instance("gpt-oss-20b", "2x3090,cpu:64GiB", **given)
    for on_host, first, experts in ((0, 9, 0), (0, 12, 24), (7, 5, 20), (20, 3, 3), (24, 1, 0)):
        counts = [on_host + 1, first, 25 - on_host - first]
        if on_host == 0:
            counts = [0, first + 1, 25 - first]
        devices = [at for at, count in enumerate(counts) for _ in range(count)]
        solution = LayerAssignment(frozen(devices), (experts,))
        text = write_as("llama.cpp", Launch(sample, solution))
        told = told_by_server(file, remote[:2], options_of_split(text))
        found = placed(told)
        assert found == [-1] * on_host + [at - 1 for at in devices if at][bool(on_host == 0) :]
        moved = re.findall(r"tensor blk\.(\d+)\.ffn_\w+_exps\.weight .*overridden to", told)
        assert set(map(int, moved)) == set(range(experts))


def test_shares_of_llama_cpp(remote: list[str], tmp_path: Path) -> None:
    """Whatever the shares, layers are where `counts_by_shares` has them."""
    dice = random.Random(3)
    for attempt in range(25):
        layers, size = dice.randrange(1, 60), dice.randrange(2, 6)
        shares = [dice.choice((1, 2, 3, 7, 0.1, 12.5, 0)) for _ in range(size)]
        shares[dice.randrange(size)] = 1
        file = empty_model(tmp_path / f"{attempt}.gguf", layers)
        split = ",".join(map(str, shares))
        found = placed(told_by_server(file, remote[:size], ["-ngl", "999", "-ts", split]))
        counts = [found.count(at) for at in range(size)]
        assert found == sorted(found)
        assert counts == counts_by_shares(layers, shares), (layers, shares)


def test_refusals_of_llama_cpp(remote: list[str], tmp_path: Path) -> None:
    """It takes 15 shares and not 16, and no word for a number."""
    file = empty_model(tmp_path / "model.gguf", 3)

    def told(*options: str) -> str:
        return told_by_server(file, remote[:1], list(options))

    assert "listening on" in told("-ngl", "999", "-ts", ",".join("1" * (MOST_DEVICES - 1)))
    refused = told("-ngl", "999", "-ts", ",".join("1" * MOST_DEVICES))
    assert f"{MOST_DEVICES} devices" in refused
    assert "listening on" not in refused
    for option in ("--n-cpu-moe", "-ngl"):
        assert f"{option}" in told(option, "x")
        assert "listening on" not in told(option, "x")


def test_releases(capsys: pytest.CaptureFixture[str]) -> None:
    """Print what was fetched, for what the formats are, and which splits were taken."""
    tools = list(dict.fromkeys(tool for _, tool in TAKEN))
    rows = [["family", "model", *tools], ["---"] * (2 + len(tools))]
    rows += [[*one, *(TAKEN.get((one[0], tool), "no") for tool in tools)] for one in MODELS]
    with capsys.disabled():
        print(*(f"\nfetched {path.name}" for path in sorted(Path(FOLDER).iterdir())), sep="")
        print(*(f"{name}: written for {tool.release}" for name, tool in TOOLS.items()), sep="\n")
        print(*(f"| {' | '.join(row)} |" for row in rows), sep="\n")
