"""Texts of unknown origin as what can be seen of them."""


def visible(text: str) -> str:
    """Return the text with characters that cannot be seen or encoded written as escapes.

    Lines stay lines.
    """
    return "".join(c if c.isprintable() or c == "\n" else ascii(c)[1:-1] for c in text)
