"""Writes down the operators of an interval as the search takes them."""

from collections.abc import Callable, Sequence

from ..budget import hold, spend
from ..values import LARGEST_COST, TooLarge
from . import limits
from .alike import alike_in_module
from .instance import Instance
from .module_data import Module, Numbers, Scratch, scratch_sizes
from .paths import NEVER, OUTSIDE, Network

# A number in a list, and the list's place for it.
NUMBER_BYTES = 40


def tensors_written(instance: Instance) -> list[list[int]]:
    """Return the tensors that each operator writes."""
    spend(len(instance.memory) + len(instance.producer))
    written: list[list[int]] = [[] for _ in instance.memory]
    for tensor, producer in enumerate(instance.producer):
        written[producer].append(tensor)
    return written


def module_of(
    instance: Instance,
    network: Network,
    written: list[list[int]],
    ends: tuple[int, int],
    body: list[int],
) -> Module:
    """Return the module of an interval: its ends and the operators between, in topological order.

    They take no time. Where they are is up to the caller: they are the first and the last of
    `allowed`. Operators and tensors that do not connect those in between are left out.
    """
    operators = [v for v in (ends[0], *body, ends[1]) if v != OUTSIDE]
    size, width = len(operators), network.devices
    if size > limits.MOST_MODULE_OPERATORS or width > limits.MOST_MODULE_DEVICES:
        raise TooLarge("an interval has too many operators or devices for a search")
    hold(NUMBER_BYTES * size * (size + 2 * width))
    spend(size * (size + width))
    arcs = _arcs(instance, network, written, operators)
    if len(arcs) > limits.MOST_MODULE_ARCS:
        raise TooLarge("an interval has too many tensors for a search")
    hold(NUMBER_BYTES * len(arcs) * width**2)
    spend(len(arcs) * (width**2 + size))
    duration: list[int] = []
    allowed: list[int] = []
    for v in operators:
        row = [0] * width if v in ends else network.duration[v]
        duration.extend(0 if ticks == NEVER else ticks for ticks in row)
        allowed.append(sum(1 << d for d, ticks in enumerate(row) if ticks != NEVER))
    waits = [0] * size**2
    for target, source, _, _ in arcs:
        waits[source * size + target] = 1
        for before in range(source):
            waits[before * size + target] |= waits[before * size + source]
    ticks = [entry for _, _, _, row in arcs for entry in row]
    tensor = [name for _, _, name, _ in arcs]
    return Module(
        operators=size,
        devices=width,
        duration=duration,
        allowed=allowed,
        source=[source for _, source, _, _ in arcs],
        target=[target for target, _, _, _ in arcs],
        ticks=ticks,
        tensor=tensor,
        is_shared=int(instance.transfers == "per-tensor"),
        waits=waits,
        is_inner=_inner(size, arcs),
        memory=[instance.memory[v] for v in operators],
        capacity=list(instance.capacity),
        alike=alike_in_module(network.alike(instance), ticks, tensor, width),
    )


def scratch_for(module: Module, numbers: Callable[[int], Numbers]) -> Scratch:
    """Return the arrays that a search writes to; `numbers` makes a sequence of zeros."""
    sizes = scratch_sizes(module.operators, module.devices, len(module.source))
    hold(NUMBER_BYTES * sum(sizes))
    spend(sum(sizes) // 16)
    return Scratch(*map(numbers, sizes))


Arc = tuple[int, int, int, Sequence[int]]


def _arcs(
    instance: Instance, network: Network, written: list[list[int]], operators: list[int]
) -> list[Arc]:
    """Return (target, source, tensor, ticks) for what connects operators, by target."""
    place = {v: at for at, v in enumerate(operators)}
    arcs: list[Arc] = []
    for v in operators:
        spend(2 + len(network.jumps_to.get(v, ())) + len(written[v]))
        jumps = [jump for jump in network.jumps_to.get(v, ()) if jump.first in place]
        for jump in jumps:
            # More than any threshold is as good as that, and keeps sums small.
            spend(network.devices**2)
            most = [min(entry, LARGEST_COST + 1) for row in jump.least for entry in row]
            arcs.append((place[v], place[jump.first], -1, most))
        for tensor in written[v]:
            readers, ticks = instance.consumers[tensor], instance.times[instance.size[tensor]]
            spend(len(readers))
            arcs += [(place[w], place[v], tensor, ticks) for w in readers if w in place]
    return sorted(arcs, key=lambda arc: arc[:3])


def _inner(size: int, arcs: list[Arc]) -> list[int]:
    """Return 1 for operators in the middle of a chain of at least three."""
    before: list[list[int]] = [[] for _ in range(size)]
    behind: list[list[int]] = [[] for _ in range(size)]
    for target, source, _, _ in arcs:
        before[target].append(source)
        behind[source].append(target)
    simple = [len(before[v]) == len(behind[v]) == 1 for v in range(size)]
    return [int(simple[v] and simple[before[v][0]] and simple[behind[v][0]]) for v in range(size)]
