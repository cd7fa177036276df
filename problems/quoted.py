"""Values in error messages: on one line, printable, and never long."""


def quoted(value: object, longest: int = 80) -> str:
    """Return a value as Python writes it, cut to a length; control characters are escaped."""
    try:
        text = repr(value)
    except (ValueError, RecursionError):
        # Python writes down no integer of more than 4,300 digits, nor what is nested too deeply.
        return f"a {type(value).__name__} too long to be shown"
    return text if len(text) <= longest else f"{text[: longest - 3]}..."
