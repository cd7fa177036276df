import copy
import gzip
import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from brute_force import instance, optimum
from hypothesis import given
from hypothesis import strategies as st
from mutation import JSON, mutants

from boundmark.bounds import checker
from boundmark.bounds.checker.pipeline.leaf import TREE_ROWS
from boundmark.bounds.pipeline.methods import (
    bottleneck_guess_tree,
    bottleneck_tree,
    ideal_dp,
    max_work,
    mean_work,
    mip_tree,
    node_cut,
    share,
)
from boundmark.problems.arrays import frozen
from boundmark.problems.certificate import Certificate
from boundmark.problems.method import Budget, Method
from boundmark.problems.pipeline import Partition, PipelineInstance
from boundmark.problems.pipeline.graph import PipelineGraph
from boundmark.problems.problem import solution_document
from boundmark.reports.stored.documents import write_document

Document = dict[str, Any]


class Reports:
    """Keeps the stored form of the last certificate reported."""

    document: Document

    def solution(self, solution: Partition) -> None:
        """Ignore a solution."""

    def bound(self, bound: Certificate) -> None:
        """Keep a certificate as a JSON reader returns it."""
        self.document = json.loads(json.dumps(bound.to_json()))


def certificate(method: Method, sample: PipelineInstance) -> Document:
    """Return the last certificate that a method reports."""
    reports = Reports()
    method.run(sample, Budget(20), 0, reports, **method.params)  # type: ignore[call-arg]
    return reports.document


# Instances on which a method's bound is the optimum, so that nothing better can be proved.
TIGHT = {
    "max-work": (max_work.METHOD, instance([5, 3], [], 2)),
    "mean-work": (mean_work.METHOD, instance([2, 2], [], 2)),
    "node-cut": (
        node_cut.METHOD,
        instance([5, 5, 5], [(0, 1), (1, 2)], 3, transfer=[4, 2, 0]),
    ),
    "share": (
        share.METHOD,
        instance(
            [4, 4, 4, 3, 3, 4],
            [(0, 2), (0, 3), (0, 5), (1, 4), (2, 4), (2, 5)],
            2,
            transfer=[1, 2, 1, 2, 1, 1],
            param_load=[5, 6, 3, 0, 6, 2],
            cache=100,
        ),
    ),
    "share, one node": (
        share.METHOD,
        instance([5, 5, 5], [(0, 1), (1, 2)], 3, transfer=[4, 2, 0]),
    ),
    "mip-tree": (
        mip_tree.METHOD,
        instance([4, 4, 5, 1], [(0, 2), (1, 3)], 2, transfer=[1, 0, 2, 5]),
    ),
    "mip-tree, overflow": (
        mip_tree.METHOD,
        instance(
            [6, 7, 7, 2],
            [(0, 2), (0, 3)],
            2,
            transfer=[3, 2, 1, 2],
            param_load=[5, 0, 2, 4],
            cache=5,
        ),
    ),
    "bottleneck-tree": (
        bottleneck_tree.METHOD,
        instance([3, 7, 3, 4], [(0, 2), (1, 3)], 2, transfer=[5, 3, 1, 0]),
    ),
    "bottleneck-tree, overflow": (
        bottleneck_tree.METHOD,
        instance(
            [6, 3, 4, 3],
            [(0, 1), (1, 3), (2, 3)],
            2,
            transfer=[2, 3, 3, 1],
            param_load=[6, 4, 1, 5],
            cache=5,
        ),
    ),
    "bottleneck-guess-tree": (
        bottleneck_guess_tree.METHOD,
        instance([7, 3, 6, 5], [(0, 1), (0, 2), (1, 3)], 2, transfer=[5, 0, 2, 2]),
    ),
    "bottleneck-guess-tree, overflow": (
        bottleneck_guess_tree.METHOD,
        instance(
            [3, 6, 5, 1],
            [(0, 1), (0, 3), (1, 3), (2, 3)],
            2,
            transfer=[2, 5, 2, 2],
            param_load=[0, 5, 1, 5],
            cache=4,
        ),
    ),
    "share, overflow": (share.METHOD, instance([1, 1], [], 2, param_load=[5, 5], cache=2)),
    "ideal-dp": (
        ideal_dp.METHOD,
        instance(
            [4, 4, 0, 3, 3, 4, 0],
            [(0, 2), (0, 3), (0, 5), (1, 4), (3, 4), (3, 5), (5, 6)],
            3,
            transfer=[1, 2, 1, 2, 1, 1, 0],
            param_load=[5, 6, 0, 0, 6, 2, 0],
            cache=7,
        ),
    ),
}
CERTIFICATES = {name: certificate(method, sample) for name, (method, sample) in TIGHT.items()}


@pytest.mark.parametrize("name", TIGHT)
def test_tight_bound_is_the_optimum(name: str) -> None:
    """The samples are what the tests below take them for."""
    sample = TIGHT[name][1]
    document = CERTIFICATES[name]
    assert document["bound"] == optimum(sample)
    assert checker.check_certificate(sample.to_json(), document) == document["bound"]


@pytest.mark.parametrize("name", TIGHT)
def test_one_tick_more_is_rejected(name: str) -> None:
    """No kind proves more than the optimum."""
    document = CERTIFICATES[name]
    with pytest.raises(checker.Rejected, match="is more than it proves"):
        checker.check_certificate(
            TIGHT[name][1].to_json(), {**document, "bound": document["bound"] + 1}
        )


@pytest.mark.parametrize("name", TIGHT)
def test_mutants_prove_nothing_false(name: str) -> None:
    """Whatever is changed, the certificate is rejected, or what it proves is still true."""
    sample = TIGHT[name][1]
    document = sample.to_json()
    best = optimum(sample)
    rejected = 0
    for mutant in mutants(CERTIFICATES[name]):
        # As greedy as can be: a mutant that proves anything at all claims all of the optimum.
        for changed in (mutant, {**mutant, "bound": best + 1}):
            try:
                assert checker.check_certificate(document, changed) <= best
                assert checker.check_certificate(document, changed) >= int(changed["bound"])
            except checker.Rejected:
                rejected += 1
    assert rejected > 50


@pytest.mark.parametrize("name", ["node-cut", "share, one node"])
def test_every_flow_entry_matters(name: str) -> None:
    """A single flow that proves the optimum has no slack: each entry dropped costs the bound."""
    sample = TIGHT[name][1].to_json()
    certificate = CERTIFICATES[name]
    flows = certificate["payload"].get("flows", [certificate["payload"]])
    for flow in range(len(flows)):
        for i in range(len(flows[flow]["edges"])):
            changed = copy.deepcopy(certificate)
            entry = changed["payload"].get("flows", [changed["payload"]])[flow]
            del entry["edges"][i], entry["amounts"][i]
            with pytest.raises(checker.Rejected):
                checker.check_certificate(sample, changed)


@pytest.mark.parametrize("name", TIGHT)
def test_certificate_of_another_instance_is_rejected(name: str) -> None:
    """A certificate holds for its own instance only, k included."""
    sample = TIGHT[name][1]
    for other in (PipelineInstance(sample.graph, sample.k + 1), TIGHT["share"][1]):
        if other.sha256 != sample.sha256:
            with pytest.raises(checker.Rejected, match="instance_sha256"):
                checker.check_certificate(other.to_json(), CERTIFICATES[name])


def test_mutated_instance_is_rejected() -> None:
    """Every value of the instance is covered by its hash."""
    document = TIGHT["share"][1].to_json()
    for mutant in mutants(document):
        if json.dumps(mutant) != json.dumps(document):
            with pytest.raises(checker.Rejected):
                checker.check_certificate(mutant, CERTIFICATES["share"])


FLOW = st.fixed_dictionaries(
    {
        "node": st.integers(-1, 6) | JSON,
        "io_weight": st.integers(-1, 65) | JSON,
        "edges": st.lists(st.integers(-1, 6), max_size=6) | JSON,
        "amounts": st.lists(st.integers(-100, 100), max_size=6) | JSON,
    }
)
LEAF = st.fixed_dictionaries(
    {
        name: st.lists(st.integers(0, 7), max_size=8) | st.lists(st.integers(-1, 99), max_size=3)
        for name in TREE_ROWS
    },
    optional={"demand": st.lists(st.integers(0, 7), max_size=4)},
)
PAYLOAD = (
    JSON
    | FLOW
    | st.fixed_dictionaries(
        {"threshold": st.integers(-5, 50), "flows": st.lists(FLOW, max_size=3) | JSON}
    )
    | st.fixed_dictionaries(
        {
            "threshold": st.integers(-5, 50),
            "flows": st.lists(FLOW, max_size=1),
            "nodes": st.lists(LEAF | st.lists(st.integers(-1, 6), max_size=3) | JSON, max_size=4),
        },
        optional={"demand": st.lists(st.integers(0, 99), min_size=5, max_size=7) | JSON},
    )
    | st.fixed_dictionaries(
        {"threshold": st.integers(-5, 50), "ignored": st.lists(st.integers(-1, 6)) | JSON}
    )
)


@given(payload=PAYLOAD, kind=st.sampled_from(sorted(checker.KINDS)), bound=st.just(0) | JSON)
def test_arbitrary_payloads_are_rejected_or_true(payload: Any, kind: str, bound: Any) -> None:
    """Nothing but a rejection comes of nonsense, and nothing false is proved."""
    sample = TIGHT["share"][1]
    document = {**CERTIFICATES["share"], "kind": kind, "payload": payload, "bound": bound}
    try:
        proved = checker.check_certificate(sample.to_json(), document)
    except checker.Rejected:
        return
    assert proved <= optimum(sample)


@given(JSON, JSON)
def test_arbitrary_documents_are_rejected(first: Any, second: Any) -> None:
    """Whatever a JSON reader can return is rejected, not stumbled over."""
    good = TIGHT["share"][1].to_json()
    for document, other in ((first, second), (good, second), (first, CERTIFICATES["share"])):
        with pytest.raises(checker.Rejected):
            checker.check_certificate(document, other)
        with pytest.raises(checker.Rejected):
            checker.check_solution(document, other)


@pytest.mark.parametrize(
    ("field", "value", "reason"),
    [
        ("format", "boundmark-instance/2", "format is not 'boundmark-instance/1'"),
        ("problem", "layout", "problem is not one of pipeline"),
        ("k", 0, "k of the instance is not an integer from 1"),
        ("k", True, "k of the instance is not an integer"),
        ("k", 2**60, "k of the instance is not an integer"),
        ("work", [], "not of one length above 0"),
        ("work", [1, 2], "not of one length above 0"),
        ("work", [1, 2.0, 3], "work of the instance is not an integer"),
        ("work", [1, -2, 3], "work of the instance is not an integer"),
        ("transfer", {"0": 1}, "transfer of the instance is not a list"),
        ("cache", None, "cache of the instance is not an integer"),
        ("edges", 3, "edges of the instance is not a list"),
        ("edges", [[0, 1, 2]], "an edge of the instance is not a pair"),
        ("edges", [[0, 3]], "edges of the instance is not an integer from 0 to 2"),
        ("edges", [[1, 2], [0, 1]], "not sorted, or repeated"),
        ("edges", [[0, 1], [0, 1]], "not sorted, or repeated"),
        ("edges", [[0, 1], [1, 2], [2, 0]], "has a cycle"),
        ("edges", [[1, 1]], "has a cycle"),
    ],
)
def test_malformed_instances(field: str, value: Any, reason: str) -> None:
    """An instance that breaks its format is rejected, with the field."""
    document = {**TIGHT["node-cut"][1].to_json(), field: value}
    with pytest.raises(checker.Rejected, match=reason):
        checker.check_instance(document)


def test_huge_integers_are_rejected() -> None:
    """Integers too long to print are rejected without printing them."""
    document = TIGHT["share"][1].to_json()
    with pytest.raises(checker.Rejected, match="k of the instance is not an integer"):
        checker.check_instance({**document, "k": 10**5000})
    with pytest.raises(checker.Rejected, match="instance_sha256"):
        checker.check_certificate(document, {**CERTIFICATES["share"], "instance_sha256": 10**5000})


CHAIN = instance([5, 5, 5], [(0, 1), (1, 2)], 3, transfer=[4, 2, 0], param_load=[0, 9, 0], cache=6)


def test_objective_is_recomputed() -> None:
    """The checker and the data model agree on what a solution costs."""
    for stages, objective in (([0, 0, 0], 18), ([0, 1, 2], 14), ([2, 0, 1], 14), ([1, 1, 0], 15)):
        partition = Partition(frozen(stages))
        assert CHAIN.objective(partition) == objective
        document = solution_document(CHAIN, partition, objective)
        assert checker.check_solution(CHAIN.to_json(), document) == objective


@pytest.mark.parametrize(
    ("field", "value", "reason"),
    [
        ("format", "boundmark-certificate/1", "format is not 'boundmark-solution/1'"),
        ("problem", "ordering", "problem is not 'pipeline'"),
        ("instance_sha256", "0" * 64, "instance_sha256 is not"),
        ("stages", [0, 1], "not one for each node"),
        ("stages", [0, 1, 3], "stages of the solution is not an integer from 0 to 2"),
        ("stages", [0, 1, -1], "stages of the solution is not an integer from 0 to 2"),
        ("stages", [0, True, 2], "stages of the solution is not an integer"),
        ("stages", "012", "stages of the solution is not a list"),
        ("stages", [0, 1, 0], "in a cycle"),
        ("stages", [0, 0, 2], "is not what it costs, 15"),
        ("objective", 13, "is not what it costs, 14"),
        ("objective", 15, "is not what it costs, 14"),
        ("objective", 14.0, "objective is not an integer"),
    ],
)
def test_malformed_solutions(field: str, value: Any, reason: str) -> None:
    """A solution that breaks a constraint, or states another cost, is rejected."""
    good = solution_document(CHAIN, Partition(frozen([0, 1, 2])), 14)
    with pytest.raises(checker.Rejected, match=reason):
        checker.check_solution(CHAIN.to_json(), {**good, field: value})


def test_integers_may_be_decimal_texts() -> None:
    """Amounts beyond 2^53 survive JSON readers that know only floating point."""
    sample = TIGHT["node-cut"][1]
    document = copy.deepcopy(CERTIFICATES["node-cut"])
    document["payload"]["amounts"] = [str(x) for x in document["payload"]["amounts"]]
    assert checker.check_certificate(sample.to_json(), document) == document["bound"]


# Files.


@pytest.fixture(scope="module")
def large(random_graph: Callable[..., PipelineGraph]) -> tuple[PipelineInstance, Document]:
    """Return an instance and a certificate whose payload goes into a file of its own."""
    sample = PipelineInstance(random_graph(200, 1), 4)
    return sample, certificate(share.METHOD, sample)


@pytest.fixture
def folder(
    tmp_path: Path, large: tuple[PipelineInstance, Document]
) -> tuple[Path, str, PipelineInstance]:
    """Store both; return the folder and the certificate's hash too."""
    sample, document = large
    write_document(tmp_path, sample.to_json())
    return tmp_path, write_document(tmp_path, document), sample


def test_reads_a_payload_beside_its_certificate(
    folder: tuple[Path, str, PipelineInstance], large: tuple[PipelineInstance, Document]
) -> None:
    """A certificate in two files is the same certificate."""
    directory, digest, sample = folder
    document = checker.read_document(directory / f"{digest}.json")
    assert document == large[1]
    assert checker.check_certificate(sample.to_json(), document) == document["bound"]


def test_rejects_another_payload(folder: tuple[Path, str, PipelineInstance]) -> None:
    """The payload's hash covers every digit of it."""
    directory, digest, _ = folder
    path = next(directory.glob("*.json.gz"))
    payload = json.loads(gzip.decompress(path.read_bytes()))
    payload["flows"][0]["amounts"][0] += 1
    path.write_bytes(gzip.compress(json.dumps(payload).encode()))
    with pytest.raises(checker.Rejected, match="payload_sha256 is not"):
        checker.read_document(directory / f"{digest}.json")


@pytest.mark.parametrize("damage", [b"", b"not gzip", b"\x1f\x8b\x08\x00"])
def test_rejects_a_damaged_payload(
    folder: tuple[Path, str, PipelineInstance], damage: bytes
) -> None:
    """A truncated or foreign file beside the certificate is rejected."""
    directory, digest, _ = folder
    next(directory.glob("*.json.gz")).write_bytes(damage)
    with pytest.raises(checker.Rejected, match="payload"):
        checker.read_document(directory / f"{digest}.json")


def test_rejects_a_payload_cut_short(folder: tuple[Path, str, PipelineInstance]) -> None:
    """Half a payload is not a payload."""
    directory, digest, _ = folder
    path = next(directory.glob("*.json.gz"))
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(checker.Rejected, match="payload file cannot be read"):
        checker.read_document(directory / f"{digest}.json")


def test_rejects_a_changed_digit_anywhere(folder: tuple[Path, str, PipelineInstance]) -> None:
    """A file named after its hash cannot change, not even in what the proof does not use."""
    directory, digest, _ = folder
    path = directory / f"{digest}.json"
    path.write_text(path.read_text().replace('"producer":"share"', '"producer":"shore"'))
    with pytest.raises(checker.Rejected, match="named after a hash"):
        checker.read_document(path)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (b"", "not JSON"),
        (b'{"format": ', "not JSON"),
        (b"\xff\xfe", "not JSON"),
        (b"[" * 10**6, "not JSON"),
        (b'{"k": ' + b"9" * 10**5 + b"}", "not JSON"),
        (b"[1]", "not a JSON object"),
        (b'{"payload_file": "x", "payload_sha256": "y", "payload": 1}', "one payload"),
        (b'{"payload_file": "x"}', "one payload"),
        (b'{"payload_file": "../x.json.gz", "payload_sha256": "y"}', "not the name of a file"),
        (b'{"payload_file": 3, "payload_sha256": "y"}', "not the name of a file"),
    ],
)
def test_malformed_files(tmp_path: Path, text: bytes, reason: str) -> None:
    """Files that are no documents are rejected, with the reason."""
    path = tmp_path / "file.json"
    path.write_bytes(text)
    with pytest.raises(checker.Rejected, match=reason):
        checker.read_document(path)


def run_alone(directory: Path, *files: Path) -> subprocess.CompletedProcess[str]:
    """Run a copy of the checker in an isolated interpreter."""
    copied = directory / "checker_copy"
    shutil.copytree(
        Path(checker.__file__).parent, copied, ignore=shutil.ignore_patterns("__pycache__")
    )
    return subprocess.run(
        [sys.executable, "-I", "-S", str(copied), *map(str, files)],
        capture_output=True,
        text=True,
        check=False,
        cwd=directory,
    )


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
