import gzip
import hashlib
import json
from pathlib import Path

import pytest

from boundmark.problems.errors import StoreError
from boundmark.reports.stored.store import LARGEST_INLINE_PAYLOAD, write_document


def test_name_is_the_hash_of_the_content(tmp_path: Path) -> None:
    """Anybody can check a file against its name."""
    digest = write_document(tmp_path, {"b": 1, "a": [2]})
    content = (tmp_path / f"{digest}.json").read_bytes()
    assert content == b'{"a":[2],"b":1}'
    assert hashlib.sha256(content).hexdigest() == digest


def test_large_payload_goes_beside_its_document(tmp_path: Path) -> None:
    """The document names the file and the hash of what is in it."""
    payload = {"flow": list(range(LARGEST_INLINE_PAYLOAD // 4))}
    digest = write_document(tmp_path, {"kind": "fractional-load/1", "payload": payload})
    document = json.loads((tmp_path / f"{digest}.json").read_text())
    assert set(document) == {"kind", "payload_file", "payload_sha256"}
    unpacked = gzip.decompress((tmp_path / document["payload_file"]).read_bytes())
    assert json.loads(unpacked) == payload
    assert hashlib.sha256(unpacked).hexdigest() == document["payload_sha256"]


def test_same_document_same_files(tmp_path: Path) -> None:
    """Writing again changes nothing, not even a time stamp inside the archive."""
    document = {"payload": list(range(LARGEST_INLINE_PAYLOAD))}
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        write_document(tmp_path / folder, document)
    first, second = (sorted((tmp_path / folder).iterdir()) for folder in ("a", "b"))
    assert [path.name for path in first] == [path.name for path in second]
    assert [path.read_bytes() for path in first] == [path.read_bytes() for path in second]


def test_missing_folder_is_named(tmp_path: Path) -> None:
    """The error says which file could not be written."""
    with pytest.raises(StoreError, match=r"missing.*cannot be written"):
        write_document(tmp_path / "missing", {})
