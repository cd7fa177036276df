import io
from pathlib import Path
from typing import Any

import pytest
import vipr_checker
from brute_force import cost, instances, optimum, partitions
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from selection import examples
from vipr_samples import (
    CERTIFICATES,
    MUTATIONS,
    SAMPLES,
    Document,
    exported,
    holds,
    point,
    stages_certificate,
    tree_certificate,
    with_proved_bound,
)

from boundmark.bounds import checker
from boundmark.bounds.pipeline import work
from boundmark.bounds.pipeline.share import share_table
from boundmark.bounds.pipeline.vipr import write_vipr
from boundmark.problems.certificate import Certificate
from boundmark.problems.errors import InvalidInputError
from boundmark.problems.pipeline import PipelineInstance


def checked(sample: PipelineInstance, document: Document, folder: Path) -> vipr_checker.Program:
    """Return what the file states after an independent check."""
    path = folder / "tree.vipr"
    path.write_text(exported(sample, document))
    return vipr_checker.check(path)


def test_samples_have_many_leaves() -> None:
    """The samples are what the tests take them for."""
    branchings = [
        sum(isinstance(node, list) for node in document["payload"]["nodes"])
        for _, document in map(stages_certificate, CERTIFICATES)
    ]
    assert len(CERTIFICATES) >= 10
    assert min(branchings) == 0
    assert max(branchings) >= 3


@pytest.mark.parametrize("name", CERTIFICATES)
def test_the_bound_is_confirmed(name: str, tmp_path: Path) -> None:
    """A checker that knows only the format accepts the file and the certificate's bound."""
    sample, document = stages_certificate(name)
    assert checked(sample, document, tmp_path).bound == document["bound"] > 0


@settings(max_examples=examples(40))
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
    sample, document = stages_certificate("overflow, 16")

    def as_texts(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: as_texts(item) for key, item in value.items()}
        if isinstance(value, list):
            return [as_texts(item) for item in value]
        return str(value)

    texts = {**document, "bound": str(document["bound"]), "payload": as_texts(document["payload"])}
    assert exported(sample, texts) == exported(sample, document)


@pytest.mark.parametrize("mutation", MUTATIONS)
def test_changed_files_are_rejected(mutation: str, tmp_path: Path) -> None:
    """No number, assumption or line can be changed, each in turn."""
    sample, document = stages_certificate("overflow, 16")
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
    sample, document = stages_certificate("overflow, 16")
    file = io.StringIO()
    with pytest.raises(checker.Rejected, match="more than it proves"):
        write_vipr(sample.to_json(), {**document, "bound": document["bound"] + 1}, file)
    assert file.getvalue() == ""


def test_other_kinds() -> None:
    """Only trees can be written."""
    sample = SAMPLES["overflow"]
    document = Certificate.of(sample, work.MEAN_WORK, 1, {}, "test").to_json()
    with pytest.raises(InvalidInputError, match=r"'mean-work/1'; expected 'mip-tree/1' or"):
        exported(sample, document)


def test_threshold_that_needs_no_tree() -> None:
    """What flows refute without a tree is no statement about an integer program."""
    sample = SAMPLES["overflow"]
    payload = {"threshold": 1, "flows": [], "nodes": []}
    with pytest.raises(InvalidInputError, match="refute the threshold alone"):
        exported(sample, with_proved_bound(sample, payload))
