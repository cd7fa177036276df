"""Suites of files of one's own: sizes, fusion, what cannot be read, plans, and changed methods."""

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import onnx
import plugin_packages
import pytest
from command_line import Boundmark, boundmark_with
from onnx import TensorProto, helper

import boundmark as api
from boundmark.benchmarks.running.suite_file import parse_suite
from boundmark.problems.errors import BoundmarkError

pytestmark = pytest.mark.usefixtures("all_undrawn")

SUITE = """
description = "Mine."
problem = "pipeline"
time_limit_seconds = 5
memory_limit_gib = 1
methods = ["max-work", "balanced-work"]

[[instances]]
file = "*.onnx"
dim = { batch = 8 }
fusion = "elementwise"
k = [2]
"""


def write(path: Path, batch: int | str) -> None:
    """Write a chain of two operators, with its first dimension open or fixed."""
    ends = [
        helper.make_tensor_value_info(name, TensorProto.FLOAT, [batch, 1024]) for name in "xy"
    ]  # fmt: skip
    nodes = [
        helper.make_node("Softmax", ["x"], ["a"], "a"),
        helper.make_node("Relu", ["a"], ["y"], "y"),
    ]
    graph = helper.make_graph(nodes, "graph", ends[:1], ends[1:])
    opsets = [helper.make_opsetid("", 17)]
    onnx.save(helper.make_model(graph, ir_version=9, opset_imports=opsets), path)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with a suite, two models, and a file that is none."""
    write(tmp_path / "fixed.onnx", 8)
    write(tmp_path / "open.onnx", "batch")
    (tmp_path / "broken.onnx").write_text("no model")
    (tmp_path / "mine.toml").write_text(SUITE)
    return tmp_path


def test_sizes_and_fusion_reach_the_files(folder: Path) -> None:
    """A model without the dimension does without; one that is not fused would be slower."""
    suite = parse_suite("mine", SUITE, folder / "mine.toml")
    left_out: dict[str, str] = {}
    found = list(suite.load_instances(on_left_out=left_out.__setitem__))
    assert {source.device for source in found} == {"nvidia-t4+fusion"}
    # Both are the same graph then.
    assert len({source.instance.sha256 for source in found}) == 1
    assert list(left_out) == ["file/broken.onnx"]
    assert left_out["file/broken.onnx"].endswith(
        "expected a complete ONNX model; it cannot be parsed."
    )


def test_a_file_that_cannot_be_read_is_noted(folder: Path, boundmark: Boundmark) -> None:
    """The others run; the run, the frame and the report say what was left out, and why."""
    write(folder / "unsized.onnx", "other")
    out = folder / "out"
    done = boundmark("run", folder / "mine.toml", "--out", out)
    assert "broken.onnx: expected a complete ONNX model; it cannot be parsed." in done.stderr
    assert "file/unsized.onnx: 1 open dimension is taken to be 1: other" in done.stderr
    results = api.results(out)
    assert results.left_out["file"].tolist() == ["file/broken.onnx"]
    assert (results.tasks["status"] == "ok").all()
    boundmark("report", out, "--format", "md")
    page = (out / "report.md").read_text()
    assert "1 file of the suite could not be read or treated: file/broken.onnx (" in page
    assert "Assumed about models: file/unsized.onnx: 1 open dimension" in page
    (folder / "broken.onnx").unlink()
    write(folder / "broken.onnx", 4)
    boundmark("run", folder / "mine.toml", "--out", out, "--quiet")
    assert api.results(out).left_out.empty
    boundmark("verify", "--quiet", out)


def test_a_folder_of_which_nothing_can_be_read(folder: Path) -> None:
    """The first reason is the error; a single file is no pattern."""
    (folder / "open.onnx").unlink()
    (folder / "fixed.onnx").unlink()
    for text in (SUITE, SUITE.replace("*.onnx", "broken.onnx")):
        with pytest.raises(BoundmarkError, match=r"broken.onnx: expected a complete ONNX model"):
            list(parse_suite("mine", text, folder / "mine.toml").load_instances())


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("{ batch = 8 }", "8", "dim is 8; expected a table of sizes, such as { batch = 8 }."),
        ("{ batch = 8 }", '{ batch = "8" }', "expected a table of sizes"),
        ('"elementwise"', '"all"', "fusion is 'all'; expected 'none' or 'elementwise'."),
        ('file = "*.onnx"', 'dataset = "onnx-light"', "dim is given for a data set, whose sizes"),
        ("batch = 8", "batch = 0", "dim is {'batch': 0}; expected a table of sizes"),
    ],
)
def test_fields_that_are_wrong(folder: Path, old: str, new: str, message: str) -> None:
    """One sentence each."""

    def load() -> None:
        suite = parse_suite("mine", SUITE.replace(old, new), folder / "mine.toml")
        list(suite.load_instances())

    with pytest.raises(BoundmarkError) as caught:
        load()
    assert message in str(caught.value)


def test_a_plan_runs_nothing(folder: Path, boundmark: Boundmark) -> None:
    """It counts what a run would do, then what is left of it."""
    out = folder / "out"
    done = boundmark("run", folder / "mine.toml", "--out", out, "--dry-run", "--workers", "2")
    assert "2 tasks, 0 already stored, 2 to run on 1 instances; at most 5 s" in done.stdout
    assert not out.exists()
    boundmark("run", folder / "mine.toml", "--out", out, "--quiet")
    done = boundmark("run", folder / "mine.toml", "--out", out, "--dry-run", "--rerun", "max-work")
    assert "2 tasks, 1 already stored, 1 to run" in done.stdout


def test_a_suite_is_shown(folder: Path, boundmark: Boundmark) -> None:
    """Own ones and those that come with the package."""
    shown = json.loads(boundmark("suites", "show", folder / "mine.toml", "--json").stdout)
    (group,) = shown["parts"][0]["instances"]
    assert (group["members"], group["dim"], group["device"]) == ("*.onnx", "batch=8", "+fusion")
    assert "demo/pipeline: problem pipeline" in boundmark("suites", "show", "demo").stdout


def test_several_values_have_a_line_each(folder: Path, boundmark: Boundmark) -> None:
    """In one table, or in a list of the objects that each would be."""
    model = folder / "fixed.onnx"
    lines = boundmark("solve", model, "-k", "1,2", "--quiet").stdout.splitlines()
    assert lines[0].endswith("on the roofline model of nvidia-h100, 450 GB/s links")
    assert [line.split()[0] for line in lines[2:4]] == ["1", "2"]
    # Of one stage nothing is said.
    assert lines[4].startswith(
        "such costs: nobody has measured what they are off by on nvidia-h100 in float32; "
    )
    assert sum(line.startswith("such costs") for line in lines) == 1
    listed = json.loads(boundmark("solve", model, "-k", "1,2", "--json").stdout)
    assert [one["optimal"] for one in listed] == [True, True]
    done = boundmark("solve", model, "-k", "1,x", check=False)
    assert (done.returncode, done.stderr) == (
        2,
        "Error: k is 'x'; expected an integer of at least 1.\n",
    )


METHOD = """
from boundmark.problems.method import Method
from boundmark.problems.pipeline import Partition
STAGE = 0
def run(instance, budget, seed, progress):
    progress.solution(Partition([STAGE] * instance.nodes))
METHOD = Method(name="one-stage", problem="pipeline", kind="heuristic", summary="One.", run=run)
"""


@pytest.mark.slow
def test_stored_tasks_of_other_sources_are_told(folder: Path) -> None:
    """They count, with a warning, until they are run again."""
    points = {"boundmark.methods": {"mine": "mine:METHOD"}}
    packages = folder / "packages"
    packages.mkdir()
    plugin_packages.install(packages, "mine", points, METHOD)
    suite = folder / "mine.toml"
    suite.write_text(SUITE.replace('["max-work", "balanced-work"]', '["max-work", "one-stage"]'))
    call = boundmark_with(packages)
    call("run", suite, "--out", folder / "out", "--quiet")
    assert "other source files" not in call("run", suite, "--out", folder / "out").stderr
    (packages / "mine.py").write_text(METHOD.replace("STAGE = 0", "STAGE = 1"))
    done = call("run", suite, "--out", folder / "out")
    assert "1 stored tasks of one-stage were run by other source files" in done.stderr
    assert (
        "1 run (1 ok)" in call("run", suite, "--out", folder / "out", "--rerun", "one-stage").stdout
    )
    assert "other source files" not in call("run", suite, "--out", folder / "out").stderr
    done = call("run", suite, "--out", folder / "out", "--rerun", "two-stage", check=False)
    assert done.returncode == 2
    assert "there is no method 'two-stage' in the suite" in done.stderr


SLOW = METHOD.replace(
    "    progress", "    import time\n    time.sleep(60 * (seed == 1))\n    progress"
)  # fmt: skip


def heed_interrupts() -> None:
    """Heed Ctrl-C, as a shell's command does; what started the tests may have it ignored."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@pytest.mark.slow
def test_ctrl_c_says_how_to_go_on(folder: Path) -> None:
    """With what is stored by then, and the exit code of shells."""
    packages = folder / "packages"
    packages.mkdir()
    points = {"boundmark.methods": {"mine": "mine:METHOD"}}
    plugin_packages.install(packages, "mine", points, SLOW)
    suite = folder / "mine.toml"
    suite.write_text(SUITE.replace('["max-work", "balanced-work"]', '["max-work", "one-stage"]'))
    out = folder / "out"
    runner = subprocess.Popen(
        [sys.executable, "-m", "boundmark", "run", suite, "--out", out, "--time-limit", "60"],
        stderr=subprocess.PIPE, text=True, env={"PYTHONPATH": str(packages), "PATH": "/usr/bin"},
        preexec_fn=heed_interrupts,
    )  # fmt: skip
    deadline = time.monotonic() + 60
    while not list((out / "results").glob("*.parquet")):
        assert time.monotonic() < deadline
        time.sleep(0.1)
    runner.send_signal(signal.SIGINT)
    _, told = runner.communicate(timeout=60)
    assert runner.returncode == 130
    assert f"interrupted: 1 tasks are stored in {out}; the same command goes on" in told
    assert "Traceback" not in told
