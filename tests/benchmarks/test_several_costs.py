"""One solution for several costs: `--costs` or `--device` given repeatedly, a list in Python."""

import json
import tempfile
import zipfile
from pathlib import Path
from typing import Any

import pytest
from chains import chain
from command_line import Boundmark

import boundmark
from boundmark.benchmarks.answer import Answer
from boundmark.benchmarks.several_costs import METHOD, solve_for_all
from boundmark.benchmarks.suite import NamedInstance
from boundmark.bounds import checker
from boundmark.datasets.resolve import load_member
from boundmark.heuristics.pipeline import several_costs
from boundmark.problems.pipeline import Partition

EXPORTS = Path(__file__).parents[1] / "datasets" / "torch_exports" / "exports.zip"
BOTH = ("--costs", "roofline", "--costs", "calibrated")
MEMBER = "onnx-light/squeezenet"


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the file of a model with one operator in a row, for which costs differ."""
    folder = tmp_path_factory.mktemp("model")
    with zipfile.ZipFile(EXPORTS) as content:
        return Path(content.extract("ResNet-18/export.pt2", folder))


@pytest.fixture(scope="module")
def solved(model: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    """Return a file with what `solve --json` prints, and its content."""
    common = boundmark.solve(model, k=4, costs=["roofline", "calibrated"], seconds=20, quiet=True)
    assert isinstance(common, boundmark.ModelAnswer)
    path = tmp_path_factory.mktemp("solved") / "answer.json"
    document = common.common.to_json({})
    path.write_text(json.dumps(document))
    return path, document


def test_each_costs_have_their_own_certificate(solved: tuple[Path, dict[str, Any]], model) -> None:
    """Costs and bounds are those of the instances; the largest ratio is the worst of them."""
    _, document = solved
    loaded = boundmark.load(model)
    ratios = {}
    for costs, answer in document["by_costs"].items():
        instance = boundmark.solve(loaded, k=4, costs=costs, seconds=2, quiet=True).instance
        assert instance.sha256 == answer["instance_sha256"]
        assert instance.objective(Partition(document["solution"]["stages"])) == answer["objective"]
        stated = instance.to_json()
        assert checker.check_certificate(stated, answer["certificate"]) == answer["certified_bound"]
        ratios[costs] = answer["objective"] / answer["certified_bound"]
        assert answer["method"] == METHOD
    assert list(ratios) == ["roofline", "calibrated"]
    assert document["largest_ratio"] == max(ratios.values()) == ratios[document["worst"]]
    assert set(document["solution"]) == {"stages"}


def test_better_than_what_is_best_for_one_costs(solved: tuple[Path, dict[str, Any]], model) -> None:
    """The best partition for either costs is further from the other's bound."""
    _, document = solved
    for costs in ("roofline", "calibrated"):
        alone = boundmark.solve(model, k=4, costs=costs, seconds=5, quiet=True)
        there = boundmark.evaluate(
            model, alone.solution, costs=["roofline", "calibrated"], seconds=10, quiet=True
        )
        assert there.largest_ratio > document["largest_ratio"] > 1


def test_a_table_for_people(boundmark: Boundmark, model: Path, tmp_path: Path) -> None:
    """A row for each costs, which it says in words, and the largest ratio; the folder is valid."""
    out = tmp_path / "out"
    done = boundmark(
        "solve", model, "-k", 4, *BOTH, "--time-limit", 10, "--quiet", "--out", out, "--wide"
    )
    lines = done.stdout.splitlines()
    (head,) = [at for at, line in enumerate(lines) if line.startswith("costs ")]
    assert lines[head].split() == ["costs", "cost", "ns", "bound", "gap"]
    assert lines[head + 1].startswith("roofline")
    assert lines[head + 2].strip() == "the roofline model of nvidia-h100, 450 GB/s links"
    assert any(line.startswith("calibrated") for line in lines)
    assert any(line.startswith("largest ratio    1.") for line in lines)
    (table,) = out.glob("common-*.csv")
    assert str(table) in done.stdout
    assert "0 rejected" in boundmark("verify", out).stdout
    graded = boundmark("evaluate", model, table, *BOTH, "--bounds", out, "--json")
    ratio = json.loads(graded.stdout)["largest_ratio"]
    assert f"largest ratio    {ratio:.4f}" in done.stdout


@pytest.mark.parametrize(("most", "grade", "code"), [(50, "passed", 0), (0.1, "failed", 1)])
def test_the_largest_gap_is_graded(
    boundmark: Boundmark,
    solved: tuple[Path, dict[str, Any]],
    model: Path,
    most: float,
    grade: str,
    code: int,
) -> None:
    """What `solve --json` prints is graded again, by the largest ratio of all costs."""
    path, document = solved
    command = ("evaluate", model, path, *BOTH, "--time-limit", 20, "--max-gap", most)
    done = boundmark(*command, "--json", check=False)
    answer = json.loads(done.stdout)
    assert (answer["grade"], done.returncode) == (grade, code)
    assert answer["largest_ratio"] == document["largest_ratio"]
    assert {one["method"] for one in answer["by_costs"].values()} == {"given"}
    text = boundmark(*command, check=False).stdout
    assert text.splitlines()[-1].split()[:2] == ["grade", grade]
    # A note about one of the costs names it.
    assert "roofline: there is a better solution" in text


def test_without_a_bound_nothing_is_known(
    boundmark: Boundmark, solved: tuple[Path, dict[str, Any]], model: Path, tmp_path: Path
) -> None:
    """A folder with a bound for one of the costs only gives no largest ratio."""
    out = tmp_path / "out"
    boundmark("solve", model, "-k", 4, "--costs", "roofline", "--out", out, "--quiet")
    done = boundmark(
        "evaluate", model, solved[0], *BOTH, "--bounds", out, "--max-gap", 5, check=False
    )
    assert done.returncode == 3
    assert "largest ratio    unknown, because a bound is missing" in done.stdout
    assert "grade            no bound" in done.stdout


def test_files_of_times_for_two_batch_sizes(model: Path, tmp_path: Path) -> None:
    """Times that differ between operators give one partition for both."""
    loaded = boundmark.load(model)
    names, files = loaded.source.names, []
    for number, factor in enumerate((1, 7)):
        slow = names[:: 3 + number]
        times = {name: 1000 * (factor if name in slow else 1) for name in names}
        files.append(str(tmp_path / f"batch-{number}.json"))
        document = {
            "format": "boundmark-times/1", "model": "export.pt2", "base": "nvidia-a100",
            "source": "made up", "rank_correlation": None, "operators": times,
        }  # fmt: skip
        Path(files[-1]).write_text(json.dumps(document))
    answer = boundmark.solve(loaded, k=4, costs=files, seconds=10, quiet=True)
    assert answer.by_costs["costs"].tolist() == files
    assert [text.split(",")[0] for text in answer.by_costs["source"]] == [
        "operator times measured:batch-0", "operator times measured:batch-1",
    ]  # fmt: skip
    frame = answer.by_costs
    assert answer.largest_ratio == (frame["cost"] / frame["bound"]).max()


def test_two_devices(boundmark: Boundmark) -> None:
    """Each device with each of the costs, if both are given repeatedly, under what differs."""
    command = ("solve", MEMBER, "-k", 3, "--device", "nvidia-t4", "--device", "raspberry-pi-5")
    found = json.loads(boundmark(*command, "--time-limit", 10, "--json").stdout)
    assert list(found["by_costs"]) == ["nvidia-t4", "raspberry-pi-5"]
    devices = [answer["device"] for answer in found["by_costs"].values()]
    assert devices == ["nvidia-t4", "raspberry-pi-5"]
    command = ("solve", MEMBER, "-k", 2, "--device", "nvidia-t4", "--device", "nvidia-h100", *BOTH)
    found = json.loads(boundmark(*command, "--time-limit", 10, "--json").stdout)
    assert list(found["by_costs"]) == [
        "nvidia-t4, roofline", "nvidia-t4, calibrated",
        "nvidia-h100, roofline", "nvidia-h100, calibrated",
    ]  # fmt: skip
    assert len({answer["instance_sha256"] for answer in found["by_costs"].values()}) == 4
    command = ("solve", MEMBER, "-k", 2, "--device", "nvidia-h100", *BOTH, "--time-limit", 5)
    assert list(json.loads(boundmark(*command, "--json").stdout)["by_costs"]) == [
        "roofline", "calibrated",
    ]  # fmt: skip


def test_one_after_the_other_each_row_says_its_costs(boundmark: Boundmark, model: Path) -> None:
    """Separated by commas, costs have a solution each, and the title names none of them."""
    command = ("solve", model, "-k", 2, "--costs", "roofline,calibrated", "--quiet", "--wide")
    title, head, first, second, *_ = boundmark(*command).stdout.splitlines()
    assert title == "file/export.pt2 k=2"
    assert head.split()[-1] == "costs"
    assert first.endswith("the roofline model of nvidia-h100, 450 GB/s links")
    assert second.endswith("costs of nvidia-h100 calibrated on measured times, 450 GB/s links")


def test_costs_that_are_given_twice_are_one(boundmark: Boundmark) -> None:
    """So the answer is the usual one."""
    command = ("solve", MEMBER, "-k", 2, "--costs", "roofline", "--costs", "roofline", "--json")
    assert "by_costs" not in json.loads(boundmark(*command).stdout)


def test_placements_are_graded_in_several_costs(boundmark: Boundmark, tmp_path: Path) -> None:
    """What cannot be searched for can be graded all the same."""
    names = load_member(MEMBER).names
    path = tmp_path / "mine.csv"
    path.write_text("operator,device\n" + "".join(f"{name},0\n" for name in names))
    command = ("evaluate", MEMBER, path, "--problem", "placement", "--device", "dgx-a100", *BOTH)
    found = json.loads(boundmark(*command, "--time-limit", 4, "--json").stdout)
    first, second = found["by_costs"].values()
    assert first["objective"] != second["objective"]
    assert found["largest_ratio"] >= 1


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (
            ("solve", MEMBER, "--problem", "placement", *BOTH),
            "one solution for several costs is asked for, of problem 'placement'; expected one of "
            "pipeline, or one device and one costs.",
        ),
        (
            ("solve", "language-models/llama-3.1-8b-w4a16", "--devices", "2x3090", "--costs",
             "roofline", "--costs", "measured"),
            "costs is given more than once, and is a parameter of problem 'layers' itself; "
            "expected one value.",
        ),
        (
            ("evaluate", "language-models/llama-3.1-8b-w4a16", "VLLM_PP_LAYER_PARTITION=16,16",
             "--devices", "2x3090", "--costs", "roofline", "--costs", "measured"),
            "costs is given more than once, and is a parameter of problem 'layers' itself; "
            "expected one value.",
        ),
        (
            ("solve", MEMBER, "-k", "2", "--costs", "roofline", "--costs", "guessed"),
            "costs is 'guessed'; expected roofline, calibrated, or a .json file of times.",
        ),
        (("solve", MEMBER, "-k", "2,4", *BOTH), "and one value of each other parameter."),
        (("solve", MEMBER, "-k", "2", "--as", "torch", *BOTH), "expected no --solution, --as or"),
        (
            ("evaluate", MEMBER, "none.csv", "--noise", "0.1", *BOTH),
            "--noise is for one costs; expected one --costs and --device.",
        ),
        (
            ("solve", "regal-style/erdos-renyi-1", "-k", "2", *BOTH),
            "costs is 'roofline', but the costs came with the model; expected no costs.",
        ),
    ],
)  # fmt: skip
def test_what_is_not_for_several_costs(
    boundmark: Boundmark, arguments: tuple[str, ...], sentence: str
) -> None:
    """A sentence says what was expected."""
    done = boundmark(*arguments, check=False)
    assert done.returncode == 2
    assert sentence in " ".join(done.stderr.split())


@pytest.mark.parametrize(
    ("costs", "message"),
    [
        ([], "costs is an empty list; expected at least one source of times."),
        (["roofline", 3], "costs is ['roofline', 3]; expected a source of times or a list of"),
        ([["roofline"]], "costs is [['roofline']]; expected a source of times or a list of"),
    ],
)
def test_what_is_no_list_of_costs(costs: Any, message: str) -> None:
    """Nothing is solved before it is understood."""
    with pytest.raises(boundmark.Error) as caught:
        boundmark.solve(MEMBER, k=2, costs=costs, quiet=True)
    assert message in str(caught.value)


def test_python_answers_with_the_worst_costs(solved: tuple[Path, dict[str, Any]], model) -> None:
    """Cost, bound and certificate are those with the largest gap; a frame has all of them."""
    stages = solved[1]["named_solution"]
    both = ["roofline", "calibrated"]
    answer = boundmark.evaluate(model, stages, costs=both, seconds=10, quiet=True)
    frame = answer.by_costs.set_index("costs")
    assert frame.index.tolist() == both
    worst = frame.loc[frame["gap"].idxmax()]
    assert (answer.cost, answer.bound, answer.gap) == (worst["cost"], worst["bound"], worst["gap"])
    assert answer.certificate.check() == answer.bound
    assert f"largest ratio {answer.largest_ratio:.4f}, in " in repr(answer)
    assert dict(answer.solution.itertuples(index=False)) == stages
    one = boundmark.evaluate(model, stages, costs=["roofline"], seconds=5, quiet=True)
    assert not hasattr(one, "by_costs")
    assert one.cost == frame["cost"]["roofline"]


def answered(source: NamedInstance, *, interrupted: bool = False) -> Answer:
    """Return an answer with everything in one stage, and no bound."""
    stages = Partition([0] * source.instance.nodes)
    return Answer(
        source, source.instance.objective(stages), None, None, stages.to_json(), None, "one", None,
        0.1, (), interrupted=interrupted,
    )  # fmt: skip


def two_chains() -> dict[str, NamedInstance]:
    """Return one graph under two names."""
    source = NamedInstance("file", "chain", chain(20, 4))
    return {"first": source, "second": source}


def test_ctrl_c_in_the_first_search_ends_all() -> None:
    """What it has found is judged in all costs, and nothing else is begun."""
    begun = []

    def solve_one(source: NamedInstance, seconds: float) -> Answer:
        begun.append(seconds)
        return answered(source, interrupted=True)

    found = solve_for_all(two_chains(), solve_one, 8.0, 1, quiet=True)
    assert begun == [2.0]
    assert found.interrupted
    costs = {name: answer.objective for name, answer in found.by_costs.items()}
    assert costs["first"] == costs["second"] == answered(two_chains()["first"]).objective
    assert found.largest_ratio is None


def test_ctrl_c_in_the_common_search_keeps_the_best(monkeypatch: pytest.MonkeyPatch) -> None:
    """What was reported before counts."""
    better = Partition([0] * 10 + [1] * 10)

    def search(instances, references, starts, budget, seed, progress) -> None:
        progress.solution(better)
        raise KeyboardInterrupt

    monkeypatch.setattr(several_costs, "run", search)
    found = solve_for_all(
        two_chains(), lambda source, seconds: answered(source), 8.0, 1, quiet=True
    )
    assert found.interrupted
    for answer in found.by_costs.values():
        assert answer.solution["stages"] == better.stages.tolist()
        assert answer.method == METHOD


def test_ctrl_c_ends_the_command_with_its_code(
    boundmark: Boundmark, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The best is printed and stored, and the exit code is a shell's for Ctrl-C."""

    def search(*arguments: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(several_costs, "run", search)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    command = ("solve", MEMBER, "-k", 2, *BOTH, "--time-limit", 5, "--json", "--quiet")
    done = boundmark(*command, check=False)
    answer = json.loads(done.stdout)
    assert (done.returncode, answer["interrupted"]) == (130, True)
    stored = Path(answer["by_costs"][answer["worst"]]["files"]["by_name"])
    assert stored.is_relative_to(tmp_path)
    rows = stored.read_text().splitlines()[1:]
    assert [int(row.rpartition(",")[2]) for row in rows] == list(answer["named_solution"].values())


def test_costs_without_a_bound_have_a_row(boundmark: Boundmark) -> None:
    """What is unknown is said to be."""
    command = ("solve", MEMBER, "-k", 2, *BOTH, "--method", "slicegraph", "--time-limit", 5)
    done = boundmark(*command, "--quiet", check=False)
    assert done.returncode == 3
    rows = [line.split() for line in done.stdout.splitlines()]
    for costs in ("roofline", "calibrated"):
        (row,) = [row for row in rows if row[:1] == [costs] and len(row) == 4]
        assert row[2:] == ["none", "unknown"]
