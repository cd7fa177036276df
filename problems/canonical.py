"""Canonical JSON: equal values have equal texts, whose hash identifies them."""

import hashlib
import json
from typing import Any


def canonical_json(value: Any) -> str:
    """Return the JSON text with sorted keys and no white space, the same on every machine."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)


def sha256_hex(text: str) -> str:
    """Return the SHA-256 of a text's UTF-8 bytes as 64 hexadecimal digits."""
    return hashlib.sha256(text.encode()).hexdigest()
