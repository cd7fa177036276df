import hashlib
import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest
from altered_folders import read_rows, write_rows
from command_line import Boundmark

from boundmark.benchmarks.running.folder_verification import verify_files, verify_folder
from boundmark.bounds import checker
from boundmark.reports.stored.schema import TRACES


def test_what_verify_accepts_is_not_checked_again(
    boundmark: Boundmark, finished_run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not for a comparison; but `verify` itself checks everything every time."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert " 0 rejected" in boundmark("verify", finished_run).stdout
    done = boundmark("compare", finished_run, finished_run)
    assert ": 0 checked now, " in done.stderr
    assert ", none rejected" in done.stderr
    copy = tmp_path / "copy"
    shutil.copytree(finished_run, copy)

    def failing(*arguments: object) -> int:
        raise checker.Rejected("it does not please")

    monkeypatch.setattr(checker, "check_solution", failing)
    assert "it does not please" in boundmark("verify", copy, check=False).stdout


def test_one_changed_digit_is_rejected(
    boundmark: Boundmark, finished_run: Path, tmp_path: Path
) -> None:
    """The folder no longer passes, and the file is named; its alterations are tested elsewhere."""
    copy = tmp_path / "copy"
    shutil.copytree(finished_run, copy)
    path = min((copy / "certificates").glob("*.json"))
    text = path.read_text()
    at = max(i for i, letter in enumerate(text) if letter.isdigit())
    path.write_text(text[:at] + str((int(text[at]) + 1) % 10) + text[at + 1 :])
    done = boundmark("verify", copy, check=False)
    assert done.returncode == 1
    assert f"rejected: {path}" in done.stdout


def test_fused_operators(boundmark: Boundmark, tmp_path: Path) -> None:
    """Stored instances say how operators were fused, so no row can say it otherwise."""
    suite, out = tmp_path / "fused.toml", tmp_path / "out"
    suite.write_text(
        'description = "Fused."\nproblem = "placement"\ntime_limit_seconds = 60\n'
        'memory_limit_gib = 2\nmethods = ["heft", "critical-path"]\n'
        '[[instances]]\ndataset = "onnx-light"\nmembers = ["squeezenet"]\n'
        'device = "moirai-inter-server"\nfusion = ["none", "backends"]\n'
    )
    boundmark("run", suite, "--out", out, "--quiet")
    rows = read_rows(out)
    is_fused = rows["instance_params"].str.contains("backends")
    assert is_fused.sum() == 2
    assert " 0 rejected" in boundmark("verify", out).stdout
    for text in (
        '{"fusion": "moirai", "transfers": "per-tensor"}',
        '{"transfers": "per-tensor"}',
        '["fusion"]',
    ):
        forged = rows.assign(instance_params=rows["instance_params"].mask(is_fused, text))
        write_rows(out, forged)
        done = boundmark("verify", out, check=False)
        assert done.returncode == 1
        assert done.stdout.count("instance_params is") == 2


def test_sources(boundmark: Boundmark, finished_run: Path, tmp_path: Path) -> None:
    """Graphs under the names of others are found if asked for."""
    out = tmp_path / "out"
    shutil.copytree(finished_run, out)
    rows = read_rows(out)
    is_random = rows["dataset"] == "regal-style"
    names = sorted(set(rows["instance"][is_random]))
    others = dict(zip(names, [*names[1:], names[0]], strict=True))
    write_rows(out, rows.assign(instance=rows["instance"].replace(others)))
    assert " 0 rejected" in boundmark("verify", out).stdout
    done = boundmark("verify", out, "--sources", check=False)
    assert done.returncode == 1
    assert done.stdout.count("made again, it has the hash") == (
        rows["instance_sha256"][is_random].nunique()
    )


def test_single_files(boundmark: Boundmark, finished_run: Path, tmp_path: Path) -> None:
    """A certificate is checked against the instance given with it, or found in its folder."""
    path = min((finished_run / "certificates").glob("*.json"))
    document = json.loads(path.read_text())
    assert "1 accepted, 0 rejected" in boundmark("verify", path).stdout
    alone = tmp_path / "certificate.json"
    if "payload_file" in document:
        shutil.copy(path.parent / document["payload_file"], tmp_path)
    shutil.copy(path, alone)
    done = boundmark("verify", alone, check=False)
    assert done.returncode == 1
    assert "was not given" in done.stdout
    instance = finished_run / "instances" / f"{document['instance_sha256']}.json"
    assert "1 accepted, 0 rejected" in boundmark("verify", instance, alone).stdout
    alone.write_text(json.dumps({**document, "bound": document["bound"] + 10**6}))
    assert boundmark("verify", instance, alone, check=False).returncode == 1


def test_what_is_no_file_is_rejected(boundmark: Boundmark, tmp_path: Path) -> None:
    """Devices and pipes are not passed over, and names are printed without effect."""
    os.mkfifo(tmp_path / "pipe\x1b[31m")
    for path in (Path("/dev/null"), tmp_path / "pipe\x1b[31m"):
        done = boundmark("verify", path, check=False)
        assert done.returncode == 1
        assert "the file is not a regular file" in done.stdout
        assert "0 accepted, 1 rejected" in done.stdout
        assert "\x1b" not in done.stdout


@pytest.mark.parametrize("error", [KeyError("x"), RecursionError(), MemoryError(), OverflowError()])
def test_a_check_that_fails_rejects_its_file_only(
    error: Exception, finished_run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The verdicts on all other files are as before."""
    path = min((finished_run / "certificates").glob("*.json"))
    check = checker.check_certificate

    def failing(instance: dict[str, Any], certificate: dict[str, Any]) -> int:
        if certificate == checker.read_document(path):
            raise error
        return check(instance, certificate)

    monkeypatch.setattr(checker, "check_certificate", failing)
    reasons = {verdict.subject: verdict.reason for verdict in verify_folder(finished_run)}
    reason = reasons.pop(str(path))
    assert reason is not None
    assert type(error).__name__ in reason
    documents = [subject for subject in reasons if subject.endswith(".json")]
    assert len(documents) > 3
    assert not any(reasons[subject] for subject in documents)
    (verdict,) = verify_files([path])
    assert verdict.reason == reason


@pytest.mark.usefixtures("undrawn")
def test_a_manifest_tells_what_documents_do_not(
    boundmark: Boundmark, suite_file: Path, tmp_path: Path
) -> None:
    """Rows that are gone with their traces, and a second run, are rejected by the files' names."""
    out, manifest = tmp_path / "out", tmp_path / "night.sha256"
    fast = ("--quiet", "--filter", "mean-work", "--filter", "max-work")
    printed = boundmark("run", suite_file, "--out", out, *fast, "--manifest", manifest).stdout
    digest = hashlib.sha256(manifest.read_bytes()).hexdigest()
    assert f"manifest: {manifest}, sha256 {digest}" in printed
    boundmark("report", out, "--format", "md", "--quiet")
    boundmark("verify", out, "--quiet", "--manifest", manifest)
    again = boundmark("run", suite_file, "--out", out, *fast, "--manifest", tmp_path / "again")
    assert f"sha256 {digest}" in again.stdout
    rows, traces = read_rows(out), read_rows(out, TRACES, "traces")
    kept = rows["method"] == "mean-work"
    write_rows(out, rows[kept])
    write_rows(out, traces[traces["task_id"].isin(rows["task_id"][kept])], TRACES, "traces")
    assert ", 0 rejected" in boundmark("verify", out).stdout
    done = boundmark("verify", out, "--manifest", manifest, check=False)
    assert done.returncode == 1
    lines = [line for line in done.stdout.splitlines() if line.startswith("rejected: ")]
    assert [line.split(": ")[1] for line in lines] == [
        f"{out}/results/merged.parquet", f"{out}/traces/merged.parquet"
    ]  # fmt: skip
    done = boundmark("verify", out, out, "--manifest", manifest, check=False)
    assert "--manifest is about one results folder; expected one DIR." in done.stderr
