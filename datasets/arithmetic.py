"""In which type of elements a model does its arithmetic."""

from collections import Counter
from collections.abc import Sequence

from boundmark.problems.operator import LEFT_OUT, Operator
from boundmark.problems.tensor import Tensor, arithmetic_dtype


def main_dtype(operators: Sequence[Operator], tensors: Sequence[Tensor]) -> str:
    """Return the type in which most arithmetic is done, judged by each operator's first input.

    ``"float32"`` if there is none.
    """
    arithmetic: Counter[str] = Counter()
    for operator in operators:
        given = [number for number in operator.reads if number != LEFT_OUT]
        if operator.flops and given:
            arithmetic[arithmetic_dtype(tensors[given[0]].dtype)] += operator.flops
    return max(arithmetic, key=arithmetic.__getitem__, default="float32")
