import io
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import vipr_checker
from brute_force import cost, instance, instances, optimum, partitions
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from boundmark.bounds import checker
from boundmark.bounds.pipeline import work
from boundmark.bounds.pipeline.share import share_table
from boundmark.bounds.pipeline.tree.search import Tree, exact
from boundmark.bounds.pipeline.vipr import write_vipr
from boundmark.problems.certificate import Certificate
from boundmark.problems.errors import InvalidInputError
from boundmark.problems.method import Budget
from boundmark.problems.pipeline import PipelineInstance

Document = dict[str, Any]


def with_proved_bound(sample: PipelineInstance, payload: Document) -> Document:
    """Return a certificate of all that a payload proves, as a JSON reader returns it."""
    document = Certificate.of(sample, "mip-tree/1", 0, payload, "test").to_json()
    document["bound"] = checker.check_certificate(sample.to_json(), document)
    result: Document = json.loads(json.dumps(document))
    return result


def tree_certificate(sample: PipelineInstance, threshold: int, steps: int) -> Document | None:
    """Return the certificate of a tree that has been branched on up to so many times."""
    tree = Tree(sample, share_table(sample.graph), exact(sample.k), Budget(60))
    if not tree.start(threshold):
        return None
    while steps and tree.bound <= threshold and tree.grow():
        steps -= 1
    return with_proved_bound(sample, tree.payload(tree.threshold))


def exported(sample: PipelineInstance, document: Document) -> str:
    """Return the file's text."""
    file = io.StringIO()
    write_vipr(sample.to_json(), document, file)
    return file.getvalue()


SAMPLES = {
    "one leaf": instance([4, 5, 3], [(0, 1), (1, 2)], 2, transfer=[3, 2, 0]),
    "several leaves": instance([4, 4, 5, 1], [(0, 2), (1, 3)], 2, transfer=[1, 0, 2, 5]),
    "overflow": instance(
        [6, 7, 7, 2],
        [(0, 2), (0, 3)],
        2,
        transfer=[3, 2, 1, 2],
        param_load=[5, 0, 2, 4],
        cache=5,
    ),
    "three stages": instance(
        [6, 3, 5, 7, 2, 4],
        [(0, 1), (0, 2), (1, 3), (2, 4), (3, 5)],
        3,
        transfer=[2, 4, 1, 3, 2, 1],
        param_load=[3, 1, 4, 1, 5, 2],
        cache=4,
    ),
    "one stage": instance([2, 3], [(0, 1)], 1),
    "more stages than nodes": instance([5, 4], [(0, 1)], 4, transfer=[2, 0]),
}
# A tree at the threshold below the optimum, and one at the optimum.
CERTIFICATES = {
    f"{name}, {threshold}": (sample, found)
    for name, sample in SAMPLES.items()
    for threshold in (optimum(sample) - 1, optimum(sample))
    if (found := tree_certificate(sample, threshold, 50)) is not None
}


def checked(sample: PipelineInstance, document: Document, folder: Path) -> vipr_checker.Program:
    """Return what the file states after an independent check."""
    path = folder / "tree.vipr"
    path.write_text(exported(sample, document))
    return vipr_checker.check(path)


def test_samples_have_many_leaves() -> None:
    """The samples are what the tests take them for."""
    branchings = [
        sum(isinstance(node, list) for node in document["payload"]["nodes"])
        for _, document in CERTIFICATES.values()
    ]
    assert len(CERTIFICATES) >= 10
    assert min(branchings) == 0
    assert max(branchings) >= 3


@pytest.mark.parametrize("name", CERTIFICATES)
def test_the_bound_is_confirmed(name: str, tmp_path: Path) -> None:
    """A checker that knows only the format accepts the file and the certificate's bound."""
    sample, document = CERTIFICATES[name]
    assert checked(sample, document, tmp_path).bound == document["bound"] > 0


@settings(max_examples=40)
@given(instances(), st.data())
def test_whatever_is_accepted_is_confirmed(
    tmp_path_factory: pytest.TempPathFactory, sample: PipelineInstance, data: st.DataObject
) -> None:
    """Also thresholds above and below the optimum, bounds of 0, and branchings that are no help."""
    threshold = max(0, optimum(sample) + data.draw(st.integers(-3, 3)))
    assume(threshold >= share_table(sample.graph).bound(sample.k))
    document = tree_certificate(sample, threshold, data.draw(st.integers(0, 5)))
    assume(document is not None)
    assert document is not None
    for _ in range(data.draw(st.integers(0, 3))):
        choice = [
            data.draw(st.integers(0, sample.nodes - 1)),
            data.draw(st.integers(0, sample.k - 1)),
        ]
        nodes = document["payload"]["nodes"]
        document["payload"]["nodes"] = [choice, *nodes, *nodes]
    document = with_proved_bound(sample, document["payload"])
    assert checked(sample, document, tmp_path_factory.mktemp("vipr")).bound == document["bound"]


def point(
    sample: PipelineInstance, assignment: tuple[int, ...], names: list[str]
) -> dict[int, int]:
    """Return the columns that a partition stands for, from their names."""
    edges = list(zip(sample.graph.dag.sources, sample.graph.dag.targets, strict=True))

    def value(name: str) -> int:
        kind, *numbers = name.split("_")
        if kind == "z":
            return cost(sample, assignment)
        if kind == "o":
            inside = [v for v in range(sample.nodes) if assignment[v] == int(numbers[0])]
            load = sum(int(sample.graph.param_load[v]) for v in inside)
            return max(0, load - sample.graph.cache)
        v, b = map(int, numbers)
        if kind == "y":
            return int(assignment[v] <= b)
        consumers = [assignment[w] for u, w in edges if u == v and assignment[w] != assignment[v]]
        return int(b in consumers or (b == assignment[v] and bool(consumers)))

    return {column: value(name) for column, name in enumerate(names)}


def holds(row: vipr_checker.Constraint, values: dict[int, int]) -> bool:
    """Whether a point satisfies a constraint."""
    left = sum(amount * values[column] for column, amount in row.terms.items())
    return row.sign * left >= row.sign * row.right


@pytest.mark.parametrize("name", SAMPLES)
def test_the_program_holds_all_partitions_below_the_threshold(name: str, tmp_path: Path) -> None:
    """Each of them satisfies the program with its own cost as z, and with nothing less."""
    sample, threshold = SAMPLES[name], optimum(SAMPLES[name]) + 4
    document = tree_certificate(sample, threshold, 0)
    assert document is not None
    program = checked(sample, document, tmp_path)
    within = [found for found in partitions(sample) if cost(sample, found) <= threshold]
    assert within
    for assignment in within:
        values = point(sample, assignment, program.names)
        assert all(holds(row, values) for row in program.rows)
        values[program.names.index("z")] -= 1
        assert not all(holds(row, values) for row in program.rows)


def test_deep_tree(tmp_path: Path) -> None:
    """A tree may be deeper than Python's stack."""
    sample = SAMPLES["several leaves"]
    document = tree_certificate(sample, threshold=8, steps=0)
    assert document is not None
    payload = document["payload"]
    (leaf,) = payload["nodes"]
    payload["nodes"] = [node for _ in range(2000) for node in ([0, 0], leaf)] + [leaf]
    document = with_proved_bound(sample, payload)
    assert checked(sample, document, tmp_path).derivations > 4000


def test_integers_may_be_texts() -> None:
    """Certificates may hold their integers as texts; the file is the same."""
    sample, document = CERTIFICATES["overflow, 16"]

    def as_texts(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: as_texts(item) for key, item in value.items()}
        if isinstance(value, list):
            return [as_texts(item) for item in value]
        return str(value)

    texts = {**document, "bound": str(document["bound"]), "payload": as_texts(document["payload"])}
    assert exported(sample, texts) == exported(sample, document)


def changed(pattern: str, change: Callable[[re.Match[str]], str]) -> Callable[[str], list[str]]:
    """Return a maker of texts in which one match each is changed."""

    def mutants(text: str) -> list[str]:
        start = text.index("RTP")
        matches = list(re.finditer(pattern, text[start:], re.MULTILINE))
        return [
            text[: start + match.start()] + change(match) + text[start + match.end() :]
            for match in matches
        ]

    return mutants


def one_more(match: re.Match[str]) -> str:
    """Return the match with its only group increased."""
    before, number = match[0][: match.start(1) - match.start()], match[1]
    return before + str(int(number) + 1) + match[0][match.end(1) - match.start() :]


MUTATIONS = {
    "bound": changed(r"^RTP range (\d+)", one_more),
    "side of an assumption": changed(r"^d\d+ [GL] (\d+) .*asm", one_more),
    "first multiplier": changed(r"\{ lin \d+ \d+ (-?\d+)", one_more),
    "last multiplier": changed(r"(-?\d+) \} -1$", one_more),
    "part of a sum": changed(r"\{ lin \d+ (\d+)", one_more),
    "assumption not met": changed(
        r"uns (\d+) \d+ (\d+) \d+", lambda match: f"lin 2 {match[1]} 1/2 {match[2]} 1/2"
    ),
    "sides mixed up": changed(
        r"uns (\d+) (\d+) (\d+) (\d+)",
        lambda match: f"uns {match[1]} {match[4]} {match[3]} {match[2]}",
    ),
    "line left out": changed(r"^d\d+ .*\n", lambda match: ""),
    "line repeated": changed(r"^d\d+ .*\n", lambda match: 2 * match[0]),
    "claim made without a reason": changed(r"\{ (lin|rnd|uns) .*\}", lambda match: "{ asm }"),
}


@pytest.mark.parametrize("mutation", MUTATIONS)
def test_changed_files_are_rejected(mutation: str, tmp_path: Path) -> None:
    """No number, assumption or line can be changed, each in turn."""
    sample, document = CERTIFICATES["overflow, 16"]
    assert document["bound"] == optimum(sample)
    path = tmp_path / "tree.vipr"
    mutants = MUTATIONS[mutation](exported(sample, document))
    assert mutants
    for mutant in mutants:
        path.write_text(mutant)
        with pytest.raises(vipr_checker.RejectedError):
            vipr_checker.check(path)


def test_what_the_checker_rejects_is_not_written() -> None:
    """A bound above what the tree proves does not reach a file."""
    sample, document = CERTIFICATES["overflow, 16"]
    file = io.StringIO()
    with pytest.raises(checker.Rejected, match="more than it proves"):
        write_vipr(sample.to_json(), {**document, "bound": document["bound"] + 1}, file)
    assert file.getvalue() == ""


def test_other_kinds() -> None:
    """Only trees can be written."""
    sample = SAMPLES["overflow"]
    document = Certificate.of(sample, work.MEAN_WORK, 1, {}, "test").to_json()
    with pytest.raises(InvalidInputError, match=r"'mean-work/1'; expected 'mip-tree/1'"):
        exported(sample, document)


def test_threshold_that_needs_no_tree() -> None:
    """What flows refute without a tree is no statement about an integer program."""
    sample = SAMPLES["overflow"]
    payload = {"threshold": 1, "flows": [], "nodes": []}
    with pytest.raises(InvalidInputError, match="refute the threshold alone"):
        exported(sample, with_proved_bound(sample, payload))
