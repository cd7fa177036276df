"""Make what an index shows of the package: the README, and where the project lives."""

import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

# Address of the repository, without a slash at the end; whoever publishes it writes it here.
ADDRESS = ""


class Description(MetadataHookInterface):
    """Hatchling's hook for metadata that `pyproject.toml` calls dynamic."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Add the description and the addresses."""
        text = (Path(self.root) / "README.md").read_text(encoding="utf-8")
        metadata["readme"] = {"content-type": "text/markdown", "text": description(text, ADDRESS)}
        metadata["urls"] = addresses(ADDRESS)


def addresses(address: str) -> dict[str, str]:
    """Return where the project lives by what is there; nothing without an address."""
    if not address:
        return {}
    return {"Repository": address, "Changelog": f"{address}/blob/HEAD/CHANGELOG.md"}


def description(readme: str, address: str) -> str:
    """Return the README for a page elsewhere: links into the repository are whole, or plain text.

    Pictures need an address, and are left out with their captions without one.
    """
    if not address:
        readme = re.sub(r"<picture>.*?</picture>\n\n.*?\n\n", "", readme, flags=re.DOTALL)
        return re.sub(r"\[([^]]+)\]\((?!https?:)[^)]+\)", r"\1", readme)
    readme = re.sub(r'(src|srcset)="(?!https?:)', rf'\1="{address}/raw/HEAD/', readme)
    return re.sub(r"\[([^]]+)\]\((?!https?:|#)", rf"[\1]({address}/blob/HEAD/", readme)
