"""Any text as a name of a file."""

import hashlib
import re


def file_name(text: str) -> str:
    """Return letters, digits, dashes and underscores; different texts have different names."""
    plain = re.sub(r"[^A-Za-z0-9_-]+", "_", text)
    return (
        plain
        if plain == text and text
        else f"{plain}_{hashlib.sha256(text.encode()).hexdigest()[:8]}"
    )
