"""Small graphs of `ordering`: all orders, all sets that may have run, and any prices."""

import itertools
from collections.abc import Sequence
from random import Random

import tiny_ordering
from brute_force_ordering import optimum, taken, topological_orders
from checking import Claims, Document, Solutions, prove, read

from boundmark.bounds.checker.ordering.order import live_after, read_order
from boundmark.bounds.checker.ordering.section import Section, section
from boundmark.problems.ordering import OrderingInstance

Row = tuple[int, int, int]

# Something, which is no more than the optimum.
ANY = range(10**6)


def drawn(seed: int, most: int = 5) -> OrderingInstance:
    """Return an instance with any of the options."""
    dice = Random(seed)
    # Operators overwrite what they read of the size that they write, which is rare in small graphs.
    is_in_place = seed // 2 % 2
    nodes, share = (most, 0.6) if is_in_place else (dice.randint(2, most), 0.4)
    edges = [(u, w) for w in range(nodes) for u in range(w) if dice.random() < share]
    numbers = dice.sample(range(nodes), nodes)
    edges = sorted((numbers[u], numbers[w]) for u, w in edges)
    return tiny_ordering.drawn(nodes, edges, dice, seed, range(1, 4) if is_in_place else range(10))


def solutions(sample: OrderingInstance, dice: Random) -> Solutions:
    """Yield each permutation, valued as if every tensor were looked at anew."""
    combine = max if sample.metric == "peak" else sum
    possible = set(topological_orders(sample))
    for order in itertools.permutations(range(sample.nodes)):
        value = combine(taken(sample, order)) if order in possible else None
        yield {"order": list(order)}, value


def claims(sample: OrderingInstance, dice: Random) -> Claims:
    """Yield breakpoints that all orders pass and others, searches around optima, and prices."""
    orders, nodes = list(topological_orders(sample)), sample.nodes
    order, best = list(dice.choice(orders)), optimum(sample)
    forced = forced_breakpoints(orders, order)
    for at in range(-1, nodes + 2):
        payload = {"order": order, "forced": [at], "cuts": []}
        yield "live-cut/1", payload, ANY if at in forced else [None]
    given: Document = {"order": order, "stops": [], "cuts": [], "searches": []}
    for _ in range(6):
        wanted = sorted(dice.sample(range(nodes + 1), dice.randint(0, nodes)))
        possible = ANY if set(wanted) <= set(forced) else [None]
        yield "downset-dp/1", {**given, "stops": [{"forced": wanted}]}, possible
    # One by one, as breakpoints that may be known already.
    for wanted in (forced, forced[::-1]):
        stops = [{"forced": [at]} for at in wanted]
        least = [least_cost(sample, orders, *ends) for ends in sections(forced, nodes)]
        searches = [[number, cost] for number, cost in enumerate(least)]
        yield "downset-dp/1", {**given, "stops": stops, "searches": searches}, [best]
        for number in range(len(least)):
            more = [[i, cost + (i == number)] for i, cost in enumerate(least)]
            yield "downset-dp/1", {**given, "stops": stops, "searches": more}, [None]
        # A breakpoint that is known is none between others.
        for at in [*({*range(1, nodes)} - {*forced}), *wanted[:1]]:
            yield "downset-dp/1", {**given, "stops": [*stops, {"forced": [at]}]}, [None]
    part, cut = part_of(sample, order, 0, nodes), {"order": order, "forced": []}
    for _ in range(4):
        tried = [v for v in range(nodes) if dice.random() < 0.7]
        cuts = [[v, [list(row) for row in priced(part, dice)]] for v in tried]
        yield "live-cut/1", {**cut, "cuts": cuts}, ...
    plain = prove(sample, "live-cut/1", {**cut, "cuts": []}) or 0
    for said in range(max(0, plain - 2), best + 3):
        possible = [max(said, plain) if said <= best else None]
        yield "downset-dp/1", {**given, "searches": [[0, said]]}, possible


def sections(forced: Sequence[int], nodes: int) -> list[tuple[int, int]]:
    """Return where sections between breakpoints begin and end."""
    return list(itertools.pairwise([0, *forced, nodes]))


def forced_breakpoints(orders: Sequence[Sequence[int]], order: Sequence[int]) -> list[int]:
    """Return where all orders have run the same operators as one of them."""
    places = range(1, len(order))
    return [at for at in places if all(set(o[:at]) == set(order[:at]) for o in orders)]


def least_cost(
    sample: OrderingInstance, orders: Sequence[Sequence[int]], begin: int, end: int
) -> int:
    """Return the least maximum or sum of the operators from a position to another."""
    combine = max if sample.metric == "peak" else sum
    return min(combine(taken(sample, order)[begin:end]) for order in orders)


def part_of(sample: OrderingInstance, order: Sequence[int], begin: int, end: int) -> Section:
    """Return a section of an order, as the checker has it."""
    found = read(sample)
    _, position = read_order(found, order, "an order")
    return section(found, order, position, live_after(found, order)[begin], begin, end)


def priced(part: Section, dice: Random) -> list[Row]:
    """Return random prices for some tensors of a section, most of them no more than the size."""
    rows = []
    for tensor in part.tensors:
        if tensor.readers and not tensor.stays and dice.random() < 0.6:
            left = tensor.size
            for reader in tensor.readers:
                amount = dice.randint(-2, left)
                left -= max(0, amount)
                rows.append((tensor.number, part.operators[reader], amount))
    return dice.sample(rows, len(rows))
