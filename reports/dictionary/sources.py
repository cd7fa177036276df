"""Where the dictionary comes from: a file here, and one beside the report of each problem."""

import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeAlias

from boundmark.problems.plugins import entry_points_of

FILE = "dictionary.toml"

# Sections `columns` and `tables`.
Entries: TypeAlias = Mapping[str, Mapping[str, Any]]


@cache
def common() -> Entries:
    """Return what tables of any problem have in common."""
    return tomllib.loads((files(__package__) / FILE).read_text(encoding="utf-8"))


@cache
def of_problems() -> Mapping[str, Entries]:
    """Return what tables of single problems have, by problem, as far as their packages say it.

    A package says it in a file `dictionary.toml` beside the module that its entry point for reports
    names.
    """
    found: dict[str, Entries] = {}
    for point in entry_points_of("boundmark.reports"):
        try:
            spec = find_spec(point.module)
            path = Path(str(spec.origin)).with_name(FILE) if spec else Path(FILE)
            if point.name not in found and spec and path.is_file():
                entries = tomllib.loads(path.read_text(encoding="utf-8"))
                found[point.name] = {"columns": {}, "tables": {}, **entries}
        except KeyboardInterrupt:
            raise
        except BaseException:
            # Somebody else's code: `report_of` tells what is wrong with it.
            continue
    return found
