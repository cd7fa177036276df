"""Tiny instances of `layers`: all assignments, with and without virtual stages, and any prices."""

from contextlib import suppress
from dataclasses import replace
from random import Random

from brute_force_layers import all_rounds, assignment, assignments, cost, optimum
from brute_force_layers import drawn as drawn_chain
from checking import Claims, Document, Solutions

from boundmark.problems.errors import NoRoomError
from boundmark.problems.layers import LayersInstance
from boundmark.problems.layers.instance import GOALS, ORDERS


def drawn(seed: int) -> LayersInstance:
    """Return a chain with so little memory that it depends on every byte what fits."""
    dice = Random(seed)
    while True:
        has_rounds = seed % 4 == 3
        goal = "bottleneck" if has_rounds else GOALS[seed % 4]
        sample = drawn_chain(dice, goal, dice.choice(ORDERS), 7 if has_rounds else 4)
        if sample is None or (has_rounds and len(sample.chain.devices) < 2):
            continue
        chain = sample.chain
        least = max(chain.memory(at, at + 1, 1) for at in range(chain.layers))
        even = -(-chain.memory(0, chain.layers, 1) // len(chain.devices))
        capacity = [max(least, even) + dice.randint(0, 6) for _ in chain.capacity]
        given: Document = {"in_flight": dice.choice(("stages", "1f1b", "zb-h2", 1, 2))}
        if has_rounds:
            given = {
                "in_flight": dice.choice((1, 2, "stages", "interleaved", "interleaved")),
                "virtual_stages": dice.choice((2, 2, 3)), "micro_batches": dice.choice((2, 4, 6)),
            }  # fmt: skip
        with suppress(NoRoomError):
            return replace(sample, chain=replace(chain, capacity=capacity), **given)  # type: ignore[arg-type]


def solutions(sample: LayersInstance, dice: Random) -> Solutions:
    """Yield all assignments, by any rule of micro-batches in flight."""
    is_round = sample.virtual_stages > 1
    for found, largest, fits in all_rounds(sample) if is_round else ():
        yield found.to_json(), largest if fits else None
    for ends, used in assignments(sample):
        # With virtual stages, a device has several parts.
        yield assignment(ends, used).to_json(), None if is_round else cost(sample, ends, used)


def claims(sample: LayersInstance, dice: Random) -> Claims:
    """Yield the optimum and a tick more, with prices that somebody made up."""
    best, types = optimum(sample), len(sample.chain.capacity)
    if best == float("inf"):
        return
    bound = int(best)
    for _ in range(6):
        prices, others = ([dice.choice((0, 1, 5, 30)) for _ in range(types)] for _ in range(2))
        if sample.goal == "bottleneck":
            for more in (0, 1):
                payload = {
                    "bound": bound + more,
                    "steps": dice.choice((0, 1, 2, 7)),
                    "prices": prices,
                }
                yield "layer-load/1", payload, [None, bound]
        if sample.virtual_stages == 1:
            for more in (0, 1):
                largest = bound + more if sample.goal == "bottleneck" else 0
                payload = {
                    "bound": bound + more, "prices": prices, "largest": largest,
                    "largest_prices": others,
                }  # fmt: skip
                yield "layer-reach/1", payload, [None if more else bound]
