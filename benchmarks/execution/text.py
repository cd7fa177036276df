"""Texts of unknown origin on their way into a row."""


def printable(text: str, longest: int) -> str:
    """Return the text such that any file can hold it, cut to a number of bytes in UTF-8."""
    return text.encode(errors="replace")[:longest].decode(errors="ignore")
