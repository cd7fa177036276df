"""How links of a page name an instance."""


def anchor_of(sha256: str) -> str:
    """Return the anchor of an instance's details."""
    return f"instance-{sha256[:16]}"
