import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pandas as pd
import pytest
from command_line import TASKS, Boundmark

from boundmark.reports.stored.store import ResultStore


def test_every_task_leaves_one_verified_row(finished_run: Path) -> None:
    """Bounds are certified, solutions verified, and the report's inequality holds."""
    rows = ResultStore.open(finished_run).results()
    assert len(rows) == TASKS
    assert (rows["status"] == "ok").all(), rows[["method", "status_detail", "stderr_tail"]]
    bounds = rows[rows["method_kind"] == "bound"]
    assert bounds["bound_certified"].notna().all()
    assert rows[rows["method_kind"] == "heuristic"]["objective"].notna().all()
    for _, group in rows.groupby("instance_sha256"):
        assert group["bound_certified"].max() <= group["objective"].min()


def test_same_command_again_repeats_nothing(
    boundmark: Boundmark, suite_file: Path, finished_run: Path
) -> None:
    """Resuming is the default."""
    before = ResultStore.open(finished_run).results()
    done = boundmark("run", suite_file, "--out", finished_run, "--quiet")
    assert f"{TASKS} tasks, {TASKS} already stored, 0 run" in done.stdout
    assert ResultStore.open(finished_run).results().equals(before)


def test_what_a_licence_does_not_cover_is_one_line(boundmark: Boundmark, tmp_path: Path) -> None:
    """Counted by reason, whatever the sizes of the models; it is no failure of the run."""
    suite = tmp_path / "suite.toml"
    suite.write_text(
        'description = "Beyond the licence."\nproblem = "pipeline"\ntime_limit_seconds = 10\n'
        'memory_limit_gib = 1\nmethods = [{ name = "exact", params = { solver = "gurobi" } }]\n'
        '[[instances]]\ndataset = "regal-style"\nmembers = ["erdos-renyi-1"]\nk = [8, 16, 32]\n'
    )
    out = ("--out", tmp_path / "out", "--quiet", "--fail-on", "crashed,error,timeout")
    lines = boundmark("run", suite, *out).stdout.splitlines()
    assert "3 run (3 unsupported)" in lines[0]
    assert lines[1].startswith("unsupported: 3 tasks of exact; the first: Gurobi's licence")
    assert len([line for line in lines if line.startswith("unsupported:")]) == 1


def test_kill_dash_nine_loses_and_repeats_nothing(
    boundmark: Boundmark, suite_file: Path, tmp_path: Path
) -> None:
    """What had finished when the runner was killed is kept as it was; the rest is run."""
    out = tmp_path / "out"
    runner = subprocess.Popen(
        [sys.executable, "-m", "boundmark", "run", suite_file, "--out", out, "--quiet"],
        start_new_session=True,
    )
    deadline = time.monotonic() + 60
    while len(list((out / "results").glob("*.parquet"))) < 5:
        assert time.monotonic() < deadline
        assert runner.poll() is None
        time.sleep(0.005)
    os.kill(runner.pid, signal.SIGKILL)
    runner.wait()
    kept = ResultStore.open(out).results().set_index("task_id")
    assert 5 <= len(kept) < TASKS
    done = boundmark("run", suite_file, "--out", out, "--quiet")
    assert f"{len(kept)} already stored, {TASKS - len(kept)} run" in done.stdout
    rows = ResultStore.open(out).results().set_index("task_id")
    assert len(rows) == TASKS
    assert rows.loc[kept.index].equals(kept)
    boundmark("verify", out)


@pytest.mark.slow
def test_dask_stores_the_same_rows(
    boundmark: Boundmark, suite_file: Path, finished_run: Path, tmp_path: Path
) -> None:
    """Who executes the tasks changes times and hosts, and nothing else."""
    out = tmp_path / "out"
    boundmark("run", suite_file, "--out", out, "--quiet", "--engine", "dask", "--workers", 2)
    measured = [
        "verify_seconds", "wall_seconds", "cpu_seconds", "peak_rss_bytes", "started_at", "host",
        "environment_sha256",
    ]  # fmt: skip
    rows, expected = (
        ResultStore.open(folder).results().drop(columns=measured) for folder in (out, finished_run)
    )
    assert rows.equals(expected)
    for folder in ("instances", "solutions", "certificates"):
        names = [{path.name for path in (one / folder).iterdir()} for one in (out, finished_run)]
        assert names[0] == names[1]
    for sha256 in ResultStore.open(out).results()["environment_sha256"]:
        assert (out / "environments" / f"{sha256}.json").exists()
    boundmark("verify", out)


def test_a_missing_extra_is_one_sentence(suite_file: Path, tmp_path: Path) -> None:
    """It says what to install."""
    code = (
        "import sys; sys.modules['distributed'] = None\n"
        "from boundmark.benchmarks.cli.group import main; main(sys.argv[1:])"
    )
    arguments = ("run", suite_file, "--out", tmp_path / "out", "--engine", "dask")
    done = subprocess.run(
        [sys.executable, "-c", code, *map(str, arguments)], capture_output=True, text=True
    )
    assert done.returncode == 2
    assert "expected the extra 'dask': pip install 'distributed>=" in " ".join(done.stderr.split())
    assert "Traceback" not in done.stderr


def test_what_a_killed_run_left_is_tidied(
    boundmark: Boundmark, suite_file: Path, finished_run: Path, tmp_path: Path
) -> None:
    """The next run merges what the last one had not, even if there is nothing else to do."""
    out = tmp_path / "out"
    shutil.copytree(finished_run, out)
    store = ResultStore.open(out)
    expected = store.results()
    first = {name: plain(value) for name, value in expected.iloc[0].to_dict().items()}
    store.append(first, [])
    (out / "solutions" / ".a.json.1-1.part").write_text("half")
    done = boundmark("run", suite_file, "--out", out, "--quiet")
    assert f"{TASKS} already stored, 0 run" in done.stdout
    for folder in ("results", "traces"):
        assert [path.name for path in (out / folder).iterdir()] == ["merged.parquet"]
    assert not list((out / "solutions").glob(".*"))
    assert ResultStore.open(out).results().equals(expected)


def plain(value: object) -> object:
    """Return a value of a table as Python's own, None if it is missing."""
    return None if pd.isna(value) else getattr(value, "item", lambda: value)()


# Runs a command on a small disk of its own, once empty and once without the right to write.
SMALL_DISK = """
import ctypes, os, subprocess, sys
libc, folder, kilobytes, *command = ctypes.CDLL(None), *sys.argv[1:]
if libc.unshare(0x20000) or libc.mount(None, b"/", None, (1 << 14) | (1 << 19), None):
    sys.exit("not permitted")
if libc.mount(b"tmpfs", folder.encode(), b"tmpfs", 0, f"size={kilobytes}k".encode()):
    sys.exit("not permitted")
done = subprocess.run(command)
print("kept:", sorted(os.listdir(folder)))
if libc.mount(None, folder.encode(), None, 32 | 1, None):
    sys.exit("not permitted")
again = subprocess.run(command)
print("statuses:", done.returncode, again.returncode)
"""


@pytest.mark.slow
def test_a_disk_that_is_full_or_read_only_is_one_sentence(suite_file: Path, tmp_path: Path) -> None:
    """The run ends with status 2, and says which file it could not write and why."""
    disk = tmp_path / "disk"
    disk.mkdir()
    done = subprocess.run(
        [
            sys.executable, "-c", SMALL_DISK, disk, "150",
            sys.executable, "-m", "boundmark", "run", suite_file, "--out", disk / "out", "--quiet",
        ],
        capture_output=True,
        text=True,
    )  # fmt: skip
    if done.stderr == "not permitted\n":
        pytest.skip("mounting is not permitted here")
    assert "statuses: 2 2" in done.stdout, done.stdout + done.stderr
    message = " ".join(done.stderr.split())
    assert "cannot be written: No space left on device" in message
    assert "Read-only file system" in message
    assert "Traceback" not in message


def test_tasks_that_match_any_filter_are_run(
    boundmark: Boundmark, suite_file: Path, tmp_path: Path
) -> None:
    """`--filter` may be repeated; if no label matches one of them, the error names them all."""
    out = tmp_path / "out"
    filters = ("--filter", "squeezenet k=4 max-work", "--filter", "squeezenet k=4 mean-work")
    assert "2 tasks" in boundmark("run", suite_file, "--out", out, "--dry-run", *filters).stdout
    done = boundmark(
        "run", suite_file, "--out", out, "--filter", "one", "--filter", "two", check=False
    )
    assert "no task matches 'one' or 'two'; labels look like" in done.stderr


def test_a_suite_without_tasks_is_an_error(boundmark: Boundmark, tmp_path: Path) -> None:
    """If files are optional and none of them is there, nothing is left to run."""
    suite = tmp_path / "none.toml"
    suite.write_text(
        'description = "None."\nproblem = "pipeline"\nmethods = ["max-work"]\n'
        "time_limit_seconds = 5\nmemory_limit_gib = 1\n"
        '[[instances]]\nfile = "missing.json"\nk = [2]\noptional = true\n'
    )
    for more in ((), ("--dry-run",)):
        done = boundmark("run", suite, "--out", tmp_path / "out", *more, check=False)
        assert done.returncode == 2
        assert "the suite has no tasks; expected at least one to run." in done.stderr


def test_one_writer_at_a_time(boundmark: Boundmark, suite_file: Path, tmp_path: Path) -> None:
    """A second run into the same folder is refused while the first one writes."""
    import fcntl

    out = tmp_path / "out"
    out.mkdir()
    with (out / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        done = boundmark("run", suite_file, "--out", out, check=False)
    assert done.returncode == 2
    assert "another command is writing to this folder" in done.stderr
    # It locks before it reads or makes anything, so that nothing changes in between.
    assert [path.name for path in out.iterdir()] == [".lock"]


def test_a_pipe_is_no_lock(boundmark: Boundmark, suite_file: Path, tmp_path: Path) -> None:
    """It is refused at once: to open it would wait for ever."""
    out = tmp_path / "out"
    out.mkdir()
    os.mkfifo(out / ".lock")
    done = boundmark("run", suite_file, "--out", out, check=False)
    assert done.returncode == 2
    assert "cannot be used as a results folder: it is no regular file." in done.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("run", "dmeo", "--out", "{tmp}/out"), "there is no suite 'dmeo'; did you mean demo"),
        (("run", "{suite}", "--out", "/proc/out"), "/proc/out cannot be used as a results folder"),
        (
            ("run", "{suite}", "--out", "{tmp}/out", "--filter", "nothing"),
            "no task matches",
        ),
        (("run", "{suite}", "--out", "{tmp}/out", "--retry", "bad"), "'bad' is not one of timeout"),
        (("run", "{suite}", "--out", "{tmp}/out", "--workers", "0"), "0 is not in the range"),
        (
            ("run", "{suite}", "--out", "{tmp}/out", "--workers", "99999999999999"),
            "workers is 99999999999999; expected an integer from 1 to 1024.",
        ),
        (("run", "{suite}", "--out", "{tmp}/out", "--engine", "slurm"), "'slurm' is not one of"),
        (
            (
                "run",
                "{suite}",
                "--out",
                "{tmp}/out",
                "--engine",
                "local",
                "--scheduler",
                "tcp://127.0.0.1:1",
            ),
            "a scheduler is given for the engine 'local'; expected the engine 'dask'",
        ),
        (
            (
                "run",
                "{suite}",
                "--out",
                "{tmp}/out",
                "--scheduler",
                "tcp://127.0.0.1:1",
                "--workers",
                "3",
            ),
            "workers are given beside a scheduler",
        ),
        (("run", "{suite}", "--out", ""), "'--out': it is empty; expected a path."),
        (("run", "{tmp}", "--out", "{tmp}/out"), "is no suite file; expected a TOML file whose na"),
        (("run", "{suite}", "--out", "{tmp}/out", "--time-limit", "nan"), "'--time-limit': nan; "),
        (("run", "{suite}", "--out", "{tmp}/out", "--memory-limit", "nan"), "'--memory-limit': na"),
        (
            ("run", "{suite}", "--out", "{tmp}/out", "--filter", "nothing", "--dry-run"),
            "no task matches 'nothing'; labels look like",
        ),
        (
            ("run", "{suite}", "--out", "{tmp}/out", "--rerun", "slicegraf", "--dry-run"),
            "there is no method 'slicegraf' in the suite; did you mean slicegraph",
        ),
        (("report", "{tmp}"), "is not a results folder"),
        (("report", ""), "it is empty; expected a path."),
        (("methods", "packng"), "there is no problem or method 'packng'; did you mean packing"),
        (("report", "{tmp}", "--format", "pdf"), "'pdf' is not one of html, md"),
        (("verify", "{tmp}"), "is not a results folder"),
        (("verify", "{tmp}/none.json"), "does not exist"),
        (("solve", "onnx-light/resnet5", "-k", "2"), "did you mean resnet50"),
        (("solve", "onxn-light/resnet50", "-k", "2"), "did you mean onnx-light"),
        (("solve", "{tmp}/none.onnx", "-k", "2"), "none.onnx"),
        (
            ("solve", "onnx-light/alexnet", "-k", "0"),
            "k is 0; expected an integer of at least 1",
        ),
        (("solve", "onnx-light/alexnet", "-k", "2", "--method", "packng"), "did you mean packing"),
        (("datasets", "--members", "regal-styl"), "did you mean regal-style"),
    ],
)
def test_mistakes_are_one_sentence(
    arguments: tuple[str, ...], message: str, boundmark: Boundmark, suite_file: Path, tmp_path: Path
) -> None:
    """No traceback; stderr names what is wrong and the exit code is not zero."""
    done = boundmark(
        *(part.format(tmp=tmp_path, suite=suite_file) for part in arguments), check=False
    )
    assert done.returncode != 0
    assert message in " ".join(done.stderr.split())
    assert "Traceback" not in done.stderr
