"""The installed packages that can change a result: what boundmark needs, and plugins."""

from collections.abc import Iterable, Iterator
from importlib.metadata import Distribution, PackageNotFoundError, distribution, entry_points

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

PROJECT = "boundmark"


def installed_versions() -> dict[str, str]:
    """Return the versions of boundmark, its plugins, and what these need, directly or not.

    Optional dependencies of boundmark and its plugins count if they are installed; those of other
    packages where somebody asks for them.

    Returns
    -------
    dict
        By normalised name, sorted.
    """
    found: dict[str, str] = {}
    seen: set[tuple[str, str]] = set()
    ahead: list[tuple[str, str]] = []
    for root in _roots():
        ahead += [(root, ""), *((root, extra) for extra in _extras(root))]
    while ahead:
        name, extra = asked = ahead.pop()
        if asked in seen:
            continue
        seen.add(asked)
        known = _distribution(name)
        if known is not None:
            found[name] = known.version
            ahead += _needed(known, extra)
    return dict(sorted(found.items()))


def _roots() -> set[str]:
    points = entry_points()
    groups = [group for group in points.groups if group.startswith(f"{PROJECT}.")]
    providers = (point.dist for group in groups for point in points.select(group=group))
    return {PROJECT, *(canonicalize_name(one.name) for one in providers if one is not None)}


def _extras(name: str) -> Iterable[str]:
    known = _distribution(name)
    return () if known is None else known.metadata.get_all("Provides-Extra") or ()


def _needed(known: Distribution, extra: str) -> Iterator[tuple[str, str]]:
    for text in known.requires or ():
        requirement = Requirement(text)
        if requirement.marker is None or requirement.marker.evaluate({"extra": extra}):
            name = canonicalize_name(requirement.name)
            yield name, ""
            for asked in requirement.extras:
                yield name, asked


def _distribution(name: str) -> Distribution | None:
    try:
        return distribution(name)
    except PackageNotFoundError:
        return None
