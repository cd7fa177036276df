"""`boundmark solve --order`: the order in which slicing runs a model's operators."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from boundmark.benchmarks.model import load, named_instance
from boundmark.benchmarks.suite import NamedInstance
from boundmark.problems.catalog import methods
from boundmark.problems.certificate import Certificate, Claim
from boundmark.problems.errors import InvalidInputError, quoted
from boundmark.problems.files import naming
from boundmark.problems.method import Budget, Method
from boundmark.problems.ordering.order import ExecutionOrder
from boundmark.problems.slicing import SlicingInstance

# As in [MEMORIANOVA24], Section 3.2: the sum of the memory of all operators.
METRIC = {"metric": "sum"}


def in_order(
    source: NamedInstance, model: str, order: str, seconds: float, dims: Mapping[str, int]
) -> NamedInstance:
    """Return a slicing instance whose operators run in another order ([MEMORIANOVA24], 3.1).

    Parameters
    ----------
    model
        What the instance was made of.
    order
        A method of `ordering`, whose best order for the sum of memory is taken, or a file with an
        order, as `boundmark evaluate` reads it.
    seconds
        For the method.

    Raises
    ------
    InvalidInputError
        If the model has no operators to order, or the order is none in which they can run.
    """
    instance = source.instance
    assert isinstance(instance, SlicingInstance)
    names, found, how = _found(model, order, seconds, dims)
    place = {name: at for at, name in enumerate(instance.graph.names)}
    if len(place) < instance.nodes or set(names) != set(place):
        raise InvalidInputError(
            f"{model}: operators to order and to slice are not called alike; expected a model "
            "whose operators have names of their own."
        )
    with naming(f"--order {order}"):
        graph = instance.graph.in_order([place[names[node]] for node in found])
    note = f"operators run in the order of {how}"
    return replace(source, instance=replace(instance, graph=graph), notes=(*source.notes, note))


def _found(
    model: str, order: str, seconds: float, dims: Mapping[str, int]
) -> tuple[tuple[str, ...], list[int], str]:
    """Return the names of the model's operators, their order, and where that is from."""
    if order not in methods():
        path = Path(order)
        if not path.is_file():
            known = ", ".join(sorted(m.name for m in methods().values() if _orders(m)))
            raise InvalidInputError(
                f"--order is {quoted(order)}; expected a file, or one of {known}."
            )
        from boundmark.benchmarks.grading import instance_and_solution

        given = instance_and_solution(model, path, METRIC, "ordering", None, dims)
        ordered: Any = given.source.instance
        return ordered.graph.names, list(given.document["order"]), order
    method = methods()[order]
    if not _orders(method):
        raise InvalidInputError(
            f"--order is {quoted(order)}, a method of problem {method.problem!r} that makes no "
            "order; expected a method of 'ordering'."
        )
    ordered = named_instance(load(model, dims=dims), METRIC, "ordering").instance
    kept = _Last()
    method.run(ordered, Budget(wall_seconds=seconds), 1, kept, **method.params)
    if kept.order is None:
        raise InvalidInputError(f"{order} found no order in {seconds:g} s; expected more time.")
    return ordered.graph.names, kept.order.order.tolist(), f"{order}, {METRIC['metric']} of memory"


def _orders(method: Method) -> bool:
    return method.problem == "ordering" and method.kind != "bound"


class _Last:
    """Keeps the last order that is reported, the best one."""

    def __init__(self) -> None:
        self.order: ExecutionOrder | None = None

    def solution(self, solution: Any) -> None:
        self.order = solution

    def bound(self, bound: Certificate | Claim) -> None:
        """Leave bounds out."""
