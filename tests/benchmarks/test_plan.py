"""The search for the best parallelism: what is asked, what is answered, and what is refused."""

import itertools
import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from command_line import Boundmark
from recording import record

from boundmark.benchmarks.plan import PlanAnswer, plan, start_lines
from boundmark.benchmarks.solving.model import named_instance
from boundmark.bounds import checker
from boundmark.problems.errors import BoundmarkError, InvalidInputError

MODEL = "language-models/llama-3-8b"
CLUSTERS = ("3x4xA10@10", "2x4xA10@10", "1x4xA10,1x2xT4@10", "1x8xA10")


@pytest.fixture(scope="module")
def asked() -> PlanAnswer:
    """Sixteen sequences on four cards that are joined by PCIe."""
    return plan(MODEL, "4xA10", sequences=16, quiet=True)


def test_costs_are_those_of_the_problem(asked: PlanAnswer) -> None:
    """Each configuration of a single replica costs what `solve` finds for its groups."""
    compared = 0
    for row in asked.found.rows:
        t, d, _, m, b, _ = row.name
        if row.cost is None or d > 1:
            continue
        given = {
            "devices": f"{4 // t}x{t}xA10" if t > 1 else "4xA10", "goal": "round", "batch": b,
            "micro_batches": m, "phase": "decode", "context": 4096, "device_order": "given",
        }  # fmt: skip
        sample = named_instance(MODEL, given, "layers", are_texts=False).instance
        assert record("layer-reach", sample).bounds[-1].bound == row.cost
        compared += 1
    assert compared >= 5


def test_the_answer(asked: PlanAnswer) -> None:
    """It is proven, its numbers belong together, and its parts add up."""
    assert asked.is_optimal
    assert asked.gap == 0
    assert asked.configuration == {"t": 4, "p": 1, "d": 1, "e": 1, "m": 1, "b": 16, "r": 0}
    assert asked.cost is not None
    assert asked.tokens_per_second == pytest.approx(16e9 / asked.cost)
    assert asked.check() == asked.bound
    assert repr(asked).endswith(" tokens a second, optimal>")
    row = asked.row("t=1,d=2")
    stages = asked.explain(row)
    loads = [one.computing + one.reducing + one.sending + one.overhead for one in stages]
    assert row.cost == max(sum(loads), row.name[3] * max(loads))
    assert all(0 < one.weights + one.cache <= one.capacity for one in stages)
    table = asked.table
    assert len(table) == len(asked.found.rows)
    assert table["cost"].dropna().is_monotonic_increasing
    whole = asked.to_json()
    assert json.loads(json.dumps(whole)) == whole
    assert "vllm serve meta-llama/" in whole["start"]
    assert whole["start"].endswith("--pipeline-parallel-size 1 --tensor-parallel-size 4")


def test_overhead_counts_for_each_stage(asked: PlanAnswer) -> None:
    """A round has one for each stage, or for each micro-batch on the slowest one."""
    slower = plan(MODEL, "4xA10", sequences=16, overhead="1ms", fix={"t": 4}, quiet=True)
    assert slower.cost == (asked.cost or 0) + 10**6
    pipeline = plan(MODEL, "4xA10", sequences=16, overhead=0.001, fix="t=1,d=1,p=4,b=4", quiet=True)
    before = asked.row("t=1,d=1,b=4").cost or 0
    assert (pipeline.cost or 0) - before >= 4 * 10**6
    assert {part.overhead for part in pipeline.explain()} == {10**6}


def test_restrictions(asked: PlanAnswer) -> None:
    """They leave out configurations; those that are left cost the same."""
    some = plan(MODEL, "4xA10", sequences=16, at_most="t=2", fix="d=1", quiet=True)
    assert {row.name[:2] for row in some.found.rows} == {(1, 1), (2, 1)}
    costs = {row.name: row.cost for row in asked.found.rows}
    for row in some.found.rows:
        assert costs[row.name] in (row.cost, None)


def test_rules_of_a_tool() -> None:
    """VLLM has a repeated layer in each stage, where many stages would begin with none."""
    asked: dict[str, Any] = {"sequences": 34, "fix": "t=1,d=1,b=1", "quiet": True}
    devices, small = "34xA10", "language-models/llama-3-8b"
    free, ruled = (plan(small, devices, rules=rules, **asked) for rules in ("none", "vllm"))
    assert free.to_json()["start"].startswith("# No line of vLLM starts this split: ")
    assert (free.cost or 0) <= (ruled.cost or 0)
    counts = ruled.to_json()["start"].partition("PARTITION=")[2].partition(" ")[0].split(",")
    assert sum(map(int, counts)) == 32
    assert "0" not in counts


def test_hosts_that_are_far_apart_get_a_replica_each() -> None:
    """Over a slow link, nobody sends activations for every token."""
    answer = plan(MODEL, "2x4xA10@0.1", sequences=16, quiet=True)
    assert answer.is_optimal
    assert answer.configuration is not None
    assert (answer.configuration["d"], answer.configuration["p"]) == (2, 1)
    one_host = plan(MODEL, "8xA10", sequences=16, quiet=True)
    assert (one_host.cost or 0) <= (answer.cost or 0)


def test_the_most_that_fits_within_a_limit() -> None:
    """More sequences give more tokens a second, until the limit on the time between them."""
    free = plan(MODEL, "2xA10", quiet=True)
    limited = plan(MODEL, "2xA10", tpot="20ms", quiet=True)
    assert free.is_optimal
    assert limited.is_optimal
    assert (limited.tokens_per_second or 0) < (free.tokens_per_second or 0)
    stages = [one.computing + one.reducing + one.sending for one in limited.explain()]
    m = limited.found.rows[0].name[3]
    assert max(sum(stages), m * max(stages)) <= 20_000_000
    assert any("no cut gives a token every 20 ms" in one for one in limited.table["why"])
    prompts = plan(MODEL, "2xA10", goal="prefill", context=1024, quiet=True)
    assert prompts.is_optimal
    assert (prompts.tokens_per_second or 0) > 1000


def test_a_limit_on_the_first_token() -> None:
    """It leaves as many stages as a prompt may go through; without tensor parallelism, none."""
    alone = plan(MODEL, "4xA10", goal="prefill", fix="t=1,d=1,p=1,b=1", quiet=True)
    milliseconds = (alone.explain()[0].computing + alone.explain()[0].reducing) / 1e6
    # A prompt of 4,096 tokens of 4,096 dimensions takes 1.4 ms over 24 GB/s.
    limited = plan(MODEL, "4xA10", sequences=8, ttft=f"{milliseconds + 1.5:.2f}ms", quiet=True)
    stages = {row.name[0]: set[int]() for row in limited.found.rows}
    for row in limited.found.rows:
        stages[row.name[0]].add(len(set(row.devices)))
    assert max(stages[1]) == 2
    assert any("so there may be 2 stages" in note for note in limited.question.notes)
    less = plan(MODEL, "4xA10", sequences=8, ttft=f"{milliseconds - 1:.2f}ms", quiet=True)
    assert {row.name[0] for row in less.found.rows} == {2, 4}
    with pytest.raises(InvalidInputError, match="nothing may be chosen"):
        plan(MODEL, "4xA10", sequences=8, ttft="1ms", quiet=True)
    with pytest.raises(InvalidInputError, match="devices differ; expected one kind"):
        plan(MODEL, "1x2xA10,1x2xT4@10", ttft="1s", quiet=True)


def test_the_front(tmp_path: Path) -> None:
    """No configuration has shorter rounds and a higher rate than one on it."""
    answer = plan(MODEL, "2xA10", at_most="b=16", quiet=True, wanted=1000)
    front = answer.front()
    assert front["milliseconds"].is_monotonic_increasing
    assert front["tokens_per_second"].is_monotonic_increasing
    assert (front["least_milliseconds"] == front["milliseconds"]).all()
    unit = answer.question.table["unit"]
    for row in answer.found.rows:
        if row.cost is not None:
            _, d, _, m, b, _ = row.name
            time, rate = row.cost * d * m * b / unit / 1e6, answer.question.rate(row.cost)
            better = (front["milliseconds"] <= time + 1e-3) & (
                front["tokens_per_second"] >= rate * (1 - 1e-6)
            )
            assert better.any()
    assert front["tokens_per_second"].max() == pytest.approx(answer.tokens_per_second)
    axes = answer.plot()
    assert [line.get_label() for line in axes.lines[:2]] == ["certified bound", "best found"]
    axes.figure.savefig(tmp_path / "front.svg")
    with pytest.raises(InvalidInputError, match="the goal is not decode"):
        plan(MODEL, "2xA10", goal="prefill", fix="b=1", quiet=True).front()


def test_training() -> None:
    """A step is the makespan and, unless that is hidden, the sum of the replicas' gradients."""
    given: dict[str, Any] = {"goal": "training", "sequences": 8, "context": 2048, "quiet": True}
    answer = plan(MODEL, "4xA100-80GB", **given)
    hidden = plan(MODEL, "4xA100-80GB", overlap=True, **given)
    costs = {row.name: row.cost for row in hidden.found.rows}
    assert answer.is_optimal
    assert hidden.is_optimal
    compared = 0
    for row in answer.found.rows:
        if row.cost is None or costs[row.name] is None:
            continue
        t, d, _, m, b, _ = row.name
        assert d * m * b == 8
        stages = answer.explain(row)
        loads = [one.computing + one.reducing + one.sending for one in stages]
        assert costs[row.name] == sum(loads) + (m - 1) * max(loads)
        if d > 1:
            gradients = 4 * 8.03e9 / t
            groups = 4 // (t * d)
            seconds = 2 * (d - 1) / d * gradients / 300e9 / groups
            assert row.cost - costs[row.name] == pytest.approx(1e9 * seconds, rel=1e-3)
            compared += 1
    assert compared
    assert "--pipeline-model-parallel-layout" in answer.to_json()["start"]
    again = plan(MODEL, "4xA100-80GB", recompute="full", fix="t=4", **given)
    assert {row.name[5] for row in again.found.rows} == {1}
    assert again.to_json()["start"].count("--recompute-granularity full") == 1
    apart = plan(MODEL, "4xA100-80GB", shard_optimizer=True, fix="t=2,d=2", **given)
    (stage,), (whole,) = apart.explain(), answer.explain(answer.row("t=4,d=1,p=1,r=0"))
    # 12 of 16 bytes for each parameter are divided by two.
    assert stage.weights == pytest.approx(whole.weights * (4 + 6) / 16, rel=1e-6)
    assert "--use-distributed-optimizer" in apart.to_json()["start"]
    # Too little memory for activations, and enough for the inputs of layers.
    small = plan(MODEL, "4xA100-80GB", fix="t=4,b=8", **{**given, "context": 8192})
    assert small.configuration is not None
    assert small.configuration["r"] == 1
    (full,) = (row for row in small.found.rows if not row.name[5])
    assert "missing" in small.reason(full)


def test_experts_on_several_replicas() -> None:
    """They take less memory and traffic, and exchanges of tokens."""
    mixture = "language-models/mixtral-8x7b"
    answer = plan(mixture, "2x4xA100-80GB@50", sequences=64, quiet=True, wanted=100)
    assert answer.is_optimal
    rows = {row.name: row for row in answer.found.rows if row.cost is not None}
    (alone,) = answer.explain(rows[4, 2, 1, 1, 32, 0])
    (shared,) = answer.explain(rows[4, 2, 2, 1, 32, 0])
    assert alone.exchanging == 0
    # 32 layers send 32 tokens, two experts each, there and back; half of it to the other host.
    bytes_ = 32 * 2 * 32 * 2 * 4096 * 2
    assert shared.exchanging == pytest.approx(1e9 * bytes_ / 4 / 2 / 50e9, rel=0.01)
    assert alone.weights - shared.weights == 32 * 8 * 3 * 4096 * 14336 * 2 // 2
    # All devices have experts of their own, whose number is a multiple.
    wide = plan(mixture, "2x4xA100-80GB@50", sequences=64, fix="e=8", quiet=True)
    assert {row.name[0] * row.name[2] for row in wide.found.rows} == {8}
    assert "--enable-expert-parallel" in wide.to_json()["start"]
    some = plan(mixture, "2x4xA100-80GB@50", sequences=64, fix="t=1,e=2,d=4,p=2", quiet=True)
    note, *lines = some.to_json()["start"].splitlines()[1:]
    assert note.startswith("# SGLang numbers ranks stage after stage")
    assert len(lines) == 4
    for text in lines[1::2]:
        assert "--pp-size 2 --tp-size 4 --dp-size 4 --enable-dp-attention --ep-size 2 " in text
        assert "CUDA_VISIBLE_DEVICES=0,1,2,3 " in text
    with pytest.raises(InvalidInputError, match="no e is allowed for 8 experts"):
        plan(mixture, "2x4xA100-80GB@50", sequences=64, fix="e=6", quiet=True)


@pytest.mark.parametrize(
    ("devices", "goal"),
    [
        (CLUSTERS[0], "training"),
        *((one, "decode") for one in CLUSTERS),
        *(pytest.param(one, "training", marks=pytest.mark.slow) for one in CLUSTERS[1:]),
    ],
)
def test_every_rank_is_in_a_place_of_its_own(devices: str, goal: str) -> None:
    """Lines start each replica's groups within one host, and hosts one after another."""
    given: dict[str, Any] = {"sequences": 12, "context": 64, "quiet": True, "wanted": 100}
    small = "language-models/gemma-3-1b"
    answer = plan(small, devices, goal=goal, rules="megatron" * (goal == "training") or "none",
                  **given)  # fmt: skip
    sizes = [count for _, count in answer.question.hosts.hosts]
    starts = [sum(sizes[:at]) for at in range(len(sizes))]
    seen = 0
    for row in answer.found.rows:
        if row.cost is None:
            continue
        t, d = row.name[:2]
        p = len(set(row.devices))
        launch = answer.question.launch(row.name, row.devices, "M")
        assert len(launch.ranks) == t * d * p == len(set(launch.ranks))
        homes = [max(at for at, start in enumerate(starts) if start <= one) for one in launch.ranks]
        groups = [set(homes[at : at + t]) for at in range(0, len(homes), t)]
        assert all(len(group) == 1 for group in groups)
        # A replica is in one host or has its hosts alone.
        own = [set(homes[at : at + t * p]) for at in range(0, len(homes), t * p)]
        for one, other in itertools.combinations(own, 2):
            assert not one & other or one == other
        text = start_lines("M", answer.question, row)
        if "# No line" in text:
            continue
        ranks = [int(one) for one in re.findall(r"--nproc-per-node (\d+)", text)]
        if goal == "training":
            assert sum(ranks) == t * d * p
        elif d > 1:
            assert f"--data-parallel-size {d}" in text
        seen += 1
    assert seen > 3


def test_replicas_of_tools_without_them() -> None:
    """One of them is started, and a comment says so."""
    answer = plan(MODEL, "4xA10", sequences=16, fix="t=2,d=2", rules="tensorrt-llm", quiet=True)
    release, note, *_ = answer.to_json()["start"].splitlines()
    assert release.startswith("# TensorRT-LLM")
    assert note == "# One of 2 replicas, each on devices of its own."
    assert "CUDA_VISIBLE_DEVICES=0,1 trtllm-serve" in answer.to_json()["start"]


def test_mixed_hosts() -> None:
    """Stages of unlike hosts, in any order."""
    answer = plan(MODEL, "1x2xA10,1x2xT4@10", sequences=8, quiet=True)
    assert answer.is_optimal
    stages = answer.explain(answer.row("t=1,d=1,m=4"))
    assert {part.devices for part in stages} == {"nvidia-a10", "nvidia-t4"}


def test_nothing_is_possible() -> None:
    """Which is certified, too."""
    answer = plan("language-models/llama-3-70b", "2xA10", sequences=4, quiet=True)
    assert (answer.cost, answer.bound, answer.configuration) == (None, None, None)
    assert answer.found.is_impossible
    assert all("missing" in one for one in answer.table["why"])
    assert repr(answer).endswith("no configuration is possible>")
    with pytest.raises(InvalidInputError, match="has no cut to explain"):
        answer.explain()


def test_files_for_the_checker(asked: PlanAnswer, tmp_path: Path) -> None:
    """The checker alone accepts them; of a question without the best, it accepts nothing."""
    question, *others = map(str, asked.save(tmp_path / "answer"))
    command = [sys.executable, "-m", "boundmark.bounds.checker", question, *others]
    assert subprocess.run(command, check=False).returncode == 0
    document = json.loads(Path(question).read_text())
    for forged in (
        {**document, "tensor": [1, 2], "stages": document["stages"][:2]},
        {**document, "data": [2, 4]},
        {**document, "sequences": 15},
    ):
        for found in (asked.found.certificate, asked.found.solution):
            assert found is not None
            check: Callable[..., int] = (
                checker.check_certificate if "bound" in found else checker.check_solution
            )
            with pytest.raises(checker.Rejected, match="instance_sha256"):
                check(forged, found)


@pytest.mark.parametrize(
    ("model", "devices", "given", "expected"),
    [
        ("onnx-light/squeezenet", "4xA10", {}, "expected a language model's configuration"),
        (MODEL, "", {}, "devices are not given; expected '16xH100' for one host"),
        (MODEL, "2x4xA10", {}, "2 hosts; expected the rate between hosts"),
        (MODEL, "4xA10@5", {}, "one host; expected the rate between hosts"),
        (MODEL, "4xA10", {"goal": "speed"}, "goal is 'speed'; expected decode, prefill"),
        (MODEL, "4xA10", {"goal": "prefill", "sequences": 4}, "expected none: prompts follow"),
        (MODEL, "4xA10", {"goal": "prefill", "tpot": "1ms"}, "goal is prefill; expected decode"),
        (MODEL, "4xA10", {"tpot": "fast"}, "tpot is 'fast'; expected a time such as 30ms"),
        (MODEL, "4xA10", {"fix": "x=3"}, "fix has 'x=3'; expected numbers of t, p, d, e, b"),
        (MODEL, "4xA10", {"fix": "t=2,t=4"}, "fix has 't' twice"),
        (MODEL, "4xA10", {"fix": "v=2"}, "virtual stages .* cannot be planned yet"),
        (MODEL, "4xA10", {"fix": "t=3"}, "tensor_parallel is 3, and layer"),
        (MODEL, "4xA10", {"fix": "t=8"}, "no number of devices may split the layers"),
        (MODEL, "4xA10", {"fix": "d=9"}, "nothing may be chosen: expected fewer restrictions"),
        (MODEL, "1x2xA10,1x2xT4@9", {"fix": "p=2"}, "stages are limited, and hosts differ"),
        (MODEL, "4xA10", {"goal": "training"}, "expected those of a step of training"),
        (MODEL, "4xA10", {"overlap": True}, "the goal is decode; expected training"),
        (MODEL, "4xA10", {"recompute": "selective"}, "Selective recomputation is that of"),
        (MODEL, "4xA10", {"fix": "e=2"}, "e is given, and there are no experts"),
        (MODEL, "4xA10", {"sequences": -1}, "sequences is -1; expected 0 to 2"),
        (MODEL, "dgx-a100", {}, "devices have 'dgx-a100', a cluster; expected '16xH100'"),
        (MODEL, "4xA10", {"rules": "tgi"}, "there is no tool 'tgi' in rules"),
        (MODEL, "4xA10", {"rules": "llama.cpp"}, "which has no groups; expected another tool"),
        (MODEL, "4xA10", {"sequences": 2**21}, "sequences are 2097152; expected 1 to 1,048,576"),
        (MODEL, "2000xA10", {}, "there are 2000 devices; expected at most 1024"),
    ],
)
def test_what_is_refused(model: str, devices: str, given: dict[str, Any], expected: str) -> None:
    """By name, in one sentence."""
    with pytest.raises(BoundmarkError, match=expected):
        plan(model, devices, quiet=True, **given)


def test_the_command(boundmark: Boundmark, tmp_path: Path) -> None:
    """It prints what the function returns."""
    done = boundmark(
        "plan", MODEL, "--devices", "4xA10", "--sequences", 16, "--out", tmp_path, "--quiet",
        "--explain", "t=2,d=2", "--top", 3,
    )  # fmt: skip
    for text in (
        "TP 4 x PP 1 x DP 1: 1,4", "none of 12 configurations is faster (optimal", "start",
        "others: ", "stages of TP 2 x PP 1 x DP 2", "2xnvidia-a10", "certificate.json",
        "vLLM 0.33.0\nCUDA_DEVICE_ORDER=PCI_BUS_ID CUDA_VISIBLE_DEVICES=0,1,2,3 VLLM_PP",
    ):  # fmt: skip
        assert text in done.stdout
    again = boundmark("plan", MODEL, "--devices", "4xA10", "--sequences", 16, "--json", "--all")
    answer = json.loads(again.stdout)
    assert answer["optimal"]
    assert len(answer["configurations"]) == 12
    none = boundmark("plan", "language-models/llama-3-70b", "--devices", "2xA10", check=False)
    assert none.returncode == 3
    assert "no configuration is possible (certified)" in none.stdout
    wrong = boundmark("plan", MODEL, "--devices", "4xA10", "--global-batch", 4, check=False)
    assert wrong.returncode == 2
    assert "--global-batch is given, and the goal is decode; see --sequences" in wrong.stderr
