"""The list of mutants that survive and accept nothing false, and finds them in it."""

import tomllib
from collections.abc import Iterable
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from code_mutants import Mutant

LISTED = Path(__file__).parents[1] / "campaigns/weaker_mutants.toml"

# Why a mutant may survive; `docs/certificates.md` says what each class means.
CLASSES = ("same", "limits", "weaker", "malformed")


def read_list() -> list[dict[str, Any]]:
    """Return the groups of mutants that are listed, with class and reason.

    A group names them one by one (`mutants`), or by shell patterns (`patterns`).
    """
    groups: list[dict[str, Any]] = tomllib.loads(LISTED.read_text())["weaker"]
    return groups


def class_by_name(groups: list[dict[str, Any]], every: Iterable[Mutant]) -> dict[str, str]:
    """Return the class of each mutant that is listed."""
    found = {}
    for mutant in every:
        for group in groups:
            is_named = mutant.name in group.get("mutants", ())
            if is_named or any(fnmatchcase(mutant.name, p) for p in group.get("patterns", ())):
                found[mutant.name] = group["class"]
    return found


def unused(groups: list[dict[str, Any]], names: set[str]) -> list[str]:
    """Return what is listed though no mutant is called so."""
    return [
        *(name for group in groups for name in group.get("mutants", ()) if name not in names),
        *(
            pattern
            for group in groups
            for pattern in group.get("patterns", ())
            if not any(fnmatchcase(name, pattern) for name in names)
        ),
    ]
