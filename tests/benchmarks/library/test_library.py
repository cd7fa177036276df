import gzip
import json
import os
import shutil
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command_line import Boundmark

from boundmark.benchmarks import api
from boundmark.benchmarks.library import Entry, Library
from boundmark.benchmarks.library.adding import add_results
from boundmark.benchmarks.library.verifying import check_library
from boundmark.benchmarks.running.storing import locked
from boundmark.bounds.checker.registry import KINDS
from boundmark.problems.catalog import problems
from boundmark.problems.errors import BoundmarkError, InvalidInputError, StoreError
from boundmark.problems.pipeline import Partition, PipelineInstance
from boundmark.problems.problem import solution_document
from boundmark.reports.stored.accepted import Accepted
from boundmark.reports.stored.store import write_document

FACTS = """
most_certificate_bytes = 200_000
[datasets]
regal-style = "drawn by this package"
onnx-light = "of the onnx package"
"""

SHIPPED = Path(__file__).resolve().parents[3] / "library"


def empty(folder: Path, facts: str = FACTS) -> Library:
    """Return a library without entries."""
    folder.mkdir()
    (folder / "library.toml").write_text(facts)
    return Library.open(folder)


def rejected(library: Library) -> dict[str, str]:
    """Return what is wrong with a library, by subject."""
    verdicts = check_library(library.directory, Accepted())
    return {one.subject: one.reason for one in verdicts if one.reason is not None}


def documents(library: Library) -> set[tuple[str, str, str]]:
    """Return which documents a library has about which instances, whatever the day."""
    return {
        (one.instance_sha256, one.solution_sha256, one.certificate_sha256)
        for one in library.entries()
    }


def files(folder: Path) -> dict[str, bytes]:
    """Return all files of a folder but its lock and its entries, which have days."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and path.name not in (".lock", "entries.jsonl")
    }


def squeezenet(library: Library) -> Entry:
    """Return the entry of the instance that is solved below."""
    return next(one for one in library.entries() if one.dataset == "onnx-light")


@pytest.fixture(autouse=True)
def _own_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Remember nothing of other tests."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.fixture(scope="module")
def proven(boundmark: Boundmark, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a results folder with a proven optimum."""
    out = tmp_path_factory.mktemp("proven") / "out"
    boundmark("solve", "onnx-light/squeezenet", "-k", "4", "--quiet", "--out", out)
    return out


@pytest.fixture(scope="module")
def weak(boundmark: Boundmark, suite_file: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a results folder with poor solutions and bounds."""
    out = tmp_path_factory.mktemp("weak") / "out"
    patterns = ("--filter", "*max-work", "--filter", "*random-100")
    boundmark("run", suite_file, "--out", out, "--quiet", *patterns)
    return out


@pytest.fixture(scope="module")
def poor(proven: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a results folder with one solution, which has all operators in one stage."""
    out = Path(shutil.copytree(proven, tmp_path_factory.mktemp("poor") / "out"))
    shutil.rmtree(out / "certificates")
    shutil.rmtree(out / "solutions")
    (path,) = (out / "instances").glob("*.json")
    instance = PipelineInstance.from_json(json.loads(path.read_text()))
    partition = Partition(np.zeros(instance.nodes, np.int64))
    document = solution_document(instance, partition, instance.objective(partition))
    (out / "solutions").mkdir()
    write_document(out / "solutions", document)
    return out


@pytest.fixture(scope="module")
def filled(finished_run: Path, proven: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a library with what a run has found and `solve` has proven; not to be changed."""
    library = empty(tmp_path_factory.mktemp("filled") / "library")
    for results in (finished_run, proven):
        add_results(library, results)
    return library.directory


@pytest.fixture
def copied(filled: Path, tmp_path: Path) -> Library:
    """Return a library that a test may change."""
    return Library.open(Path(shutil.copytree(filled, tmp_path / "library")))


def test_what_is_added_is_accepted(boundmark: Boundmark, filled: Path) -> None:
    """Each instance has its best solution and bound, and the checker accepts all of them."""
    library = Library.open(filled)
    entries = library.entries()
    assert len(entries) == 5
    assert {one.is_optimal for one in entries} == {True, False}
    assert all(one.solution_sha256 and one.certificate_sha256 for one in entries)
    assert rejected(library) == {}
    done = boundmark("verify", filled, "--sources")
    assert done.stdout.endswith(" accepted, 0 rejected\n")


def test_the_same_results_give_the_same_files(
    filled: Path, finished_run: Path, proven: Path, tmp_path: Path
) -> None:
    """Added twice, they change nothing; added elsewhere, they make equal bytes."""
    library = empty(tmp_path / "library")
    assert add_results(library, finished_run, is_trial=True).bounds
    assert not library.entries()
    add_results(library, finished_run)
    add_results(library, proven)
    assert files(library.directory) == files(filled)
    assert documents(library) == documents(Library.open(filled))
    again = add_results(library, finished_run)
    assert (again.instances, again.solutions, again.bounds) == ([], [], [])
    assert files(library.directory) == files(filled)


def test_only_what_is_better_is_taken(weak: Path, finished_run: Path, tmp_path: Path) -> None:
    """The former documents go; what is worse changes nothing."""
    library = empty(tmp_path / "library")
    add_results(library, weak)
    before = {one.instance_sha256: one for one in library.entries()}
    added = add_results(library, finished_run)
    assert (added.instances, added.mended, added.left_out) == ([], [], {})
    assert added.bounds
    best = documents(library)
    for one in library.entries():
        former = before[one.instance_sha256]
        assert one.objective is not None
        assert former.objective is not None
        assert one.objective <= former.objective
        assert former.bound is None or (one.bound is not None and one.bound >= former.bound)
    assert add_results(library, weak).sentences == [
        "0 instances added; 0 solutions and 0 bounds better than the library's"
    ]
    assert documents(library) == best
    assert rejected(library) == {}


def killed_at(number: int, add: Callable[[], object]) -> bool:
    """Add in a process that is killed before it renames or removes its n-th file, if it does."""
    with warnings.catch_warnings():
        # Of threads, none of which holds what the child needs.
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        try:
            left = iter(range(number))

            def until_then(call: Callable[..., None]) -> Callable[..., None]:
                def counted(*given: Any, **named: Any) -> None:
                    if next(left, None) is None:
                        os._exit(9)
                    call(*given, **named)

                return counted

            os.replace, os.unlink = until_then(os.replace), until_then(os.unlink)
            add()
            os._exit(0)
        finally:
            os._exit(1)
    _, status = os.waitpid(child, 0)
    code = os.waitstatus_to_exitcode(status)
    assert code in (0, 9)
    return code == 9


def test_a_killed_writer_loses_nothing(weak: Path, finished_run: Path, tmp_path: Path) -> None:
    """Killed before any of its writes: all is as before or as after, and goes on the next time."""
    start, whole = empty(tmp_path / "start"), tmp_path / "whole"
    add_results(start, weak)
    before = documents(start)
    shutil.copytree(start.directory, whole)
    add_results(Library.open(whole), finished_run)
    after = documents(Library.open(whole))
    assert before != after
    number = 0
    while True:
        library = Library.open(Path(shutil.copytree(start.directory, tmp_path / str(number))))
        if not killed_at(number, partial(add_results, library, finished_run)):
            break
        assert documents(library) in (before, after)
        assert all(reason.startswith("no entry names it") for reason in rejected(library).values())
        add_results(library, finished_run)
        assert documents(library) == after
        assert files(library.directory) == files(whole)
        assert not list(library.directory.glob(".*.part"))
        shutil.rmtree(library.directory)
        number += 1
    # Documents of several instances, the entries, and former documents.
    assert number > 10


def test_there_is_one_writer_at_a_time(finished_run: Path, tmp_path: Path) -> None:
    """Who comes second is told so, before anything is read."""
    library = empty(tmp_path / "library")
    with (
        locked(library.directory),
        pytest.raises(StoreError, match="another command is writing to this folder"),
    ):
        add_results(library, finished_run)
    assert add_results(library, finished_run).instances


@pytest.mark.parametrize("folder", ["instances", "labels", "solutions", "certificates"])
@pytest.mark.parametrize("damage", [Path.unlink, lambda path: path.write_text("{}")])
def test_broken_entries_are_mended(
    folder: str, damage: Callable[[Path], object], proven: Path, tmp_path: Path
) -> None:
    """A file that is gone or not whole is told of by `verify`, and replaced by `add`."""
    if folder == "labels" and damage is not Path.unlink:
        pytest.skip("labels are not named after their content")
    library = empty(tmp_path / "library")
    add_results(library, proven)
    (entry,), before = library.entries(), files(library.directory)
    damage(library.directory / next(one for one in entry.files if one.startswith(folder)))
    assert rejected(library)
    added = add_results(library, proven)
    assert added.sentences[1].startswith("mended: onnx-light/squeezenet k=4")
    assert rejected(library) == {}
    assert (library.entries(), files(library.directory)) == ([entry], before)


def test_a_poorer_result_is_better_than_none(copied: Library, poor: Path) -> None:
    """Where the library's own solution is lost, the best that is left takes its place."""
    entry = squeezenet(copied)
    (copied.directory / "solutions" / f"{entry.solution_sha256}.json").unlink()
    assert add_results(copied, poor).mended == [
        f"{entry.label}, whose file in solutions/ was not whole"
    ]
    found = squeezenet(copied)
    assert (found.bound, found.certificate_sha256) == (entry.bound, entry.certificate_sha256)
    assert found.objective is not None
    assert entry.objective is not None
    assert found.objective > entry.objective
    assert rejected(copied) == {}


def test_a_solution_of_ones_own_is_added(
    boundmark: Boundmark, proven: Path, tmp_path: Path
) -> None:
    """`evaluate --out` stores it without a row; it counts like any other."""
    best = min(
        (json.loads(path.read_text()) for path in (proven / "solutions").glob("*.json")),
        key=lambda one: int(one["objective"]),
    )
    (tmp_path / "mine.json").write_text(json.dumps({"stages": best["stages"]}))
    given = ("onnx-light/squeezenet", tmp_path / "mine.json", "-k", "4", "--method", "max-work")
    boundmark("evaluate", *given, "--out", tmp_path / "out")
    library = empty(tmp_path / "library")
    boundmark("library", "--library", library.directory, "add", tmp_path / "out")
    (entry,) = library.entries()
    assert (entry.objective, entry.objective_method) == (best["objective"], "given")
    assert entry.bound_method.startswith("max-work ")
    assert rejected(library) == {}


def test_a_cost_below_a_bound_is_refused(copied: Library, proven: Path, tmp_path: Path) -> None:
    """One of the two is wrong, so nothing is added."""
    entry = squeezenet(copied)
    text = (copied.directory / "entries.jsonl").read_text()
    assert entry.objective is not None
    # Neither is its bound believed where its document is gone, nor its cost.
    forged = text.replace(f'"bound": {entry.bound}', f'"bound": {entry.objective + 1}')
    forged = forged.replace(f'"objective": {entry.objective}', f'"objective": {10**9}')
    (copied.directory / "entries.jsonl").write_text(forged)
    with pytest.raises(StoreError, match="one of them is wrong"):
        add_results(copied, proven)
    assert (copied.directory / "entries.jsonl").read_text() == forged


def test_large_certificates_and_other_data_sets_are_left_out(
    finished_run: Path, tmp_path: Path
) -> None:
    """The best bound whose certificate may be kept is taken; each that is left out is said."""
    library = empty(tmp_path / "library", FACTS.replace("200_000", "1000"))
    added = add_results(library, finished_run)
    assert any("bytes; expected at most 1,000" in why for why in added.left_out.values())
    assert all(
        (library.directory / name).stat().st_size <= 1000
        for one in library.entries()
        for name in one.files
        if name.startswith("certificates/")
    )
    other = empty(tmp_path / "other", FACTS.replace("onnx-light", "something-else"))
    added = add_results(other, finished_run)
    assert added.left_out["onnx-light/squeezenet"] == "library.toml does not list onnx-light"
    assert {one.dataset for one in other.entries()} == {"regal-style"}


def changed(**changes: Any) -> Callable[[Library], None]:
    """Return a change of fields of the open entry of a library."""

    def damage(library: Library) -> None:
        path = library.directory / "entries.jsonl"
        records = [json.loads(line) for line in path.read_text().splitlines()]
        first = next(one for one in records if one["objective"] != one["bound"])
        first |= changes
        path.write_text("".join(json.dumps(one) + "\n" for one in records))

    return damage


def forged(library: Library) -> None:
    """State a higher bound in the certificate, with all hashes as they should be."""
    entry = next(one for one in library.entries() if not one.is_optimal)
    folder = library.directory / "certificates"
    document = json.loads((folder / f"{entry.certificate_sha256}.json").read_text())
    digest = write_document(folder, document | {"bound": entry.objective})
    changed(bound=entry.objective, certificate_sha256=digest)(library)


def stray(library: Library) -> None:
    """Leave another file."""
    (library.directory / "solutions" / "more.json").write_text("{}")


def twice(library: Library) -> None:
    """Repeat a line."""
    path = library.directory / "entries.jsonl"
    path.write_text(path.read_text() + path.read_text().splitlines(keepends=True)[0])


DAMAGES: dict[str, tuple[Callable[[Library], None], str]] = {
    "better cost": (changed(objective=1), "objective is 1; by its documents, it is "),
    "forged bound": (forged, "the certificate's bound is more than it proves"),
    "credit": (changed(objective_method="mine 1"), "objective_method is 'mine 1'; by its "),
    "name": (changed(instance="mine"), "instance is 'mine'; by its documents, it is "),
    "parameters": (changed(parameters={"k": 99}), "parameters is {'k': 99}; by its documents"),
    "data set": (changed(dataset="regal"), "library.toml does not list 'regal'"),
    "size": (changed(nodes=1), "nodes is 1; by its documents, it is "),
    "no solution": (changed(solution_sha256=""), "by its documents, it is None"),
    "other instance": (changed(instance_sha256="0" * 64), "is not in the folder"),
    "stray": (stray, "no entry names it"),
    "twice": (twice, "an entry above is about the same instance"),
}  # fmt: skip


@pytest.mark.parametrize("name", DAMAGES)
def test_damage_is_found(name: str, copied: Library) -> None:
    """Whatever is changed, one sentence says where and what."""
    damage, reason = DAMAGES[name]
    damage(copied)
    found = rejected(copied)
    assert any(reason in one for one in found.values()), found
    assert "\n" not in "".join(found.values())


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("<<<<<<< HEAD", "entries.jsonl, line 1: expected JSON"),
        ('{"problem": 1}', "entries.jsonl, line 1: field 'bound' of an entry is missing"),
    ],
)
def test_damaged_lines_are_named(line: str, reason: str, copied: Library, proven: Path) -> None:
    """As a merge of two branches may leave them; nothing is written then."""
    path = copied.directory / "entries.jsonl"
    path.write_text(f"{line}\n{path.read_text()}")
    with pytest.raises(InvalidInputError, match=reason):
        rejected(copied)
    with pytest.raises(InvalidInputError, match=reason):
        add_results(copied, proven)


def test_types_of_fields_are_checked(copied: Library) -> None:
    """A field of another type is named."""
    changed(nodes="many")(copied)
    with pytest.raises(InvalidInputError, match="nodes is 'many'; expected int"):
        copied.entries()


def test_labels_of_another_source_are_found(boundmark: Boundmark, copied: Library) -> None:
    """With sources, an instance has to be the one that its names make."""
    labels = (copied.directory / "labels").glob("*.json")
    for path in (*labels, copied.directory / "entries.jsonl"):
        changed = path.read_text().replace('"erdos-renyi-1"', '"erdos-renyi-2"')
        path.write_text(changed.replace("/erdos-renyi-1", "/erdos-renyi-2"))
    assert rejected(copied) == {}
    done = boundmark("verify", copied.directory, "--sources", check=False)
    assert done.returncode == 1
    assert "regal-style/erdos-renyi-2" in done.stdout
    assert "made again, it has the hash" in done.stdout


def solved(boundmark: Boundmark, *options: object) -> dict[str, Any]:
    """Return the answer about a small instance."""
    done = boundmark("solve", "onnx-light/squeezenet", "-k", "4", "--json", *options)
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def test_solve_begins_with_it_and_says_so(boundmark: Boundmark, copied: Library) -> None:
    """An optimum that is known is checked and printed; methods asked for by name do without."""
    answer = solved(boundmark, "--library", copied.directory)
    assert answer["optimal"]
    assert answer["method"] == answer["bound_method"] == "library"
    entry = copied.find(answer["instance_sha256"])
    assert entry is not None
    assert entry.solution_words in answer["library"]
    assert answer["library"].count(" by ") == 2
    printed = boundmark("solve", "onnx-light/squeezenet", "-k", "4", "--library", copied.directory)
    assert "library          a solution of" in printed.stdout
    without = solved(boundmark, "--library", "none", "--method", "balanced-work")
    assert (without["method"], without["library"]) == ("balanced-work", "")


def test_certificates_that_take_long_wait_for_verify(boundmark: Boundmark, copied: Library) -> None:
    """One whose check would take a large part of the limit is used once `verify` accepted it."""
    path = copied.directory / "entries.jsonl"
    lines = path.read_text().splitlines()
    records = [json.loads(line) | {"check_seconds": 99.0} for line in lines]
    path.write_text("".join(json.dumps(one) + "\n" for one in records))
    first = solved(boundmark, "--library", copied.directory)
    assert "which takes long to check" in first["library"]
    boundmark("verify", copied.directory)
    assert solved(boundmark, "--library", copied.directory)["bound_method"] == "library"


def test_a_known_optimum_needs_no_run(
    boundmark: Boundmark, copied: Library, tmp_path: Path
) -> None:
    """Where the library has the optimum and its proof, no run is begun, recorded or stored."""
    out = tmp_path / "rows"
    assert solved(boundmark, "--library", copied.directory, "--out", out)["optimal"]
    assert not list(out.rglob("*.parquet"))
    solved(boundmark, "--library", "none", "--out", out, "--method", "balanced-work")
    assert list(out.rglob("*.parquet"))


def test_the_python_api_begins_with_it(copied: Library) -> None:
    """As the command does: it is checked, credited in the notes, and can be left out."""
    answer = api.solve("onnx-light/squeezenet", k=4, library=copied.directory, quiet=True)
    assert answer.is_optimal
    assert answer.method == "library"
    assert answer.notes[0].startswith("from the library: a solution of ")
    assert answer.certificate is not None
    assert answer.certificate.check() == answer.bound
    without = api.solve("onnx-light/squeezenet", k=4, library=False, quiet=True)
    assert without.method != "library"
    mine = api.evaluate(
        "onnx-light/squeezenet", [0] * 66, k=4, library=copied.directory, quiet=True
    )
    assert mine.bound == answer.bound
    assert mine.method == "given"
    assert any("there is a better solution" in note for note in mine.notes)


def test_what_methods_find_beyond_it_counts(
    boundmark: Boundmark, poor: Path, tmp_path: Path
) -> None:
    """A library that knows a bad solution only is a start, and not the end."""
    library = empty(tmp_path / "library")
    add_results(library, poor)
    known = squeezenet(library)
    assert known.bound is None
    assert known.objective is not None
    answer = solved(boundmark, "--library", library.directory)
    assert answer["objective"] < known.objective
    assert answer["method"] != "library"
    assert answer["library"].endswith("; the solution found is better")


def test_a_damaged_library_does_no_harm(boundmark: Boundmark, copied: Library) -> None:
    """What cannot be used is said, and methods do the work."""
    (copied.directory / squeezenet(copied).files[2]).write_bytes(b"")
    answer = solved(boundmark, "--library", copied.directory)
    assert answer["optimal"]
    assert answer["method"] != "library"
    assert answer["library"].startswith("nothing, because of an error: ")


def test_runs_do_without_it(
    boundmark: Boundmark, suite_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A benchmark run does not even look for a library, where `solve` would fail without."""
    monkeypatch.setenv("BOUNDMARK_LIBRARY", str(tmp_path / "nowhere"))
    pattern = ("--filter", "*squeezenet*max-work")
    boundmark("run", suite_file, "--out", tmp_path / "out", "--quiet", *pattern)
    done = boundmark("solve", "onnx-light/squeezenet", "-k", "4", check=False)
    assert done.returncode == 2
    assert "nowhere is no library; expected a folder that holds library.toml" in " ".join(
        done.stderr.split()
    )


def test_entries_are_shown_by_the_names_of_solve(boundmark: Boundmark, filled: Path) -> None:
    """Name, name with parameters, or hash; of a single one, the files are those of `verify`."""
    entry = squeezenet(Library.open(filled))
    show = ("library", "--library", filled, "show")
    for name in ("onnx-light/squeezenet", "onnx-light/squeezenet k=4", entry.instance_sha256[:9]):
        lines = boundmark(*show, name).stdout.splitlines()
        assert lines[0] == "pipeline"
        assert lines[2].split()[:2] == ["onnx-light/squeezenet", "k=4"]
        assert f"{entry.objective}" in lines[2]
        assert f"Solution by {entry.objective_method}, bound by {entry.bound_method}" in lines[3]
    named = [path for path in lines if path.startswith(str(filled)) and "/labels/" not in path]
    assert boundmark("verify", *named).stdout.endswith("\n2 accepted, 0 rejected\n")
    whole = json.loads(boundmark(*show, "--json").stdout)
    assert [one["instance_sha256"] for one in whole] == [
        one.instance_sha256 for one in Library.open(filled).entries()
    ]
    done = boundmark(*show, "nothing", check=False)
    assert done.returncode == 2
    assert "has a name or a hash that begins with 'nothing'" in " ".join(done.stderr.split())


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (("200_000", "'x'"), "expected an integer most_certificate_bytes and a table datasets"),
        (("[datasets]", "[others]"), "expected an integer most_certificate_bytes and a table"),
        (("[datasets]", "[datasets"), "library.toml: expected TOML"),
    ],
)
def test_facts_are_checked(change: tuple[str, str], reason: str, tmp_path: Path) -> None:
    """Of the library as a whole."""
    with pytest.raises(BoundmarkError, match=reason):
        empty(tmp_path / "library", FACTS.replace(*change))


def test_the_shipped_library_is_whole() -> None:
    """Every entry has its documents, of kinds that the checker knows, and nothing else is there."""
    library = Library.open(SHIPPED)
    entries = library.entries()
    assert len(entries) >= 262
    assert {one.problem for one in entries} == set(problems())
    for one in entries:
        assert all((SHIPPED / name).is_file() for name in one.files)
        certificate = SHIPPED / "certificates" / f"{one.certificate_sha256}.json"
        assert json.loads(certificate.read_text())["kind"] in KINDS
    assert library.unnamed(entries) == []


@pytest.mark.slow
def test_the_shipped_library_is_accepted(boundmark: Boundmark) -> None:
    """All of it, with every instance made again from what it is called."""
    assert boundmark("verify", SHIPPED, "--sources").returncode == 0


def test_a_file_of_an_entry_says_what_it_proves(boundmark: Boundmark, tmp_path: Path) -> None:
    """Of each problem: the file alone is accepted, and a changed one is not."""
    library = Library.open(SHIPPED)
    entries = sorted(library.entries(), key=lambda one: one.nodes)
    assert len({one.bundle_name for one in entries}) == len(entries)
    first = {one.problem: one for one in reversed(entries) if one.payload_sha256 or one.nodes < 200}
    assert set(first) >= {"pipeline", "microbatch", "placement", "ordering", "slicing", "layers"}
    for one in first.values():
        (tmp_path / one.bundle_name).write_bytes(library.bundle(one))
    printed = boundmark("verify", *sorted(tmp_path.glob("*.jsonl.gz"))).stdout
    assert f"{2 * len(first)} accepted, 0 rejected" in printed
    for one in first.values():
        head = f"{one.bundle_name}: {one.problem} instance {one.instance_sha256[:12]}: "
        assert f"{head}the solution costs {one.objective:,}\n" in printed
        proof = f"{head}no solution costs less than {one.bound:,} (proof: "
        (line,) = (line for line in printed.splitlines() if proof in line)
        end = "is optimal" if one.is_optimal else "% above the optimum"
        assert line.endswith(end)
        assert f"so {one.objective:,} is " in line
    path = tmp_path / first["layers"].bundle_name
    instance, solution, certificate = map(
        json.loads, gzip.decompress(path.read_bytes()).splitlines()
    )
    certificate["bound"] += 1
    other = tmp_path / "other.jsonl"
    other.write_text("\n".join(map(json.dumps, (instance, solution, certificate))))
    done = boundmark("verify", other, check=False)
    assert done.returncode == 1
    assert "1 accepted, 1 rejected" in done.stdout
    other.write_text("[1]\n")
    assert "line 1 is not a JSON object" in boundmark("verify", other, check=False).stdout
    payload = next((SHIPPED / "certificates").glob("*.json.gz"))
    done = boundmark("verify", payload, check=False)
    assert "is the payload of a certificate; give the certificate's file" in done.stdout
