import gzip
import json
import os
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

from boundmark.bounds import checker
from boundmark.bounds.checker import documents
from boundmark.problems.arrays import frozen
from boundmark.problems.pipeline import Partition, PipelineInstance
from boundmark.problems.problem import solution_document

Document = dict[str, Any]


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
    with pytest.raises(checker.Rejected, match="payload file cannot be decompressed"):
        checker.read_document(directory / f"{digest}.json")


def test_rejects_a_changed_digit_anywhere(folder: tuple[Path, str, PipelineInstance]) -> None:
    """A file named after its hash cannot change, not even in what the proof does not use."""
    directory, digest, _ = folder
    path = directory / f"{digest}.json"
    path.write_text(path.read_text().replace('"producer":"fractional-load"', '"producer":"shore"'))
    with pytest.raises(checker.Rejected, match="named after a hash"):
        checker.read_document(path)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (b"", "not JSON"),
        (b'{"format": ', "not JSON"),
        (b"\xff\xfe", "not JSON"),
        (b"\xef\xbb\xbf{}", "not JSON"),
        ('{"k": 1}'.encode("utf-16"), "not JSON"),
        (b"[1]", "not a JSON object"),
        (b"[" * 10**5, "nested too deeply"),
        (b'{"a":' * 10**5 + b"1" + b"}" * 10**5, "nested too deeply"),
        (b'{"k": ' + b"9" * 5000 + b"}", "an integer of too many digits"),
        (b'{"k": NaN}', "the number 'NaN', which is not an integer"),
        (b'{"k": -Infinity}', "the number '-Infinity', which is not an integer"),
        (b'{"k": 1e3}', "the number '1e3', which is not an integer"),
        (b'{"k": 1.0}', "the number '1.0', which is not an integer"),
        (b'{"k": 1, "a": {"b": 1, "c": 2, "b": 1}}', "has the field 'b' twice"),
        (b'{"k": 1, "\\u001b[31m": 2, "\\u001b[31m": 2}', r"has the field '\\x1b\[31m' twice"),
        (b'{"payload_file": "x", "payload_sha256": "y", "payload": 1}', "one payload"),
        (b'{"payload_file": "x"}', "one payload"),
        (b'{"payload_file": "../x.json.gz", "payload_sha256": "y"}', "not the name of a file"),
        (b'{"payload_file": "x\\u0000", "payload_sha256": "y"}', r"folder, but 'x\\x00'"),
        (b'{"payload_file": 3, "payload_sha256": "y"}', "not the name of a file.*, but 3"),
    ],
)
def test_malformed_files(tmp_path: Path, text: bytes, reason: str) -> None:
    """Files that are no documents are rejected, with the reason."""
    path = tmp_path / "file.json"
    path.write_bytes(text)
    with pytest.raises(checker.Rejected, match=reason):
        checker.read_document(path)


def test_no_descriptor_is_left_open(tmp_path: Path) -> None:
    """Refused files are closed: a folder of thousands of them can be read to its end."""
    paths = [tmp_path, Path("/dev/null"), tmp_path / "missing.json"]
    before = len(list(Path("/dev/fd").iterdir()))
    for path in paths:
        with pytest.raises(checker.Rejected):
            checker.read_document(path)
    assert len(list(Path("/dev/fd").iterdir())) == before


@pytest.mark.parametrize(
    ("limit", "reason"),
    [
        ("LARGEST_FILE", "the file has more than 0 MiB"),
        ("MOST_VALUE_BYTES", "the payload file takes more than 0 MiB of memory"),
    ],
)
def test_sizes_are_limited(
    folder: tuple[Path, str, PipelineInstance],
    limit: str,
    reason: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A file, what it is decompressed to, and its values have a size."""
    directory, digest, _ = folder
    monkeypatch.setattr(documents, limit, 100 if limit == "LARGEST_FILE" else 10_000)
    with pytest.raises(checker.TooLarge, match=reason):
        checker.read_document(directory / f"{digest}.json")


@pytest.mark.parametrize(
    "text",
    [
        "[" + "[]," * 50_000 + "[]]",
        "[" + "[12345]," * 50_000 + "[]]",
        "[" + "{}," * 50_000 + "{}]",
        "[" + '{"":1},' * 50_000 + "{}]",
        "[" + '{"a":[{}]},' * 50_000 + "{}]",
        "[" + "1234567890123456789," * 50_000 + "1]",
        "[" + '"ab",' * 50_000 + "1]",
        "[" + '"\u00e9\u00e9\u00e9",' * 50_000 + "1]",
        "{" + ",".join(f'"{i}":[]' for i in range(50_000)) + "}",
        "[" + "9" * 4000 + ("," + "9" * 4000) * 300 + "]",
        '["' + "\U0001f600" * 200_000 + '"]',
    ],
    ids=range(11),
)
def test_values_take_no_more_memory_than_estimated(text: str) -> None:
    """What is counted before a text is read is at least what Python then holds."""
    data = text.encode()
    tracemalloc.start()
    values = documents._values(data, "the file")
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert values
    assert peak + len(data) <= documents._size_of_values(data)


def test_what_is_no_json_has_no_hash() -> None:
    """It is rejected with a sentence, whatever Python says of it."""
    for value in ({1, 2}, 10**5000):
        with pytest.raises(checker.Rejected, match="the instance is not JSON"):
            documents.instance_sha256({"work": value})


def test_a_payload_may_be_as_large_as_the_limit(
    folder: tuple[Path, str, PipelineInstance], monkeypatch: pytest.MonkeyPatch
) -> None:
    """And not a byte larger."""
    directory, digest, _ = folder
    path = next(directory.glob("*.json.gz"))
    size = len(gzip.decompress(path.read_bytes()))
    monkeypatch.setattr(documents, "LARGEST_FILE", size)
    assert checker.read_document(directory / f"{digest}.json")["payload"]
    monkeypatch.setattr(documents, "LARGEST_FILE", size - 1)
    with pytest.raises(checker.Rejected, match="MiB"):
        checker.read_document(directory / f"{digest}.json")


@pytest.mark.skipif(not Path("/proc/self/mem").exists(), reason="there is no such file")
def test_errors_of_the_disk_are_rejections() -> None:
    """A file that can be opened and not be read, as the first page of a process's memory."""
    with pytest.raises(checker.Rejected, match="the file cannot be read"):
        checker.read_document(Path("/proc/self/mem"))


def test_a_folder_is_no_document(tmp_path: Path) -> None:
    """It can be opened, too."""
    with pytest.raises(checker.Rejected, match="the file is not a regular file"):
        checker.read_document(tmp_path)


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    """Nobody writes into it."""
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(checker.Rejected, match="the file is not a regular file"):
        checker.read_document(tmp_path / "pipe")


def solution_of(sample: PipelineInstance, **changes: Any) -> Document:
    """Return a right solution with some fields changed."""
    one = Partition(frozen([0] * sample.nodes))
    return {**solution_document(sample, one, sample.objective(one)), **changes}


def test_a_solution_states_what_it_costs(large: tuple[PipelineInstance, Document]) -> None:
    """Neither less nor more."""
    sample, _ = large
    cost = int(solution_of(sample)["objective"])
    assert checker.check_solution(sample.to_json(), solution_of(sample)) == cost
    for stated in (cost - 1, cost + 1):
        with pytest.raises(checker.Rejected, match=f"is not what it costs, {cost}"):
            checker.check_solution(sample.to_json(), solution_of(sample, objective=stated))


def test_a_producer_is_a_text(large: tuple[PipelineInstance, Document]) -> None:
    """A solution need not have one, a certificate has."""
    sample, certificate = large
    named = solution_of(sample, producer="me")
    assert checker.check_solution(sample.to_json(), named) == named["objective"]
    for producer in (5, None, ["me"]):
        with pytest.raises(checker.Rejected, match="the solution's producer is not a text"):
            checker.check_solution(sample.to_json(), solution_of(sample, producer=producer))
        with pytest.raises(checker.Rejected, match="the certificate's producer is not a text"):
            checker.check_certificate(sample.to_json(), {**certificate, "producer": producer})
