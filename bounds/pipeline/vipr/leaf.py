"""Derives what a leaf's multipliers prove."""

import math
from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

from boundmark.bounds.checker.pipeline.limits import TREE_SHARE_UNITS
from boundmark.bounds.pipeline.vipr.derivation import Derivation
from boundmark.bounds.pipeline.vipr.windows import Windows


def derive_leaf(windows: Windows, leaf: Any, bound: int, out: Derivation) -> int:
    """Derive at a leaf that z is at least a bound; return the constraint's number.

    Rows times their multipliers bound z once each other column is replaced by one of its bounds.
    From a contradiction anything follows: from an empty window, or a sum without z.
    """
    model, goal = windows.model, f"G {bound} OBJ"
    contradiction = windows.contradiction()
    if contradiction is not None:
        return out.add(goal, zip(contradiction, (1, -1), strict=True))
    if bound == 0:
        return out.add(goal, [(model.lower_of_z, 1)])
    parts: Counter[int] = Counter()
    left: Counter[int] = Counter()
    right = 0
    for family, i, multiplier in _multipliers(leaf, model.graph.k):
        terms, constant = model.row(family, i)
        parts[model.number(family, i)] += multiplier
        right += multiplier * constant
        for column, amount in terms:
            left[column] += multiplier * amount
    total = left.pop(model.z, 0)
    for column, amount in left.items():
        number, value = (windows.upper_bound if amount > 0 else windows.lower_bound)(column)
        parts[number] -= amount
        right -= amount * value
    divisor = math.gcd(*parts.values())
    used = [(number, part // divisor) for number, part in sorted(parts.items()) if part]
    if total == 0:
        return out.add(goal, used)
    summed = out.add(f"G {right // divisor} 1 {model.z} {total // divisor}", used)
    return out.add(goal, [(summed, Fraction(divisor, total))], rounded=True)


def _multipliers(leaf: Any, k: int) -> Iterator[tuple[str, int, int]]:
    """Yield families, rows and multipliers, scaled to share rows with integer coefficients."""
    for family, values in leaf.items():
        scale = 1 if family == "share" else TREE_SHARE_UNITS
        for row, multiplier in zip(map(int, values[::2]), map(int, values[1::2]), strict=True):
            if family != "later":
                yield family, row, scale * multiplier
            elif row % k < k - 1:
                # Nothing is later than the last stage; the program has no such row.
                yield family, row // k * (k - 1) + row % k, scale * multiplier
