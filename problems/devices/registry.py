"""Devices and clusters by name, shipped or from a user's file."""

import os
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from importlib.resources import as_file, files
from pathlib import Path

from boundmark.problems.devices.cluster import Cluster, Device
from boundmark.problems.devices.device_file import read_clusters, read_devices, read_document
from boundmark.problems.devices.efficiency import efficiency_of, efficiency_tables
from boundmark.problems.devices.measured_times import TIMES, is_times_file, load_times, with_times
from boundmark.problems.devices.names import (
    by_spelling,
    device_called,
    memory_left,
    short_names,
    squeezed,
)
from boundmark.problems.errors import InvalidInputError, UnknownNameError, find, quoted
from boundmark.problems.files import naming, refuse_file_of_tool

SUFFIX = ".toml"

DEFAULT_DEVICE = "nvidia-t4"

# Behind the name of a device or cluster: its runtime fuses operations.
FUSION = "+fusion"

# Behind the name of a device or cluster: its costs are calibrated on measured times.
CALIBRATED = "+calibrated"

# The costs of hardware without more behind its name.
ROOFLINE = "roofline"

# Behind the name of a cluster, before each ``MEMBER=FILE``.
TIMES_OF_MEMBER = re.compile(r"\+(?=[^+=/\\]+=)")

# A file, and behind a colon which of its devices and clusters.
_PART_OF_FILE = re.compile(r"(.+\.toml):([^/\\:]+)", re.IGNORECASE)


@dataclass(frozen=True)
class Registry:
    """Devices and clusters by name; no device has the name of a cluster."""

    devices: Mapping[str, Device]
    clusters: Mapping[str, Cluster]

    @property
    def all(self) -> dict[str, Device | Cluster]:
        """Devices and clusters by name, devices first."""
        return {**self.devices, **self.clusters}

    @cached_property
    def spellings(self) -> dict[str, Device]:
        """Devices by all that they are called, see `names.by_spelling`."""
        return by_spelling(self.devices)

    @property
    def taken(self) -> set[str]:
        """Names that no other device or cluster may have, in the spelling of `names.squeezed`."""
        return {*self.spellings, *map(squeezed, self.clusters)}

    def called(self, text: str) -> Device | Cluster | None:
        """Return the device or cluster that a text names in any spelling; None if none."""
        if text in self.all:
            return self.all[text]
        clusters = {squeezed(name): cluster for name, cluster in self.clusters.items()}
        return clusters.get(squeezed(text)) or device_called(text, self.spellings)

    def find(self, text: str) -> Device | Cluster:
        """Return the device or cluster that a text names in any spelling.

        Raises
        ------
        UnknownNameError
            If there is none, with the names that come near.
        """
        found = self.called(text)
        if found is not None:
            return found
        known = dict(self.all)
        for device in self.devices.values():
            for name in (*device.aliases, *short_names(device.name)):
                # A short name that could mean several devices means none.
                if squeezed(name) in self.spellings:
                    known.setdefault(name, device)
        return find("device or cluster", text.lower(), known)


@cache
def shipped() -> Registry:
    """Return the devices and clusters that come with boundmark."""
    with as_file(files(__package__) / "data") as folder:
        documents = [read_document(path) for path in sorted(folder.glob(f"*{SUFFIX}"))]
    devices: dict[str, Device] = {}
    clusters: dict[str, Cluster] = {}
    for document in documents:
        devices.update(read_devices(document))
    for document in documents:
        clusters.update(read_clusters(document, devices))
    return Registry(devices, clusters)


def load_device_file(path: Path) -> Registry:
    """Read a user's devices and clusters, which may consist of shipped devices as well.

    Raises
    ------
    InvalidInputError
        If the file is not in the format of docs/devices.md, a device or cluster has the name of
        another one, or there are none.
    """
    document = read_document(path)
    with naming(path):
        devices = read_devices(document)
        _refuse_taken([*devices, *(alias for one in devices.values() for alias in one.aliases)])
        clusters = read_clusters(document, {**shipped().devices, **devices})
        _refuse_taken(clusters)
        for name in clusters:
            if name in devices:
                raise InvalidInputError(
                    f"{name!r} names a device and a cluster; expected a name for each."
                )
        if not devices and not clusters:
            raise InvalidInputError("there is nothing in it; expected devices or clusters.")
    return Registry(devices, clusters)


def _refuse_taken(names: Iterable[str]) -> None:
    """Refuse names of a user's that devices and clusters of ours have."""
    for name in names:
        if squeezed(name) in shipped().taken:
            raise InvalidInputError(
                f"{name!r} comes with boundmark; expected another name, so that results with this "
                "one can be compared."
            )


def is_device_file(name: str) -> bool:
    """Whether a user's name of a device or cluster has files in it, ``.toml`` or ``.json``."""
    bare = name.removesuffix(FUSION).removesuffix(CALIBRATED).removesuffix(FUSION)
    in_file = bare.lower().endswith(SUFFIX) or _PART_OF_FILE.fullmatch(bare) is not None
    return in_file or is_times_file(bare)


@cache
def canonical_device_name(text: str) -> str:
    """Return the full name of the device that comes with boundmark and that a text names.

    Any other text, such as a device of the user's own, stays as it is.

    Examples
    --------
    >>> canonical_device_name("A100-80GB")
    'nvidia-a100'
    >>> canonical_device_name("my-npu")
    'my-npu'
    """
    device = device_called(text, shipped().spellings)
    return text if device is None else device.name


def find_device(name: str, folder: Path | None = None) -> Device | Cluster:
    """Return the device or cluster that a user names: by its name, or by a file that has one.

    Names may be spelt as people do: ``rtx4090``, ``H100-SXM``, ``V100-16GB`` (the same device with
    other memory), ``3090:9GiB`` (so much of its memory is left for a model). Of a file, it is the
    only cluster or, if there is none, the only device; or the one behind a colon,
    ``FILE.toml:NAME``. With ``+fusion`` behind the name or file, it is the same hardware with a
    runtime that fuses operations; with ``+calibrated``, with costs by its table of efficiencies
    instead of the roofline.

    A file that ends in ``.json`` has measured times of one model, see `measured_times`. With
    ``+MEMBER=FILE`` behind the name or file of a cluster, that one of its devices has these times.

    Parameters
    ----------
    folder
        What files are relative to; by default, the current folder.

    Raises
    ------
    UnknownNameError
        If nothing of this name comes with boundmark, or a cluster has no such member.
    InvalidInputError
        If the file is not what it should be, or has several clusters, or several devices only; or
        if times are for a member of what is no cluster, or twice for one.

    Examples
    --------
    >>> find_device("nvidia-t4").peak_rate["float32"]
    8100000000000.0
    """
    bare, left = memory_left(name)
    if left is not None:
        return _with_left(find_device(bare, folder), name, left)
    if name.endswith(FUSION):
        return fusing(find_device(name.removesuffix(FUSION), folder))
    if name.endswith(CALIBRATED):
        return calibrated(find_device(name.removesuffix(CALIBRATED), folder))
    head, *measured = TIMES_OF_MEMBER.split(name)
    if measured:
        return _with_times(find_device(head, folder), measured, folder or Path())
    if not is_device_file(name):
        try:
            return shipped().find(name)
        except UnknownNameError:
            path = (folder or Path()) / name
            # Unlike `Path.is_file`, it takes any text.
            if os.path.isfile(path):
                refuse_file_of_tool(path, TIMES)
            raise
    part = _PART_OF_FILE.fullmatch(name)
    path = (folder or Path()) / (part[1] if part else name)
    if is_times_file(name):
        return load_times(path, find_device)
    found = load_device_file(path)
    if part:
        return found.find(part[2])
    chosen: list[Device | Cluster] = [*(found.clusters or found.devices).values()]
    if len(chosen) > 1:
        names = ", ".join(item.name for item in chosen)
        raise InvalidInputError(
            f"{path} has {names}; expected one cluster, or else one device, in a file, or a name "
            f"behind it, such as {path.name}:{chosen[0].name}."
        )
    return chosen[0]


def _with_left(item: Device | Cluster, name: str, left: int) -> Device:
    """Return a device with what is left of its memory, under a name that says so."""
    if isinstance(item, Cluster):
        raise InvalidInputError(
            f"{name!r} says what is left of a cluster's memory; expected one device before the "
            "colon."
        )
    # How much memory a computer has is an assumption of its device file.
    if left > item.memory_bytes and not item.is_computer:
        raise InvalidInputError(
            f"{name!r} says that more memory is left than {item.name!r} has, "
            f"{item.memory_bytes / 2**30:.4g} GiB; expected at most that."
        )
    size = name.rpartition(":")[2].replace(" ", "")
    return replace(
        item, name=f"{item.name}:{size}", memory_bytes=left, memory_is_left=True, aliases=()
    )


def _with_times(item: Device | Cluster, measured: Sequence[str], folder: Path) -> Device | Cluster:
    """Return a cluster with measured times of some devices, each as ``MEMBER=FILE``."""
    if isinstance(item, Device):
        raise InvalidInputError(
            f"{measured[0]!r} is for a device of a cluster, and {item.name!r} is a single device; "
            "expected a cluster, or the file of times alone."
        )
    files = [text.split("=", 1) for text in measured]
    members = [member for member, _ in files]
    for member, file in files:
        if not is_times_file(file):
            raise InvalidInputError(
                f"{member} has the times {file!r}; expected a file that ends in .json, as "
                "`boundmark profile` stores it."
            )
        if members.count(member) > 1:
            raise InvalidInputError(f"{member} has times twice; expected one file.")
        item = with_times(item, member, folder / file)
    return item


def fusing(item: Device | Cluster) -> Device | Cluster:
    """Return the same hardware with a runtime that fuses, under a name of its own."""
    if item.name.endswith(FUSION):
        return item
    if isinstance(item, Device):
        return replace(item, name=f"{item.name}{FUSION}", fuses=True)
    devices = tuple(replace(device, fuses=True) for device in item.devices)
    return replace(item, name=f"{item.name}{FUSION}", devices=devices)


def calibrated(item: Device | Cluster) -> Device | Cluster:
    """Return the same hardware with calibrated costs, under a name of its own.

    Raises
    ------
    InvalidInputError
        If a device has no table of efficiencies, nor a device of the same maker, or its times were
        measured.
    """
    if item.name.endswith(CALIBRATED):
        return item
    if isinstance(item, Cluster):
        devices = tuple(_with_efficiency(device) for device in item.devices)
        return replace(item, name=f"{item.name}{CALIBRATED}", devices=devices)
    return replace(_with_efficiency(item), name=f"{item.name}{CALIBRATED}")


def _with_efficiency(device: Device) -> Device:
    if device.measured is not None:
        raise InvalidInputError(
            f"device {device.name!r} has measured times, which need no calibration; expected one "
            "with rates."
        )
    table = efficiency_of(device.model)
    if table is None:
        known = ", ".join(efficiency_tables())
        raise InvalidInputError(
            f"device {device.name!r} has no table of efficiencies, nor has another one of its "
            f"maker; expected one such as {known}, or --costs roofline."
        )
    return replace(device, efficiency=table)


def costed(item: Device | Cluster, costs: str, dtype: str, *, is_own: bool) -> Device | Cluster:
    """Return hardware with times from the source that a user asks for.

    Parameters
    ----------
    costs
        ``"roofline"``, ``"calibrated"`` or a file of times; empty for the usual source.
    dtype
        Data type of the model's arithmetic.
    is_own
        Whether the model is a user's own: its usual costs are calibrated, if all devices were
        measured in its dtype.

    Raises
    ------
    InvalidInputError
        If there is no such source, or not for this hardware.
    """
    if not costs:
        devices = item.devices if isinstance(item, Cluster) else (item,)
        tables = [efficiency_tables().get(device.model) for device in devices]
        is_usual = all(table is not None and dtype in table.dtypes for table in tables)
        return calibrated(item) if is_own and is_usual else item
    if costs == ROOFLINE:
        if item.name.endswith(CALIBRATED):
            raise InvalidInputError(
                f"costs is {costs!r}, and device {item.name!r} has others; expected one of both."
            )
        return item
    if costs == CALIBRATED.removeprefix("+"):
        return calibrated(item)
    if not is_times_file(costs):
        if os.path.isfile(costs):
            refuse_file_of_tool(costs, TIMES)
        raise InvalidInputError(
            f"costs is {quoted(costs)}; expected roofline, calibrated, or a .json file of times."
        )
    if isinstance(item, Cluster):
        raise InvalidInputError(
            f"costs is {costs!r}, and {item.name!r} is a cluster; expected --device "
            f"{item.name}+{item.members[0]}={costs} for the device that has these times."
        )
    times = load_times(Path(costs), find_device)
    return replace(
        item, name=times.name, measured=times.measured,
        source=f"{times.source.partition('; link')[0]}; link and memory of {item.name}",
    )  # fmt: skip


def default_device() -> Device:
    """Return the default device."""
    return shipped().devices[DEFAULT_DEVICE]


def cost_model_of(item: Device | Cluster) -> str:
    """Return a sentence on the source of the costs on hardware.

    Examples
    --------
    >>> cost_model_of(find_device("nvidia-t4"))
    'the roofline model of nvidia-t4, 12 GB/s links'
    >>> cost_model_of(find_device("dgx-a100"))
    'the roofline model of 8 nvidia-a100 (dgx-a100), 300 GB/s links'
    >>> cost_model_of(find_device("nvidia-h100+calibrated"))
    'costs of nvidia-h100 calibrated on measured times, 450 GB/s links'
    """
    if isinstance(item, Device):
        link = _links([item.link.bandwidth] if item.link else [])
        return f"{_basis([item], item.name.removesuffix(CALIBRATED))}{link}"
    kinds = Counter(device.name for device in item.devices)
    devices = " and ".join(f"{n} {kind}" if n > 1 else kind for kind, n in kinds.items())
    hardware = f"{devices} ({item.name.removesuffix(CALIBRATED)})"
    return f"{_basis(item.devices, hardware)}{_links(link.bandwidth for link in item.links)}"


def _basis(devices: Sequence[Device], hardware: str) -> str:
    """Return where the costs of devices come from, in words."""
    is_measured = [device.measured is not None for device in devices]
    if len(devices) == 1 and is_measured[0]:
        return f"operator times {hardware}"
    measured = "measured times and " if any(is_measured) else ""
    tables = {device.efficiency.device for device in devices if device.efficiency is not None}
    if not tables:
        return f"{measured}the roofline model of {hardware}"
    names = {device.name.removesuffix(CALIBRATED).removesuffix(FUSION) for device in devices}
    ratio = (
        f" of {' and '.join(sorted(tables))}, by the ratio of data sheets" if names - tables else ""
    )
    return f"{measured}costs of {hardware} calibrated on measured times{ratio}"


def _links(bandwidths: Iterable[float]) -> str:
    known = sorted({bandwidth / 1e9 for bandwidth in bandwidths})
    if not known:
        return ""
    least, largest = f"{known[0]:.3g}", f"{known[-1]:.3g}"
    return f", {least if least == largest else f'{least} to {largest}'} GB/s links"
