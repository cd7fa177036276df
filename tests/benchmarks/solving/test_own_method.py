"""Methods in one file: what is read of it, what is refused, and how its runs end."""

import json
import stat
from pathlib import Path

import pytest
from command_line import boundmark_with

from boundmark.benchmarks.solving.own_method import find_method
from boundmark.problems.catalog import methods
from boundmark.problems.errors import BoundmarkError
from boundmark.reports.stored.store import ResultStore

ONE_STAGE = "def run(instance):\n    return [0] * instance.nodes\n"
STREAMING = """
def run(instance, budget, seed, progress):
    progress.solution([0] * instance.nodes)
"""


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Write files into the folder in which the command runs."""
    monkeypatch.chdir(tmp_path)

    def write_file(name: str, content: str, *, is_executable: bool = False) -> str:
        path = tmp_path / name
        path.write_text(content)
        if is_executable:
            path.chmod(path.stat().st_mode | stat.S_IXUSR)
        return name

    return write_file


def test_a_file_says_what_it_is(write) -> None:
    """By constants; without them, it is a heuristic of the problem that is asked for."""
    found = find_method(write("my.py", ONE_STAGE), methods(), "pipeline")
    assert (found.name, found.problem, found.kind, found.seeded) == (
        "my.py", "pipeline", "heuristic", False,
    )  # fmt: skip
    said = 'KIND = "exact"\nPROBLEM = "placement"\n' + STREAMING
    found = find_method(write("other.py", said), methods(), "pipeline")
    assert (found.problem, found.kind, found.seeded) == ("placement", "exact", True)


def test_another_content_is_another_version(write) -> None:
    """So that stored results of the old one are not reused; the same content is the same one."""
    versions = [
        find_method(write("my.py", content), methods()).version
        for content in (ONE_STAGE, ONE_STAGE + "# changed\n", ONE_STAGE)
    ]
    assert versions[0] == versions[2] != versions[1]


def test_a_registered_name_stays_registered(write) -> None:
    """A file may have the name of a method: with its ending, it is another one."""
    write("memetic.py", ONE_STAGE)
    assert find_method("memetic", methods()) is methods()["memetic"]
    assert find_method("memetic.py", methods()).name == "memetic.py"


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("x = 1\n", "my.py has no function `run`; expected run(instance), or run(instance, budget"),
        ("def run(:\n", "my.py, line 1: invalid syntax; expected Python with a function `run`."),
        ("def run(a, b):\n    pass\n", "my.py: run takes 2 arguments; expected run(instance), or"),
        ("def run():\n    pass\n", "my.py: run takes 0 arguments"),
        ("x = '\0'\n", "my.py"),
        ('KIND = "fast"\n' + ONE_STAGE, "my.py: KIND is 'fast'; expected heuristic or bound"),
        ('PROBLEM = "pipelin"\n' + ONE_STAGE, "there is no problem 'pipelin' in my.py"),
    ],
)
def test_bad_files_are_refused(write, content: str, sentence: str) -> None:
    """Before anything runs, in one sentence that names the file and what was expected."""
    with pytest.raises(BoundmarkError) as caught:
        find_method(write("my.py", content), methods())
    assert str(caught.value).startswith(sentence)


def test_missing_files_are_refused(write) -> None:
    """A Python file, an executable, and a file that may not be executed."""
    for name, sentence in (
        ("nope.py", "nope.py does not exist; expected a Python file with a function `run`."),
        ("./nope", "./nope does not exist; expected an executable."),
        (f"./{write('plain', 'hello')}", "./plain is not executable; expected an executable."),
        ("./plain 'x", 'command "./plain \'x" cannot be split into words: No closing quotation.'),
        ("nope", "there is no method 'nope'"),
    ):
        with pytest.raises(BoundmarkError) as caught:
            find_method(name, methods())
        assert str(caught.value).startswith(sentence)


def test_runs_end_as_those_of_other_methods(write, tmp_path: Path) -> None:
    """In a suite: what was reported counts, and the row says why a run failed."""
    files = {
        "good.py": ONE_STAGE,
        "streams.py": STREAMING,
        "prints.py": "print('{garbage')\n" + ONE_STAGE,
        "raises.py": STREAMING + "    raise ValueError('no idea')\n",
        "wrong.py": "def run(instance):\n    return 'what'\n",
        "five.py": "run = 5\n",
        "exits.py": "import sys\nsys.exit(3)\n" + ONE_STAGE,
        "returns.py": STREAMING + "    return [0, 0, 0]\n",
    }
    for name, content in files.items():
        write(name, content)
    write("garbage", "#!/bin/sh\ncat > /dev/null\necho hello\n", is_executable=True)
    one_stage = "#!/bin/sh\ncat > /dev/null\necho '{\"stages\": [0, 0, 0]}'\n"
    write("solver", one_stage, is_executable=True)
    write("three.json", json.dumps({
        "format": "boundmark-instance/1", "problem": "pipeline", "k": 2, "cache": 0,
        "work": [1, 2, 3], "transfer": [1, 1, 1], "param_load": [0, 0, 0],
        "edges": [[0, 1], [1, 2]],
    }))  # fmt: skip
    names = [*files, "./garbage", "./solver"]
    write(
        "suite.toml",
        f"""
description = "Files as methods."
problem = "pipeline"
time_limit_seconds = 60
memory_limit_gib = 1
methods = {json.dumps(names)}
[[instances]]
file = "three.json"
""",
    )
    call = boundmark_with()
    call("run", "suite.toml", "--out", "out", "--quiet")
    found = ResultStore.open(Path("out")).results().set_index("method").astype(object)
    rows = found.where(found.notna(), None).to_dict("index")
    assert rows.keys() == set(names)
    for name, status, detail, objective in (
        ("good.py", "ok", "", 6),
        ("streams.py", "ok", "", 6),
        ("prints.py", "ok", "", 6),
        ("./solver", "ok", "", 6),
        ("raises.py", "error", "no idea", 6),
        ("wrong.py", "error", "what", None),
        ("five.py", "error", "run in five.py is 5; expected a function", None),
        ("exits.py", "error", "", None),
        ("returns.py", "error", "run takes progress and returns [0, 0, 0]; expected progress.", 6),
        ("./garbage", "error", "line 1 of ./garbage is 'hello'", None),
    ):
        assert rows[name]["status"] == status, rows[name]
        assert detail in rows[name]["status_detail"]
        assert rows[name]["objective"] == objective


def test_a_method_that_ends_with_nothing_has_a_note(write) -> None:
    """One each, however it did so; who found something needs none."""
    sleeps = "    import time\n    time.sleep(budget.remaining() + 0.01)\n"
    write("returns.py", STREAMING.replace("progress.solution(", "return (").rstrip() + "\n")
    write("sleeps.py", "def run(instance, budget, seed, progress):\n" + sleeps)
    write("quiet", "#!/bin/sh\nexit 0\n", is_executable=True)
    write("floods", "#!/bin/sh\nyes x | tr -d '\\n'\n", is_executable=True)
    names = ["returns.py", "sleeps.py", "./quiet", "./floods"]
    asked = [word for name in names for word in ("--method", name)]
    one = ("solve", "onnx-light/squeezenet", "-k", "2", "--json", "--time-limit", "2", *asked)
    notes = json.loads(boundmark_with()(*one, "--method", "uniform").stdout)["failures"]
    assert sorted(note.partition(": ")[0] for note in notes) == sorted(names)
    told = " ".join(notes)
    assert "returns.py: error: run takes progress and returns [0, 0" in told
    for name in ("sleeps.py", "./quiet"):
        assert f"{name}: ran for " in told
    assert told.count("s and reported neither a solution nor a bound") == 2
    assert "./floods: error: " in told


def test_solve_and_conformance_take_files(write, tmp_path: Path) -> None:
    """A file that reports one stage only is a method that conforms."""
    write("my.py", ONE_STAGE)
    call = boundmark_with()
    done = call("solve", "onnx-light/squeezenet", "-k", "1", "--method", "my.py", "--json",
                "--library", "none")  # fmt: skip
    assert json.loads(done.stdout)["method"] == "my.py"
    assert call("conformance", "my.py", "--seconds", "60").stdout.endswith("my.py conforms\n")
