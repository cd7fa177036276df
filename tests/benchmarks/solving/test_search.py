import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from chains import chain
from command_line import Boundmark

from boundmark.benchmarks.running.planning import NamedInstance
from boundmark.benchmarks.running.settings import RunSettings
from boundmark.benchmarks.solving.own_method import method_choice
from boundmark.benchmarks.solving.rounds import MethodPlan, SolvingOptions
from boundmark.benchmarks.solving.search import solve
from boundmark.problems.catalog import datasets, problems
from boundmark.problems.microbatch import MicrobatchInstance
from boundmark.problems.pipeline import PipelineInstance
from boundmark.reports.stored.store import ResultStore

KEYS = {
    "instance_sha256", "problem", "objective", "certified_bound", "claimed_bound", "gap",
    "optimal", "method", "solution", "certificate", "seconds",
}  # fmt: skip
QUICK = ("--method", "slicegraph", "--method", "fractional-load")


def test_json_object_can_be_checked(boundmark: Boundmark, tmp_path: Path) -> None:
    """Solution and certificate in the output are the documents that the checker accepts."""
    out = tmp_path / "out"
    answer = json.loads(
        boundmark("solve", "onnx-light/resnet50", "-k", 8, "--json", "--out", out, *QUICK).stdout
    )
    assert set(answer) >= KEYS
    assert answer["problem"] == "pipeline"
    assert answer["certified_bound"] <= answer["objective"]
    assert answer["gap"] == answer["objective"] / answer["certified_bound"] - 1
    assert answer["optimal"] == (answer["gap"] == 0)
    files = []
    for key in ("solution", "certificate"):
        files.append(tmp_path / f"{key}.json")
        files[-1].write_text(json.dumps(answer[key]))
    instance = out / "instances" / f"{answer['instance_sha256']}.json"
    assert "2 accepted, 0 rejected" in boundmark("verify", instance, *files).stdout


def test_answer_for_people(boundmark: Boundmark) -> None:
    """A table of the stages, the cost, the certified bound and the gap."""
    text = boundmark("solve", "onnx-light/squeezenet", "-k", 4, "--quiet", *QUICK).stdout
    lines = text.splitlines()
    assert lines[1].split()[:3] == ["stage", "nodes", "work"]
    assert [line.split()[0] for line in lines[2:6]] == ["0", "1", "2", "3"]
    for word in ("cost ", "certified bound", "gap "):
        assert any(line.startswith(word) for line in lines)


def test_compiling_is_told_and_is_no_time_of_the_search(
    boundmark_process: Boundmark, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first search compiles what its methods need, before the clock; the second nothing."""
    command = ("solve", "onnx-light/squeezenet", "-k", 4, "--method", "pipedream", "--quiet")
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "cache"))
    assert re.search(r"^compiling +\d+\.\d s ", boundmark_process(*command).stdout, re.MULTILINE)
    assert json.loads(boundmark_process(*command, "--json").stdout)["compile_seconds"] == 0


def test_throughput_and_latency_stand_beside_the_bottleneck(boundmark: Boundmark) -> None:
    """A partition's cost is the time between inputs; an input passes all stages with nodes."""
    one = ("solve", "onnx-light/vgg19", "-k", 4, "--method", "slicegraph", "--quiet")
    answer = json.loads(boundmark(*one, "--json").stdout)
    stages = len(set(answer["solution"]["stages"]))
    assert answer["input_latency"] == stages * answer["objective"]
    assert answer["throughput_per_second"] == 1e9 / answer["objective"]
    text = boundmark(*one).stdout
    assert f"throughput       {answer['throughput_per_second']:,.0f} inputs a second" in text
    assert (
        f"latency          {answer['input_latency'] / 1e6:.3f} ms for one input (4 stages" in text
    )
    assert "cache " not in text


def test_where_parameters_overflow_the_cache_is_stated(boundmark: Boundmark) -> None:
    """It is the same for each stage; ticks without a unit are no seconds."""
    one = ("solve", "zoo/gpt-3-13b", "--device", "raspberry-pi-5", "-k", 2, "--quiet")
    done = boundmark(*one, "--method", "uniform", "--json")
    answer = json.loads(done.stdout)
    text = " ".join(boundmark(*one, "--method", "uniform").stdout.split())
    assert f"cache parameters of {answer['cache']:,} ns in each stage" in text
    random = ("solve", "regal-style/erdos-renyi-1", "-k", 2, "--method", "uniform", "--quiet")
    answer = json.loads(boundmark(*random, "--json").stdout)
    assert answer["throughput_per_second"] is None
    assert f"1 input in {answer['objective']:,} ticks" in boundmark(*random).stdout


def test_devices_change_costs(boundmark: Boundmark, tmp_path: Path) -> None:
    """The answer and the rows say which device it was; the usual one is the same as before."""
    out = tmp_path / "out"
    one = ("solve", "onnx-light/alexnet", "-k", 1, "--method", "slicegraph", "--out", out, "--json")
    answers = [
        json.loads(boundmark(*one, *device).stdout)
        for device in ((), ("--device", "nvidia-t4"), ("--device", "raspberry-pi-5"))
    ]
    assert [answer["device"] for answer in answers] == ["nvidia-t4", "nvidia-t4", "raspberry-pi-5"]
    assert answers[0]["instance_sha256"] == answers[1]["instance_sha256"]
    assert answers[2]["objective"] > 10 * answers[0]["objective"]
    assert "device=raspberry-pi-5" in answers[2]["instance"]
    rows = ResultStore.open(out).results()
    assert sorted(rows["device"]) == ["nvidia-t4", "raspberry-pi-5"]
    boundmark("verify", out)
    page = boundmark("report", out).stdout
    assert "onnx-light/alexnet on nvidia-t4" in page
    assert "onnx-light/alexnet on raspberry-pi-5" in page


def test_costs_that_there_are_have_no_device(boundmark: Boundmark) -> None:
    """The row says so, and naming one is a mistake."""
    one = ("solve", "regal-style/erdos-renyi-1", "-k", 2, "--method", "slicegraph", "--json")
    assert json.loads(boundmark(*one).stdout)["device"] == ""
    done = boundmark(*one, "--device", "nvidia-t4", check=False)
    assert done.returncode == 2
    assert "device is 'nvidia-t4', but a PipelineGraph comes with costs" in " ".join(
        done.stderr.split()
    )


def test_proven_optimum_is_called_optimal(boundmark: Boundmark) -> None:
    """One stage holds everything: cost and mean work coincide."""
    done = boundmark(
        "solve", "onnx-light/alexnet", "-k", 1, "--method", "slicegraph", "--method", "mean-work",
        "--quiet",
    )  # fmt: skip
    assert "0 (optimal, certified)" in done.stdout


def test_own_files(boundmark: Boundmark, tmp_path: Path) -> None:
    """A CostGraphDef text and an instance file are as good as a data set's member."""
    path = tmp_path / "chain.pbtxt"
    path.write_text(
        'node { name: "a" id: 0 output_info { size: 5 } compute_cost: 10 }\n'
        'node { name: "b" id: 1 input_info { preceding_node: 0 } compute_cost: 10 }\n'
    )
    out = tmp_path / "out"
    answer = json.loads(boundmark("solve", path, "-k", 2, "--json", "--out", out, *QUICK).stdout)
    assert answer["objective"] == 15
    instance = out / "instances" / f"{answer['instance_sha256']}.json"
    again = json.loads(boundmark("solve", instance, "-k", 2, "--json", *QUICK).stdout)
    assert again["instance_sha256"] == answer["instance_sha256"]


def test_default_methods_prove_a_narrow_model_optimal(boundmark: Boundmark, tmp_path: Path) -> None:
    """Where down-sets are few, no gap is left, and the kernels of the last round are not needed."""
    done = boundmark(
        "solve", "zoo/swin-1.8b", "-k", 4, "--quiet", "--workers", 2, "--out", tmp_path
    )
    assert "0 (optimal, certified)" in done.stdout
    assert "note" not in done.stdout
    results = ResultStore.open(tmp_path).results().set_index("method")
    # With few down-sets in the first process, with more in the first round.
    assert sorted(results["status"].loc["ideal-dp"]) == ["ok", "unsupported"]
    assert not {"memetic", "certify"} & {*results.index}


def test_what_cannot_find_more_does_not_go_on(boundmark: Boundmark, tmp_path: Path) -> None:
    """A search is ended once another method has proven its solution optimal."""
    both = ("--method", "memetic", "--method", "certify", "--workers", 2, "--out", tmp_path)
    done = boundmark("solve", "zoo/bert-base", "-k", 4, "--quiet", *both)
    assert "0 (optimal, certified)" in done.stdout
    assert "note" not in done.stdout
    results = ResultStore.open(tmp_path).results().set_index("method")
    assert results["status_detail"]["memetic"] == "ended because the optimum was proven"
    assert results["status"]["certify"] == "ok"


def test_nothing_found_is_said(boundmark: Boundmark) -> None:
    """A heuristic alone gives no bound, and nobody pretends otherwise."""
    answer = json.loads(
        boundmark("solve", "onnx-light/alexnet", "-k", 2, "--json", "--method", "uniform").stdout
    )
    assert answer["certified_bound"] is None
    assert answer["gap"] is None
    assert answer["optimal"] is False


def test_a_second_is_enough(boundmark_process: Boundmark) -> None:
    """However long processes take to start: the time begins when they are ready."""
    command = ("solve", "onnx-light/squeezenet", "-k", 4, "--json", "--time-limit", 1)
    answer = json.loads(boundmark_process(*command).stdout)
    assert answer["objective"] is not None
    assert answer["certified_bound"] is not None


def test_nothing_at_all_is_an_exit_code(boundmark: Boundmark) -> None:
    """No solution and no bound: 3 and a sentence, as from `evaluate` without a bound."""
    command = ("solve", "regal-style/erdos-renyi-1", "-k", 4, "--method", "ideal-dp", "--quiet")
    done = boundmark(*command, check=False)
    assert done.returncode == 3
    assert "No method found a solution or a bound" in done.stderr
    assert "ideal-dp: unsupported" in done.stdout


def test_schedules_are_drawn(boundmark: Boundmark) -> None:
    """The object has the period and its proof; people also see the schedule."""
    command = ("solve", "shapes/k-4-train", "--memory", 4)
    answer = json.loads(boundmark(*command, "--json").stdout)
    assert (answer["problem"], answer["objective"], answer["optimal"]) == ("microbatch", 6, True)
    assert answer["bubble_rate"] == 0.0
    assert answer["micro_batches"] == len(answer["solution"]["starts"])
    text = boundmark(*command, "--quiet").stdout
    assert "┃" in text
    for line in ("period           6 (by", "certified bound  6 (by", "0 (optimal, certified)"):
        assert line in text


def test_more_stages_than_operators(boundmark: Boundmark) -> None:
    """It is said in a sentence, not by hundreds of empty rows."""
    text = boundmark("solve", "onnx-light/squeezenet", "-k", 1000, "--method", "slicegraph").stdout
    assert "k=1000: with less, the instance of 66 nodes would be the same" in text
    assert "of 1,000 stages that are empty" in text
    assert len(text.splitlines()) < 66 + 20


def test_tables_fit_a_pipe(boundmark: Boundmark) -> None:
    """No row is wider than 80 columns, unless it is asked for; names and numbers stay whole."""
    command = ("solve", "regal-style/erdos-renyi-1", "-k", 8, "--method", "slicegraph")
    table = [line for line in boundmark(*command).stdout.splitlines() if line[:5].strip().isdigit()]
    assert len(table) == 8
    assert max(map(len, table)) <= 80
    names = boundmark("methods").stdout.splitlines()
    assert max(map(len, names)) <= 80
    assert "bottleneck-guess" in "\n".join(names)
    assert max(map(len, boundmark("methods", "--wide").stdout.splitlines())) > 80


def test_a_solution_to_begin_with(boundmark: Boundmark, tmp_path: Path) -> None:
    """The user's solution is the answer unless a method finds a better one."""
    out = tmp_path / "out"
    model = ("solve", "onnx-light/alexnet", "-k", 3, "--json")
    best = json.loads(boundmark(*model, "--method", "slicegraph", "--out", out).stdout)
    path = Path(best["files"]["by_name"])
    assert path.parent == out
    worse = ("--method", "uniform", "--solution", path)
    answer = json.loads(boundmark(*model, *worse).stdout)
    assert (answer["objective"], answer["method"]) == (best["objective"], "given")
    assert answer["named_solution"] == best["named_solution"]
    again = json.loads(boundmark(*model, "--method", "uniform", "--out", out).stdout)
    assert again["objective"] > best["objective"]
    assert again["files"]["best_solution"] == best["files"]["best_solution"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("onnx-light/alexnet", "-k", "2", "--time-limit", "nan"), "'--time-limit': nan; expected"),
        (("onnx-light/alexnet", "-k", "2", "--time-limit", "inf"), "'--time-limit': inf; expected"),
        (("onnx-light/alexnet", "-k", "2", "--time-limit", "5s"), "'5s' is not a valid number"),
        (("onnx-light/alexnet", "-k", "2", "--time-limit", "0"), "0.0 is not in the range x>0"),
        (
            ("onnx-light/alexnet", "-k", "2", "--memory-limit", "nan"),
            "'--memory-limit': nan;",
        ),
        (
            ("onnx-light/alexnet", "-k", "2", "--seed", "-1"),
            "seed is -1; expected an integer fr",
        ),
        (("onnx-light/alexnet", "-k", "2", "--out", ""), "'--out': it is empty; expected a path."),
        (("", "-k", "2"), "model is an empty text; expected a path or the name of a data set's m"),
        (("/proc", "-k", "2"), "/proc is a directory; expected a file"),
        (("shapes/k-4-train", "--memory", "0"), "memory is 0; expected an integer of at least 1"),
        (("onnx-light/alexnet", "-k", "2", "--method", "modulo"), "treats 'microbatch'"),
        (("onnx-light/alexnet", "-k", "2", "--dim", "batch"), "expected NAME=SIZE, e.g. batch=8"),
        (("onnx-light/alexnet", "-k", "2", "--dim", "a=-1"), "expected NAME=SIZE, e.g. batch=8"),
        (("onnx-light/alexnet", "-k", "2", "--dim", "a=1", "--dim", "a=2"), "'a' is given twice"),
        (("onnx-light/alexnet", "-k", "2", "--dim", "a=1"), "has no open dimensions, but sizes"),
        (("onnx-light/alexnet", "-k", "2", "--solution", "none.csv"), "none.csv does not exist"),
    ],
)
def test_mistakes(arguments: tuple[str, ...], message: str, boundmark: Boundmark) -> None:
    """Each is a sentence and exit code 2."""
    done = boundmark("solve", *arguments, check=False)
    assert done.returncode == 2
    assert message in " ".join(done.stderr.split())
    assert "Traceback" not in done.stderr


def test_a_narrow_model_needs_no_processes(boundmark: Boundmark, tmp_path: Path) -> None:
    """Its optimum is proven in the command's own process, however short the limit; rows tell."""
    out = tmp_path / "out"
    one = ("solve", "onnx-light/squeezenet", "-k", 4, "--time-limit", 0.01, "--out", out)
    answer = json.loads(boundmark(*one, "--json").stdout)
    assert answer["optimal"]
    assert answer["method"] == answer["bound_method"] == "ideal-dp"
    assert answer["failures"] == []
    rows = ResultStore.open(out).results().set_index("method")
    assert set(rows.index) == {"balanced-work", "max-work", "mean-work", "ideal-dp"}
    assert (rows["status"] == "ok").all()
    boundmark("verify", out)
    again = json.loads(boundmark(*one, "--json").stdout)
    assert again["objective"] == answer["objective"]
    assert len(ResultStore.open(out).results()) == len(rows)


def test_an_answer_comes_before_any_process() -> None:
    """A wide graph has a first solution and a bound; that a method does not suit it is no note."""
    plan = replace(MethodPlan.of(problems()["pipeline"]), rounds=())
    options = SolvingOptions(RunSettings(60.0, 2**30), workers=1)
    wide = PipelineInstance(datasets()["regal-style"].load("erdos-renyi-1"), 4)
    answer, _ = solve(NamedInstance("regal-style", "erdos-renyi-1", wide), options, plan)
    assert answer.certified_bound < answer.objective
    assert answer.failures == ()


def test_what_is_not_kept_is_not_stored(tmp_path: Path) -> None:
    """Where immediate methods prove the optimum, the answer is the same without a folder."""
    # One finds the partition, so that no tie is decided by the clock.
    chosen = ("max-work", "ideal-dp")
    plan = MethodPlan(tuple(map(method_choice, chosen)), ())
    options = SolvingOptions(RunSettings(60.0, 2**30), workers=1)
    source = NamedInstance("file", "chain", chain(20, 4))
    with_folder, kept = solve(source, replace(options, out=tmp_path / "kept"), plan)
    without, nowhere = solve(source, options, plan)
    assert (kept, nowhere) == (tmp_path / "kept", None)
    assert without.optimal
    assert replace(without, seconds=0.0) == replace(with_folder, seconds=0.0)


def test_immediate_methods_alone_answer() -> None:
    """Where a problem, of a plug-in say, has no other methods."""
    plan = MethodPlan((method_choice("balanced-work"), method_choice("max-work")), ())
    options = SolvingOptions(RunSettings(5.0, 2**30), workers=1)
    answer, _ = solve(NamedInstance("file", "chain", chain(20, 4)), options, plan)
    assert (answer.objective, answer.certified_bound) == (58, 20)
    assert answer.failures == ()


@pytest.mark.parametrize(
    ("member", "memory", "micro_batches", "cost"),
    [("zb_v-8-train", 16, 0, 8), ("zb_v-8-train", 16, 24, 206), ("interleaved-8-train", 0, 0, 9)],
)
def test_schedules_of_published_rules_need_no_search(
    member: str, memory: int, micro_batches: int, cost: int
) -> None:
    """They are found by the methods that end before any search begins."""
    layout = datasets()["shapes"].load(member)
    instance = MicrobatchInstance.of(layout, memory=memory, micro_batches=micro_batches)
    plan = MethodPlan.of(problems()["microbatch"], kinds=["heuristic"])
    options = SolvingOptions(RunSettings(60.0, 2**30), workers=1)
    answer, _ = solve(NamedInstance("shapes", member, instance), options, replace(plan, rounds=()))
    assert answer.objective == cost
    assert answer.failures == ()


def test_a_value_given_twice_counts_once(boundmark: Boundmark) -> None:
    """Twice the same number of stages is one question, and has one answer."""
    once, twice = (
        json.loads(boundmark("solve", "onnx-light/alexnet", "-k", k, "--json").stdout)
        for k in ("2", "2,2")
    )
    assert twice["objective"] == once["objective"]


@pytest.mark.parametrize(
    ("options", "heads"),
    [
        (("--micro-batches", "0,6"), ["micro_batches", "cost", "by"]),
        (("--memory", "4,5"), ["memory", "period", "by"]),
    ],
)
def test_a_table_of_several_objectives_says_cost(
    boundmark: Boundmark, options: tuple[str, str], heads: list[str]
) -> None:
    """A period and a makespan are in one column; where all are periods, it is called so."""
    one = ("shapes/v-4-train", *options, "--method", "1f1b", "--quiet")
    _, head, *rows = boundmark("solve", *one).stdout.splitlines()
    assert head.split()[:3] == heads
    assert len(rows) == 2


@pytest.mark.slow
def test_immediate_methods_that_take_long_leave_no_false_rows(
    boundmark: Boundmark, tmp_path: Path
) -> None:
    """With 65,536 micro-batches they need more than a second, and the limit holds."""
    out = tmp_path / "out"
    many = ("shapes/k-8-train", "--micro-batches", 65536, "--time-limit", 10)
    answer = json.loads(boundmark("solve", *many, "--json", "--out", out).stdout)
    assert answer["certified_bound"] == 393_228
    boundmark("verify", out)


@pytest.mark.parametrize("bound", ["1e12", "5.0"])
def test_a_claim_above_a_verified_cost_is_wrong(
    boundmark: Boundmark, tmp_path: Path, bound: str
) -> None:
    """It is left out, as in reports, and its status says so; one below the cost is kept."""
    method = tmp_path / "mine.py"
    method.write_text(
        "from boundmark.problems.certificate import Claim\n"
        "def run(instance, budget, seed, progress):\n"
        "    progress.solution([0] * instance.nodes)\n"
        f"    progress.bound(Claim('mine', {bound}))\n"
    )
    one = ("solve", "onnx-light/squeezenet", "-k", 2, "--method", method, "--json")
    answer = json.loads(boundmark(*one).stdout)
    is_wrong = float(bound) > answer["objective"]
    assert answer["claimed_bound"] == (None if is_wrong else float(bound))
    assert [text.partition(": ")[2] for text in answer["failures"]] == [
        "error: rejected: claim of 1000000000000.000: it is above the verified cost of "
        f"{answer['objective']}"
    ] * is_wrong
