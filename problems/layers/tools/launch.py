"""Where the ranks of a split are: hosts, their devices, and the lines that start on each host.

Devices are numbered as they are given, and those of a host from 0 on, as ``nvidia-smi`` does if
they are given in its order: CUDA itself would put the fastest first (``CUDA_DEVICE_ORDER``). Of
groups that split layers (tensor parallelism), all members count, one group after the other.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate

from boundmark.problems.errors import InvalidInputError, quoted
from boundmark.problems.layers.chain import LayerChain
from boundmark.problems.layers.instance import LayerAssignment, LayersInstance

# Devices of a host if nobody says; fewer are one host.
USUAL_HOST = 8

EXPECTED_HOSTS = "the number of devices of each host in turn, such as 8,8,4 or 2x8"

_VISIBLE = r"(?:CUDA|HIP)_VISIBLE_DEVICES"
_HOST = re.compile(r"#+ *host (\d+): devices (\d+) to (\d+)\b", re.ASCII)


def members(chain: LayerChain) -> list[range]:
    """Return the numbers of the devices that each one consists of: itself, or those of a group.

    The computer that they are in has no number, if it has the first layers.
    """
    found, first = [], 0
    for name, kind in zip(chain.device_names, chain.devices, strict=True):
        match = re.search(r"\*(\d{1,4})#\d+$", name)
        degree = int(match[1]) if match else int(chain.made_of.get("tensor_parallel", 1))
        if kind in chain.first:
            degree = 0
        found.append(range(first, first + degree))
        first += degree
    return found


def read_hosts(text: str, count: int | None) -> list[range]:
    """Return the devices of each host, for a text such as ``2x8,4``; eights if it is empty.

    A text without a number of devices to compare with is right, and not empty.
    """
    sizes = []
    for item in text.split(",") if text else ():
        match = re.fullmatch(r"\s*(?:(\d{1,4})[xX])?(\d{1,4})\s*", item, re.ASCII)
        if match is None:
            raise InvalidInputError(f"hosts are {quoted(text)}; expected {EXPECTED_HOSTS}.")
        sizes += [int(match[2])] * int(match[1] or 1)
    count = sum(sizes) if count is None else count
    if not text:
        sizes = [min(USUAL_HOST, count - at) for at in range(0, count, USUAL_HOST)]
    if sum(sizes) != count or 0 in sizes:
        raise InvalidInputError(
            f"hosts are {quoted(text)}, {sum(sizes)} devices together; expected "
            f"{EXPECTED_HOSTS}, and {count} of them together."
        )
    return [range(end - size, end) for end, size in zip(accumulate(sizes), sizes, strict=True)]


@dataclass(frozen=True)
class Launch:
    """A split that is to be started.

    Attributes
    ----------
    model
        What the tool calls the model: a folder, a file, or its name.
    hosts
        The number of devices of each host; empty for eight each.
    replicas
        How many times the split is started (data parallelism).
    experts
        How many replicas have each expert once.
    ranks
        The devices of all replicas, one after another, in the order of the stages, numbered over
        all hosts; empty for one replica on the instance's devices.
    further
        Options that are added to the tool's.
    """

    instance: LayersInstance
    solution: LayerAssignment
    model: str = "MODEL"
    hosts: str = ""
    replicas: int = 1
    experts: int = 1
    ranks: tuple[int, ...] = ()
    further: str = ""

    @cached_property
    def counts(self) -> list[int]:
        """The number of layers of each part."""
        return [stage.end - stage.first for stage in self.solution.stages]

    @cached_property
    def devices(self) -> list[int]:
        """The device of each rank of the pipeline."""
        return list(dict.fromkeys(stage.device for stage in self.solution.stages))

    @property
    def outer(self) -> tuple[int, int]:
        """The numbers of layers before and behind the repeated ones."""
        return self.instance.chain.outer

    @property
    def repeated(self) -> int:
        """The number of repeated layers."""
        return self.instance.chain.layers - sum(self.outer)

    def degree(self, title: str) -> int:
        """Return how many devices split each layer, which tools want to be one number."""
        groups = members(self.instance.chain)
        degrees = {len(groups[device]) for device in self.devices if groups[device]}
        if len(degrees) > 1:
            raise InvalidInputError(
                f"stages are on groups of {' and '.join(map(str, sorted(degrees)))} devices, and "
                f"{title} splits all layers over as many; expected groups of one size."
            )
        return degrees.pop() if degrees else 1

    def only_single(self, title: str) -> None:
        """Refuse groups for a tool that splits no layers over devices."""
        if self.degree(title) > 1:
            raise InvalidInputError(
                f"{title} has each layer on one device; expected no tensor parallelism."
            )

    @cached_property
    def nodes(self) -> list[tuple[int, range, list[int]]]:
        """Each host's number, its devices, and those that have ranks, in order."""
        groups = members(self.instance.chain)
        ranks = self.ranks or [one for device in self.devices for one in groups[device]]
        hosts = read_hosts(self.hosts, None if self.ranks else groups[-1].stop)
        found: list[tuple[int, range, list[int]]] = []
        for one in ranks:
            at = next(at for at, host in enumerate(hosts) if one in host)
            if not found or found[-1][0] != at:
                found.append((at, hosts[at], []))
            found[-1][2].append(one)
        numbers = [number for number, _, _ in found]
        if len(set(numbers)) < len(numbers):
            again = next(number for number in numbers if numbers.count(number) > 1)
            raise InvalidInputError(
                f"host {again} has stages before and behind those of another host, so that no "
                "order of hosts gives these ranks; expected --device-order given, or other --hosts."
            )
        return found

    def one_replica(self) -> "Launch":
        """Return the launch of the first replica alone."""
        return replace(self, replicas=1, ranks=self.ranks[: len(self.ranks) // self.replicas])

    def stage_by_stage(self, title: str) -> tuple["Launch", str]:
        """Return the launch with the ranks of each stage together, and perhaps a comment.

        Where hosts have stages of several replicas, ranks are on devices as these are numbered.
        """
        size = len(self.ranks) // self.replicas
        degree = size // len(self.devices)
        starts = range(0, size, degree)
        ordered = [
            one
            for start in starts
            for first in range(start, len(self.ranks), size)
            for one in self.ranks[first : first + degree]
        ]
        found = replace(self, ranks=tuple(ordered))
        try:
            is_possible = bool(found.nodes)
        except InvalidInputError:
            is_possible = False
        if is_possible:
            return found, ""
        note = f"# {title} numbers ranks stage after stage: links between stages are others.\n"
        return replace(self, ranks=tuple(sorted(ordered))), note

    def on_one_host(self, title: str) -> None:
        """Refuse several hosts for a tool that runs on one."""
        if len(self.nodes) > 1:
            raise InvalidInputError(
                f"the stages are on {len(self.nodes)} hosts, and {title} runs on one; expected "
                + (
                    "another tool."
                    if self.ranks
                    else "fewer devices, or --hosts with all of them on one."
                )
            )

    def evenly(self, title: str) -> None:
        """Refuse hosts with different numbers of ranks."""
        counts = [len(used) for _, _, used in self.nodes]
        if len(set(counts)) > 1:
            raise InvalidInputError(
                f"hosts have {', '.join(map(str, counts))} ranks, and {title} starts as many on "
                "each; expected equal hosts, all in use."
            )

    def visible(self, host: range, used: Sequence[int]) -> str:
        """Return the environment in which a host's devices are those used, in their order."""
        numbers = ",".join(str(one - host.start) for one in used)
        chain = self.instance.chain
        cards = [
            name
            for name, kind in zip(chain.device_names, chain.devices, strict=True)
            if kind not in chain.first
        ]
        if all(name.startswith("amd-") for name in cards):
            return f"HIP_VISIBLE_DEVICES={numbers}"
        return f"CUDA_DEVICE_ORDER=PCI_BUS_ID CUDA_VISIBLE_DEVICES={numbers}"

    def lines(self, command: Callable[[int, int], str]) -> str:
        """Return a line for each host.

        Parameters
        ----------
        command
            Returns what a host starts, from its place among the hosts and its number of ranks.
        """
        if len(self.nodes) == 1:
            ((_, host, used),) = self.nodes
            return f"{self.visible(host, used)} {command(0, len(used))}"
        return "\n".join(
            f"# host {number}: devices {host.start} to {host.stop - 1}\n"
            f"{self.visible(host, used)} {command(at, len(used))}"
            for at, (number, host, used) in enumerate(self.nodes)
        )

    def kinds(self) -> str:
        """Return which devices have which numbers, if they differ."""
        groups, names = members(self.instance.chain), self.instance.chain.device_names
        if self.ranks:
            # Each host of a question about parallelism has devices of one kind.
            return ""
        found: list[tuple[str, int, int]] = []
        for name, group in zip(names, groups, strict=True):
            if not group:
                continue
            kind = re.split(r"[*#]", name)[0]
            first = found.pop()[1] if found and found[-1][0] == kind else group.start
            found.append((kind, first, group.stop - 1))
        if len(found) < 2:
            return ""
        numbers = (f"{a} {kind}" if a == b else f"{a}-{b} {kind}" for kind, a, b in found)
        return f"; as `nvidia-smi -L` should list them: {', '.join(numbers)}"

    def comments(self, script: str) -> str:
        """Return the lines of `torchrun` as comments of a Python file."""
        lines = self.torchrun(script).splitlines()
        return "\n".join(line if line.startswith("#") else f"# {line}" for line in lines)

    def torchrun(self, script: str) -> str:
        """Return the lines that start a script with a process for each rank."""

        def command(at: int, ranks: int) -> str:
            several = f" --nnodes {len(self.nodes)} --node-rank {at} --master-addr HOST"
            return f"torchrun --nproc-per-node {ranks}{several * (len(self.nodes) > 1)} {script}"

        return self.lines(command)


def pasted(text: str) -> tuple[str, list[int] | None]:
    """Return a text without comments and visible devices, and these, None if it says nothing.

    Of lines for several hosts, the first one counts, and the devices of all.
    """
    devices: list[int] = []
    first = 0
    left: list[str] = []
    for line in re.sub(r"\\\r?\n", " ", text).splitlines():
        host = _HOST.match(line.strip())
        first = int(host[2]) if host else first
        numbers = r"(\d{1,6}(?:,\d{1,6})*),?"
        found = re.search(rf"\b{_VISIBLE}=[\"']?{numbers}[\"']?(?:\s+|$)", line, re.ASCII)
        if found:
            devices += [first + int(one) for one in found[1].split(",")]
        elif re.search(rf"\b{_VISIBLE}=", line):
            raise InvalidInputError(
                f"{quoted(line.strip())} has devices that are no numbers; expected these."
            )
        if line.lstrip().startswith("#") or (found and left):
            continue
        line = line.replace(found[0], "") if found else line
        left.append(re.sub(r"^\s*(?:export\s+)?CUDA_DEVICE_ORDER=\S+\s*|^\s*export\s+", "", line))
    return "\n".join(left).strip(), devices or None


def on_groups(chain: LayerChain, visible: Sequence[int]) -> list[int]:
    """Return the devices whose members are visible, in turn."""
    starting = {group[0]: (at, group) for at, group in enumerate(members(chain)) if group}
    found: list[int] = []
    left = list(visible)
    while left:
        if left[0] not in starting:
            raise InvalidInputError(
                f"CUDA_VISIBLE_DEVICES has {left[0]}; expected devices from 0 to "
                f"{max(max(group) for _, group in starting.values())}, each group from its first."
            )
        at, group = starting[left[0]]
        if left[: len(group)] != list(group) or at in found:
            raise InvalidInputError(
                f"CUDA_VISIBLE_DEVICES is {quoted(','.join(map(str, visible)))}; expected each "
                "device once, and all of a group in turn."
            )
        found.append(at)
        left = left[len(group) :]
    return found
