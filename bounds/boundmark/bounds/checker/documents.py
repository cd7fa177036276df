"""The files that are checked: instances, solutions, certificates, payloads beside them."""

import gzip
import hashlib
import json
import re
import zlib
from pathlib import Path
from typing import Any

from .values import Rejected, text

INSTANCE_FORMAT = "boundmark-instance/1"
CERTIFICATE_FORMAT = "boundmark-certificate/1"
SOLUTION_FORMAT = "boundmark-solution/1"

LARGEST_FILE = 2**30


def instance_sha256(document: dict[str, Any]) -> str:
    """Return the hash of an instance's canonical JSON, which identifies it."""
    try:
        text = json.dumps(document, sort_keys=True, separators=(",", ":"))
    except (TypeError, ValueError, RecursionError):
        raise Rejected("the instance is not JSON") from None
    return hashlib.sha256(text.encode()).hexdigest()


def read_document(path: Path) -> dict[str, Any]:
    """Read an instance, a solution, or a certificate together with its payload.

    Raises
    ------
    Rejected
        If the file is not a JSON object, if the payload stored beside it is not what it says, or
        if the file is named after a hash that is not its content's.
    """
    try:
        data = path.read_bytes()
    except OSError:
        raise Rejected("the file cannot be read") from None
    if re.fullmatch("[0-9a-f]{64}", path.stem) and path.stem != hashlib.sha256(data).hexdigest():
        raise Rejected("the file is named after a hash that is not its content's")
    document = _read_json(data)
    if type(document) is not dict:
        raise Rejected("the file is not a JSON object")
    if "payload_file" in document:
        if "payload" in document or "payload_sha256" not in document:
            raise Rejected("the certificate does not have one payload")
        name, sha256 = document.pop("payload_file"), document.pop("payload_sha256")
        document["payload"] = _read_payload(name, sha256, path.parent)
    return document


def _read_payload(name: Any, sha256: Any, folder: Path) -> Any:
    if type(name) is not str or not re.fullmatch("[0-9a-f]{64}[.]json[.]gz", name):
        raise Rejected("payload_file is not the name of a file in the certificate's folder")
    try:
        with gzip.open(folder / name) as file:
            data = file.read(LARGEST_FILE + 1)
    except (OSError, EOFError, zlib.error):
        raise Rejected("the payload file cannot be read") from None
    if len(data) > LARGEST_FILE:
        raise Rejected("the payload file is too large")
    text(sha256, "payload_sha256", hashlib.sha256(data).hexdigest())
    return _read_json(data)


def _read_json(data: bytes) -> Any:
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        raise Rejected("the file is not JSON") from None
