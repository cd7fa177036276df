"""Checks questions: documents that stand for a finite list of instances of `layers`.

A question is a table of integers and the name of its space, which says which configurations there
are and what instance each of them is. The checker makes these from the table alone, so that a
certificate can leave none out. What an assignment of layers costs in a configuration is what it
costs in that instance, times the configuration's `scale`, divided by `per` and rounded down, plus
its `offset`; OPT is the least cost over all configurations. A solution has the `configuration`, the
integers that tell it from others, beside the devices of its layers.

layer-choices/1
    For the bound, each configuration has one of three: it does not fit into the memory (all layers
    together, or one alone); it costs as much by its `floor`; or it is next in the list of
    `certificates`, with a kind and a payload that prove of its instance as much as is needed, or
    more than any assignment costs.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from ..budget import spend
from ..values import LARGEST_AMOUNT, LARGEST_COST, Rejected, fields, integer, integers, quoted
from .assignment import objective
from .instance import Instance, NoRoom, read_instance
from .load import layer_load
from .reach import layer_reach

# What counts for a configuration that may not be.
NEVER = LARGEST_AMOUNT

Kind = Callable[[Instance, Any], int]

# What proves a bound for the instance of one configuration.
ALONE: Mapping[str, Kind] = {"layer-reach/1": layer_reach, "layer-load/1": layer_load}


class Configuration(NamedTuple):
    """One configuration of a question.

    Attributes
    ----------
    name
        The integers that solutions and certificates call it by.
    fields
        Those of its instance; None if the table shows that it does not fit into the memory.
    scale, per, offset
        What its instance costs counts `scale` times in the question, divided by `per` and rounded
        down, and `offset` in addition.
    least
        A cost that no assignment of its instance is below, if the table shows one.
    most
        The highest cost of its instance that counts; None for any.
    """

    name: tuple[int, ...]
    fields: dict[str, Any] | None
    scale: int = 1
    offset: int = 0
    per: int = 1
    least: int = 0
    most: int | None = None

    @property
    def words(self) -> str:
        """Its name for messages."""
        return ",".join(map(str, self.name))

    def read(self) -> Instance:
        """Return its instance; raise `NoRoom` if it does not fit into the memory."""
        if self.fields is None:
            raise NoRoom(f"configuration {self.words} does not fit into the memory")
        return read_instance(self.fields)

    def cost(self, alone: int) -> int:
        """Return what counts in the question for a cost of its instance."""
        if self.most is not None and alone > self.most:
            return NEVER
        return self.scale * alone // self.per + self.offset


class Question(NamedTuple):
    """A question whose table has been read."""

    configurations: Callable[[], Iterator[Configuration]]


Space = Callable[[dict[str, Any]], Question]


def read_question(document: dict[str, Any], spaces: Mapping[str, Space]) -> Question:
    """Return the question of a document, by the function that reads the tables of its space."""
    space = document["question"]
    if type(space) is not str or space not in spaces:
        raise Rejected(
            f"question of the instance is not one of {', '.join(spaces)}, but {quoted(space)}"
        )
    return spaces[space]({name: document[name] for name in document if name != "question"})


def cost(instance: Instance | Question, solution: dict[str, Any]) -> int:
    """Return what a solution costs, in its configuration if there are several."""
    if isinstance(instance, Instance):
        if "configuration" in solution:
            raise Rejected("the solution has a configuration, and the instance is no question")
        return objective(instance, solution)
    name = integers(solution.get("configuration"), "configuration", 0, LARGEST_COST)
    for one in instance.configurations():
        if list(one.name) == name:
            alone = objective(one.read(), solution)
            if one.most is not None and alone > one.most:
                raise Rejected(f"the solution costs {alone} in its configuration, over the limit")
            return one.cost(alone)
    raise Rejected("configuration of the solution is none of the question")


def floor(instance: Instance) -> int:
    """Return a cost that no assignment is below.

    Every layer takes the time of the device where it is fastest, and at least one device takes the
    mean of all.
    """
    spend(len(instance.weights) * len(instance.time))
    fastest: list[int] = [min(times) for times in zip(*instance.time, strict=True)]
    mean = -(-sum(fastest) // len(instance.devices))
    most = max(mean, *fastest)
    return max(instance.adds * sum(fastest) + instance.rounds * most, instance.turns * most)


def ceiling(instance: Instance) -> int:
    """Return what no assignment costs more than: a larger bound says that nothing fits."""
    spend(len(instance.weights) * (len(instance.time) + len(instance.transfer)))
    slowest = sum(map(max, zip(*instance.time, strict=True)))
    slowest += sum(map(max, zip(*instance.transfer, strict=True)))
    return (1 + instance.micro_batches) * int(slowest)


def layer_choices(question: Question, payload: Any) -> int:
    """Return the bound of a payload if no configuration costs less."""
    payload = fields(payload, "the payload", {"bound", "certificates"})
    bound = integer(payload["bound"], "bound of the payload", 0, LARGEST_AMOUNT)
    given = payload["certificates"]
    if type(given) is not list:
        raise Rejected("certificates of the payload is not a list")
    used = 0
    for one in question.configurations():
        if one.cost(one.least) >= bound:
            continue
        try:
            instance = one.read()
        except NoRoom:
            continue
        if one.cost(floor(instance)) >= bound:
            continue
        if used == len(given):
            raise Rejected(f"configuration {one.words} may cost less, and has no certificate")
        certificate = fields(
            given[used], "a certificate of the payload", {"configuration", "kind", "payload"}
        )
        used += 1
        if integers(certificate["configuration"], "configuration", 0, LARGEST_COST) != list(
            one.name
        ):
            raise Rejected(
                f"configuration {one.words} may cost less, and the next certificate is for another"
            )
        kind = certificate["kind"]
        if type(kind) is not str or kind not in ALONE:
            raise Rejected(
                f"the kind of a certificate is not one of {', '.join(ALONE)}, but {quoted(kind)}"
            )
        proved = ALONE[kind](instance, certificate["payload"])
        if proved <= ceiling(instance) and one.cost(proved) < bound:
            raise Rejected(f"configuration {one.words} is not proven to cost as much as the bound")
    if used < len(given):
        raise Rejected("the payload has certificates that no configuration needs")
    return bound


def _alone(kind: Kind) -> Callable[[Instance | Question, Any], int]:
    """Return a kind that refuses questions."""

    def proved(instance: Instance | Question, payload: Any) -> int:
        if isinstance(instance, Question):
            raise Rejected("the kind proves something of one instance, and this is a question")
        return kind(instance, payload)

    return proved


def _of_questions(instance: Instance | Question, payload: Any) -> int:
    if isinstance(instance, Instance):
        raise Rejected("the kind proves something of questions, and this is one instance")
    return layer_choices(instance, payload)


KINDS = {**{name: _alone(kind) for name, kind in ALONE.items()}, "layer-choices/1": _of_questions}
