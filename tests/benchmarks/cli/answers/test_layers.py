"""`solve --as` and `evaluate` of texts, by the command line."""

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from boundmark.benchmarks.cli.group import main

MODEL = "language-models/llama-3-8b"
OPTIONS = ("--problem", "layers", "--phase", "decode", "--batch", "1", "--context", "1024")


def boundmark(*arguments: str) -> tuple[int, str]:
    """Return the exit code and the output of a command."""
    done = CliRunner().invoke(main, [*arguments])
    return done.exit_code, done.output


def test_an_answer_names_stages_and_is_proven() -> None:
    """A line for each stage, with what it takes and holds."""
    code, text = boundmark("solve", MODEL, *OPTIONS, "--devices", "1xA10,2xT4@12", "--json")
    answer = json.loads(text)
    assert code == 0
    assert answer["optimal"]
    assert sum(stage["layers"] for stage in answer["stages"]) == 34
    assert all(stage["memory"] <= stage["capacity"] for stage in answer["stages"])
    code, text = boundmark("solve", MODEL, *OPTIONS, "--devices", "1xA10,2xT4@12", "--wide")
    assert "nvidia-a10#0" in text
    assert "gap              0 (optimal, certified)" in text


def test_fleets_are_separated_by_semicolons() -> None:
    """A comma belongs to a fleet, so that several need another sign; one object each."""
    code, text = boundmark("solve", MODEL, *OPTIONS, "--devices", "1xA10,2xT4@12;4xA10", "--json")
    assert code == 0
    mixed, equal = json.loads(text)
    assert {stage["device"] for stage in equal["stages"]} != {
        stage["device"] for stage in mixed["stages"]
    }


def test_what_is_pasted_is_graded(tmp_path: Path) -> None:
    """The optimum as a tool takes it is optimal; an even split is not, and lacks nothing else."""
    devices = ("--devices", "1xA10,2xT4@12")
    done = CliRunner().invoke(main, ["solve", MODEL, *OPTIONS, *devices, "--as", "vllm"])
    assert done.exit_code == 0
    assert done.stdout.startswith("# vLLM ")
    assert "\nCUDA_DEVICE_ORDER=PCI_BUS_ID CUDA_VISIBLE_DEVICES=" in done.stdout
    assert done.stdout.endswith("--pipeline-parallel-size 3 --tensor-parallel-size 1\n")
    code, graded = boundmark("evaluate", MODEL, done.stdout, *OPTIONS, *devices)
    assert code == 0
    assert "optimal, certified" in graded
    assert "rules=vllm, as the solution is in that form" in " ".join(graded.split())
    file = tmp_path / "split.txt"
    file.write_text("VLLM_PP_LAYER_PARTITION=11,11,10\n")
    code, graded = boundmark("evaluate", MODEL, str(file), *OPTIONS, *devices)
    assert code == 0
    assert "above the optimum" in graded
    assert "is the slowest" in graded


@pytest.mark.parametrize(
    ("tool", "options", "expected"),
    [
        # Small models, whose scores take as long as many layers: they would be alone.
        ("vllm", (), r"vLLM's rules cost \d+\.\d\d %: [\d,]+ ns against [\d,]+ ns without"),
        ("llama.cpp", (), r"llama\.cpp's rules (save|cost) "),
        ("torchtitan", (), "^$"),
        ("torch-pipelining", ("--rules", "vllm"), "vLLM's rules cost "),
        ("accelerate", ("--rules", "none"), "^$"),
    ],
)
def test_what_rules_cost(tool: str, options: tuple[str, ...], expected: str) -> None:
    """The text alone is on standard output, and beside it a sentence about the tool's rules."""
    arguments = ("solve", "language-models/gpt-2", *OPTIONS, "--devices", "5xT4", "--quiet")
    done = CliRunner().invoke(main, [*arguments, "--as", tool, *options])
    assert done.exit_code == 0, done.output
    assert done.stdout.startswith("# ")
    assert "rules" not in done.stdout
    assert re.search(expected, done.stderr.strip()), done.stderr


def test_rules_do_not_save_what_only_the_tool_leaves_out() -> None:
    """Two hosts and no card: llama.cpp's input layer is not counted, and nothing is compared."""
    arguments = ("solve", "language-models/gpt-2", *OPTIONS, "--devices", "cpu:64GiB,cpu:64GiB")
    code, text = boundmark(*arguments, "--rules", "llama.cpp", "--quiet")
    assert code == 0
    assert "the input layer left out" in " ".join(text.split())
    assert "rules " not in text.replace("rules=", "")


def test_what_rules_cost_is_in_the_answer() -> None:
    """A line of its own, and the other answer as an object; the label names the rules."""
    arguments = ("solve", "language-models/gpt-2", *OPTIONS, "--devices", "5xT4", "--rules", "vllm")
    code, text = boundmark(*arguments, "--quiet")
    assert code == 0
    assert "rules=vllm: 14 nodes" in text
    assert re.search(r"^rules {12}vLLM's rules cost", text, re.MULTILINE)
    code, text = boundmark(*arguments, "--json")
    answer = json.loads(text)
    assert answer["without_rules"]["optimal"]
    assert answer["without_rules"]["objective"] < answer["objective"]


def test_a_split_that_the_tool_cannot_have_names_its_rule() -> None:
    """If the search was free of rules."""
    arguments = ("solve", "language-models/gpt-2", *OPTIONS, "--devices", "5xT4", "--rules", "none")
    code, text = boundmark(*arguments, "--as", "vllm")
    assert code == 2
    assert "a stage begins with 'lm_head', which vLLM cannot have" in text


def test_all_of_sixteen_equal_devices_are_used_in_order() -> None:
    """With a line for each host; fewer if the user says so, and one host if that is large."""
    arguments = ("solve", MODEL, *OPTIONS, "--devices", "16xA100-80GB", "--quiet", "--as", "vllm")
    done = CliRunner().invoke(main, [*arguments])
    lines = done.stdout.splitlines()
    assert [line for line in lines if line.startswith("# host")] == [
        "# host 0: devices 0 to 7", "# host 1: devices 8 to 15"
    ]  # fmt: skip
    assert lines[2].count("CUDA_VISIBLE_DEVICES=0,1,2,3,4,5,6,7 VLLM") == 1
    assert lines[4].endswith("--pipeline-parallel-size 16 --tensor-parallel-size 1 --nnodes 2 "
                             "--node-rank 1 --master-addr HOST --headless")  # fmt: skip
    code, graded = boundmark("evaluate", MODEL, done.stdout, *arguments[2:-2], "--json")
    found = json.loads(graded)
    assert (code, found["optimal"], len(found["stages"])) == (0, True, 16)
    done = CliRunner().invoke(main, [*arguments, "--use-fewer", "--hosts", "16"])
    assert int(re.search(r"--pipeline-parallel-size (\d+)", done.stdout)[1]) < 16  # type: ignore[index]
    code, text = boundmark(*arguments, "--hosts", "2x4")
    assert code == 2
    assert "hosts are '2x4', 8 devices together; expected the number of devices of each" in text


# What people paste, before or after options.
PASTED = [
    ("9,14,8,1", [10, 14, 8, 2], False),
    ("[9, 14, 8, 1]", [10, 14, 8, 2], False),
    ("SGLANG_PP_LAYER_PARTITION=9,14,8,1", [10, 14, 8, 2], True),
    ("export VLLM_PP_LAYER_PARTITION='9,14,8,1'", [10, 14, 8, 2], True),
    ("llama-server -m x.gguf -c 8192 -ngl 99 -ts 1,1,1,1", [10, 8, 8, 8], True),
    ("-ts 3,1", [26, 8], True),
    ("Et*16|t*16L", [17, 17], False),
    ("pp_partition: [16, 16]", [17, 17], True),
    ("parts=[0, 17, 34]", [17, 17], False),
    ('{"model.embed_tokens": 0, "model.layers": 0, "lm_head": 1}', [33, 1], False),
    ("module_fqns_per_model_part=[['tok_embeddings', "
     + ", ".join(f"'layers.{at}'" for at in range(32)) + "], ['norm', 'output']]", [33, 1], False),
]  # fmt: skip


@pytest.mark.parametrize("is_first", [True, False])
@pytest.mark.parametrize(("text", "counts", "has_rules"), PASTED)
def test_what_people_paste(text: str, counts: list[int], has_rules: bool, is_first: bool) -> None:
    """No ``--`` is needed; the tool's rules count unless the user says otherwise."""
    options = ("--devices", "4xA100-80GB", "--json", "--library", "none")
    places = (MODEL, text, *OPTIONS, *options) if is_first else (*options, *OPTIONS, MODEL, text)
    code, graded = boundmark("evaluate", *places)
    assert code == 0, graded
    found = json.loads(graded)
    assert [stage["layers"] for stage in found["stages"]] == counts
    assert ("rules=" in found["instance"]) == has_rules
    assert any("read as" in one for one in found["warnings"])
    code, graded = boundmark("evaluate", *places, "--rules", "none")
    assert "rules=" not in json.loads(graded)["instance"]


def test_options_that_are_not_looked_at_are_named() -> None:
    """And what is neither a file nor a split names the forms."""
    devices = ("--devices", "4xA100-80GB")
    text = "llama-server -m x.gguf -c 8192 --mlock -ts 1,1"
    code, graded = boundmark("evaluate", MODEL, text, *OPTIONS, *devices)
    assert code == 0
    assert "not looked at: -c, --mlock" in graded
    code, graded = boundmark("evaluate", MODEL, "split.txt", *OPTIONS, *devices)
    assert code == 2
    assert "'split.txt' is neither a file nor a split in a form that is read; expected" in graded
    assert "-ts 3,1 --n-cpu-moe 20, a layout of Megatron-LM such as" in graded


@pytest.mark.parametrize(
    ("layers", "text", "counts"),
    [
        # github.com/ggml-org/llama.cpp, tools/server/README.md: "list of proportions, e.g. 3,1".
        (32, "-ts 3,1", [26, 8]),
        # docs.nvidia.com/megatron-core, "Custom Pipeline Model Parallel Layout": the second stage
        # is empty.
        (1, '--pipeline-model-parallel-layout "E||t|L"', [1, 1, 1]),
        # github.com/pytorch/torchtitan, torchtitan/config/job_config.py, "e.g.".
        (32, "pipeline_parallel_split_points=layers.0,layers.2", [1, 2, 31]),
    ],
)
def test_examples_of_documentations_are_graded(
    layers: int, text: str, counts: list[int], tmp_path: Path
) -> None:
    """As they stand there, for a model with as many layers as they are for."""
    llama = Path(__file__).parents[3] / "datasets/layers/configs/llama-3-70b.json"
    config = tmp_path / "config.json"
    config.write_text(json.dumps({**json.loads(llama.read_text()), "num_hidden_layers": layers}))
    code, graded = boundmark(
        "evaluate",
        *OPTIONS,
        "--devices",
        "4xA100-80GB",
        "--json",
        str(config),
        text,
        "--rules",
        "none",
    )
    assert code == 0, graded
    found = json.loads(graded)
    assert [stage["layers"] for stage in found["stages"]] == counts
    assert found["optimal"] == (layers == 1)


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("solve", MODEL, *OPTIONS, "--devices", "4xA10", "--as", "vlm"), "did you mean vllm"),
        (("solve", MODEL, *OPTIONS, "--devices", "4xA10", "--as", "tgi"), "vllm, sglang"),
        (
            ("evaluate", MODEL, "VLLM_PP_LAYER_PARTITION=1,2", *OPTIONS, "--devices", "2xA10"),
            "the stages have 3 layers together; expected 32",
        ),
        (
            ("solve", "language-models/llama-3-70b", *OPTIONS, "--devices", "2xA10"),
            "are missing; expected more memory",
        ),
        (
            ("solve", "onnx-light/alexnet", "-k", "2", "--as", "vllm"),
            "a tool for problem 'layers'; for",
        ),
    ],
)
def test_mistakes_are_a_sentence(arguments: tuple[str, ...], expected: str) -> None:
    """And never a traceback."""
    code, text = boundmark(*arguments)
    assert code == 2
    assert expected in text
    assert "Traceback" not in text


NEW = {
    "model_type": "brand_new", "hidden_size": 64, "num_attention_heads": 4, "vocab_size": 100,
    "num_hidden_layers": 6, "intermediate_size": 128, "torch_dtype": "bfloat16",
}  # fmt: skip


def test_a_family_that_is_not_known_is_told(tmp_path: Path) -> None:
    """The way out is first; what the model was read as stands beside what was proven."""
    model = tmp_path / "new.json"
    model.write_text(json.dumps(NEW))
    code, text = boundmark("solve", str(model), *OPTIONS, "--devices", "2xH100")
    assert code == 2
    assert "new.json: model_type is 'brand_new', and what its layers have is not known" in text
    assert "--family llama. Otherwise expected a table of layers (.csv)" in text
    code, text = boundmark("datasets", "show", str(model))
    assert code == 0
    assert "'brand_new', which is not known" in text
    llama = (*OPTIONS, "--devices", "2xH100", "--family", "llama")
    code, text = boundmark("solve", str(model), *llama)
    assert code == 0
    gap = " ".join(text[text.index("\ngap ") : text.index("\nsuch costs")].split())
    assert re.fullmatch(r"gap 0 \(optimal, certified\), on .*, read as llama", gap)
    assert "model_type 'brand_new' is not known" in text
    code, text = boundmark("evaluate", str(model), "VLLM_PP_LAYER_PARTITION=3,3", *llama, "--json")
    found = json.loads(text)
    assert (found["optimal"], found["read_as"]) == (True, "llama")
    assert found["costs"].endswith(", read as llama")
    code, text = boundmark("solve", str(model), *llama, "--micro-batches", "1,2", "--wide")
    assert text.splitlines()[0].endswith(", read as llama")
    code, text = boundmark("solve", MODEL, *llama)
    assert code == 2
    assert "family is 'llama', and what the model's layers have is known; expected none" in text


def test_bytes_of_the_weights_are_those_that_are_used() -> None:
    """With bits of one's own: 32.85 GiB of Llama 3 70B, which two devices hold."""
    bits = ("--weight-bits", "4", "--cache-bits", "8", "--devices", "2xH100", "--json")
    code, text = boundmark("solve", "language-models/llama-3-70b", *OPTIONS, *bits)
    found = json.loads(text)
    assert code == 0
    assert found["model"]["weights"] == "32.85 GiB (35.28 GB)"
    assert found["model"]["KV cache"] == "160.0 KiB for each token of a sequence"
    cache = 80 * 2 * 8 * 128 * 1024 * found["sequences_in_flight"]
    assert sum(stage["memory"] for stage in found["stages"]) - cache == 70_553_706_496 // 2


def test_experts_on_the_host() -> None:
    """The answer says how many layers have them there, is proven, and stands beside no other."""
    given = ("language-models/gpt-oss-20b", "--devices", "3060,cpu:64GiB", "--goal", "latency")
    options = (*given, "--problem", "layers", "--rules", "llama.cpp", "--library", "none")
    code, text = boundmark("solve", *options, "--json")
    assert code == 0, text
    answer = json.loads(text)
    split = answer["split"]
    assert 0 < split["layers"] < split["most"] == 24
    assert split["bytes"] <= split["room"]
    assert answer["solution"]["configuration"] == [split["layers"]]
    assert (answer["optimal"], answer["bound_kind"]) == (True, "layer-choices/1")
    assert "without_rules" not in answer
    code, text = boundmark("solve", *options)
    assert f"a part of the first {split['layers']} of 24 layers, " in text
    assert "first layers or their experts on the host" in " ".join(text.split())
