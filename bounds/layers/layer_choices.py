"""`layer-choices`: the best configuration of a question, and a proof that no other one is better.

Configurations come in the order of their cheap bounds, and each only has to beat the best so far:
its search ends with a better assignment, or with a certificate that there is none. So most are
refuted by a single search with a target, or by their cheap bound alone.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from boundmark.bounds import checker
from boundmark.bounds.checker.layers.instance import Instance, NoRoom
from boundmark.bounds.checker.layers.questions import Configuration, Question, floor
from boundmark.bounds.layers.layer_reach import KIND as REACH
from boundmark.bounds.layers.layer_reach import Search
from boundmark.problems.certificate import Certificate
from boundmark.problems.errors import UnsupportedError
from boundmark.problems.layers import LayerAssignment, LayersInstance
from boundmark.problems.method import Budget, Progress

KIND = "layer-choices/1"


@dataclass
class Answer:
    """What is known of a question.

    Attributes
    ----------
    best, cost
        The best assignment with its configuration, and what it costs; None if there is none.
    bound
        What every solution costs at least.
    bounds
        By configuration: what its solutions cost at least; None where none fits into the memory.
    certificates
        Those that prove it of the configurations whose cheap bounds do not.
    """

    best: LayerAssignment | None = None
    cost: int | None = None
    bound: int = 0
    bounds: dict[tuple[int, ...], int | None] = field(default_factory=dict)
    certificates: list[dict[str, Any]] = field(default_factory=list)

    @property
    def payload(self) -> dict[str, Any]:
        """The payload with which the checker proves the bound."""
        return {"bound": self.bound, "certificates": self.certificates}


def answer(
    question: Question,
    instance: Callable[[Configuration], LayersInstance],
    most: int,
    budget: Budget,
    steps: int = 0,
    on_better: Callable[[Answer], None] = lambda found: None,
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
    """
    found, waiting = Answer(), []
    floors: dict[tuple[int, ...], int] = {}
    configurations = list(question.configurations())
    for one in configurations:
        try:
            read = one.read()
        except NoRoom:
            found.bounds[one.name] = None
            continue
        floors[one.name] = found.bounds[one.name] = one.cost(floor(read))
        waiting.append((floors[one.name], one, read))
    proofs: dict[tuple[int, ...], dict[str, Any]] = {}
    for low, one, read in sorted(waiting, key=lambda item: item[0]):
        target = most if found.cost is None else found.cost
        if low >= target or budget.is_spent():
            continue
        search = _search(one, read, instance(one), target, budget, steps)
        found.bounds[one.name] = max(low, one.cost(search.bound))
        proofs[one.name] = search.payload(search.bound, search.largest)
        if search.best is not None:
            found.best = LayerAssignment(search.best.devices, one.name)
            found.cost = one.cost(search.instance.objective(search.best))
            on_better(found)
    known = [bound for bound in found.bounds.values() if bound is not None]
    found.bound = min([most if found.cost is None else found.cost, *known])
    found.certificates = [
        {"configuration": list(one.name), "kind": REACH, "payload": proofs[one.name]}
        for one in configurations
        if one.name in proofs and floors[one.name] < found.bound
    ]
    return found


def _search(
    one: Configuration, read: Instance, instance: LayersInstance, target: int, budget: Budget,
    steps: int,
) -> Search:  # fmt: skip
    """Return the search for what costs less than a target in the question."""
    search = Search(instance, read, budget, steps)
    # The least cost of the instance that counts for as much.
    search.below(-((one.offset - target) // one.scale))
    return search


def run(
    instance: LayersInstance, budget: Budget, seed: int, progress: Progress, *, steps: int = 0
) -> None:
    """Report the best number of split layers, with its assignment, and the certificate."""
    if instance.chain.split is None:
        raise UnsupportedError(
            "no layer may keep a part of itself on the host; the method expects a question."
        )
    question = checker.check_instance(instance.to_json())
    most = instance.most() + 1

    def reported(found: Answer) -> None:
        assert found.best is not None
        progress.solution(found.best)

    found = answer(
        question, lambda one: instance.split_into(one.name[0]), most, budget, steps, reported
    )
    if found.bound > 0:
        progress.bound(Certificate.of(instance, KIND, found.bound, found.payload, "layer-choices"))
    if found.best is None and found.bound == most:
        raise UnsupportedError(
            "no assignment fits into the memory of the devices and the host, whatever number of "
            "layers is split; the certified bound is above the cost of any assignment."
        )
