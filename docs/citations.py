"""Links from keys of the bibliography, such as [MTPP24], to its entries."""

import re

# A key that is no link yet.
_KEY = re.compile(r"(?<![`\[*])\[([A-Z][A-Z0-9]*[A-Z][0-9]{2})\](?![(\]`{])")


def linked(text: str) -> str:
    """Return Markdown, without code in it, with links instead of keys."""
    return _KEY.sub(lambda key: f"[\\[{key[1]}\\]](#{key[1].lower()})", text)
