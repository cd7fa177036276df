"""Checks the kinds that look at widths of operators: slice-potentials and slice-memory."""

from itertools import pairwise
from typing import Any

from ..budget import hold, spend
from ..values import LARGEST_AMOUNT, Rejected, fields, integers
from .instance import Instance
from .ticks import Class, operators


def slice_potentials(instance: Instance, payload: Any) -> int:
    """Return the sum over operators of the least ticks, with potentials moved between them."""
    return _sum(instance, payload, with_memory=False)


def slice_memory(instance: Instance, payload: Any) -> int:
    """Return that sum over the classes and the numbers of devices that memory allows."""
    return _sum(instance, payload, with_memory=True)


def _sum(instance: Instance, payload: Any, *, with_memory: bool) -> int:
    payload = fields(payload, "the payload", {"classes", "potentials"})
    classes = _classes(instance, payload["classes"])
    found = operators(instance, classes, with_memory=with_memory)
    added = _potentials(payload["potentials"], [one.classes for one in found])
    taken = [[0] * len(own) for own in classes]
    for operator, rows in zip(found, added, strict=True):
        for producer, row in zip(operator.producers, rows, strict=True):
            for c, amount in enumerate(row):
                taken[producer][c] += amount
    total = 0
    for operator, rows, own_taken in zip(found, added, taken, strict=True):
        least = [
            operator.smallest(own, rows) - less
            for own, less in zip(operator.own, own_taken, strict=True)
            if operator.is_possible(own)
        ]
        if not least:
            raise Rejected("an operator fits into no memory, so there is no plan to bound")
        total += min(least)
    return total


def _classes(instance: Instance, value: Any) -> list[list[Class]]:
    """Return classes that cover every width that the largest part of each operator can have."""
    if type(value) is not list or len(value) != len(instance.length):
        raise Rejected("classes of the payload are not one list for each operator")
    found = []
    for length, row in zip(instance.length, value, strict=True):
        begins = integers(row, "classes of an operator", 1, length)
        spend(len(begins))
        least = -(-length // len(instance.capacity))
        if not begins or begins[0] != least or begins[-1] != length:
            raise Rejected(
                "classes of an operator do not begin with the least width, or do not end with all"
            )
        if any(a >= b for a, b in pairwise(begins)):
            raise Rejected("classes of an operator are not ascending")
        ends = [begin - 1 for begin in begins[1:]] + [length]
        found.append(list(zip(begins, ends, strict=True)))
    hold(200 * sum(map(len, found)))
    return found


def _potentials(value: Any, classes: list[list[list[Class]]]) -> list[list[list[int]]]:
    """Return an integer for each class of each input of each operator."""
    if type(value) is not list or len(value) != len(classes):
        raise Rejected("potentials of the payload are not one list for each operator")
    for rows, expected in zip(value, classes, strict=True):
        if type(rows) is not list or len(rows) != len(expected):
            raise Rejected("potentials of an operator are not one list for each that it reads")
    read = [
        [integers(row, "a potential", -LARGEST_AMOUNT, LARGEST_AMOUNT) for row in rows]
        for rows in value
    ]
    for rows, expected in zip(read, classes, strict=True):
        if any(len(row) != len(own) for row, own in zip(rows, expected, strict=True)):
            raise Rejected("potentials for an input are not one for each of its classes")
    return read
