import gzip
import json
from pathlib import Path

import pytest
from standalone_checker import run_alone

from boundmark.bounds import checker
from boundmark.problems.arrays import frozen
from boundmark.problems.pipeline import Partition, PipelineInstance
from boundmark.problems.problem import solution_document
from boundmark.reports.stored.store import write_document


def test_runs_without_the_package(folder: tuple[Path, str, PipelineInstance]) -> None:
    """The folder alone checks certificates and solutions, one line each."""
    directory, digest, sample = folder
    stages = [0] * sample.nodes
    objective = sample.objective(Partition(frozen(stages)))
    solution = write_document(
        directory,
        solution_document(sample, Partition(frozen(stages)), objective),
    )
    good = [directory / f"{name}.json" for name in (digest, solution)]
    bound = json.loads(good[0].read_text())["bound"]
    done = run_alone(directory, directory / f"{sample.sha256}.json", *good)
    assert done.stdout.splitlines() == [
        f"{good[0]}: accepted, OPT >= {bound}",
        f"{good[1]}: accepted, OPT <= {objective}",
    ]
    assert (done.returncode, done.stderr) == (0, "")


def test_a_file_with_everything_needs_no_other(
    folder: tuple[Path, str, PipelineInstance], tmp_path: Path
) -> None:
    """Instance and certificate with its payload, a line each, compressed or not."""
    directory, digest, sample = folder
    paths = [directory / f"{name}.json" for name in (sample.sha256, digest)]
    documents = [checker.read_document(path) for path in paths]
    lines = "\n".join(map(json.dumps, documents))
    (tmp_path / "all.jsonl").write_text(lines)
    (tmp_path / "all.jsonl.gz").write_bytes(gzip.compress(lines.encode()))
    for path in tmp_path.glob("all.*"):
        done = run_alone(directory, path)
        assert done.stdout == f"{path}: accepted, OPT >= {documents[1]['bound']}\n"
        assert (done.returncode, done.stderr) == (0, "")
    (tmp_path / "all.jsonl.gz").write_bytes(b"no gzip")
    done = run_alone(directory, tmp_path / "all.jsonl.gz")
    assert (done.returncode, done.stdout) == (2, "")
    assert "cannot be decompressed" in done.stderr


def test_exit_code_tells_a_rejection(folder: tuple[Path, str, PipelineInstance]) -> None:
    """One file that is not accepted decides, wherever it stands."""
    directory, digest, sample = folder
    good = directory / f"{digest}.json"
    bad = directory / "bad.json"
    bad.write_text(json.dumps({**json.loads(good.read_text()), "bound": 10**9}))
    done = run_alone(directory, directory / f"{sample.sha256}.json", bad, good)
    first, second = done.stdout.splitlines()
    assert "bad.json: rejected, the certificate's bound is more than it proves" in first
    assert "accepted" in second
    assert (done.returncode, done.stderr) == (1, "")


@pytest.mark.parametrize("files", [[], ["missing.json"], ["missing.json", "other.json"]])
def test_exit_code_tells_misuse(tmp_path: Path, files: list[str]) -> None:
    """Without an instance nothing can be said about any file."""
    done = run_alone(tmp_path, *[tmp_path / name for name in files])
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
