"""Describe where a run happened: machine, software and their versions."""

import os
import platform
import subprocess
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from importlib.metadata import Distribution, PackageNotFoundError, distribution, entry_points
from pathlib import Path
from typing import Any, NamedTuple

import psutil
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name


@cache
def describe_environment() -> Mapping[str, Any]:
    """Return the record that a run stores as `environment.json`, as of this process's first call.

    Not to be changed: all callers share it.
    """
    commit, dirty = _checkout()
    return {
        "cpu": cpu_name(),
        "cores": psutil.cpu_count(logical=False),
        "logical_cpus": psutil.cpu_count(),
        "usable_cpus": len(os.sched_getaffinity(0)),
        "memory_bytes": psutil.virtual_memory().total,
        "host": platform.node(),
        "os": platform.platform(),
        "python": platform.python_version(),
        "libraries": installed_versions(),
        "commit": commit,
        "dirty": dirty,
        "thread_settings": {
            name: value for name, value in sorted(os.environ.items()) if "NUM_THREADS" in name
        },
        "load_at_start": list(os.getloadavg()),
    }


def cpu_name() -> str:
    """Return the processor's name."""
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()


# What `nvidia-smi` is asked for.
FIELDS = "name,driver_version,clocks.sm,clocks.max.sm,clocks.mem,power.limit"


class Gpu(NamedTuple):
    """A GPU's name, the version of its driver, and its clocks in words; None if nobody knows."""

    name: str
    driver: str | None
    clocks: str | None


def gpu(uuid: str | None = None) -> Gpu | None:
    """Return what is known of a GPU; None if nothing is."""
    chosen = [] if uuid is None else ["-i", uuid]
    try:
        done = subprocess.run(
            ["nvidia-smi", *chosen, f"--query-gpu={FIELDS}", "--format=csv,noheader"],
            capture_output=True, text=True, timeout=20, check=True,
        )  # fmt: skip
        name, driver, now, most, memory, power = done.stdout.splitlines()[0].split(", ")
    except (OSError, subprocess.SubprocessError, ValueError, IndexError):
        return None
    clocks = f"SM {now} after the runs, at most {most}; memory {memory}; power limit {power}"
    return Gpu(name, driver, clocks)


def _checkout() -> tuple[str | None, bool | None]:
    """Return commit and dirty flag of the checkout that this code runs from; None outside one.

    Documents do not count: tables of earlier results may be written while a run goes on.
    """
    # An installed copy may sit inside some other repository, which then says nothing about it.
    if _git("ls-files", "--error-unmatch", Path(__file__).name) is None:
        return None, None
    return _git("rev-parse", "HEAD"), bool(
        _git("status", "--porcelain", "--", ":/", ":(top,exclude)docs")
    )


def _git(*arguments: str) -> str | None:
    here = Path(__file__).resolve().parent
    try:
        done = subprocess.run(
            ["git", "-C", str(here), *arguments], capture_output=True, text=True, timeout=10
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() if done.returncode == 0 else None


PROJECT = "boundmark"


def installed_versions() -> dict[str, str]:
    """Return the versions of boundmark, its plugins, and what these need, directly or not.

    Optional dependencies of boundmark and its plugins count if they are installed; those of other
    packages where somebody asks for them.
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
