"""Puts the library's entries, without their documents, into sdists and wheels."""

import json
import shutil
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

RECORDS = "reports/library_records.jsonl"


class LibraryRecords(BuildHookInterface):
    """Makes the file of records from `library/`, a line for each entry.

    Editable installs read the folder itself, and an sdist, which has no such folder, the file.
    """

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Write the file, and name it among what is built."""
        library = Path(self.root, "library")
        if version == "editable" or not library.is_dir():
            return
        entries = [json.loads(path.read_text()) for path in sorted(library.glob("*/*.json"))]
        lines = [json.dumps(one, sort_keys=True, separators=(",", ":")) for one in entries]
        self.made = Path(tempfile.mkdtemp())
        file = self.made / "records.jsonl"
        file.write_text("".join(f"{line}\n" for line in lines))
        place = RECORDS if self.target_name == "sdist" else f"boundmark/{RECORDS}"
        build_data["force_include"][str(file)] = place

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Remove what is in the distribution by now."""
        if hasattr(self, "made"):
            shutil.rmtree(self.made)
