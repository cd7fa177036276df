"""The package reads what the checker reads, and refuses what it refuses, for all problems."""

import json
import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mutation import mutants, mutated
from tiny_instances import MODULES, tiny

from boundmark.bounds import checker
from boundmark.datasets.resolve import load_file
from boundmark.problems.catalog import problems
from boundmark.problems.errors import BoundmarkError

Document = dict[str, Any]

# What a field, or an entry of one, may be instead: limits of either reader, and what is no integer.
INSTEAD: list[Any] = [
    None, True, False, 0, 1, -1, 2, 64, 65, 2**12 + 1, 2**16, 2**16 + 1, 2**20, 2**20 + 1, 2**32,
    2**32 + 1, 2**53 - 1, 2**53, 2**53 + 1, 2**61, 2**62, 2**63 - 1, 2**63, 2**64, 10**50, -(2**63),
    1.0, 1.5, float("nan"), float("inf"), "", "1", "x", [], {}, [[]], [0], [[0]], [True], ["1"],
    [0, 0], [[0, 0]], {"more": 1}, {"more": True}, {"more": None},
]  # fmt: skip


def described(problem: str) -> list[Document]:
    """Return documents with the fields that few instances have."""
    plain = [sample.to_json() for sample, _ in tiny(problem)[::7]]
    if problem == "pipeline":
        return [{**plain[0], "phase": "training"}]
    if problem == "layers":
        return [{**plain[0], "made_of": {"phase": "decode", "batch": 1}}]
    if problem == "placement":
        return [
            {**one, "op_types": ["Conv"] * nodes, "output_shapes": [[1, 2]] * nodes}
            | {"fusion": "moirai", "memory_model": "parameters+live"}
            | {"tensor_memory": [0] * len(one["producer"]), "result_memory": [0] * nodes}
            for one in plain
            for nodes in [len(one["memory"])]
        ]
    return []


def documents(problem: str) -> list[Document]:
    """Return instances of a problem of all sorts."""
    return [*described(problem), *(sample.to_json() for sample, _ in tiny(problem))]


def by_checker(document: Document) -> str | None:
    """Return why the checker refuses an instance; None if it reads it."""
    try:
        checker.check_instance(document)
    except checker.CheckFailed:
        raise
    except checker.Rejected as error:
        reason = str(error)
    else:
        return None
    # A sentence, of a line.
    assert len(reason.split()) > 3
    assert reason.isprintable()
    return reason


def by_package(problem: str, document: Document) -> str | None:
    """Return why the package refuses an instance; None if it reads it."""
    try:
        found = problems()[problem].instance_from_json(document)
    except BoundmarkError as error:
        return str(error)
    # What is read is what was written: its hash names the document.
    assert found.to_json() == document
    return None


def check_alike(problem: str, document: Document) -> None:
    """Fail if one reads a document that the other refuses."""
    reasons = by_checker(document), by_package(problem, document)
    assert (reasons[0] is None) == (reasons[1] is None), f"{json.dumps(document)}: {reasons}"


@pytest.mark.parametrize("problem", MODULES)
def test_each_field_changed(problem: str) -> None:
    """Dropped, added, replaced by what it may not be, and each of its numbers changed."""
    chosen = documents(problem)
    for document in (chosen[0], chosen[len(chosen) // 2], chosen[-1]):
        check_alike(problem, document)
        for name in document.keys() - {"format", "problem"}:
            for value in INSTEAD:
                check_alike(problem, {**document, name: value})
                if isinstance(document[name], list):
                    check_alike(problem, {**document, name: [*document[name], value]})
                    check_alike(problem, {**document, name: [value, *document[name][1:]]})
            others = {key: value for key, value in document.items() if key != name}
            check_alike(problem, others)
            check_alike(problem, {**others, name + "_": document[name]})
            for value in mutants(document[name]):
                check_alike(problem, {**document, name: value})


@pytest.mark.parametrize("problem", MODULES)
@given(seed=st.integers(0, 2**32), changes=st.integers(1, 4))
def test_several_changes(problem: str, seed: int, changes: int) -> None:
    """Also of documents that were changed in several places, so that one makes up for another."""
    dice = random.Random(seed)
    document: Any = dice.choice(documents(problem))
    for _ in range(changes):
        document = mutated(document, dice, INSTEAD)
        if type(document) is not dict or document.get("problem") != problem:
            return
    check_alike(problem, document)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(lambda text: b"\xef\xbb\xbf" + text, id="byte order mark"),
        pytest.param(lambda text: text.decode().encode("utf-16"), id="utf-16"),
        pytest.param(lambda text: text.replace(b'"k":', b'"k":1,"k":'), id="twice"),
        pytest.param(lambda text: text.replace(b'"k":2', b'"k":2.0'), id="float"),
        pytest.param(lambda text: text.replace(b'"k":2', b'"k":2e0'), id="exponent"),
        pytest.param(lambda text: text.replace(b'"k":2', b'"k":NaN'), id="nan"),
        pytest.param(lambda text: text.replace(b'"k":2', b'"k":' + b"1" * 5000), id="digits"),
        pytest.param(lambda text: text + b"}", id="more"),
        pytest.param(lambda text: text[:-1], id="less"),
        pytest.param(lambda text: b"[" + text + b"]", id="list"),
        pytest.param(lambda text: text.replace(b"[]", b"[" * 5000 + b"]" * 5000), id="deep"),
        pytest.param(lambda text: b"\xff" + text, id="no utf-8"),
    ],
)
def test_texts_that_nobody_reads(text: Any, tmp_path: Path) -> None:
    """How a document is written is as strict on both sides."""
    document = {
        "format": "boundmark-instance/1", "problem": "pipeline", "k": 2, "work": [1, 2],
        "transfer": [1, 1], "param_load": [0, 0], "cache": 0, "edges": [],
    }  # fmt: skip
    written = json.dumps(document, separators=(",", ":")).encode()
    path = tmp_path / "one.json"
    path.write_bytes(written)
    load_file(path, {})
    assert checker.read_document(path) == document
    path.write_bytes(text(written))
    with pytest.raises(checker.Rejected):
        checker.check_instance(checker.read_document(path))
    with pytest.raises(BoundmarkError, match=r"one\.json: "):
        load_file(path, {})
