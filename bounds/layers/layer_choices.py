"""`layer-choices`: the best configuration of a question, and a proof that no other one is better.

Configurations come in the order of their cheap bounds, and each only has to beat the best so far,
or as many of the best as are wanted: its search ends with a better assignment, or with a
certificate that there is none. So most are refuted by a single search with a target, or by their
cheap bound alone.
"""

from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import Any

from boundmark.bounds import checker
from boundmark.bounds.checker.layers.instance import NoRoom
from boundmark.bounds.checker.layers.questions import NEVER, Configuration, floor
from boundmark.bounds.checker.layers.questions import Question as Space
from boundmark.bounds.layers.layer_reach import KIND as REACH
from boundmark.bounds.layers.layer_reach import Search
from boundmark.problems.certificate import Certificate
from boundmark.problems.errors import UnsupportedError
from boundmark.problems.layers import LayerAssignment, LayersInstance, Question
from boundmark.problems.layers.parallel import instance_of
from boundmark.problems.method import Budget, Progress

KIND = "layer-choices/1"


@dataclass
class Answer:
    """The best solutions and bounds known for a question.

    Attributes
    ----------
    best, cost
        The best assignment with its configuration, and what it costs; None if there is none.
    found
        By configuration: its best assignment and what it costs, where that is among the best.
    bound
        What every solution costs at least.
    bounds
        By configuration: what its solutions cost at least; None where none fits into the memory, or
        is below the limit of the configuration.
    certificates
        Those that prove it of the configurations whose cheap bounds do not.
    """

    best: LayerAssignment | None = None
    cost: int | None = None
    found: dict[tuple[int, ...], tuple[int, LayerAssignment]] = field(default_factory=dict)
    bound: int = 0
    bounds: dict[tuple[int, ...], int | None] = field(default_factory=dict)
    certificates: list[dict[str, Any]] = field(default_factory=list)

    @property
    def payload(self) -> dict[str, Any]:
        """The payload with which the checker proves the bound."""
        return {"bound": self.bound, "certificates": self.certificates}


def answer(
    question: Space,
    instance: Callable[[Configuration], LayersInstance],
    most: int,
    budget: Budget,
    steps: int = 0,
    on_better: Callable[[Answer], None] = lambda found: None,
    wanted: int = 1,
    tell: Callable[[int, int], None] = lambda done, all_: None,
    likely: Collection[tuple[int, ...]] = (),
) -> Answer:
    """Return the best configuration, and what proves the bound.

    Parameters
    ----------
    instance
        Returns the instance of a configuration.
    most
        More than any solution costs, which is the bound if there is none.
    steps
        Most steps of one search, as the checker counts them; 0 for the usual number.
    on_better
        Called with each solution that is better than those before.
    wanted
        How many of the best configurations are found.
    tell
        Called with how many configurations are done, and how many there are.
    likely
        Configurations to begin with.
    """
    found, waiting = Answer(), []
    floors: dict[tuple[int, ...], int] = {}
    configurations = list(question.configurations())
    for one in configurations:
        floors[one.name] = low = one.cost(one.least)
        try:
            read = one.read()
        except NoRoom:
            found.bounds[one.name] = None
            continue
        floors[one.name] = found.bounds[one.name] = low = max(low, one.cost(floor(read)))
        if low == NEVER:
            found.bounds[one.name] = None
        else:
            waiting.append((low, one, read))
    proofs: dict[tuple[int, ...], dict[str, Any]] = {}
    prices: list[int] = []
    waiting.sort(key=lambda item: (item[1].name not in likely, item[0]))
    for done, (low, one, read) in enumerate(waiting):
        costs = sorted(cost for cost, _ in found.found.values())
        target = most if len(costs) < wanted else costs[wanted - 1]
        if low >= target or budget.is_spent():
            continue
        tell(done, len(waiting))
        search = Search(instance(one), read, budget, steps)
        if len(prices) == search.types:
            # What devices are worth changes little from one configuration to the next.
            search.prices = prices
        # The least cost of the instance that counts for as much, is too large, or is none.
        enough = -((one.offset - target) * one.per // one.scale)
        nothing = search.instance.most() + 1
        search.below(min(enough, nothing if one.most is None else min(nothing, one.most + 1)))
        prices = search.prices
        proofs[one.name] = search.payload(search.bound, search.largest)
        bound = max(low, one.cost(search.bound))
        fits = search.best is not None or search.bound <= search.instance.most()
        found.bounds[one.name] = bound if fits and bound < NEVER else None
        if search.best is not None:
            cost = one.cost(search.instance.objective(search.best))
            found.found[one.name] = cost, search.best
            if found.cost is None or cost < found.cost:
                found.best, found.cost = LayerAssignment(search.best.devices, one.name), cost
                on_better(found)
    known = [bound for bound in found.bounds.values() if bound is not None]
    found.bound = min([most if found.cost is None else found.cost, *known])
    found.certificates = [
        {"configuration": list(one.name), "kind": REACH, "payload": proofs[one.name]}
        for one in configurations
        if one.name in proofs and floors[one.name] < found.bound
    ]
    return found


def _likely(instance: LayersInstance) -> list[int]:
    """Return the least number of split layers with which all are on devices with room for them."""
    chain = instance.chain
    room = sum(int(chain.capacity[kind]) for kind in chain.devices if kind not in chain.first)
    flights = instance.in_flight if isinstance(instance.in_flight, int) else 1
    assert chain.split is not None
    taken = chain.memory(0, chain.layers, flights)
    for count in instance.splits:
        if taken <= room:
            return [count]
        taken -= int(chain.split.bytes[min(chain.outer[0] + count, chain.layers - 1)])
    return []


def run(
    instance: LayersInstance | Question,
    budget: Budget,
    seed: int,
    progress: Progress,
    *,
    steps: int = 0,
) -> None:
    """Report the best configuration, with its assignment, and the certificate."""
    likely: list[tuple[int, ...]] = []
    most = NEVER
    if isinstance(instance, LayersInstance):
        if instance.chain.split is None:
            raise UnsupportedError(
                "no layer may keep a part of itself on the host; the method expects a question."
            )
        most, likely = instance.most() + 1, [(count,) for count in _likely(instance)]
    question = checker.check_instance(instance.to_json())

    def made(one: Configuration) -> LayersInstance:
        if isinstance(instance, Question):
            return instance_of(one)
        return instance.split_into(one.name[0])

    def reported(found: Answer) -> None:
        assert found.best is not None
        progress.solution(found.best)

    found = answer(question, made, most, budget, steps, reported, likely=likely)
    if found.bound > 0:
        progress.bound(Certificate.of(instance, KIND, found.bound, found.payload, "layer-choices"))
    if found.best is None and found.bound == most:
        raise UnsupportedError(
            "no assignment fits into the memory, whatever configuration is chosen; the certified "
            "bound is above the cost of any assignment."
        )
