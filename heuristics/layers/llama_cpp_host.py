"""Where people and llama.cpp put layers and experts of models that are too large for the cards.

Rules for instances with a host (option `rules`, llama.cpp), none of which looks at time. Devices
go in their given order; the host has the first layers. Sources:

all experts on the host
    ``--cpu-moe``, ggml-org/llama.cpp pull request 15077: all layers on the devices, in proportion
    to their memory, see `counts_by_shares`.
as many layers as fit
    ``-ngl N`` with the largest N for which whole layers fit, likewise.
fit
    ``--fit on``, the default: `common_params_fit_impl` in common/fit.cpp, ggml-org/llama.cpp at
    08033df0, with the context given. Each device keeps `MARGIN` free. Devices are filled from the
    last one on with layers from the last one on, without experts. If all layers are on devices
    then, devices are filled from the first one on with whole layers from the front. There, layers
    without experts are the last ones of a device; here they are the first ones, as with
    ``--n-cpu-moe``, which is the same on one device if layers are alike, and refused on several. A
    layer of which some matrices of experts are on the device is left out: these are all on the
    host.
"""

from collections.abc import Callable
from functools import wraps
from typing import Any

from boundmark.problems.arrays import frozen
from boundmark.problems.errors import InvalidInputError, UnsupportedError
from boundmark.problems.layers import LayerAssignment, LayersInstance
from boundmark.problems.layers.chain import LayerChain
from boundmark.problems.layers.flights import held
from boundmark.problems.layers.tools.llama_cpp import counts_by_shares
from boundmark.problems.method import Budget, Progress

# `fit_params_target` of common/common.h: bytes that stay free on each device.
MARGIN = 2**30


def _reporting(rule: Callable[[LayersInstance], tuple[list[int], int]]) -> Callable[..., None]:
    """Return the method that reports a rule's assignment: counts of layers, the host's first.

    The rule also returns how many layers have their experts on the host.
    """

    @wraps(rule)
    def run(
        instance: LayersInstance, budget: Budget, seed: int, progress: Progress, **params: Any
    ) -> None:
        if not instance.chain.first or instance.virtual_stages > 1:
            raise UnsupportedError(
                "no device is a host whose layers are the first ones; expected one, and "
                "rules=llama.cpp."
            )
        if not _cards(instance.chain) or _repeated(instance.chain) < 0:
            raise UnsupportedError(
                "there is no device beside the host, or no layer; expected some."
            )
        counts, split = rule(instance)
        order = [*_host(instance.chain), *_cards(instance.chain)]
        devices = [order[at] for at, count in enumerate(counts) for _ in range(count)]
        is_question = instance.chain.split is not None
        solution = LayerAssignment(frozen(devices), (split,) if is_question else ())
        try:
            instance.objective(solution)
        except InvalidInputError as error:
            raise UnsupportedError(f"the rule's assignment is none here: {error}") from error
        progress.solution(solution)

    return run


def _host(chain: LayerChain) -> list[int]:
    return [at for at, kind in enumerate(chain.devices) if kind in chain.first]


def _cards(chain: LayerChain) -> list[int]:
    return [at for at, kind in enumerate(chain.devices) if kind not in chain.first]


def _repeated(chain: LayerChain) -> int:
    """Return how many layers there are besides the output and those before them."""
    return chain.layers - chain.outer[0] - max(1, chain.outer[1])


def _by_memory(chain: LayerChain, layers: int) -> list[int]:
    """Return counts with so many of the last repeated layers on devices, and what is behind."""
    free = [int(chain.capacity[chain.devices[at]]) for at in _cards(chain)]
    counts = counts_by_shares(layers, free)
    counts[max(at for at, count in enumerate(counts) if count)] += max(0, chain.outer[1] - 1)
    return _with_input(chain, _repeated(chain) - layers, counts)


def _with_input(chain: LayerChain, on_host: int, counts: list[int]) -> list[int]:
    """Return counts with the input, which is on the host whatever layers it is counted with."""
    found = [on_host, *counts]
    found[next(at for at, count in enumerate(found) if count)] += chain.outer[0]
    return found


@_reporting
def all_experts(instance: LayersInstance) -> tuple[list[int], int]:
    """Return all layers on devices, and all experts on the host."""
    chain = instance.chain
    if chain.split is None:
        raise UnsupportedError("there are no experts; the option expects some.")
    return _by_memory(chain, _repeated(chain)), chain.split.most


@_reporting
def most_layers(instance: LayersInstance) -> tuple[list[int], int]:
    """Return as many whole layers on devices as fit."""
    chain = instance.chain
    whole = chain if chain.split is None else instance.split_into(0).chain
    for layers in range(_repeated(chain), -1, -1):
        counts = _by_memory(chain, layers)
        if _fits(instance, whole, counts):
            return counts, 0
    raise UnsupportedError("no number of whole layers on devices fits; the option expects one.")


def _fits(instance: LayersInstance, chain: LayerChain, counts: list[int]) -> bool:
    """Whether devices, and the host before them, have memory enough."""
    first, used = 0, [count for count in counts if count]
    for at, device in enumerate([*_host(chain), *_cards(chain)]):
        stage = sum(1 for count in counts[:at] if count)
        flights = held(instance.in_flight, instance.micro_batches, stage, len(used))
        taken = chain.memory(first, first + counts[at], flights) if counts[at] else 0
        if taken > int(chain.capacity[chain.devices[device]]):
            return False
        first += counts[at]
    return True


@_reporting
def fit(instance: LayersInstance) -> tuple[list[int], int]:
    """Return what ``--fit`` makes of it."""
    chain, before, repeated = instance.chain, instance.chain.outer[0], _repeated(instance.chain)
    cards = _cards(chain)
    targets = [int(chain.capacity[chain.devices[at]]) - MARGIN for at in cards]
    flights = held(instance.in_flight, instance.micro_batches, 0, len(cards))
    layers = range(before, chain.layers)
    whole = [chain.memory(at, at + 1, flights) for at in layers]
    if _by_memory_fits(instance, targets):
        return _by_memory(chain, repeated), 0
    moved = [0] * len(whole) if chain.split is None else chain.split.bytes[before:].tolist()
    dense = [size - part for size, part in zip(whole, moved, strict=True)]
    counts, end = [0] * len(cards), len(dense)
    for card in range(len(cards) - 1, -1, -1):
        room = targets[card]
        while end and dense[end - 1] <= room:
            end -= 1
            room -= dense[end]
            counts[card] += 1
    if chain.split is None or end:
        # Where layers are on the host as a whole, so are all experts.
        return _with_input(chain, end, counts), 0 if chain.split is None else chain.split.most
    if len(cards) > 1:
        raise UnsupportedError(
            f"there are {len(cards)} devices, and --fit leaves experts of the last layers of each "
            "on the host; expected one device."
        )
    room, full = targets[0] - sum(dense), 0
    while full < repeated and moved[full] <= room:
        room -= moved[full]
        full += 1
    return [0, chain.layers], _first_with(moved[:repeated], sum(map(bool, moved[full:])))


def _by_memory_fits(instance: LayersInstance, targets: list[int]) -> bool:
    """Whether whole layers in proportion to memory leave every device its margin."""
    chain = instance.chain if instance.chain.split is None else instance.split_into(0).chain
    counts, first = _by_memory(chain, _repeated(chain)), 0
    for target, count in zip(targets, counts[1:], strict=True):
        flights = held(instance.in_flight, instance.micro_batches, 0, len(targets))
        if chain.memory(first, first + count, flights) > target:
            return False
        first += count
    return True


def _first_with(moved: list[int], count: int) -> int:
    """Return how many of the first layers there are among which so many have experts."""
    for at, size in enumerate(moved):
        if count == 0:
            return at
        count -= size > 0
    return len(moved)
