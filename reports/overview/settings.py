"""How the tasks were run, and on what."""

from typing import Any

from boundmark.reports.folder_results import FolderResults
from boundmark.reports.tables.parameters import (
    parameter_column,
    parameter_names,
    values_in_order,
)
from boundmark.reports.text.natural_order import natural_order
from boundmark.reports.text.number_text import integer, plain, size

# Keys of environment.json whose values are bytes.
BYTES_SUFFIX = "_bytes"

Pairs = tuple[tuple[str, str], ...]


def settings(folder: FolderResults) -> Pairs:
    """Return how the tasks were run, as far as the results say."""
    tasks, certified = folder.tasks, folder.certified
    sizes = certified.groupby("dataset").size()
    versions = tasks.groupby("method")["method_version"].max()
    methods = (
        f"{name} (version {integer(versions[name])})" for name in natural_order(versions.index)
    )
    solvers = ", ".join(f"{name} {text}" for name, text in folder.label.solvers.items())
    limits = (f"{plain(x)} s" for x in _distinct(tasks["time_limit_seconds"]))
    return (
        ("run", f"{folder.label.short}; {solvers or 'versions of solvers unknown'}"),
        ("problems", ", ".join(folder.problems)),
        ("data sets", ", ".join(f"{name} ({number})" for name, number in sizes.items())),
        *_devices(certified),
        *(
            (name, _values(certified[parameter_column(name)]))
            for name in parameter_names(certified)
        ),
        ("nodes", _range(tasks["nodes"])),
        ("methods", ", ".join(methods)),
        ("seeds", _listed(tasks["seed"])),
        ("time limit", ", ".join(limits)),
        ("memory limit", ", ".join(size(x) for x in _distinct(tasks["memory_limit_bytes"]))),
        ("threads per task", _listed(tasks["threads"])),
        ("hosts", ", ".join(sorted(set(tasks["host"].dropna())))),
    )


def environment(folder: FolderResults) -> Pairs:
    """Return the record of machine and software, whatever it contains."""
    record = folder.environment or {}
    return tuple((_label(key), _value(key, record[key])) for key in record)


def _devices(certified: Any) -> Pairs:
    """Return on which devices the costs are, and of how many instances; nothing if on none."""
    sizes = certified.groupby(certified["device"].fillna("")).size().drop("", errors="ignore")
    named = ", ".join(f"{name} ({number})" for name, number in sizes.items())
    return (("devices", named),) if named else ()


def _values(column: Any) -> str:
    values = values_in_order(column)
    return ", ".join(value if isinstance(value, str) else integer(value) for value in values)


def _distinct(values: Any) -> list[Any]:
    return sorted(set(values.dropna()))


def _listed(values: Any) -> str:
    return ", ".join(integer(value) for value in _distinct(values))


def _range(values: Any) -> str:
    distinct = _distinct(values)
    return f"{integer(distinct[0])} to {integer(distinct[-1])}" if distinct else ""


def _label(key: str) -> str:
    return key.removesuffix(BYTES_SUFFIX).replace("_", " ")


def _value(key: str, value: Any) -> str:
    if value is None:
        return "unknown"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, dict):
        pairs = (f"{name} {_value(name, part)}" for name, part in sorted(value.items()))
        return ", ".join(pairs) or "none"
    if isinstance(value, list):
        return ", ".join(_value(key, part) for part in value)
    if isinstance(value, float):
        return f"{value:.2f}"
    if isinstance(value, int) and key.endswith(BYTES_SUFFIX):
        return size(value)
    return str(value)
