"""Texts of tools: round trips, those that their own documentation shows, and tools' rules."""

import itertools
import json
import random
from dataclasses import replace

import pytest
from brute_force_layers import drawn
from recording import record

from boundmark.datasets.layers.language_models import load
from boundmark.problems.arrays import frozen
from boundmark.problems.errors import InvalidInputError, UnsupportedError
from boundmark.problems.layers import PROBLEM, LayerAssignment, LayerChain, LayersInstance, Stage
from boundmark.problems.layers.tools.formats import (
    TOOLS,
    read_text,
    tool_of,
    under_rules,
    write_as,
)
from boundmark.problems.layers.tools.launch import Launch
from boundmark.problems.layers.tools.llama_cpp import counts_by_shares

MEGATRON = "--pipeline-model-parallel-layout"

INTERLEAVED = [name for name, tool in TOOLS.items() if tool.has_virtual_stages]


def instance(model: str = "llama-3-8b", devices: str = "4xA100-80GB") -> LayersInstance:
    """Return a decoding model on some devices."""
    given = {"devices": devices, "phase": "decode", "batch": 1, "context": 1024}
    found = PROBLEM.maker(load(model))(given)
    assert isinstance(found, LayersInstance)
    return found


def written(tool: str, sample: LayersInstance, solution: LayerAssignment, hosts: str = "") -> str:
    """Return what starts a split."""
    return write_as(tool, Launch(sample, solution, hosts=hosts))


def read(text: str, sample: LayersInstance) -> LayerAssignment | None:
    """Return the split that a text means, if it is one."""
    found = read_text(text, sample)
    return None if found is None else found[0]


def named(layers: int, prefix: str, predicting: int = 0) -> LayersInstance:
    """Return an instance with an embedding, layers with names, and scores, for two devices."""
    last = [*(f"{prefix}mtp.{at}" for at in range(predicting)), "lm_head"]
    names = [f"{prefix}embed_tokens", *(f"{prefix}layers.{at}" for at in range(layers)), *last]
    n = len(names)
    chain = replace(
        instance(devices="4xA100-80GB").chain,
        time=frozen([[1] * n]),
        weights=frozen([1] * n),
        held=frozen([0] * n),
        sizes=frozen([1] * n),
        tied=(),
        transfer=frozen([[1] * (n - 1)]),
        link=frozen([[0]]),
        outer=(1, 1 + predicting),
        names=tuple(names),
    )
    return LayersInstance(chain)


def virtual(sample: LayersInstance, stages: int) -> LayersInstance:
    """Return the instance with several stages on each device."""
    return replace(sample, virtual_stages=stages)


def counts(solution: LayerAssignment | None) -> list[tuple[int, int]]:
    """Return the device and the number of layers of each stage."""
    assert solution is not None
    return [(stage.device, stage.end - stage.first) for stage in solution.stages]


def random_chain(dice: random.Random) -> LayerChain | None:
    """Return a chain with a random number of layers at its ends, one of them repeated."""
    sample = drawn(dice, "bottleneck", "free", 12)
    if sample is None:
        return None
    outer = dice.choice(((0, 0), (1, 0), (0, 1), (1, 1), (1, 3)))
    if sum(outer) >= sample.chain.layers:
        return None
    return replace(sample.chain, outer=outer)


def random_split(dice: random.Random, chain: LayerChain, parts: int, size: int) -> LayerAssignment:
    """Return a split into so many parts at most, part j on device j mod p of a random order."""
    places = [at for at in range(1, chain.layers) if at not in chain.joined]
    cuts = sorted(dice.sample(places, min(parts - 1, len(places))))
    order = dice.sample(range(len(chain.devices)), size)
    ends = [0, *cuts, chain.layers]
    return LayerAssignment.of_stages(
        Stage(order[at % size], a, b) for at, (a, b) in enumerate(itertools.pairwise(ends))
    )


@pytest.mark.parametrize("tool", TOOLS)
def test_round_trips(tool: str) -> None:
    """What the rules of a tool allow is written, and read as it was, on whatever devices."""
    seen = 0
    for seed in range(300):
        dice = random.Random(seed)
        chain = random_chain(dice)
        if chain is None or (tool == "megatron" and 0 in chain.outer):
            continue
        sample = LayersInstance(under_rules(chain, tool))
        parts = dice.randint(1, len(chain.devices))
        solution = random_split(dice, sample.chain, parts, parts)
        text = written(tool, sample, solution)
        found = read(text, sample)
        assert found is not None
        assert found.devices.tolist() == solution.devices.tolist(), text
        seen += len(solution.stages) > 1
    assert seen > 40


@pytest.mark.parametrize("tool", INTERLEAVED)
def test_round_trips_of_virtual_stages(tool: str) -> None:
    """Each device has several parts, one after the other in turn."""
    seen = 0
    for seed in range(600):
        dice = random.Random(seed)
        chain = random_chain(dice)
        if chain is None or len(chain.devices) < 2 or (tool == "megatron" and 0 in chain.outer):
            continue
        rounds = dice.randint(2, 3)
        size = dice.randint(2, len(chain.devices))
        sample = virtual(LayersInstance(under_rules(chain, tool)), rounds)
        solution = random_split(dice, sample.chain, rounds * size, size)
        if len(solution.stages) < rounds * size:
            continue
        text = written(tool, sample, solution)
        found = read(text, sample)
        assert found is not None
        assert found.devices.tolist() == solution.devices.tolist(), text
        seen += 1
    assert seen > 10


def test_the_optimum_by_vllms_rules_is_one_of_its_texts() -> None:
    """With them, every stage has a repeated layer; the text costs what the optimum does."""
    seen = 0
    for seed in range(200):
        dice = random.Random(seed)
        chain = random_chain(dice)
        if chain is None:
            continue
        sample = LayersInstance(under_rules(replace(chain, joined=()), "vllm"))
        try:
            solutions = record("layer-reach", sample).solutions
        except UnsupportedError:
            # Nothing fits.
            continue
        best = min(map(sample.objective, solutions))
        texts = [written("vllm", sample, one) for one in solutions]
        assert min(sample.objective(read(text, sample)) for text in texts) == best
        seen += 1
    assert seen > 30


@pytest.mark.parametrize(
    ("model", "text", "expected"),
    [
        # vLLM's own message and variable; embedding and scores are with the first and last stage.
        ("llama-3-8b", "VLLM_PP_LAYER_PARTITION=9,9,7,7", [10, 9, 7, 8]),
        # Of the documentation of llama.cpp: proportions, not counts.
        ("llama-3-8b", "-ts 3,1", [26, 8]),
        ("llama-3-8b", "-ts 3/1", [26, 8]),
        ("llama-3-8b", "-ngl 99 -sm layer --tensor-split 1,1", [18, 16]),
        # Megatron-LM's layouts, with repetitions of letters and of groups.
        ("llama-3-8b", '--pipeline-model-parallel-layout "Et*8|t*8|t*8|t*8L"', [9, 8, 8, 9]),
        ("llama-3-8b", "--pipeline-model-parallel-layout 'Et*10|(t*10|)*2t*2L'", [11, 10, 10, 3]),
        ("llama-3-8b", "--pipeline-model-parallel-layout E,t*16|t*16,L", [17, 17]),
        ("llama-3-8b", "Et*16|t*16L", [17, 17]),
        ("llama-3-8b", "--pipeline-model-parallel-size 4", [9, 8, 8, 9]),
        (
            "llama-3-8b",
            "--pipeline-model-parallel-size 4 --decoder-first-pipeline-num-layers 7 "
            "--decoder-last-pipeline-num-layers 5",
            [8, 10, 10, 6],
        ),
        ("llama-3-8b", "--decoder-last-pipeline-num-layers=2", [11, 10, 10, 3]),
        (
            "llama-3-8b",
            "--pipeline-model-parallel-size 2 --account-for-embedding-in-pipeline-split "
            "--account-for-loss-in-pipeline-split",
            [17, 17],
        ),
        ("llama-3-8b", "pipeline_parallel_split_points=layers.8,layers.16", [9, 8, 17]),
        (
            "llama-3-8b",
            "--parallelism.pipeline_parallel_schedule 1F1B "
            "--parallelism.pipeline_parallel_split_points layers.8",
            [9, 25],
        ),
        ("llama-3-8b", "parts = [0, 10, 20, 34]", [10, 10, 14]),
        # Whole modules of a device map.
        ("gpt-2", '{"transformer.wte": 0, "transformer.h": 1, "lm_head": 1}', [1, 13]),
        ("gpt-2", '{"": 0}', [14]),
        ("gpt-2", '{"": "cuda:0"}', [14]),
    ],
)
def test_texts_of_tools(model: str, text: str, expected: list[int]) -> None:
    """They mean stages on the first devices."""
    found = counts(read(text, instance(model)))
    assert found == list(enumerate(expected))


@pytest.mark.parametrize(
    ("stages", "text", "expected"),
    [
        # Of the comments of `get_num_layers_to_build`: 8 layers, 2 ranks, 2 virtual stages.
        (
            2,
            "--pipeline-model-parallel-size 2 --num-layers-per-virtual-pipeline-stage 2",
            [3, 2, 2, 3],
        ),
        (
            4,
            "--pipeline-model-parallel-size 2 --num-virtual-stages-per-pipeline-rank 4",
            [2, 1, 1, 1, 1, 1, 1, 2],
        ),
        (2, '--pipeline-model-parallel-layout "Ett|ttt|t|ttL"', [3, 3, 1, 3]),
        (
            2,
            "--pipeline-model-parallel-size 2 --decoder-first-pipeline-num-layers 2 "
            "--num-virtual-stages-per-pipeline-rank 2",
            [2, 3, 1, 4],
        ),
        (2, "pipeline_parallel_split_points=layers.2,layers.4,norm", [3, 2, 4, 1]),
        (
            2,
            "pipeline_parallel_schedule=Interleaved1F1B module_fqns_per_model_part="
            "[['tok_embeddings', 'layers.0', 'layers.1'], ['layers.2', 'layers.3', 'layers.4'], "
            "['layers.5', 'layers.6'], ['layers.7', 'norm', 'output']]",
            [3, 3, 2, 2],
        ),
    ],
)
def test_texts_with_virtual_stages(stages: int, text: str, expected: list[int]) -> None:
    """Part j is on device j mod p."""
    size = len(expected) // stages
    found = counts(read(text, virtual(named(8, "model."), stages)))
    assert found == [(at % size, count) for at, count in enumerate(expected)]


def test_a_layout_with_layers_that_predict_words() -> None:
    """As in Megatron-LM's documentation for DeepSeek-V3, on four devices."""
    sample = named(61, "model.", predicting=1)
    found = read('--pipeline-model-parallel-layout "Et*20|(tt)*10|t*21,m|L"', sample)
    assert counts(found) == [(0, 21), (1, 20), (2, 22), (3, 1)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("VLLM_PP_LAYER_PARTITION=8,8,8,9", "the stages have 33 layers together; expected 32"),
        ("VLLM_PP_LAYER_PARTITION=8,8,8,x", "expected integers with commas"),
        ("VLLM_PP_LAYER_PARTITION=8,6,6,6,6", "5 stages for 4 devices; expected no more"),
        ("VLLM_PP_LAYER_PARTITION=16,0,16", "stage 1 has no layer, which vLLM cannot have"),
        ("CUDA_VISIBLE_DEVICES=0,1 VLLM_PP_LAYER_PARTITION=8,8,16", "3 stages for 2 devices"),
        ("CUDA_VISIBLE_DEVICES=0,4 VLLM_PP_LAYER_PARTITION=16,16", "has 4; expected devices from"),
        ("CUDA_VISIBLE_DEVICES=0,0 VLLM_PP_LAYER_PARTITION=16,16", "expected each device once"),
        ("CUDA_VISIBLE_DEVICES=,, VLLM_PP_LAYER_PARTITION=16,16", "has devices that are no numb"),
        ("CUDA_VISIBLE_DEVICES=9999999,1 -ts 1,1", "has devices that are no numbers"),
        ("-ts 1,1 -dev none", "-dev is 'none'; expected devices, such as CUDA1,CUDA0"),
        ("-ts 1,-1", "expected shares with commas"),
        ("-ts 0,0", "expected shares with commas"),
        ("-ts", "-ts has no value; expected one"),
        ("-ngl 99", "--tensor-split is not given; expected shares of devices"),
        ("-ngl 20 -ts 1,1", "--n-gpu-layers 20 puts layers on the CPU; expected at least 33"),
        ("--n-gpu-layers 32 -ts 1,1", "expected at least 33: 32 layers and the output"),
        ("-ts 1,1 --n-cpu-moe 4", "--n-cpu-moe puts parts of layers on the CPU or elsewhere"),
        ("-ts 1,1 -cmoe", "--cpu-moe puts parts of layers on the CPU or elsewhere"),
        ("-ts 1,1 -ot exps=CPU", "--override-tensor puts parts of layers on the CPU or elsewhere"),
        ("-ts 1,1 -sm row", "--split-mode is 'row'; expected 'layer'"),
        ("-ts 1,1 -nkvo", "--no-kv-offload puts parts of layers on the CPU or elsewhere"),
        (f"-ts {','.join('1' * 16)}", "-ts has 16 shares, and llama.cpp takes fewer than 16"),
        ("CUDA_VISIBLE_DEVICES=0,1 -dev CUDA2,CUDA1 -ts 1,1", "-dev has device 2, and 2 are vis"),
        ("VLLM_PP_LAYER_PARTITION=16,16 vllm serve x -pp 3", "-size is 3, and the split has 2 st"),
        ("VLLM_PP_LAYER_PARTITION=16,16 vllm serve x -tp 2", "is 2, and each layer is on 1 device"),
        ("SGLANG_PP_LAYER_PARTITION=16,15", "the stages have 31 layers together; expected 32"),
        ("pp_partition: [32, 0]", "stage 1 has no layer, which TensorRT-LLM cannot have"),
        ("9,14,14", "the stages have 37 layers together; expected 32, or 34 with what is before"),
        (
            "--pipeline-model-parallel-size 2 --num-layers 30",
            "--num-layers is 30, and the model has",
        ),
        ("--decoder-first-pipeline-num-layers 0", "is '0'; expected an integer of at least 1"),
        ("Et*16 | t*16L", "expected no spaces and no backslashes, as Megatron-LM takes none"),
        ("E(t|(tt|)*2)*2tL", "expected E, t, m and L in this order"),
        ('-ts "1,1', "cannot be split into options: No closing quotation"),
        ("--pipeline-model-parallel-layout t*32", "has 0 E; expected 1"),
        ("--pipeline-model-parallel-layout Et*32", "has 0 L; expected 1"),
        ("--pipeline-model-parallel-layout Lt*32E", "expected E, t, m and L in this order"),
        ("--pipeline-model-parallel-layout Et*99999|L", "repeats 't' 99999 times; expected less"),
        # Of Megatron-LM's documentation, for a model that predicts several words.
        (
            '--pipeline-model-parallel-layout "Et*3|(tt|)*29,m|L"',
            "has 1 m; expected 0, as many as the model has in this phase",
        ),
        (
            "--pipeline-model-parallel-layout Et*32|L --pipeline-model-parallel-size 1",
            "there are 2 parts on 1 ranks; expected 1, since virtual_stages is 1",
        ),
        (
            "--pipeline-model-parallel-layout Et*32|L --decoder-last-pipeline-num-layers 3",
            "--decoder-last-pipeline-num-layers is given with a layout; expected one of the two",
        ),
        ("--pipeline-model-parallel-size 3", "32 layers do not divide by 3 ranks, as Megatron-LM"),
        (
            "--pipeline-model-parallel-size 4 --decoder-first-pipeline-num-layers 4",
            "28 layers do not divide by 3 ranks",
        ),
        (
            "--decoder-first-pipeline-num-layers 2 --account-for-loss-in-pipeline-split",
            "--account-for-loss-in-pipeline-split is given with --decoder-first-pipeline-num-layers"
            "; expected one of the two",
        ),
        (
            "--num-layers-per-virtual-pipeline-stage 4",
            "there are 8 parts on 4 ranks; expected 4, since virtual_stages is 1",
        ),
        ("--num-layers-per-virtual-pipeline-stage 3", "8 layers of a rank do not divide by 3"),
        (
            "--num-layers-per-virtual-pipeline-stage 4 --decoder-last-pipeline-num-layers 8",
            "expected --num-virtual-stages-per-pipeline-rank, as Megatron-LM asks",
        ),
        ("--pipeline-model-parallel-size x", "size is 'x'; expected an integer of at least 1"),
        ("pipeline_parallel_split_points=layers.x", "no split point 'layers.x'; expected names"),
        (
            "pipeline_parallel_schedule=ZBVZeroBubble pipeline_parallel_split_points=layers.3",
            "ZBVZeroBubble puts parts on devices in the shape of a V; expected a looped one",
        ),
        ("pipeline_parallel_schedule DualPipeV [['norm']]", "the schedule DualPipeV puts parts"),
        ('[["layers.0"], []]', "part 1 has no modules; expected some in each"),
        ('[["tok_embeddings"], ["layers.99"]]', "the model has no module 'layers.99'"),
        ('[["tok_embeddings"], ["layers.1"]]', "module 'layers.0' is in no part"),
        ('[["layers.1"], ["layers.1"]]', "module 'layers.1' is in two parts"),
        ("module_fqns_per_model_part=[[1]]", "expected lists of names, such as"),
        ("parts=[0, 9, 3, 34]", "expected 0 and then ascending"),
        # More stages than layers.
        (f"VLLM_PP_LAYER_PARTITION={'1,' * 33}1", "34 stages for 4 devices"),
        # Of the documentation of transformers, with a device of no stage.
        ('{"transformer.h": 0, "lm_head": "cpu"}', "'lm_head' is on 'cpu'; expected numbers"),
        (
            '{"model.layers": "cuda:0"}',
            "has no device for 2 of 34 layers, 'model.embed_tokens' among",
        ),
        (
            '{"model": 0, "lm_head": 0, "model.layers.32": 1}',
            "the device map has 'model.layers.32', and the model has no such layer",
        ),
    ],
)
def test_texts_that_do_not_fit(text: str, expected: str) -> None:
    """A sentence says what was expected."""
    with pytest.raises(InvalidInputError, match=expected):
        read(text, instance())


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("VLLM_PP_LAYER_PARTITION=4,4", "virtual_stages is 2, and vLLM gives each device one run"),
        ("-ts 1,1", "virtual_stages is 2, and llama.cpp gives each device one run"),
        ("parts=[0, 10]", "virtual_stages is 2, and DeepSpeed gives each device one run"),
        ('{"": 0}', "virtual_stages is 2, and a device map gives each device one run"),
        (
            '--pipeline-model-parallel-layout "Et*4||tt|ttL"',
            "part 1 of 4 is empty; expected layers in each",
        ),
        (
            '--pipeline-model-parallel-layout "Et*4|tt|ttL"',
            "there are 3 parts; expected a multiple of virtual_stages, 2",
        ),
        (
            "--pipeline-model-parallel-size 2 --decoder-first-pipeline-num-layers 3 "
            "--num-virtual-stages-per-pipeline-rank 2",
            "3 layers of a rank do not divide by 2 virtual stages",
        ),
    ],
)
def test_texts_that_do_not_fit_virtual_stages(text: str, expected: str) -> None:
    """A sentence says what was expected."""
    with pytest.raises(InvalidInputError, match=expected):
        read(text, virtual(named(8, "model."), 2))


@pytest.mark.parametrize("text", ["layers.csv", "{}", '{"a": 1}', '{"format": "x"}', "[1]", ""])
def test_other_texts_are_left_to_others(text: str) -> None:
    """Files, tables, and stored solutions."""
    assert read(text, instance()) is None


# Device maps as transformers writes them: `cuda:0`, or numbers; a language model within another,
# as different versions name it, with modules that are no layers.
MAPS = [
    ("model.", lambda at: f"cuda:{at}", ["model.norm", "model.rotary_emb"]),
    ("model.", str, []),
    ("model.language_model.", int, ["model.vision_tower", "model.multi_modal_projector"]),
    ("language_model.model.", int, ["vision_tower", "multi_modal_projector"]),
    ("model.language_model.", int, ["model.visual", "model.language_model.norm"]),
]


@pytest.mark.parametrize(("prefix", "device", "others"), MAPS)
@pytest.mark.parametrize("own", ["model.", "model.language_model."])
def test_device_maps(prefix: str, device: object, others: list[str], own: str) -> None:
    """Layers are found under any of the names; what is no layer counts for nothing."""
    assert callable(device)
    head = "language_model.lm_head" if prefix.startswith("language") else "lm_head"
    written = {f"{prefix}embed_tokens": device(0), head: device(1)}
    written |= {f"{prefix}layers.{at}": device(at // 20) for at in range(40)}
    written |= dict.fromkeys(others, device(3))
    found = read(json.dumps(written), named(40, own))
    assert counts(found) == [(0, 21), (1, 21)]


def test_a_device_map_of_whole_models() -> None:
    """The module nearest to a layer counts: the language model, not the model around it."""
    written = {"model": 2, "model.language_model": 0, "model.visual": 3, "lm_head": 1}
    for own in ("model.", "model.language_model."):
        assert counts(read(json.dumps(written), named(5, own))) == [(0, 6), (1, 1)]


def test_a_device_map_names_what_has_no_layer_here() -> None:
    """As accelerate asks, by the names of the family's class; one device needs no names."""
    solution = LayerAssignment.of_stages([Stage(1, 0, 5), Stage(0, 5, 14)])
    text = written("accelerate", instance("gpt-2"), solution)
    found = json.loads(text.split("device_map = ")[1].splitlines()[0])
    assert (found["transformer.wpe"], found["transformer.ln_f"]) == (1, 0)
    assert (found["transformer.h.3"], found["transformer.h.4"]) == (1, 0)
    assert list(found)[:2] == ["transformer.wpe", "transformer.wte"]
    images = instance("gemma-3-12b", "2xA100-80GB")
    solution = LayerAssignment.of_stages([Stage(0, 0, 20), Stage(1, 20, 50)])
    text = written("accelerate", images, solution)
    found = json.loads(text.split("device_map = ")[1].splitlines()[0])
    assert (found["model.vision_tower"], found["model.multi_modal_projector"]) == (0, 0)
    assert found["model.language_model.norm"] == 1
    assert "AutoModelForImageTextToText.from_pretrained" in text
    whole = LayerAssignment.of_stages([Stage(1, 0, 14)])
    assert 'device_map = {"": 1}' in written("accelerate", instance("gpt-2"), whole)


@pytest.mark.parametrize(
    ("tool", "cut", "expected"),
    [
        ("vllm", 1, "begins with 'model.layers.0', which vLLM cannot have; .* with --rules vllm"),
        ("vllm", 33, "begins with 'lm_head', which vLLM cannot have"),
        ("llama.cpp", 1, "begins with 'model.layers.0', which llama.cpp cannot have"),
        ("tgi", 9, "expected vllm, sglang, tensorrt-llm, accelerate"),
    ],
)
def test_what_a_tool_cannot_have_is_refused(tool: str, cut: int, expected: str) -> None:
    """With its rule, and tools that nobody knows with those that there are."""
    solution = LayerAssignment.of_stages([Stage(0, 0, cut), Stage(1, cut, 34)])
    with pytest.raises(InvalidInputError, match=expected):
        written(tool, instance(), solution)


def test_megatron_has_a_pattern_for_mamba_layers() -> None:
    """A letter for each mixer and network, and cuts between layers."""
    sample = instance("jamba-v0.1")
    assert sample.chain.origin.pattern == ("M-", "ME", "M-", "ME", "*-", "ME", "M-", "ME") * 4
    dice = random.Random(4)
    for parts in (1, 2, 3, 4):
        ends = [0, *sorted(dice.sample(range(1, 34), parts - 1)), 34]
        counts = [b - a for a, b in itertools.pairwise(ends)]
        solution = LayerAssignment(
            frozen([at for at, count in enumerate(counts) for _ in range(count)])
        )
        text = written("megatron", sample, solution)
        assert "layout" not in text
        assert f"pretrain_hybrid.py --pipeline-model-parallel-size {parts} " in text
        found = read_text(text, sample)
        assert found is not None
        assert found[0].to_json() == solution.to_json()
        assert found[1] == ("read as a split of Megatron-LM",)
    # The embedding alone is an empty part.
    alone = LayerAssignment(frozen([0] + [1] * 33))
    assert '--hybrid-layer-pattern "|M-ME' in written("megatron", sample, alone)


def test_a_stage_of_vllm_without_attention_is_named() -> None:
    """Recurrences alone leave sizes of blocks as they are, which differ from other ranks'."""
    sample = instance("jamba-v0.1")
    solution = LayerAssignment(frozen([0] * 6 + [1] * 7 + [2] * 21))
    text = written("vllm", sample, solution)
    assert "\n# Stage 1 has no attention, with which vLLM may not start" in text
    assert read(text, sample) is not None
    solution = LayerAssignment(frozen([0] * 6 + [1] * 8 + [2] * 20))
    assert "no attention" not in written("vllm", sample, solution)


PATTERN = "M-MEM-ME*-MEM-ME" * 4

REFUSED_PATTERNS = [
    ("jamba-v0.1", PATTERN[:17] + "|" + PATTERN[17:], "between a mixer and its network"),
    ("jamba-v0.1", "M-|" + PATTERN, "with | between parts"),
    ("jamba-v0.1", PATTERN + "/M-", "has 1 parts behind /; expected 0"),
    ("jamba-v0.1", PATTERN + " --pipeline-model-parallel-size 2", "1 parts on 2 ranks"),
    ("jamba-v0.1", PATTERN + " --num-virtual-stages-per-pipeline-rank 2", "one of the two"),
    ("qwen2.5-72b", "M-" * 80, "expected '\\*-\\*-"),
]


@pytest.mark.parametrize(("model", "pattern", "reason"), REFUSED_PATTERNS)
def test_patterns_that_are_refused(model: str, pattern: str, reason: str) -> None:
    """They are of another model, cut a layer, or go with other options."""
    with pytest.raises(InvalidInputError, match=reason.replace("|", "\\|")):
        read_text(f"--hybrid-layer-pattern {pattern}", instance(model))


def test_megatron_has_all_layers_that_predict_in_one_part() -> None:
    """They are m in a layout, and may be a part alone; the loss may, too."""
    sample = virtual(named(8, "model.", predicting=2), 2)
    devices = [0] * 4 + [1] * 5 + [0] * 2 + [1]
    text = written("megatron", sample, LayerAssignment(frozen(devices)))
    assert text.endswith(
        "torchrun --nproc-per-node 2 pretrain_gpt.py --num-layers 8 --mtp-num-layers 2 "
        "--pipeline-model-parallel-size 2 --tensor-model-parallel-size 1 "
        '--pipeline-model-parallel-layout "Et*3|t*5|mm|L"'
    )
    found = read(text, sample)
    assert found is not None
    assert found.devices.tolist() == devices
    apart = LayerAssignment(frozen([0] * 10 + [1] * 2))
    with pytest.raises(InvalidInputError, match=r"begins with 'model\.mtp\.1', which Megatron-LM"):
        written("megatron", named(8, "model.", predicting=2), apart)
    with pytest.raises(InvalidInputError, match="parts 0 and 1 have layers m; expected all m in"):
        read(f"{MEGATRON} Et*8m|mL", named(8, "model.", predicting=2))


def test_groups_are_visible_with_all_their_members() -> None:
    """As ranks of tensor parallelism are numbered: one group after the other."""
    chain = replace(named(8, "model.").chain, device_names=tuple(f"x*2#{at}" for at in range(4)))
    sample = LayersInstance(chain)
    solution = LayerAssignment.of_stages([Stage(2, 0, 5), Stage(0, 5, 10)])
    text = written("vllm", sample, solution)
    assert text.splitlines()[1:] == [
        "CUDA_DEVICE_ORDER=PCI_BUS_ID CUDA_VISIBLE_DEVICES=4,5,0,1 VLLM_PP_LAYER_PARTITION=4,4 "
        "vllm serve MODEL --pipeline-parallel-size 2 --tensor-parallel-size 2"
    ]
    assert counts(read(text, sample)) == [(2, 5), (0, 5)]
    with pytest.raises(InvalidInputError, match="expected each device once, and all of a group"):
        read(text.replace("4,5,0,1", "4,0,1,5"), sample)


@pytest.mark.parametrize("tool", [name for name in TOOLS if name != "device-map"])
def test_what_is_written_has_the_release_and_the_devices(tool: str) -> None:
    """On one host, each in its own numbers; a form is known as the tool's own."""
    solution = LayerAssignment.of_stages([Stage(2, 0, 9), Stage(0, 9, 34)])
    text = written(tool, instance(devices="1xL4,2xA100-80GB"), solution)
    assert text.startswith(
        f"# {TOOLS[tool].release}; as `nvidia-smi -L` should list them: 0 nvidia-l4, "
        "1-2 nvidia-a100"
    )
    order = "0,1,2" if tool == "accelerate" else "2,0"
    assert f"CUDA_DEVICE_ORDER=PCI_BUS_ID CUDA_VISIBLE_DEVICES={order} " in text
    if tool != "accelerate":
        assert TOOLS[tool_of(text) or ""] is TOOLS[tool]


HOSTS = [name for name in TOOLS if name not in ("accelerate", "device-map", "tensorrt-llm")]


@pytest.mark.parametrize("tool", HOSTS)
def test_several_hosts(tool: str) -> None:
    """A line for each, with numbers that the host has, and read as it was."""
    solution = LayerAssignment.of_stages(
        [Stage(2, 0, 9), Stage(3, 9, 17), Stage(0, 17, 25), Stage(1, 25, 34)]
    )
    text = written(tool, instance(), solution, "2x2")
    assert text.count("CUDA_VISIBLE_DEVICES=0,1 ") == 2
    assert text.index("# host 1: devices 2 to 3") < text.index("# host 0: devices 0 to 1")
    assert text.count(" ggml-rpc-server -H 0.0.0.0 -p 50052") == (tool == "llama.cpp")
    found = read(text, instance())
    assert found is not None
    assert found.devices.tolist() == solution.devices.tolist()
    between = LayerAssignment.of_stages(
        [Stage(0, 0, 9), Stage(2, 9, 17), Stage(1, 17, 25), Stage(3, 25, 34)]
    )
    with pytest.raises(InvalidInputError, match="host 0 has stages before and behind those of"):
        written(tool, instance(), between, "2x2")


@pytest.mark.parametrize(
    ("tool", "sample", "hosts", "expected"),
    [
        ("vllm", instance(), "3,1", "hosts have 3, 1 ranks, and vLLM starts as many on each"),
        ("accelerate", instance(), "2x2", "on 2 hosts, and accelerate runs on one"),
        ("tensorrt-llm", instance(), "2x2", "on 2 hosts, and this line of TensorRT-LLM runs on"),
        ("llama.cpp", instance(devices="4x2xA10"), "", "has each layer on one device; expected no"),
        ("vllm", instance(devices="2x2xA10,2xL4"), "", "groups of 1 and 2 devices, and vLLM"),
        ("vllm", instance(), "2x3", "hosts are '2x3', 6 devices together; expected the number"),
        ("vllm", instance(), "x", "hosts are 'x'; expected the number of devices of each host"),
    ],
)
def test_hosts_and_groups_that_a_tool_cannot_have(
    tool: str, sample: LayersInstance, hosts: str, expected: str
) -> None:
    """A sentence says what was expected."""
    stages = [Stage(at, 8 * at + (at > 0), 8 * at + 9 + (at == 3)) for at in range(4)]
    with pytest.raises(InvalidInputError, match=expected):
        written(tool, sample, LayerAssignment.of_stages(stages), hosts)


def test_llama_cpp_takes_fewer_than_sixteen_shares_and_counts_all_layers() -> None:
    """Those of multi-token prediction have places, too, behind the others."""
    sample = instance(devices="16xA100-80GB")
    stages = [Stage(at, 2 * at + (at > 0), 2 * at + 3) for at in range(15)]
    with pytest.raises(InvalidInputError, match=r"16 stages, and llama\.cpp takes fewer than 16"):
        written("llama.cpp", sample, LayerAssignment.of_stages([*stages, Stage(15, 31, 34)]))
    chain = sample.chain
    chain = replace(chain, origin=replace(chain.origin, predicting=1))
    two = LayerAssignment.of_stages([Stage(0, 0, 20), Stage(1, 20, 34)])
    text = written("llama.cpp", LayersInstance(chain), two)
    assert text.endswith("-ngl 999 -sm layer -ts 19,15")
    assert counts(read(text, LayersInstance(chain))) == [(0, 20), (1, 14)]
    assert counts(read("-ts 1,1", LayersInstance(chain))) == [(0, 18), (1, 16)]
    assert counts_by_shares(2, [1, 1], predicting=1) == [2, 1]


def test_devices_that_a_line_orders() -> None:
    """Of llama.cpp, among those that are visible."""
    for text in ("-dev CUDA1,CUDA0 -ts 1,1", "CUDA_VISIBLE_DEVICES=1,0 llama-server -ts 1,1"):
        assert counts(read(text, instance())) == [(1, 18), (0, 16)]
    text = "CUDA_VISIBLE_DEVICES=3,2 llama-server -dev CUDA1,CUDA0 -ts 1,1"
    assert counts(read(text, instance())) == [(2, 18), (3, 16)]


def test_llama_cpp_counts_by_shares() -> None:
    """Layers and the output by shares: of 32 layers, with 3 to 1, 25 and 7 and the output."""
    assert counts_by_shares(32, [3, 1]) == [25, 8]
    assert counts_by_shares(80, [24, 24, 24]) == [27, 27, 27]
    assert counts_by_shares(2, [1, 100, 1]) == [1, 2, 0]


def test_rules_of_vllm() -> None:
    """The embedding is with the first repeated layer, and the scores with the last one."""
    chain = under_rules(instance("gpt-2").chain, "vllm")
    assert chain.joined == (1, 13)
    assert chain.made_of["rules"] == "vllm"
    assert chain.tied == instance("gpt-2").chain.tied


def test_rules_of_llama_cpp() -> None:
    """The input layer takes nothing on devices, and tied scores a copy of their own."""
    free = instance("gpt-2").chain
    chain = under_rules(free, "llama.cpp")
    assert chain.joined == (1,)
    assert free.tied
    assert not chain.tied
    for name in ("time", "weights", "held", "sizes"):
        assert not getattr(chain, name)[..., 0].any()
        assert (getattr(chain, name)[..., 1:] == getattr(free, name)[..., 1:]).all()


@pytest.mark.parametrize("tool", ["none", "megatron", "torchtitan", "deepspeed", "device-map"])
def test_rules_that_ask_nothing_change_nothing(tool: str) -> None:
    """So that the instance is the same one, with its known results."""
    chain = instance().chain
    assert under_rules(chain, tool) is chain
    predicting = named(4, "model.", predicting=2).chain
    assert under_rules(predicting, "megatron").joined == (6,)


def test_rules_are_a_parameter() -> None:
    """They are part of an instance, and its label says so."""
    given = {"devices": "2xA100-80GB", "phase": "decode", "batch": 1, "context": 1024}
    found = PROBLEM.maker(load("gpt-2"))({**given, "rules": "llama.cpp"})
    assert found.parameters["rules"] == "llama.cpp"
    again = PROBLEM.maker(instance("gpt-2").chain)({"rules": "vllm"})
    assert again.parameters["rules"] == "vllm"
    with pytest.raises(InvalidInputError, match="and vLLM gives each device one run of layers"):
        PROBLEM.maker(load("gpt-2"))({**given, "rules": "vllm", "virtual_stages": 2})
