"""Texts of tools: a round trip of each, and those that their own documentation shows."""

import json

import pytest

from boundmark.datasets.layers.language_models import load
from boundmark.problems.errors import InvalidInputError
from boundmark.problems.layers import PROBLEM, LayerAssignment, LayersInstance, Stage
from boundmark.problems.layers.tool_formats import TOOLS, read_text, write_as


def instance(model: str = "llama-3-8b", devices: str = "4xA100-80GB") -> LayersInstance:
    """Return a decoding model on some devices."""
    given = {"devices": devices, "phase": "decode", "batch": 1, "context": 1024}
    found = PROBLEM.maker(load(model))(given)
    assert isinstance(found, LayersInstance)
    return found


def counts(solution: LayerAssignment | None) -> list[tuple[int, int]]:
    """Return the device and the number of layers of each stage."""
    assert solution is not None
    return [(stage.device, stage.end - stage.first) for stage in solution.stages]


@pytest.mark.parametrize("devices", [[0, 1, 2, 3], [2, 0, 3, 1]])
@pytest.mark.parametrize("tool", TOOLS)
def test_round_trips(tool: str, devices: list[int]) -> None:
    """What is written is read as it was, on whatever devices."""
    sample = instance()
    ends = [0, 9, 17, 20, 34]
    stages = [Stage(d, a, b) for d, a, b in zip(devices, ends, ends[1:], strict=False)]
    solution = LayerAssignment.of_stages(stages)
    text = write_as(tool, sample, solution)
    found = read_text(text, sample)
    assert found is not None
    assert found.devices.tolist() == solution.devices.tolist(), text


@pytest.mark.parametrize(
    ("model", "text", "expected"),
    [
        # vLLM's own message and variable; embedding and scores are with the first and last stage.
        ("llama-3-8b", "VLLM_PP_LAYER_PARTITION=9,9,7,7", [10, 9, 7, 8]),
        # Of the documentation of llama.cpp: proportions, not counts.
        ("llama-3-8b", "-ts 3,1", [26, 8]),
        ("llama-3-8b", "--tensor-split 1,1", [18, 16]),
        # Megatron-LM's layouts, with repetitions of letters and of groups.
        ("llama-3-8b", '--pipeline-model-parallel-layout "Et*8|t*8|t*8|t*8L"', [9, 8, 8, 9]),
        ("llama-3-8b", "--pipeline-model-parallel-layout 'Et*10|(t*10|)*2t*2L'", [11, 10, 10, 3]),
        ("llama-3-8b", "pipeline_parallel_split_points=layers.8,layers.16", [9, 8, 17]),
        ("llama-3-8b", "parts = [0, 10, 20, 34]", [10, 10, 14]),
        ("llama-3-8b", "--pipeline-model-parallel-layout E,t*16|t*16,L", [17, 17]),
        # Whole modules of a device map.
        ("gpt-2", '{"transformer.wte": 0, "transformer.h": 1, "lm_head": 1}', [1, 13]),
        ("gpt-2", '{"": 0}', [14]),
    ],
)
def test_texts_of_tools(model: str, text: str, expected: list[int]) -> None:
    """They mean stages on the first devices."""
    found = counts(read_text(text, instance(model)))
    assert found == list(enumerate(expected))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("VLLM_PP_LAYER_PARTITION=8,8,8,9", "the stages have 33 layers together; expected 32"),
        ("VLLM_PP_LAYER_PARTITION=8,8,8,x", "expected integers with commas"),
        ("VLLM_PP_LAYER_PARTITION=8,6,6,6,6", "5 stages for 4 devices; expected no more"),
        ("CUDA_VISIBLE_DEVICES=0,1 VLLM_PP_LAYER_PARTITION=8,8,16", "3 stages for 2 devices"),
        ("-ts 1,-1", "expected shares with commas"),
        ("-ts 0,0", "expected shares with commas"),
        ("--pipeline-model-parallel-layout t*32", "has 0 E and 0 L; expected 1 and 1"),
        ("--pipeline-model-parallel-layout Lt*32E", "expected E, t and L in this order"),
        ("--pipeline-model-parallel-layout Et*99999|L", "repeats 't' 99999 times; expected less"),
        ("pipeline_parallel_split_points=layers.x", "no split point 'layers.x'; expected names"),
        ("parts=[0, 9, 3, 34]", "expected 0 and then ascending"),
        # More stages than layers.
        (f"VLLM_PP_LAYER_PARTITION={'1,' * 33}1", "34 stages for 4 devices"),
        # Of Megatron-LM's documentation, for a model that predicts several words.
        ('--pipeline-model-parallel-layout "Et*3|(tt|)*29,m|L"', "with 1 layers m, which predict"),
        # Of the documentation of transformers, with a device of no stage.
        ('{"transformer.h": 0, "lm_head": "cpu"}', "'lm_head' is on 'cpu'; expected numbers"),
    ],
)
def test_texts_that_do_not_fit(text: str, expected: str) -> None:
    """A sentence says what was expected."""
    with pytest.raises(InvalidInputError, match=expected):
        read_text(text, instance())


@pytest.mark.parametrize("text", ["layers.csv", "{}", '{"a": 1}', '{"format": "x"}', "[1]", ""])
def test_other_texts_are_left_to_others(text: str) -> None:
    """Files, tables, and stored solutions."""
    assert read_text(text, instance()) is None


def test_a_device_map_names_what_has_no_layer_here() -> None:
    """As transformers asks of a map of a model like Llama."""
    sample = instance()
    solution = LayerAssignment.of_stages([Stage(0, 0, 20), Stage(1, 20, 34)])
    found = json.loads(write_as("device-map", sample, solution))
    assert (found["model.norm"], found["model.rotary_emb"], found["lm_head"]) == (1, 0, 1)


def test_what_a_tool_cannot_have_is_refused() -> None:
    """A stage of the embedding alone, and tools that nobody knows."""
    solution = LayerAssignment.of_stages([Stage(0, 0, 1), Stage(1, 1, 34)])
    with pytest.raises(InvalidInputError, match="no repeated layer, which vLLM cannot have"):
        write_as("vllm", instance(), solution)
    with pytest.raises(InvalidInputError, match="expected vllm, device-map"):
        write_as("tgi", instance(), solution)
