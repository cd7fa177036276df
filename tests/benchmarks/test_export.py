import json
from pathlib import Path

import pytest
import vipr_checker
from brute_force import instance
from command_line import Boundmark
from recording import Recorder

from boundmark.bounds.pipeline import work
from boundmark.bounds.pipeline.tree import methods
from boundmark.problems.method import Budget
from boundmark.problems.pipeline import PipelineInstance
from boundmark.reports.stored.documents import write_document

SAMPLE = instance([4, 4, 5, 1], [(0, 2), (1, 3)], 2, transfer=[1, 0, 2, 5])


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Return the files of an instance and of its tree, as a run stores them."""
    folder = tmp_path_factory.mktemp("stored")
    reports = Recorder()
    methods.run_mip_tree(SAMPLE, Budget(20), 0, reports)
    return stored_as(
        folder, SAMPLE
    ), folder / f"{write_document(folder, reports.bounds[-1].to_json())}.json"


def stored_as(folder: Path, sample: PipelineInstance) -> Path:
    """Store an instance and return its file."""
    return folder / f"{write_document(folder, sample.to_json())}.json"


def test_file_is_complete(boundmark: Boundmark, stored: tuple[Path, Path], tmp_path: Path) -> None:
    """The file that the command writes proves the bound that it prints."""
    out = tmp_path / "tree.vipr"
    printed = boundmark("export", *stored, out).stdout
    bound = json.loads(stored[1].read_text())["bound"]
    assert f"the minimum is at least {bound}, in " in printed
    assert printed.endswith(" derived constraints (VIPR 1.0)\n")
    assert vipr_checker.check(out).bound == bound
    assert boundmark("export", *stored, out, "--quiet").stdout == ""
    assert [path.name for path in tmp_path.iterdir()] == [out.name]


def test_nothing_is_written_without_proof(
    boundmark: Boundmark, stored: tuple[Path, Path], tmp_path: Path
) -> None:
    """The file that is to blame is named, and what was there stays."""
    out = tmp_path / "tree.vipr"
    out.write_text("older")
    instance_file, certificate = stored
    other = stored_as(tmp_path, instance([1], [], 1))
    missing = tmp_path / "missing.json"
    false = tmp_path / "false.json"
    document = json.loads(certificate.read_text())
    false.write_text(json.dumps({**document, "bound": document["bound"] + 1}))
    for files, expected in (
        ((other, certificate), f"{certificate}: the certificate's instance_sha256 is not"),
        ((instance_file, false), f"{false}: the certificate's bound is more than it proves"),
        ((missing, certificate), f"{missing}: the file cannot be read."),
        ((certificate, certificate), f"{certificate}: the instance's format is not"),
        ((instance_file, instance_file), f"{instance_file}: the certificate is not an object"),
    ):
        done = boundmark("export", *files, out, check=False)
        assert done.returncode == 2
        assert expected in done.stderr.replace("\n", " ")
        assert out.read_text() == "older"
    done = boundmark("export", *stored, tmp_path / "nowhere" / "tree.vipr", check=False)
    assert "cannot be written" in done.stderr
    assert not list(tmp_path.glob(".*"))


def test_kinds_without_a_format(boundmark: Boundmark, tmp_path: Path) -> None:
    """The sentence names the file, the kind, and the kinds that can be written."""
    reports = Recorder()
    work.run_mean_work(SAMPLE, Budget(20), 0, reports)
    path = tmp_path / f"{write_document(tmp_path, reports.bounds[-1].to_json())}.json"
    out = tmp_path / "tree.vipr"
    done = boundmark("export", stored_as(tmp_path, SAMPLE), path, out, check=False)
    assert done.returncode == 2
    sentence = " ".join(done.stderr.split())
    assert f"{path}: kind is 'mean-work/1'; expected 'mip-tree/1' or" in sentence
    assert not out.exists()


def test_a_tree_for_each_position(boundmark: Boundmark, tmp_path: Path) -> None:
    """Such a certificate becomes a file for each tree, which together say what it says."""
    reports = Recorder()
    methods.run_bottleneck_guess_tree(SAMPLE, Budget(20), 0, reports)
    document = reports.bounds[-1].to_json()
    assert document["kind"] == "bottleneck-guess-tree/1"
    path = tmp_path / f"{write_document(tmp_path, document)}.json"
    printed = boundmark("export", stored_as(tmp_path, SAMPLE), path, tmp_path / "t.vipr").stdout
    assert sorted(tmp_path.glob("*.vipr")) == [tmp_path / f"t-{part}.vipr" for part in (0, 1)]
    assert printed.count(f"the minimum is at least {document['bound']}, in ") == 2
    for part in tmp_path.glob("*.vipr"):
        assert vipr_checker.check(part).bound == document["bound"]
