"""Texts of unknown origin as what can be seen of them."""


def visible(text: str) -> str:
    """Return the text with characters that cannot be seen or encoded written as escapes.

    Lines stay lines.
    """
    if text.isprintable():
        return text
    return "".join(c if _is_visible(c) else ascii(c)[1:-1] for c in text)


def _is_visible(character: str) -> bool:
    # Blanks that do not break are the report's own.
    return character.isprintable() or character in "\n\N{NO-BREAK SPACE}\N{NARROW NO-BREAK SPACE}"
