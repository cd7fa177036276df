import gzip
import hashlib
import json
import shutil
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from command_line import Boundmark

from boundmark.benchmarks import api
from boundmark.benchmarks.library import Library, adding
from boundmark.benchmarks.library.adding import add_results
from boundmark.benchmarks.library.entry import recipe
from boundmark.benchmarks.library.folder import packed
from boundmark.benchmarks.library.verifying import Part, verify_library
from boundmark.bounds.checker.registry import KINDS
from boundmark.problems.catalog import methods, problems
from boundmark.problems.errors import BoundmarkError

FACTS = """
format = "boundmark-library/1"
licence = "Apache-2.0"
most_bytes = 1_000_000
most_certificate_bytes = 50_000
[datasets]
regal-style = "drawn by this package"
onnx-light = "of the onnx package"
[contributors]
"Ada" = 2026-11-23
"""

SHIPPED = Path(__file__).resolve().parents[3] / "library"


COMMIT_OF = adding.commit_of


def empty(folder: Path, facts: str = FACTS) -> Library:
    """Return a library without entries."""
    folder.mkdir()
    (folder / "library.toml").write_text(facts)
    return Library.open(folder)


CHECKOUT = Path(__file__).parents[3] / "library"


@pytest.fixture(autouse=True)
def _own_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Remember nothing of other tests."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.fixture(autouse=True, scope="module")
def _is_committed() -> Iterator[None]:
    """Let results be those of a commit, whatever has been changed since."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(adding, "commit_of", lambda record: "0123456789abcdef")
        yield


@pytest.fixture(scope="module")
def proven(boundmark: Boundmark, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a results folder with a proven optimum."""
    out = tmp_path_factory.mktemp("proven") / "out"
    boundmark("solve", "onnx-light/squeezenet", "-k", "4", "--quiet", "--out", out)
    return out


@pytest.fixture(scope="module")
def filled(finished_run: Path, proven: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a library with what a run has found and `solve` has proven; not to be changed."""
    folder = tmp_path_factory.mktemp("filled") / "library"
    for results in (finished_run, proven):
        add_results(empty(folder) if not folder.exists() else Library.open(folder), results, "Ada")
    return folder


@pytest.fixture
def copied(filled: Path, tmp_path: Path) -> Library:
    """Return a library that a test may change."""
    return Library.open(Path(shutil.copytree(filled, tmp_path / "library")))


def test_what_is_added_is_accepted(filled: Path) -> None:
    """Each instance has its best solution and bound, and the checker accepts all of them."""
    library = Library.open(filled)
    entries = list(library.entries())
    assert len(entries) == 5
    assert {entry.status for entry in entries} == {"optimal", "open"}
    seen = verify_library(library, with_sources=True)
    assert seen.rejected == []
    assert (seen.instances, seen.solutions, seen.certificates, seen.remembered) == (5, 5, 5, 0)


def test_it_goes_on_where_it_was(filled: Path) -> None:
    """What was accepted is not checked again, unless it should be; parts make up the whole."""
    library = Library.open(filled)
    parts = [verify_library(library, Part(number, 3)) for number in (1, 2, 3)]
    assert sum(part.instances for part in parts) == 5
    assert verify_library(library).remembered == 10
    assert verify_library(library, are_remembered=False).remembered == 0


def contents(folder: Path) -> dict[str, bytes]:
    """Return all files of a folder."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


def test_the_same_results_give_the_same_files(
    filled: Path, finished_run: Path, proven: Path, tmp_path: Path
) -> None:
    """Added twice, they change nothing; added elsewhere, they make equal bytes."""
    library = empty(tmp_path / "library")
    assert add_results(library, finished_run, "Ada", is_trial=True).bounds
    assert not list(library.entries())
    add_results(library, finished_run, "Ada")
    add_results(library, proven, "Ada")
    assert contents(library.directory) == contents(filled)
    again = add_results(library, finished_run, "Ada")
    assert (again.instances, again.solutions, again.bounds) == ([], [], [])
    assert contents(library.directory) == contents(filled)


def test_only_what_is_better_is_taken(
    boundmark: Boundmark, suite_file: Path, finished_run: Path, tmp_path: Path
) -> None:
    """What is better replaces the former one, which becomes history; what is worse does not."""
    weak = tmp_path / "weak"
    boundmark("run", suite_file, "--out", weak, "--quiet", "--filter", "*max-work")
    boundmark("run", suite_file, "--out", weak, "--quiet", "--filter", "*random-100")
    library = empty(tmp_path / "library")
    add_results(library, weak, "Ada")
    before = {entry.name: entry for entry in library.entries()}
    added = add_results(library, finished_run, "Ada")
    assert added.instances == []
    assert added.bounds
    best = contents(library.directory)
    for entry in library.entries():
        assert entry.solution is not None
        former = before[entry.name]
        for past in entry.history:
            find = former.solution if past.what == "solution" else former.bound
            assert find is not None
            assert (past.value, past.method) == (find.value, find.method)
    assert any(entry.history for entry in library.entries())
    assert add_results(library, weak, "Ada").bounds == []
    assert contents(library.directory) == best
    assert verify_library(library).rejected == []


@pytest.mark.parametrize(
    ("by", "change", "reason"),
    [
        ("Eve", ("", ""), "'Eve' has not agreed that what is added is under Apache-2.0"),
        ("Ada", ("1_000_000", "1000"), "the library would have"),
    ],
)
def test_nothing_is_added_without_consent_or_room(
    by: str, change: tuple[str, str], reason: str, finished_run: Path, tmp_path: Path
) -> None:
    """The library stays as it is."""
    library = empty(tmp_path / "library", FACTS.replace(*change))
    with pytest.raises(BoundmarkError, match=reason):
        add_results(library, finished_run, by)
    assert [*contents(library.directory)] == ["library.toml"]


def test_results_of_code_that_was_not_committed_are_refused(
    finished_run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The sentence says what to do, and nothing is added; of a package, none is known."""
    assert COMMIT_OF({"commit": "0123", "dirty": True}) == "0123+"
    assert COMMIT_OF({"commit": "0123", "dirty": False}) == "0123"
    assert COMMIT_OF({"commit": None, "dirty": None}) == ""
    library = empty(tmp_path / "library")
    monkeypatch.setattr(adding, "commit_of", lambda record: "0123456789abcdef+")
    with pytest.raises(BoundmarkError, match="since commit 0123456789ab that were not committed"):
        add_results(library, finished_run, "Ada")
    assert not list(library.entries())


def test_equal_results_of_committed_code_replace_those_of_other_code(
    copied: Library, proven: Path
) -> None:
    """Value and history stay, the commit does not; what has a commit of its own is left alone."""
    before = {entry.name: entry for entry in copied.entries()}
    (name,) = (name for name, entry in before.items() if entry.dataset == "onnx-light")
    old = before[name]
    assert old.bound is not None
    stale = replace(old, bound=replace(old.bound, commit="0123456789abcdef+"))
    copied.write(stale, copied.documents(old))
    added = add_results(copied, proven, "Ada")
    assert (added.bounds, added.solutions, added.renewed) == ([], [], [old.label])
    assert "1 result of code that was not committed replaced by equal ones" in added.sentences[1]
    after = {entry.name: entry for entry in copied.entries()}[name]
    assert after.bound is not None
    assert after.bound.is_of_committed_code
    assert (after.bound.value, after.history) == (old.bound.value, old.history)
    assert verify_library(copied).rejected == []
    assert add_results(copied, proven, "Ada").renewed == []


def test_data_sets_of_others_are_left_out(finished_run: Path, tmp_path: Path) -> None:
    """Instances of data sets that the library does not list stay where they are."""
    library = empty(tmp_path / "library", FACTS.replace("onnx-light", "something-else"))
    added = add_results(library, finished_run, "Ada")
    assert added.refused == {"onnx-light": 1}
    assert {entry.dataset for entry in library.entries()} == {"regal-style"}


@pytest.mark.slow
@pytest.mark.skipif(not CHECKOUT.is_dir(), reason="a package has no library")
def test_recipes_name_methods_of_today() -> None:
    """Documents keep the names of the methods that made them, also of those renamed since."""
    entries = list(Library.open(CHECKOUT).entries())
    finds = {
        find.method: recipe(entry, find)
        for entry in entries
        for find in (entry.solution, entry.bound, entry.beyond)
        if find is not None
    }
    assert {"share", "reach"} <= finds.keys()
    named = {one["name"] for text in finds.values() for one in tomllib.loads(text)["methods"]}
    assert named <= methods().keys()


@pytest.mark.skipif(not CHECKOUT.is_dir(), reason="a package has no library")
def test_all_results_are_of_committed_code() -> None:
    """So that anybody can run what found them."""
    changed = [
        f"{entry.name}: {find.method} of {find.commit}"
        for entry in Library.open(CHECKOUT).entries()
        for find in (entry.solution, entry.bound, entry.beyond)
        if find is not None and not find.is_of_committed_code
    ]
    assert not changed


def test_recipes_make_certificates_again(
    boundmark: Boundmark, finished_run: Path, tmp_path: Path
) -> None:
    """A large certificate is kept as a suite, which finds the same document."""
    library = empty(tmp_path / "library", FACTS.replace("50_000", "150"))
    assert len(add_results(library, finished_run, "Ada").recipes) == 5
    seen = verify_library(library)
    assert (seen.recipes, seen.rejected) == (5, [])
    for entry in library.entries():
        assert entry.beyond is not None
        assert entry.bound is None or entry.bound.value < entry.beyond.value
    printed = boundmark("library", "--library", library.directory, "recipe", "pipeline/onnx-light")
    suite = tmp_path / "again.toml"
    suite.write_text(printed.stdout)
    boundmark("run", suite, "--out", tmp_path / "again", "--quiet")
    added = add_results(library, tmp_path / "again", "Ada")
    assert len(added.again) == added.same == 1
    assert "1 certificate by recipe made again, 1 of them with the same hash" in added.sentences


Damage = Callable[[Path], None]


def entry_changed(**changes: Any) -> Damage:
    """Return a change of fields of an entry; a name with a dot is a field of a field."""

    def damage(path: Path) -> None:
        record = json.loads(path.read_text())
        for name, value in changes.items():
            outer, _, inner = name.partition("__")
            if inner:
                record[outer][inner] = value
            else:
                record[outer] = value
        path.write_text(json.dumps(record))

    return damage


def forged(path: Path) -> None:
    """State a higher bound in the certificate, with all hashes as they should be."""
    record = json.loads(path.read_text())
    packed_path = path.with_suffix(".jsonl.gz")
    lines = gzip.decompress(packed_path.read_bytes()).splitlines()
    document = json.loads(lines[3])
    assert document["kind"]
    document["bound"] = record["bound"]["value"] = record["solution"]["value"]
    lines[3] = json.dumps(document, sort_keys=True, separators=(",", ":")).encode()
    record["bound"]["sha256"] = hashlib.sha256(lines[3]).hexdigest()
    record["status"] = "optimal"
    path.write_text(json.dumps(record))
    packed_path.write_bytes(packed(lines))


def swapped(path: Path) -> None:
    """Exchange two documents."""
    packed_path = path.with_suffix(".jsonl.gz")
    lines = gzip.decompress(packed_path.read_bytes()).splitlines()
    packed_path.write_bytes(packed([*lines[:2], lines[3], lines[2]]))


def stray(path: Path) -> None:
    """Leave another file."""
    path.with_suffix(".txt").write_text("?")


def moved(path: Path) -> None:
    """Give the entry another name."""
    path.rename(path.with_name(f"a-{path.name}"))


DAMAGES: dict[str, tuple[Damage, str]] = {
    "better cost": (
        lambda path: entry_changed(
            solution__value=json.loads(path.read_text())["solution"]["value"] - 1
        )(path),
        "objective of document",
    ),
    "forged bound": (forged, "the checker rejects certificates/"),
    "status": (entry_changed(status="optimal"), "status is 'optimal'; by the values, it is 'open'"),
    "impossible": (entry_changed(bound__value=10**9), "one of them is wrong"),
    "credit": (entry_changed(solution__method="mine"), "producer of document"),
    "no consent": (entry_changed(solution__by="Eve"), "has no consent of 'Eve'"),
    "data set": (entry_changed(dataset="regal"), "expected it to be called"),
    "type": (entry_changed(nodes="many"), "nodes is 'many'; expected int"),
    "truth": (entry_changed(nodes=True), "nodes is True; expected int"),
    "field": (entry_changed(more=1), "field 'more' of an entry is missing or unknown"),
    "history": (entry_changed(history=[{}]), "of an entry of history is missing or unknown"),
    "no solution": (entry_changed(solution=None), "documents that the entry names"),
    "format": (entry_changed(format="x"), "format is 'x'"),
    "no JSON": (lambda path: path.write_text("{") and None, "expected JSON"),
    "swapped": (swapped, "documents that the entry names, in their order"),
    "no documents": (lambda path: path.with_suffix(".jsonl.gz").unlink(), "it cannot be read"),
    "no gzip": (lambda path: path.with_suffix(".jsonl.gz").write_bytes(b"x") and None, "it cannot"),
    "stray": (stray, "it belongs to no entry"),
    "moved": (moved, "expected it to be called"),
}


@pytest.mark.parametrize("name", DAMAGES)
def test_damage_is_found(name: str, copied: Library) -> None:
    """Whatever is changed, one sentence says where and what."""
    damage, reason = DAMAGES[name]
    entry = next(entry for entry in copied.entries() if entry.status == "open")
    for path in copied.paths():
        # One is enough, and takes a fifth of the time.
        if path != copied.path_of(entry):
            path.unlink()
            path.with_suffix(".jsonl.gz").unlink()
    damage(copied.path_of(entry))
    seen = verify_library(copied)
    assert seen.rejected
    subject, found = seen.rejected[0]
    assert reason in found
    assert entry.instance_sha256[:12] in subject
    assert "\n" not in found


def test_labels_of_another_source_are_found(copied: Library) -> None:
    """With sources, an instance has to be the one that its names make."""
    entry = next(entry for entry in copied.entries() if entry.dataset == "regal-style")
    record = json.loads(copied.path_of(entry).read_text())
    record["instance"] = "watts-strogatz-1"
    copied.path_of(entry).unlink()
    name = copied.path_of(entry).with_suffix(".jsonl.gz")
    other = name.with_name(f"regal-style-watts-strogatz-1-{entry.parameters['k']}-"
                           f"{entry.instance_sha256[:12]}.json")  # fmt: skip
    other.write_text(json.dumps(record))
    name.rename(other.with_suffix(".jsonl.gz"))
    assert verify_library(copied).rejected == []
    ((subject, reason),) = verify_library(copied, with_sources=True).rejected
    assert "regal-style/watts-strogatz-1" in subject
    assert "made again, it has the hash" in reason


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
    entry = copied.find("pipeline", answer["instance_sha256"])
    assert entry is not None
    assert entry.solution is not None
    assert entry.solution.words in answer["library"]
    assert answer["library"].count(" by ") == 2
    printed = boundmark("solve", "onnx-light/squeezenet", "-k", "4", "--library", copied.directory)
    assert "library          a solution of" in printed.stdout
    without = solved(boundmark, "--library", "none", "--method", "balanced-work")
    assert (without["method"], without["library"]) == ("balanced-work", "")


def test_a_known_optimum_needs_no_run(
    boundmark: Boundmark, copied: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the library has the optimum and its proof, no run is begun, recorded or stored."""

    def refuse(*given: object, **named: object) -> None:
        raise AssertionError("a run was begun")

    monkeypatch.setattr("boundmark.benchmarks.solving.search.Rounds", refuse)
    assert solved(boundmark, "--library", copied.directory)["optimal"]
    answer = api.solve("onnx-light/squeezenet", k=4, library=copied.directory, quiet=True)
    assert answer.is_optimal
    with pytest.raises(AssertionError, match="begun"):
        api.solve("onnx-light/squeezenet", k=4, library=False, quiet=True)


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


def test_what_methods_find_beyond_it_counts(boundmark: Boundmark, copied: Library) -> None:
    """A library that knows a bad solution only is a start, and not the end."""
    entry = next(one for one in copied.entries() if one.dataset == "onnx-light")
    assert entry.solution is not None
    documents = copied.documents(entry)
    solution = json.loads(documents[entry.solution.sha256])
    worst = json.loads(documents[entry.instance_sha256])
    solution |= {"stages": [0] * entry.nodes, "objective": sum(worst["work"])}
    load = max(0, sum(worst["param_load"]) - worst["cache"])
    solution["objective"] += load
    line = json.dumps(solution, sort_keys=True, separators=(",", ":")).encode()
    record = json.loads(copied.path_of(entry).read_text())
    record["solution"] |= {
        "value": solution["objective"], "sha256": hashlib.sha256(line).hexdigest()
    }  # fmt: skip
    record |= {"bound": None, "status": "open"}
    copied.path_of(entry).write_text(json.dumps(record))
    lines = [documents[entry.instance_sha256], documents[entry.labels_sha256], line]
    copied.path_of(entry).with_suffix(".jsonl.gz").write_bytes(packed(lines))
    assert verify_library(copied).rejected == []
    answer = solved(boundmark, "--library", copied.directory)
    assert answer["objective"] < solution["objective"]
    assert answer["method"] != "library"
    assert answer["library"].endswith("; the solution found is better")


def test_a_damaged_library_does_no_harm(boundmark: Boundmark, copied: Library) -> None:
    """What cannot be used is said, and methods do the work."""
    entry = next(one for one in copied.entries() if one.dataset == "onnx-light")
    copied.path_of(entry).with_suffix(".jsonl.gz").write_bytes(b"")
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


def test_pages_have_every_instance(boundmark: Boundmark, filled: Path, tmp_path: Path) -> None:
    """A row for each in the tables, its history below, and all of it as data."""
    boundmark("library", "--library", filled, "table", "--out", tmp_path / "pages")
    html = (tmp_path / "pages/library.html").read_text()
    markdown = (tmp_path / "pages/library.md").read_text()
    data = json.loads((tmp_path / "pages/library.json").read_text())
    library = Library.open(filled)
    assert {one["instance_sha256"] for one in data} == {
        entry.instance_sha256 for entry in library.entries()
    }
    for entry in library.entries():
        assert f"instance-{entry.instance_sha256[:12]}" in html
        assert entry.label in html
        assert entry.label in markdown


def test_documents_are_files_for_the_checker(
    boundmark: Boundmark, filled: Path, tmp_path: Path
) -> None:
    """`show` prints the entry, and writes what `verify` and the checker read."""
    entry = next(Library.open(filled).entries())
    out = tmp_path / "out"
    done = boundmark("library", "--library", filled, "show", entry.instance_sha256, "--out", out)
    assert json.loads(done.stdout)["instance_sha256"] == entry.instance_sha256
    files = [*(out / "solutions").glob("*.json"), *(out / "certificates").glob("*.json")]
    assert boundmark("verify", *files).stdout == "2 accepted, 0 rejected\n"


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (("verify", "--part", "4/3"), "part is '4/3'; expected one such as 3/7."),
        (("show", "nothing"), "0 entries have names or hashes that begin with 'nothing'"),
        (("show", "pipeline/"), "5 entries have names or hashes that begin with 'pipeline/'"),
    ],
)
def test_bad_requests_get_a_sentence(
    boundmark: Boundmark, filled: Path, arguments: tuple[str, ...], reason: str
) -> None:
    """And exit code 2."""
    done = boundmark("library", "--library", filled, *arguments, check=False)
    assert done.returncode == 2
    assert reason in " ".join(done.stderr.split())


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (('boundmark-library/1', 'x'), "format is 'x'"),
        (('"Apache-2.0"', "1"), "licence is 1; expected a text"),
        (("2026-11-23", '"yes"'), "contributor 'Ada' has no date of consent"),
        (("[datasets]", "[datasets"), "library.toml: expected TOML"),
    ],
)  # fmt: skip
def test_facts_are_checked(change: tuple[str, str], reason: str, tmp_path: Path) -> None:
    """Of the library as a whole."""
    with pytest.raises(BoundmarkError, match=reason):
        empty(tmp_path / "library", FACTS.replace(*change))


def test_the_shipped_library_is_whole() -> None:
    """Every entry reads and has its documents, of kinds that the checker knows."""
    library = Library.open(SHIPPED)
    entries = list(library.entries())
    assert len(entries) >= 213
    assert {entry.problem for entry in entries} == set(problems())
    for entry in entries:
        documents = library.documents(entry)
        assert entry.instance_sha256 in documents
        if entry.bound:
            assert json.loads(documents[entry.bound.sha256])["kind"] in KINDS
    assert library.size < library.facts.most_bytes
    assert tomllib.loads((SHIPPED / "library.toml").read_text())["licence"] == "Apache-2.0"


@pytest.mark.slow
def test_the_shipped_library_is_accepted() -> None:
    """All of it, with every instance made again from what it is called."""
    assert verify_library(Library.open(SHIPPED), with_sources=True).rejected == []
