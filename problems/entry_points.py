"""Entry points: what packages add, by the names of groups such as ``boundmark.problems``.

A package adds problems with an entry point in the group ``boundmark.problems`` that names a
`Problem` or a tuple of them, methods in ``boundmark.methods`` (`Method`), and data sets in
``boundmark.datasets`` (`Dataset`). Importing a module registers nothing. Broken packages
are reported and left out.
"""

import contextlib
import sys
from collections.abc import Callable, Collection, Mapping
from functools import cache
from importlib.metadata import Distribution, EntryPoint, distributions
from typing import Any, TypeVar

from boundmark.problems.errors import BoundmarkError
from boundmark.problems.problem import Problem

Item = TypeVar("Item")

LONGEST_REASON = 300


def registered(
    group: str,
    kind: type[Item],
    key: str = "name",
    taken: Collection[str] = (),
    is_wanted: Callable[[EntryPoint], bool] = lambda point: True,
) -> Mapping[str, Item]:
    """Return the objects of a group's entry points, by name; ours come first.

    An entry point holds an object of some type or a tuple of them. One that cannot be loaded,
    holds anything else, or uses a name that is taken is left out as a whole, with a line on
    standard error (through `logging`). Callers cache the result, so that it is told once.
    """
    found: dict[str, Item] = {}
    for point in filter(is_wanted, entry_points_of(group)):
        try:
            items = _items(point, kind)
            names = [getattr(item, key) for item in items]
            for number, name in enumerate(names):
                if not isinstance(name, str):
                    raise BoundmarkError(f"{key} is {name!r}; expected a text.")
                if not name or not name.isprintable() or name != name.strip():
                    raise BoundmarkError(
                        f"{key} is {name!a}; expected visible characters, with blanks only in "
                        "between."
                    )
                if name in found or name in taken or name in names[:number]:
                    raise BoundmarkError(f"{name!r} is taken; expected a name of its own.")
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            # Another package's code may raise anything, even SystemExit; the others still load.
            leave_out(described(point), error)
        else:
            found.update(zip(names, items, strict=True))
    return found


def entry_points_of(group: str) -> list[EntryPoint]:
    """Return the entry points of a group, ours first, then by name."""
    points = [point for point in _entry_points() if point.group == group]
    return sorted(points, key=lambda point: (not _is_ours(point), point.name, point.value))


def loaded(point: EntryPoint) -> Any:
    """Load the object that an entry point refers to; exceptions of its code pass through.

    An interruption is told in a line on standard error: it may be the other code's own.
    """
    # Standard output is for tables and JSON of commands alone.
    with contextlib.redirect_stdout(sys.stderr):
        try:
            return point.load()
        except KeyboardInterrupt:
            _warn(f"interrupted while {described(point)} was imported")
            raise


def _items(point: EntryPoint, kind: type[Item]) -> tuple[Item, ...]:
    value = loaded(point)
    items: tuple[Any, ...] = value if isinstance(value, tuple) else (value,)
    for item in items:
        if not isinstance(item, kind):
            raise BoundmarkError(
                f"it holds a {type(item).__name__}; expected a {kind.__name__} or a tuple of them."
            )
    return items


def _is_ours(point: EntryPoint) -> bool:
    return point.value.startswith("boundmark.")


def described(point: EntryPoint) -> str:
    """Return the name, group and package of an entry point."""
    package = f" of package {point.dist.name}" if point.dist else ""
    return f"entry point {point.name!r} ({point.group}){package}"


def leave_out(what: str, error: BaseException) -> str:
    """Log on standard error that something is left out and why; return that line."""
    reason = str(error) if isinstance(error, BoundmarkError) else f"{type(error).__name__}: {error}"
    line = f"left out {what}: {' '.join(reason.split())[:LONGEST_REASON]}"
    _warn(line)
    return line


def _warn(line: str) -> None:
    # Commands that have nothing to report start without it.
    import logging

    logging.getLogger("boundmark").warning("warning: %s", line)


@cache
def _entry_points() -> tuple[EntryPoint, ...]:
    """Return the entry points of all groups that begin with ``boundmark.``, reading files once.

    Unlike `importlib.metadata.entry_points`, this survives a package whose files are damaged.
    """
    found: list[EntryPoint] = []
    seen: set[str] = set()
    for package in distributions():
        try:
            if "boundmark." not in (package.read_text("entry_points.txt") or ""):
                continue
            # The first of several copies is the one that Python imports.
            if package.name not in seen:
                seen.add(package.name)
                found += package.entry_points
        except Exception as error:
            leave_out(f"the entry points of {_name(package)}", error)
    return tuple(point for point in found if point.group.startswith("boundmark."))


def _name(package: Distribution) -> str:
    try:
        return f"package {package.name}"
    except Exception:
        # A package without metadata has no name.
        return "a package without a name"


@cache
def problems() -> Mapping[str, Problem]:
    """Return every registered problem by name, those of the lowest precedence number first."""
    found = registered("boundmark.problems", Problem)
    return dict(sorted(found.items(), key=lambda item: (item[1].precedence, item[0])))
